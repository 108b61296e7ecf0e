//! serde's `rename_all` rules.

/// One of serde's eight rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Rule {
    /// Returns `None` for a rule that serde does not know either.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => return None,
        })
    }

    /// Renames a field, which is taken to be in snake case.
    pub(super) fn field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Pascal => pascal(name),
            Self::Camel => lower_first(&pascal(name)),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// Renames a variant, which is taken to be in pascal case.
    pub(super) fn variant(self, name: &str) -> String {
        match self {
            Self::Pascal => name.to_owned(),
            Self::Lower => name.to_ascii_lowercase(),
            Self::Upper => name.to_ascii_uppercase(),
            Self::Camel => lower_first(name),
            Self::Snake => snake(name),
            Self::ScreamingSnake => snake(name).to_ascii_uppercase(),
            Self::Kebab => snake(name).replace('_', "-"),
            Self::ScreamingKebab => snake(name).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(name: &str) -> String {
    let mut start = true;
    let mut renamed = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '_' {
            start = true;
        } else if std::mem::take(&mut start) {
            renamed.push(c.to_ascii_uppercase());
        } else {
            renamed.push(c);
        }
    }
    renamed
}

fn snake(name: &str) -> String {
    let mut renamed = String::with_capacity(name.len() + 4);
    for (index, c) in name.char_indices() {
        if index > 0 && c.is_uppercase() {
            renamed.push('_');
        }
        renamed.push(c.to_ascii_lowercase());
    }
    renamed
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| {
        std::iter::once(first.to_ascii_lowercase()).chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 8] = [
        "lowercase",
        "UPPERCASE",
        "PascalCase",
        "camelCase",
        "snake_case",
        "SCREAMING_SNAKE_CASE",
        "kebab-case",
        "SCREAMING-KEBAB-CASE",
    ];

    #[test]
    fn fields_are_renamed_as_serde_does() {
        for (name, expected) in [
            (
                "outcome",
                "outcome OUTCOME Outcome outcome outcome OUTCOME outcome OUTCOME",
            ),
            (
                "very_tasty",
                "very_tasty VERY_TASTY VeryTasty veryTasty very_tasty VERY_TASTY very-tasty VERY-TASTY",
            ),
            ("_a__b2", "_a__b2 _A__B2 AB2 aB2 _a__b2 _A__B2 -a--b2 -A--B2"),
        ] {
            let renamed = RULES.map(|rule| Rule::parse(rule).map(|it| it.field(name)).unwrap());
            assert_eq!(renamed.join(" "), expected);
        }
    }

    #[test]
    fn variants_are_renamed_as_serde_does() {
        for (name, expected) in [
            ("A", "a A A a a A a A"),
            (
                "VeryTasty",
                "verytasty VERYTASTY VeryTasty veryTasty very_tasty VERY_TASTY very-tasty VERY-TASTY",
            ),
            ("Z42", "z42 Z42 Z42 z42 z42 Z42 z42 Z42"),
        ] {
            let renamed = RULES.map(|rule| Rule::parse(rule).map(|it| it.variant(name)).unwrap());
            assert_eq!(renamed.join(" "), expected);
        }
    }

    #[test]
    fn an_unknown_rule_is_left_to_serde() {
        assert_eq!(Rule::parse("Camel"), None);
    }
}
