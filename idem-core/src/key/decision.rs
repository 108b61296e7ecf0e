//! A decision of a model, identified by all that it rests on.

use serde::{Deserialize, Serialize};

use super::canonical::{self, CanonicalError, CanonicalWriter, Members, Mode};
use super::{
    Basis, Digest, FromType, Idempotent, IdempotentFields, KeyError, KeyField, KeySchema, KeyTenant, Model, Params,
    Shape, Tenant, TenantKnown, TenantSource, subject_text,
};

/// A decision whose key covers model, prompt, snapshot and policy, so that another model's proposal is another
/// decision. A [`Place`](super::Place) then says whether it may have a second effect.
///
/// On the wire its names are in camel case, as in `promptTemplateSha256`; every field is part of the key.
///
/// # Examples
///
/// ```
/// use idem_core::{Decision, Digest, IdempotencyKey, Model, Subject, Tenant};
/// use serde_json::json;
///
/// let decision = Decision {
///     tenant_id: Tenant::parse("acme")?,
///     subject: Subject { kind: "customer".into(), id: "c-7".into() },
///     action: "credit.limit.increase".into(),
///     params: json!({ "limit": 5000 }).into(),
///     model: Model::try_new("gpt-x", "2026-08-14")?,
///     prompt_template_sha256: Digest::of("You are …"),
///     retrieval_snapshot_id: Some("snap-1".into()),
///     policy_version: "30".into(),
/// };
/// assert!(IdempotencyKey::derive(&decision)?.as_str().starts_with("dk_acme_"));
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decision {
    /// Whose decision it is.
    pub tenant_id: Tenant,
    /// Whom or what it concerns.
    pub subject: Subject,
    /// What is to be done.
    pub action: String,
    /// With which arguments.
    pub params: Params,
    /// Which model decided.
    pub model: Model,
    /// The SHA-256 of the prompt template.
    pub prompt_template_sha256: Digest,
    /// What was retrieved, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval_snapshot_id: Option<String>,
    /// Under which policy.
    pub policy_version: String,
}

impl Decision {
    /// Reads a decision from JSON text, as strictly as a key demands.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, names a member twice, holds a number that a key refuses, or is no decision.
    pub fn from_json(text: &[u8]) -> Result<Self, KeyError> {
        let form = canonical::from_json(text, Mode::Key)?;
        // In builds that keep literals serde_json reads such an object as a number, and two decisions would be one. In a
        // canonical form an unescaped quote ends a string, so this finds names only.
        if form.windows(NUMBER.len()).any(|window| window == NUMBER) {
            return Err(KeyError::malformed(
                "a name that serde_json keeps for itself: rename the member",
            ));
        }
        serde_json::from_slice(&form).map_err(|error| KeyError::malformed(&error.to_string()))
    }
}

impl IdempotentFields for Decision {
    const KEY_SCHEMA: KeySchema = KeySchema::new(
        None,
        KeyTenant::Field("tenantId"),
        [
            ("action", Shape::text()),
            ("model", Model::SHAPE),
            ("params", Shape::scalar("json")),
            ("policyVersion", Shape::text()),
            ("promptTemplateSha256", Digest::SHAPE),
            ("retrievalSnapshotId", Shape::optional(Shape::text())),
            ("subject", Subject::SHAPE),
            ("tenantId", Tenant::SHAPE),
        ],
    );

    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::Field {
            path: "tenantId",
            text: self.tenant_id.as_str(),
        }
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("action", &self.action)?;
        out.key("model", &self.model)?;
        out.value("params", &self.params)?;
        out.key("policyVersion", &self.policy_version)?;
        out.key("promptTemplateSha256", &self.prompt_template_sha256)?;
        out.key("retrievalSnapshotId", &self.retrieval_snapshot_id)?;
        out.key("subject", &self.subject)?;
        out.tenant("tenantId", &self.tenant_id)
    }

    fn payload_members(&self, _: &mut Members<'_>) -> Result<(), CanonicalError> {
        Ok(())
    }

    /// The ledger answers by model, prompt, snapshot and policy, whichever way they came in.
    fn basis_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        let basis = Basis {
            model: self.model.clone(),
            prompt_template_sha256: self.prompt_template_sha256,
            retrieval_snapshot_id: self.retrieval_snapshot_id.clone(),
            policy_version: self.policy_version.clone(),
            approver: None,
        };
        out.value("decision", &basis)
    }

    fn subject(&self) -> Result<Option<String>, CanonicalError> {
        subject_text("subject", &self.subject)
    }
}

impl Idempotent for Decision {
    const ACTION_IS_IMPLIED: bool = false;

    fn action(&self) -> &str {
        &self.action
    }
}

impl TenantKnown<FromType> for Decision {}

/// Whom or what a decision concerns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// What it is: `customer`, `order`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which one.
    pub id: String,
}

impl KeyField for Subject {
    const SHAPE: Shape = Shape::object([("id", Shape::text()), ("type", Shape::text())]);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.object(|members| {
            members.key("id", &self.id)?;
            members.key("type", &self.kind)
        })
    }
}

const NUMBER: &[u8] = br#""$serde_json::private::Number":"#;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wire() -> serde_json::Value {
        json!({
            "tenantId": "acme",
            "subject": { "type": "customer", "id": "c-7" },
            "action": "limit.raise",
            "params": { "limit": 5000 },
            "model": { "id": "gpt-x", "version": "2026-08-14" },
            "promptTemplateSha256": Digest::of(""),
            "policyVersion": "30",
        })
    }

    #[test]
    fn a_decision_is_read_strictly() {
        assert!(Decision::from_json(wire().to_string().as_bytes()).is_ok());
        for (name, value) in [
            ("tenantId", json!("a b")),
            ("tenantId", json!(null)),
            ("model", json!({ "id": "gpt-x", "version": "latest" })),
            ("params", json!({ "account": 9_007_199_254_740_993_u64 })),
            ("params", json!({ "$serde_json::private::Number": "1" })),
            ("promptTemplateSha256", json!("sha256:00")),
            ("policy_version", json!("30")),
        ] {
            let mut wire = wire();
            wire[name] = value;
            assert!(Decision::from_json(wire.to_string().as_bytes()).is_err(), "{wire}");
        }
        let twice = wire().to_string().replacen('{', r#"{"policyVersion":"31","#, 1);
        assert_eq!(
            Decision::from_json(twice.as_bytes()).unwrap_err().path(),
            "policyVersion"
        );
    }

    #[test]
    fn every_field_is_key_and_the_basis_is_on_record() {
        let derived = |wire: serde_json::Value| {
            let decision = Decision::from_json(wire.to_string().as_bytes()).unwrap();
            super::super::derive(&decision, None).unwrap()
        };
        let first = derived(wire());
        for (name, value) in [
            ("tenantId", json!("globex")),
            ("subject", json!({ "type": "customer", "id": "c-8" })),
            ("action", json!("limit.lower")),
            ("params", json!({ "limit": 5001 })),
            ("model", json!({ "id": "gpt-x", "version": "2026-08-15" })),
            ("promptTemplateSha256", json!(Digest::of("x"))),
            ("retrievalSnapshotId", json!("snap-1")),
            ("policyVersion", json!("31")),
        ] {
            let mut other = wire();
            other[name] = value;
            assert_ne!(derived(other).key, first.key, "{name}");
        }
        let basis: serde_json::Value = serde_json::from_str(first.basis.as_deref().unwrap()).unwrap();
        let basis: Basis = serde_json::from_value(basis["decision"].clone()).unwrap();
        assert_eq!(
            (basis.model.version(), basis.policy_version.as_str()),
            ("2026-08-14", "30")
        );
    }
}
