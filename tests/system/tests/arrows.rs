//! What each crate may depend on. A new arrow is a decision, to be made here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What a crate's `[dependencies]` may name: always, and behind a feature that is not a default one.
struct Arrows {
    always: &'static [&'static str],
    by_feature: &'static [&'static str],
}

fn allowed(package: &str) -> Option<Arrows> {
    let (always, by_feature): (&[&str], &[&str]) = match package {
        "idem-rs" => (
            &["idem-core", "idem-macros"],
            &["idem-sqlx", "idem-tower", "idem-redis"],
        ),
        "idem-core" => (
            &[
                "getrandom",
                "itoa",
                "ryu-js",
                "serde",
                "serde_json",
                "sha2",
                "subtle",
                "thiserror",
                "tokio",
                "tracing",
                "uuid",
            ],
            &[
                "chacha20poly1305",
                "chrono",
                "jiff",
                "metrics",
                "rust_decimal",
                "schemars",
                "time",
                "ulid",
            ],
        ),
        "idem-macros" => (&["proc-macro2", "quote", "syn"], &[]),
        "idem-sqlx" => (&["idem-core", "sqlx", "sqlx-core", "tokio"], &[]),
        // Bodies and headers are read by well-kept parsers (`base64`, `percent-encoding`, `sfv`), the work of a request
        // outlives its connection in a task (`tokio`). `axum` rather than `axum-core`: only it knows a request's
        // original path and its route.
        "idem-tower" => (
            &[
                "base64",
                "bytes",
                "http",
                "http-body",
                "http-body-util",
                "idem-core",
                "percent-encoding",
                "pin-project-lite",
                "serde",
                "serde_json",
                "sfv",
                "sha2",
                "tokio",
                "tower-layer",
                "tower-service",
                "tracing",
                "uuid",
            ],
            &["axum", "tonic"],
        ),
        _ => return None,
    };
    Some(Arrows { always, by_feature })
}

/// Depend on anything, and nothing depends on them.
const LEAVES: [&str; 2] = ["examples/", "tests/"];

#[test]
fn each_crate_depends_only_on_what_it_may() {
    let mut wrong = Vec::new();
    for package in workspace() {
        let Some(arrows) = allowed(&package.name) else {
            if !LEAVES.iter().any(|leaf| package.folder.starts_with(leaf)) {
                wrong.push(format!(
                    "{} is a crate whose arrows are not written down here",
                    package.name
                ));
            }
            continue;
        };
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != Kind::Dev)
        {
            let name = dependency.name.as_str();
            let by_feature = arrows.by_feature.contains(&name) && dependency.optional;
            if !arrows.always.contains(&name) && !by_feature {
                let optional = if dependency.optional { " (optional)" } else { "" };
                wrong.push(format!(
                    "{} -> {name}{optional} is not an arrow of the workspace",
                    package.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_depends_on_tests_and_examples() {
    let packages = workspace();
    let leaves: BTreeSet<&str> = packages
        .iter()
        .filter(|package| allowed(&package.name).is_none())
        .map(|package| package.name.as_str())
        .collect();
    assert!(!leaves.is_empty());
    for package in &packages {
        let found = package
            .dependencies
            .iter()
            .find(|dependency| leaves.contains(dependency.name.as_str()));
        assert!(found.is_none(), "{} depends on {found:?}", package.name);
    }
}

#[test]
fn default_features_are_macros_for_the_facade_and_nothing_elsewhere() {
    for package in workspace().iter().filter(|package| allowed(&package.name).is_some()) {
        let expected: &[&str] = if package.name == "idem-rs" { &["macros"] } else { &[] };
        assert_eq!(
            package.default_features, expected,
            "default features of {}",
            package.name
        );
    }
}

#[test]
fn a_library_crate_takes_others_of_the_workspace_without_their_default_features() {
    for package in workspace().iter().filter(|package| allowed(&package.name).is_some()) {
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind == Kind::Normal)
        {
            if dependency.name.starts_with("idem-") && dependency.name != "idem-macros" {
                assert!(!dependency.default_features, "{} -> {}", package.name, dependency.name);
            }
        }
    }
}

#[test]
fn core_and_the_facade_by_default_bring_no_http_and_no_sql() {
    for (package, features) in [("idem-core", "testing"), ("idem-rs", "default")] {
        let tree = tree(package, features);
        assert!(tree.contains("sha2"), "the tree of {package} was read: {tree:?}");
        for banned in [
            "axum",
            "http",
            "hyper",
            "libsqlite3-sys",
            "openssl-sys",
            "ring",
            "rustls",
            "sqlx",
            "sqlx-core",
            "tower",
        ] {
            assert!(!tree.contains(banned), "{package} brings {banned}");
        }
    }
}

#[test]
fn one_driver_does_not_bring_the_other() {
    let (postgres, sqlite) = (tree("idem-rs", "postgres"), tree("idem-rs", "sqlite"));
    assert!(
        postgres.contains("sqlx-postgres") && !postgres.contains("sqlx-sqlite"),
        "{postgres:?}"
    );
    assert!(
        sqlite.contains("sqlx-sqlite") && !sqlite.contains("sqlx-postgres"),
        "{sqlite:?}"
    );
}

struct Package {
    name: String,
    /// Relative to the workspace.
    folder: String,
    default_features: Vec<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    kind: Kind,
    optional: bool,
    default_features: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

fn workspace() -> Vec<Package> {
    let text = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&text).expect("cargo metadata writes JSON");
    let root = format!("{}/", text_of(&metadata["workspace_root"]));
    let packages = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| package_of(package, &root));
    packages.collect()
}

fn package_of(package: &Value, root: &str) -> Package {
    let mut features: BTreeMap<String, Vec<String>> =
        serde_json::from_value(package["features"].clone()).expect("features");
    let dependencies = package["dependencies"]
        .as_array()
        .expect("dependencies")
        .iter()
        .map(|dependency| Dependency {
            name: text_of(&dependency["name"]),
            kind: match dependency["kind"].as_str() {
                None => Kind::Normal,
                Some("build") => Kind::Build,
                Some("dev") => Kind::Dev,
                Some(other) => panic!("a kind of dependency that this test does not know: {other}"),
            },
            optional: dependency["optional"].as_bool().expect("optional"),
            default_features: dependency["uses_default_features"]
                .as_bool()
                .expect("uses_default_features"),
        });
    Package {
        name: text_of(&package["name"]),
        folder: text_of(&package["manifest_path"])
            .strip_prefix(root)
            .expect("a member below the root")
            .to_owned(),
        default_features: features.remove("default").unwrap_or_default(),
        dependencies: dependencies.collect(),
    }
}

/// The crates that a package brings to whoever depends on it with these features.
fn tree(package: &str, features: &str) -> BTreeSet<String> {
    let features: &[&str] = if features == "default" {
        &[]
    } else {
        &["--no-default-features", "--features", features]
    };
    let arguments = [
        "tree", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}",
    ];
    let lines = cargo(&[&arguments[..], features].concat());
    lines
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// What cargo prints. The lock file stands and the packages are here, since this test was built from them.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .args([
            "--offline",
            "--locked",
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"),
        ])
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
