//! What the documents say of the layer's answers.

use idem::tower::ProblemKind;

use crate::stage::*;

const OPENAPI: &str = include_str!("../../../../docs/openapi.yaml");
const GUIDE: &str = include_str!("../../../../docs/http.md");
const KINDS: &str = include_str!("../../../../idem-tower/src/problem.rs");
const BUILDER: &str = include_str!("../../../../idem-tower/src/builder.rs");

/// The lines below the one that is `name:`, as far as they are indented deeper.
fn below<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim().strip_suffix(':') != Some(name));
    let depth = indent(lines.next().unwrap_or_else(|| panic!("no `{name}:`")));
    lines.take_while(|line| indent(line) > depth).map(str::trim).collect()
}

#[test]
fn each_problem_has_its_example_in_the_openapi_components() {
    for kind in ProblemKind::ALL {
        let example = below(OPENAPI, kind.slug());
        let code = kind.slug().replace('-', "_");
        for line in [
            format!("status: {}", kind.status().as_u16()),
            format!("code: {code}"),
            format!("title: {}", kind.title()),
            format!("retryable: {}", kind.is_retryable()),
        ] {
            assert!(example.contains(&line.as_str()), "{line}: {example:?}");
        }
        assert!(example.iter().any(|line| line.ends_with(&format!("#{}", kind.slug()))));
        let has_time = example.iter().any(|line| line.starts_with("retry_after: "));
        assert_eq!(has_time, kind.is_retryable(), "{example:?}");
        let codes = below(OPENAPI, "code");
        assert!(codes.contains(&format!("- {code}").as_str()), "{codes:?}");
    }
    let codes = below(OPENAPI, "code");
    let codes: Vec<_> = codes.iter().filter_map(|line| line.strip_prefix("- ")).collect();
    assert_eq!(codes.len(), ProblemKind::ALL.len() + 1, "{codes:?}");
    assert!(codes.contains(&"internal"));
    assert_eq!(
        OPENAPI.matches("retryable: ").count(),
        ProblemKind::ALL.len(),
        "an example of no kind"
    );
}

#[test]
fn the_responses_are_those_of_every_status() {
    for kind in ProblemKind::ALL {
        let status = kind.status().as_u16();
        let reference = below(OPENAPI, &format!("'{status}'")).concat();
        let (_, name) = reference.rsplit_once('/').expect("a reference");
        let response = below(OPENAPI, name.trim_end_matches('\''));
        assert!(
            response.contains(&format!("{}:", kind.slug()).as_str()),
            "{name} has no {kind:?}"
        );
    }
}

#[tokio::test]
async fn the_example_is_what_is_sent() {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, created).await;
    let problem = service.post("/x").send().await.problem("key-missing", 400);
    let example = below(OPENAPI, "key-missing");
    for member in ["type", "title", "detail", "code"] {
        let line = format!("{member}: {}", problem[member].as_str().unwrap());
        assert!(example.contains(&line.as_str()), "{line}: {example:?}");
    }
    assert_eq!(
        problem.as_object().unwrap().len(),
        below(OPENAPI, "key-missing").len() - 1
    );
}

#[test]
fn the_guide_has_each_problem_with_its_status() {
    for kind in ProblemKind::ALL {
        let row = format!("| `{}` | {} |", kind.slug(), kind.status().as_u16());
        assert!(GUIDE.contains(&row), "docs/http.md has no row that begins with {row}");
    }
}

/// Problem types point there.
#[test]
fn each_problem_has_a_section_in_its_type() {
    for kind in ProblemKind::ALL {
        let heading = format!("\n/// ### {}\n", kind.slug());
        assert_eq!(KINDS.matches(&heading).count(), 1, "{heading}");
    }
}

#[test]
fn the_guide_has_each_setting() {
    let settings = below_heading(GUIDE, "## Settings");
    let names = BUILDER
        .split("\n    pub fn ")
        .skip(1)
        .map(|rest| rest.split(['(', '<']).next().unwrap_or_default());
    let names: Vec<_> = names.filter(|name| *name != "build").collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(settings.contains(&format!("`{name}`")), "docs/http.md has no `{name}`");
    }
}

fn below_heading<'t>(text: &'t str, heading: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).expect("the heading");
    rest.split("\n## ").next().unwrap_or(rest)
}
