//! Framing: a type byte and a length, except for the first message of a client.

use std::io::{Error, ErrorKind, Read, Result};

/// A message with its type; the bytes include type and length, to be sent on as they are.
pub(crate) struct Message {
    pub(crate) kind: u8,
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn read(stream: &mut impl Read) -> Result<Self> {
        let mut bytes = vec![0; 5];
        stream.read_exact(&mut bytes)?;
        let length = body_length(&bytes[1..])?;
        read_body(stream, &mut bytes, length)?;
        Ok(Self { kind: bytes[0], bytes })
    }

    /// The zero-terminated texts at the start of the body.
    pub(crate) fn texts<const N: usize>(&self) -> [String; N] {
        let mut parts = self.bytes[5..].split(|byte| *byte == 0);
        std::array::from_fn(|_| String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned())
    }

    /// The body without its first byte, up to the zero: `Close` and `Describe` begin with what they are about.
    pub(crate) fn target(&self) -> (u8, String) {
        let name = self
            .bytes
            .get(6..)
            .unwrap_or_default()
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        (
            self.bytes.get(5).copied().unwrap_or_default(),
            String::from_utf8_lossy(name).into_owned(),
        )
    }
}

/// The first message of a client, which has no type byte.
pub(crate) enum Opening {
    /// Wants TLS or GSS encryption first.
    Encryption,
    /// Wants another connection's statement cancelled; nothing follows.
    Cancel(Vec<u8>),
    Startup(Vec<u8>),
}

impl Opening {
    pub(crate) fn read(stream: &mut impl Read) -> Result<Self> {
        let mut bytes = vec![0; 4];
        stream.read_exact(&mut bytes)?;
        let length = body_length(&bytes)?;
        read_body(stream, &mut bytes, length)?;
        let code = bytes
            .get(4..8)
            .and_then(|code| code.try_into().ok())
            .map(u32::from_be_bytes);
        Ok(match code {
            Some(SSL_REQUEST | GSS_REQUEST) => Self::Encryption,
            Some(CANCEL_REQUEST) => Self::Cancel(bytes),
            _ => Self::Startup(bytes),
        })
    }
}

fn body_length(bytes: &[u8]) -> Result<usize> {
    let length = bytes
        .try_into()
        .map(u32::from_be_bytes)
        .ok()
        .and_then(|length| length.checked_sub(4));
    match length {
        Some(length) if length <= LONGEST => Ok(length as usize),
        _ => Err(Error::new(
            ErrorKind::InvalidData,
            "not a message of the PostgreSQL protocol",
        )),
    }
}

fn read_body(stream: &mut impl Read, bytes: &mut Vec<u8>, length: usize) -> Result<()> {
    let head = bytes.len();
    bytes.resize(head + length, 0);
    stream.read_exact(&mut bytes[head..])
}

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const LONGEST: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_of_a_stream_whole() {
        let mut stream: &[u8] = b"Q\0\0\0\x0bCOMMIT\0S\0\0\0\x04";
        let query = Message::read(&mut stream).unwrap();
        assert_eq!((query.kind, query.texts::<1>()), (b'Q', ["COMMIT".to_owned()]));
        assert_eq!(Message::read(&mut stream).unwrap().kind, b'S');
        assert!(Message::read(&mut stream).is_err());
    }

    #[test]
    fn an_impossible_length_is_refused() {
        assert!(Message::read(&mut &b"Q\0\0\0\x03"[..]).is_err());
        assert!(Message::read(&mut &b"Q\xff\xff\xff\xff"[..]).is_err());
    }

    #[test]
    fn openings_are_told_apart() {
        let ssl: &[u8] = &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        assert!(matches!(Opening::read(&mut &*ssl).unwrap(), Opening::Encryption));
        let startup: &[u8] = &[0, 0, 0, 9, 0, 3, 0, 0, 0];
        assert!(matches!(Opening::read(&mut &*startup).unwrap(), Opening::Startup(bytes) if bytes == startup));
    }
}
