//! Members of a JSON body that a repeat may have otherwise.

use idem_core::canonical::{self, Mode};

/// A JSON Pointer (RFC 6901) into a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(Vec<Token>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    /// As a member's name is written in canonical form, quotes included.
    name: Vec<u8>,
    /// Where the token can be the index of an element.
    index: Option<usize>,
}

impl Pointer {
    /// Reads a pointer; what is wrong with it, if something is.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err("a JSON Pointer to a part of a body begins with `/`");
        };
        rest.split('/').map(Token::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl Token {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut name = String::new();
        let mut rest = text;
        while let Some((plain, escaped)) = rest.split_once('~') {
            name.push_str(plain);
            match escaped.as_bytes().first() {
                Some(b'0') => name.push('~'),
                Some(b'1') => name.push('/'),
                _ => return Err("in a JSON Pointer `~` is followed by `0` or `1`"),
            }
            rest = &escaped[1..];
        }
        name.push_str(rest);
        let is_index = name == "0"
            || (!name.is_empty() && !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit()));
        Ok(Self {
            index: is_index.then(|| name.parse().ok()).flatten(),
            name: canonical::to_vec(&name, Mode::Form).map_err(|_| "a name in a JSON Pointer is too long")?,
        })
    }
}

/// Takes the members and elements that the pointers name out of a canonical form. A member goes with its name; in place of
/// an element `null` remains, so that the others keep their places.
pub(crate) fn without(form: &[u8], pointers: &[Pointer]) -> Vec<u8> {
    let pointers: Vec<&[Token]> = pointers.iter().map(|pointer| pointer.0.as_slice()).collect();
    let mut copy = Copy {
        form,
        at: 0,
        out: Vec::with_capacity(form.len()),
    };
    copy.value(&pointers);
    copy.out
}

/// Reads a canonical form, which has no space and is known to be well-formed.
struct Copy<'f> {
    form: &'f [u8],
    at: usize,
    out: Vec<u8>,
}

impl Copy<'_> {
    /// Copies one value; `pointers` are what is left of those that lead here.
    fn value(&mut self, pointers: &[&[Token]]) {
        match self.form.get(self.at) {
            Some(b'{') if !pointers.is_empty() => self.object(pointers),
            Some(b'[') if !pointers.is_empty() => self.array(pointers),
            _ => {
                let start = self.at;
                self.skip();
                self.out.extend_from_slice(&self.form[start..self.at]);
            }
        }
    }

    fn object(&mut self, pointers: &[&[Token]]) {
        self.out.push(b'{');
        self.at += 1;
        let mut first = true;
        while self.form.get(self.at).is_some_and(|byte| *byte != b'}') {
            let start = self.at;
            self.skip_string();
            let name = &self.form[start..self.at];
            self.at += 1;
            let (ends, below) = below(pointers, |token| token.name == name);
            if ends {
                self.skip();
            } else {
                if !first {
                    self.out.push(b',');
                }
                first = false;
                self.out.extend_from_slice(name);
                self.out.push(b':');
                self.value(&below);
            }
            self.at += usize::from(self.form.get(self.at) == Some(&b','));
        }
        self.out.push(b'}');
        self.at += 1;
    }

    fn array(&mut self, pointers: &[&[Token]]) {
        self.out.push(b'[');
        self.at += 1;
        let mut index = 0;
        while self.form.get(self.at).is_some_and(|byte| *byte != b']') {
            if index > 0 {
                self.out.push(b',');
            }
            let (ends, below) = below(pointers, |token| token.index == Some(index));
            if ends {
                self.skip();
                self.out.extend_from_slice(b"null");
            } else {
                self.value(&below);
            }
            index += 1;
            self.at += usize::from(self.form.get(self.at) == Some(&b','));
        }
        self.out.push(b']');
        self.at += 1;
    }

    /// Passes one value.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.form.get(self.at) {
            match byte {
                b'"' => {
                    self.skip_string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b',' if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.form.get(self.at) {
            self.at += match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => 2,
                _ => 1,
            };
        }
    }
}

/// What is left of the pointers whose next token fits; whether one ends here.
fn below<'p>(pointers: &[&'p [Token]], fits: impl Fn(&Token) -> bool) -> (bool, Vec<&'p [Token]>) {
    let mut ends = false;
    let mut below = Vec::new();
    for pointer in pointers {
        if let Some((token, rest)) = pointer.split_first()
            && fits(token)
        {
            ends |= rest.is_empty();
            below.push(rest);
        }
    }
    (ends, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(json: &str, pointers: &[&str]) -> String {
        let form = canonical::from_json(json.as_bytes(), Mode::Fingerprint).unwrap();
        let pointers: Vec<_> = pointers.iter().map(|text| Pointer::parse(text).unwrap()).collect();
        String::from_utf8(without(&form, &pointers)).unwrap()
    }

    #[test]
    fn members_go_with_their_names_and_elements_leave_null() {
        let json = r#"{"a":1,"at":"x","items":[{"id":1,"at":2},{"id":2,"at":3},"x"],"z":{}}"#;
        assert_eq!(
            left(json, &[]),
            r#"{"a":1,"at":"x","items":[{"at":2,"id":1},{"at":3,"id":2},"x"],"z":{}}"#
        );
        assert_eq!(
            left(json, &["/at", "/items/0/at", "/items/2", "/z"]),
            r#"{"a":1,"items":[{"id":1},{"at":3,"id":2},null]}"#
        );
        assert_eq!(left(json, &["/items", "/items/0/at"]), r#"{"a":1,"at":"x","z":{}}"#);
        assert_eq!(
            left(json, &["/nowhere", "/a/b", "/items/9", "/items/00"]),
            left(json, &[])
        );
        assert_eq!(left(json, &["/a", "/at", "/items", "/z"]), "{}");
        assert_eq!(left("[1,[2,3]]", &["/1/0"]), "[1,[null,3]]");
        assert_eq!(left("7", &["/a"]), "7");
    }

    #[test]
    fn names_are_compared_as_they_are_meant() {
        let json = r#"{"a/b":1,"m~n":2,"q\"":3,"é{":4,"":5,"0":6}"#;
        assert_eq!(left(json, &["/a~1b", "/m~0n", "/q\"", "/é{", "/", "/0"]), "{}");
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        assert!(Pointer::parse("").is_err());
        assert!(Pointer::parse("a").is_err());
        assert!(Pointer::parse("/a~2").is_err());
        assert!(Pointer::parse("/a~").is_err());
    }
}
