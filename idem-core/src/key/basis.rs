//! What a decision rests on, when that is not part of its key.

use serde::{Deserialize, Serialize};

use super::{Digest, Model};

/// Model, prompt, snapshot and policy behind an effect, and who approved it: for the ledger, never for the key.
///
/// On the wire its names are in camel case, as in [`Decision`](super::Decision).
///
/// # Examples
///
/// ```
/// use idem_core::{Basis, Digest, Model};
///
/// let basis = Basis {
///     model: Model::try_new("gpt-x", "2026-08-14")?,
///     prompt_template_sha256: Digest::of("You are …"),
///     retrieval_snapshot_id: None,
///     policy_version: "30".into(),
///     approver: Some("ada".into()),
/// };
/// assert_eq!(basis.model.version(), "2026-08-14");
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    /// Which model decided.
    pub model: Model,
    /// The SHA-256 of the prompt template.
    pub prompt_template_sha256: Digest,
    /// What was retrieved, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval_snapshot_id: Option<String>,
    /// Under which policy.
    pub policy_version: String,
    /// Who approved it, if anyone did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}
