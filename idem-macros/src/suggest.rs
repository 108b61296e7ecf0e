//! "Did you mean" and lists of names for messages.

/// Returns the candidate nearest to `word`, if one is near enough to be meant.
///
/// Near enough is one edit for each three characters of the longer name, at least one;
/// names that differ only in letter case and underscores are always near enough, and so is
/// the only name that begins or ends with `word`.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    candidates
        .clone()
        .into_iter()
        .filter_map(|candidate| {
            let distance = if folded(word) == folded(candidate) {
                0
            } else {
                distance(word, candidate)
            };
            let longer = word.chars().count().max(candidate.chars().count());
            (distance <= (longer / 3).max(1)).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
        .or_else(|| part_of_one(word, candidates))
}

/// `case` for `case_id`; two letters or fewer are part of too many names.
fn part_of_one<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word);
    let mut longer = candidates
        .into_iter()
        .filter(|it| folded(it).starts_with(&word) || folded(it).ends_with(&word));
    match (longer.next(), longer.next()) {
        (Some(one), None) if word.len() > 2 => Some(one),
        _ => None,
    }
}

/// Writes names as `` `a`, `b` and `c` ``.
pub(crate) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Makes `case_id`, `caseId` and `case-id` one.
pub(crate) fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Counts the insertions, removals, replacements and swaps of neighbours between two words
/// (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut cost = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_each_kind_of_edit_once() {
        for (from, to, expected) in [
            ("", "", 0),
            ("key", "key", 0),
            ("", "key", 3),
            ("case_id", "caseid", 1),
            ("tenatn", "tenant", 1),
            ("kay", "key", 1),
            ("payloads", "payload", 1),
            ("äb", "ab", 1),
        ] {
            assert_eq!(distance(from, to), expected, "{from} -> {to}");
            assert_eq!(distance(to, from), expected, "{to} -> {from}");
        }
    }

    #[test]
    fn nearest_finds_what_was_meant_and_nothing_else() {
        let fields = ["tenant", "case_id", "refund_no", "amount_cents"];
        assert_eq!(nearest("caseid", fields), Some("case_id"));
        assert_eq!(nearest("refundNo", fields), Some("refund_no"));
        assert_eq!(nearest("tennat", fields), Some("tenant"));
        assert_eq!(nearest("case", fields), Some("case_id"));
        assert_eq!(nearest("currency", fields), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn lists_read_like_prose() {
        assert_eq!(listed::<&str>([]), "");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
