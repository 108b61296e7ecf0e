//! `multipart/*` bodies by their parts, without the boundary that a client draws anew for each attempt.

/// The parts of a body: header block and content of each. `None` where the body is not exactly such parts (RFC 2046,
/// section 5.1), so that nothing in it goes uncompared.
pub(super) fn parts<'b>(boundary: &str, body: &'b [u8]) -> Option<Vec<(&'b [u8], &'b [u8])>> {
    let dash_boundary = format!("--{boundary}").into_bytes();
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    let mut rest = body.strip_prefix(dash_boundary.as_slice())?;
    let mut parts = Vec::new();
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            let is_end = end.is_empty() || end == b"\r\n";
            return (is_end && !parts.is_empty()).then_some(parts);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        let end = find(rest, &delimiter)?;
        let (part, after) = (&rest[..end], &rest[end + delimiter.len()..]);
        let (headers, content) = match part.strip_prefix(b"\r\n") {
            Some(content) => (&part[..0], content),
            None => {
                let blank = find(part, b"\r\n\r\n")?;
                (&part[..blank], &part[blank + 4..])
            }
        };
        parts.push((headers, content));
        rest = after;
    }
}

/// The boundary parameter of a media type.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1).map(str::trim);
    let mut found = parameters.by_ref().filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then_some(value)
    });
    let value = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let value = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value);
    ((1..=70).contains(&value.len()) && !value.contains(['"', '\\', ' '])).then_some(value)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(boundary: &str) -> Vec<u8> {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--{boundary}\r\n\r\ntwo\r\n\r\n--{boundary}--\r\n"
        )
        .into_bytes()
    }

    #[test]
    fn another_boundary_has_the_same_parts() {
        let (x, y) = (body("x"), body("a-longer-one"));
        assert_eq!(parts("x", &x), parts("a-longer-one", &y));
        let parts = parts("x", &x).unwrap();
        assert_eq!(parts[0].1, b"one");
        assert_eq!(parts[1], (&b""[..], &b"two\r\n"[..]));
    }

    #[test]
    fn what_is_not_exactly_its_parts_has_none() {
        let whole = body("x");
        for (what, broken) in [
            ("a preamble", [b"hello\r\n".as_slice(), &whole].concat()),
            ("an epilogue", [whole.as_slice(), b"more"].concat()),
            ("cut short", whole[..whole.len() - 5].to_vec()),
            ("no part", b"--x--".to_vec()),
            ("another boundary", body("y")),
        ] {
            assert_eq!(parts("x", &broken), None, "{what}");
        }
    }

    #[test]
    fn the_boundary_is_read_quoted_or_not() {
        assert_eq!(boundary("multipart/form-data; boundary=abc"), Some("abc"));
        assert_eq!(boundary("multipart/form-data; charset=x; Boundary=\"a b\""), None);
        assert_eq!(boundary("multipart/form-data; boundary=\"ab\"; x=y"), Some("ab"));
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary("multipart/form-data; boundary=a; boundary=b"), None);
    }
}
