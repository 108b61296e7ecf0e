//! Strings as RFC 8785 writes them.

use super::CanonicalError;
use super::writer::CanonicalWriter;

impl CanonicalWriter {
    /// Writes text in quotes and says whether any of it was escaped.
    pub(super) fn quoted(&mut self, text: &str) -> Result<bool, CanonicalError> {
        self.check_size(text.len())?;
        self.buffer.push(b'"');
        let mut rest = text.as_bytes();
        let mut escaped = false;
        while let Some(plain) = rest.iter().position(|byte| is_special(*byte)) {
            self.buffer.extend_from_slice(&rest[..plain]);
            self.escape(rest[plain]);
            rest = &rest[plain + 1..];
            escaped = true;
        }
        self.buffer.extend_from_slice(rest);
        self.buffer.push(b'"');
        Ok(escaped)
    }

    fn escape(&mut self, byte: u8) {
        match SHORT.iter().find(|(special, _)| *special == byte) {
            Some((_, letter)) => self.buffer.extend_from_slice(&[b'\\', *letter]),
            None => {
                let hex = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                self.buffer
                    .extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
            }
        }
    }
}

/// Undoes the escapes of a canonical string, byte by byte. Only ASCII is ever escaped in one.
pub(super) fn unescaped(canonical: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut bytes = canonical.iter().copied();
    std::iter::from_fn(move || {
        let byte = bytes.next()?;
        if byte != b'\\' {
            return Some(byte);
        }
        let letter = bytes.next()?;
        if letter == b'u' {
            let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
            return (0..4)
                .try_fold(0, |code, _| Some(code * 16 + digit()?))
                .and_then(|code| u8::try_from(code).ok());
        }
        SHORT
            .iter()
            .find(|(_, short)| *short == letter)
            .map(|(special, _)| *special)
    })
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The characters with an escape of two characters, and its letter. `/` has none in canonical form.
pub(super) const SHORT: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (0x08, b'b'),
    (0x0c, b'f'),
    (b'\n', b'n'),
    (b'\r', b'r'),
    (b'\t', b't'),
];
