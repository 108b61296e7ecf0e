//! JSON text, read strictly and written in canonical form as it is read.

use super::members::{Elements, Members};
use super::object::NOWHERE;
use super::text::SHORT;
use super::writer::CanonicalWriter;
use super::{CanonicalError, CanonicalErrorKind, Written};

/// Reads one JSON text into the writer.
pub(super) fn read(text: &[u8], writer: &mut CanonicalWriter) -> Written {
    let text = std::str::from_utf8(text).map_err(|error| {
        CanonicalError::new(CanonicalErrorKind::Encoding, "the text is not UTF-8: send it in UTF-8")
            .at(error.valid_up_to())
    })?;
    if text.starts_with('\u{feff}') {
        return Err(CanonicalError::new(
            CanonicalErrorKind::Syntax,
            "the text begins with a byte order mark: leave it out",
        )
        .at(0));
    }
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    reader.value(writer)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(()),
        Some(_) => Err(reader.unexpected("the end of the text")),
    }
}

/// Writes a number from text that serde_json calls a number.
pub(super) fn read_number(literal: &str, writer: &mut CanonicalWriter) -> Written {
    let mut reader = Reader { text: literal, at: 0 };
    match reader.number() {
        Ok(number) if number.len() == literal.len() => writer.number(literal),
        _ => Err(CanonicalError::new(
            CanonicalErrorKind::Syntax,
            "the number's literal is not a JSON number",
        )),
    }
}

/// Writes the members of a JSON object into another object.
pub(crate) fn copy_members(text: &str, members: &mut Members<'_>) -> Written {
    Reader { text, at: 0 }
        .members(members)
        .map_err(CanonicalError::without_offset)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn value(&mut self, writer: &mut CanonicalWriter) -> Written {
        let start = self.at;
        let written = match self.peek() {
            Some(b'{') => self.object(writer),
            Some(b'[') => self.array(writer),
            Some(b'"') => self.string().and_then(|text| writer.string(&text)),
            Some(b'-' | b'0'..=b'9') => self.number().and_then(|literal| writer.number(literal)),
            Some(b'n') => self.word("null").and_then(|()| writer.null()),
            Some(b't') => self.word("true").and_then(|()| writer.boolean(true)),
            Some(b'f') => self.word("false").and_then(|()| writer.boolean(false)),
            _ => Err(self.unexpected("a value")),
        };
        written.map_err(|error| error.at(start))
    }

    // The writer's limit on nesting bounds this recursion: opening the 128th container is an error.
    fn object(&mut self, writer: &mut CanonicalWriter) -> Written {
        let mut members = Members::open(writer)?;
        self.members(&mut members)?;
        members.close()?.position = NOWHERE;
        Ok(())
    }

    fn members(&mut self, members: &mut Members<'_>) -> Written {
        self.at += 1;
        self.skip_space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.member(members)?;
            self.skip_space();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',', "`,` or `}`")?;
            self.skip_space();
        }
    }

    fn member(&mut self, members: &mut Members<'_>) -> Written {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in double quotes"));
        }
        members.writer().position = u32::try_from(self.at).unwrap_or(NOWHERE);
        let name = self.string()?;
        members.member(&name, |writer| {
            self.skip_space();
            self.expect(b':', "`:`")?;
            self.skip_space();
            self.value(writer)
        })
    }

    fn array(&mut self, writer: &mut CanonicalWriter) -> Written {
        let mut elements = Elements::open(writer)?;
        self.at += 1;
        self.skip_space();
        if !self.eat(b']') {
            loop {
                elements.element(|writer| self.value(writer))?;
                self.skip_space();
                if self.eat(b']') {
                    break;
                }
                self.expect(b',', "`,` or `]`")?;
                self.skip_space();
            }
        }
        elements.close().map(drop)
    }

    /// Reads a string; it is borrowed unless it has escapes.
    fn string(&mut self) -> Result<std::borrow::Cow<'t, str>, CanonicalError> {
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .bytes()
                .position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
                .unwrap_or(rest.len());
            let (plain, special) = rest.split_at(plain);
            self.at += plain.len();
            match special.bytes().next() {
                Some(b'"') => {
                    self.at += 1;
                    if decoded.is_empty() {
                        return Ok(plain.into());
                    }
                    decoded.push_str(plain);
                    return Ok(decoded.into());
                }
                Some(b'\\') => {
                    decoded.push_str(plain);
                    decoded.push(self.escape()?);
                }
                Some(_) => return Err(self.unexpected("an escape: control characters are written `\\u00XX`")),
                None => return Err(self.unexpected("the closing `\"`")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, CanonicalError> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        if letter == Some(b'u') {
            self.at += 1;
            return self.code_point(start);
        }
        let special = match letter {
            Some(b'/') => Some(b'/'),
            Some(letter) => SHORT
                .iter()
                .find(|(_, short)| *short == letter)
                .map(|(special, _)| *special),
            None => None,
        };
        let Some(special) = special else {
            return Err(self.unexpected(r#"one of `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`, `u` after `\`"#));
        };
        self.at += 1;
        Ok(special.into())
    }

    fn code_point(&mut self, start: usize) -> Result<char, CanonicalError> {
        let unit = self.hex()?;
        let mut code = unit;
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| {
            let reason = format!(
                "the surrogate \\u{unit:04x} stands without its partner and is no character: send the whole pair"
            );
            CanonicalError::new(CanonicalErrorKind::Encoding, reason).at(start)
        })
    }

    fn hex(&mut self) -> Result<u32, CanonicalError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("four hex digits after `\\u`"))?;
            self.at += 1;
        }
        Ok(code)
    }

    /// Reads a number's literal by the grammar of RFC 8259.
    fn number(&mut self) -> Result<&'t str, CanonicalError> {
        let start = self.at;
        self.eat(b'-');
        // After a leading zero no digit follows; whoever reads on finds it.
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Written {
        let count = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        match count {
            0 => Err(self.unexpected("a digit")),
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &str) -> Written {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        self.at += usize::from(eaten);
        eaten
    }

    fn expect(&mut self, byte: u8, what: &str) -> Written {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(self.unexpected(what)),
        }
    }

    fn unexpected(&self, wanted: &str) -> CanonicalError {
        let found = match self.text[self.at..].chars().next() {
            Some(found) => format!("{found:?}"),
            None => "the end of the text".to_owned(),
        };
        CanonicalError::new(
            CanonicalErrorKind::Syntax,
            format!("the text is not JSON: expected {wanted}, found {found}"),
        )
        .at(self.at)
    }
}

#[cfg(test)]
mod tests {
    use crate::key::canonical::{CanonicalErrorKind, Mode, from_json};

    #[test]
    fn a_surrogate_without_its_partner_is_refused_where_it_stands() {
        for text in [
            r#"["x\ud800\u0041"]"#,
            r#"["x\ud800\ud800"]"#,
            r#"["x\udbff\ue000"]"#,
            r#"["x\ud800\n"]"#,
        ] {
            let error = from_json(text.as_bytes(), Mode::Key).unwrap_err();
            assert_eq!(
                (error.kind(), error.offset()),
                (CanonicalErrorKind::Encoding, Some(3)),
                "{text}"
            );
            assert_eq!(error.path(), "[0]");
        }
        assert_eq!(
            from_json(br#""\uD83d\uDe00""#, Mode::Key).unwrap(),
            "\"\u{1f600}\"".as_bytes()
        );
    }

    #[test]
    fn an_error_says_what_was_expected_and_found() {
        for (text, reason) in [
            ("", "expected a value, found the end of the text"),
            ("[1 2]", "expected `,` or `]`, found '2'"),
            ("01", "expected the end of the text, found '1'"),
            ("{a:1}", "expected a name in double quotes, found 'a'"),
            ("{\"a\" 1}", "expected `:`, found '1'"),
            ("-x", "expected a digit, found 'x'"),
            ("\"a\tb\"", "control characters are written `\\u00XX`, found '\\t'"),
            ("\"abc", "expected the closing `\"`, found the end of the text"),
            ("\u{feff}{}", "byte order mark"),
        ] {
            let error = from_json(text.as_bytes(), Mode::Key).unwrap_err();
            assert!(error.reason().contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn an_absurd_exponent_is_an_error_and_a_zero_has_none() {
        for text in [
            "1e1000000",
            "-1e-9999999999",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ] {
            let error = from_json(text.as_bytes(), Mode::Fingerprint).unwrap_err();
            assert_eq!(error.kind(), CanonicalErrorKind::NumberOverflow, "{text}");
        }
        assert_eq!(from_json(b"0e99999999999999999999", Mode::Fingerprint).unwrap(), b"0");
        assert_eq!(from_json(b"1e400", Mode::Fingerprint).unwrap(), b"1e+400");
        assert_eq!(from_json(b"1e-400", Mode::Key).unwrap(), b"0");
    }
}
