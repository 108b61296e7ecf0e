use std::borrow::Cow;

use percent_encoding::percent_decode;

/// A name and its value.
type Pair<'q> = (Cow<'q, [u8]>, Cow<'q, [u8]>);

/// The pairs of a query as a form is read (WHATWG URL: `+` is a space, percent escapes are decoded, nothing is refused),
/// sorted by name. Repeats of a name keep their order.
pub(super) fn pairs(query: &str) -> Vec<Pair<'_>> {
    let mut pairs: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect();
    // Stable.
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    pairs
}

/// As bytes: what is no UTF-8 must not become the same replacement character.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return percent_decode(spaced.as_bytes()).collect::<Vec<u8>>().into();
    }
    percent_decode(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        pairs(a) == pairs(b)
    }

    #[test]
    fn order_of_names_does_not_count_and_order_of_repeats_does() {
        assert!(same("b=2&a=1", "a=1&b=2"));
        assert!(!same("v=1&v=2", "v=2&v=1"));
        assert!(same("v=1&w=0&v=2", "v=1&v=2&w=0"));
        assert!(!same("A=1", "a=1"));
    }

    #[test]
    fn decoded_values_are_compared() {
        assert!(same("q=%7e", "q=~"));
        assert!(same("q=a+b", "q=a%20b"));
        assert!(!same("q=a+b", "q=a%2Bb"));
        assert!(!same("q=%FF", "q=%FE"), "no two byte strings become one");
        assert!(!same("q=%2", "q=2"));
        assert!(!same("a=1%262", "a=1&2"));
    }
}
