//! Strings as RFC 8785 writes them.

use std::fmt::{self, Display, Write as _};

use super::writer::CanonicalWriter;
use super::{CanonicalError, CanonicalErrorKind, Written};

impl CanonicalWriter {
    /// Writes text in quotes and says whether any of it was escaped.
    #[inline]
    pub(super) fn quoted(&mut self, text: &str) -> Result<bool, CanonicalError> {
        self.check_size(text.len())?;
        self.buffer.push(b'"');
        let is_plain = is_plain(text.as_bytes());
        match is_plain {
            true => self.buffer.extend_from_slice(text.as_bytes()),
            false => self.escaped(text),
        }
        self.buffer.push(b'"');
        Ok(!is_plain)
    }

    /// Writes what a `Display` makes, in quotes.
    pub(crate) fn display(&mut self, value: &(impl Display + ?Sized)) -> Written {
        self.occupy_leaf()?;
        self.buffer.push(b'"');
        let mut pieces = Pieces {
            writer: self,
            too_large: None,
        };
        let written = write!(pieces, "{value}");
        if let Some(error) = pieces.too_large {
            return Err(error);
        }
        if written.is_err() {
            return Err(CanonicalError::new(
                CanonicalErrorKind::Serialize,
                "the `Display` of the value failed: use a type whose `Display` always writes",
            ));
        }
        self.buffer.push(b'"');
        Ok(())
    }

    #[cold]
    fn escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while let Some(plain) = rest.iter().position(|byte| is_special(*byte)) {
            self.buffer.extend_from_slice(&rest[..plain]);
            self.escape(rest[plain]);
            rest = &rest[plain + 1..];
        }
        self.buffer.extend_from_slice(rest);
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

/// Takes the pieces of a `Display`, so that no text is made in between.
struct Pieces<'w> {
    writer: &'w mut CanonicalWriter,
    too_large: Option<CanonicalError>,
}

impl fmt::Write for Pieces<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if let Err(error) = self.writer.check_size(piece.len()) {
            self.too_large = Some(error);
            return Err(fmt::Error);
        }
        self.writer.escaped(piece);
        Ok(())
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

/// Whether nothing in a text is escaped. Reads it in blocks and words, the last of which overlaps the one before it.
#[inline]
pub(super) fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk() {
        return text.as_chunks::<16>().0.iter().all(is_plain_block) && is_plain_block(last);
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        return specials_of(u64::from_le_bytes(*first)) | specials_of(u64::from_le_bytes(*last)) == 0;
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let word = u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
        return specials_of(word) == 0;
    }
    !text.iter().any(|byte| is_special(*byte))
}

/// Written so that the compiler makes it a few vector instructions.
#[inline]
fn is_plain_block(block: &[u8; 16]) -> bool {
    !block.iter().fold(false, |any, byte| any | is_special(*byte))
}

/// Returns a number that is zero if no byte of the word is special.
#[inline]
fn specials_of(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let quotes = below(word ^ (ONES * 0x22), 1);
    let backslashes = below(word ^ (ONES * 0x5c), 1);
    (below(word, 0x20) | quotes | backslashes) & (ONES * 0x80)
}

#[inline]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_agree_on_what_is_special() {
        for byte in 0..=u8::MAX {
            for length in 1..40 {
                for at in 0..length {
                    let mut text = vec![0x80; length];
                    text[at] = byte;
                    assert_eq!(is_plain(&text), !is_special(byte), "{byte:#x} at {at} of {length}");
                }
            }
        }
        assert!(is_plain(b""));
    }
}
