//! Which model decided.

use serde::{Deserialize, Serialize};

use super::canonical::{CanonicalError, CanonicalWriter};
use super::{KeyError, KeyErrorKind, KeyField, Shape};

/// A model at a pinned version.
///
/// The version must name the same model for ever: `latest` and its like would put two models under one key.
///
/// # Examples
///
/// ```
/// use idem_core::Model;
///
/// let model = Model::try_new("gpt-x", "2026-08-14")?;
/// assert_eq!(model.version(), "2026-08-14");
/// assert!(Model::try_new("gpt-x", "latest").is_err());
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Model {
    id: String,
    version: String,
}

impl Model {
    /// Creates a model.
    ///
    /// # Errors
    ///
    /// When the id is empty, or the version is empty or floats (`latest`, `stable`, `default`, `gpt-x-latest`, …).
    pub fn try_new(id: impl Into<String>, version: impl Into<String>) -> Result<Self, KeyError> {
        let (id, version) = (id.into(), version.into());
        if id.trim().is_empty() {
            return Err(KeyError::malformed("a model has an id: name the model").at("model.id"));
        }
        if is_floating(&version) {
            return Err(KeyError::new(
                KeyErrorKind::FloatingVersion,
                "model.version",
                format!(
                    "the version {version:?} names another model tomorrow: give the dated version or digest that the \
                     provider answered with"
                ),
            ));
        }
        Ok(Self { id, version })
    }

    /// Returns the model's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the pinned version.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl KeyField for Model {
    const SHAPE: Shape = Shape::object([("id", Shape::text()), ("version", Shape::text())]);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.object(|members| {
            members.key("id", &self.id)?;
            members.key("version", &self.version)
        })
    }
}

fn is_floating(version: &str) -> bool {
    let version = version.trim().to_ascii_lowercase();
    let last = version
        .rsplit(['-', '_', '.', ':', '@', '/', ' '])
        .next()
        .unwrap_or_default();
    last == "latest" || FLOATING.contains(&version.as_str())
}

#[derive(Deserialize)]
struct Unchecked {
    id: String,
    version: String,
}

impl TryFrom<Unchecked> for Model {
    type Error = KeyError;

    fn try_from(unchecked: Unchecked) -> Result<Self, KeyError> {
        Self::try_new(unchecked.id, unchecked.version)
    }
}

/// Words that name a channel or nothing at all. Ends in `latest` is told apart above.
const FLOATING: [&str; 34] = [
    "",
    "*",
    "-",
    "?",
    "alpha",
    "any",
    "auto",
    "beta",
    "canary",
    "current",
    "default",
    "dev",
    "edge",
    "experimental",
    "head",
    "live",
    "main",
    "master",
    "n/a",
    "newest",
    "nightly",
    "none",
    "null",
    "preview",
    "prod",
    "production",
    "recent",
    "release",
    "rolling",
    "stable",
    "tip",
    "trunk",
    "undefined",
    "unknown",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_versions_are_refused() {
        for floating in [
            "",
            " ",
            "latest",
            "Latest",
            " LATEST ",
            "stable",
            "default",
            "current",
            "preview",
            "gpt-x-latest",
            "v2:latest",
            "x@latest",
        ] {
            let error = Model::try_new("m", floating).unwrap_err();
            assert_eq!(
                (error.kind(), error.path()),
                (KeyErrorKind::FloatingVersion, "model.version"),
                "{floating}"
            );
        }
        for pinned in ["2026-08-14", "v1", "20260814-preview", "sha256:00", "latest-2026"] {
            assert!(Model::try_new("m", pinned).is_ok(), "{pinned}");
        }
    }

    #[test]
    fn deserialisation_validates() {
        assert!(serde_json::from_str::<Model>(r#"{"id":"m","version":"latest"}"#).is_err());
        assert!(serde_json::from_str::<Model>(r#"{"id":"m","version":"2"}"#).is_ok());
    }
}
