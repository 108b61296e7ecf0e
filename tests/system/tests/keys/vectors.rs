//! The vectors as they stand in the files.

use idem_core::canonical::{self, CanonicalErrorKind, CanonicalWriter, Members, Mode};
use idem_core::{
    CanonicalError, ClientKey, Decision, Digest, IdempotencyKey, Idempotent, IdempotentFields, KeyField, Params, Place,
    Tenant, TenantSource, derive,
};
use serde_json::Value;

use crate::{rows, text};

const JCS: &str = include_str!("../../../../idem-core/vectors/jcs.jsonl");
const KEYS: &str = include_str!("../../../../idem-core/vectors/keys.jsonl");

#[test]
fn all_vectors_have_the_agreed_form_digest_and_key() {
    let vectors = rows(JCS);
    assert_eq!(vectors.len(), 278);
    for vector in vectors {
        let (name, input, form) = (
            text(&vector, "name"),
            text(&vector, "input").as_bytes(),
            text(&vector, "canonical"),
        );
        assert_eq!(
            canonical::from_json(input, Mode::Form).unwrap(),
            form.as_bytes(),
            "{name}"
        );
        assert_eq!(Digest::of(form).to_string(), text(&vector, "sha256"), "{name}");
        let expected: IdempotencyKey = text(&vector, "key").parse().unwrap();
        let key = IdempotencyKey::from_json(expected.tenant(), input);
        if name.ends_with("~big-integral") {
            let error = canonical::from_json(input, Mode::Key).unwrap_err();
            assert_eq!(error.kind(), CanonicalErrorKind::IntegerOutOfRange, "{name}");
            assert!(key.is_err(), "{name}");
        } else {
            assert_eq!(
                canonical::from_json(input, Mode::Key).unwrap(),
                form.as_bytes(),
                "{name}"
            );
            assert_eq!(key.unwrap(), expected, "{name}");
        }
    }
}

#[test]
fn a_vector_has_the_same_form_through_serde() {
    for vector in rows(JCS) {
        let value: Value = serde_json::from_str(text(&vector, "input")).unwrap();
        let form = text(&vector, "canonical").as_bytes();
        assert_eq!(
            canonical::to_vec(&value, Mode::Form).unwrap(),
            form,
            "{}",
            vector["name"]
        );
        match text(&vector, "name").ends_with("~big-integral") {
            true => assert!(canonical::to_vec(&value, Mode::Key).is_err(), "{}", vector["name"]),
            false => assert_eq!(
                canonical::to_vec(&value, Mode::Key).unwrap(),
                form,
                "{}",
                vector["name"]
            ),
        }
    }
}

#[test]
fn a_canonical_form_is_its_own_canonical_form() {
    for vector in rows(JCS)
        .iter()
        .filter(|vector| !text(vector, "name").ends_with("~big-integral"))
    {
        let form = text(vector, "canonical").as_bytes();
        assert_eq!(
            canonical::from_json(form, Mode::Key).unwrap(),
            form,
            "{}",
            vector["name"]
        );
    }
}

#[test]
fn identifiers_for_other_systems_follow_their_formulas() {
    for row in of_kind("downstream") {
        let key: IdempotencyKey = text(&row, "key").parse().unwrap();
        let generation = u32::try_from(row["generation"].as_u64().unwrap()).unwrap();
        assert_eq!(key.tenant().as_str(), text(&row, "tenant"));
        assert_eq!(key.to_uuid().to_string(), text(&row, "to_uuid"));
        assert_eq!(key.row_id(generation).to_string(), text(&row, "row_id"));
        assert_eq!(key.downstream_key(generation).to_string(), text(&row, "downstream_key"));
        assert_eq!(
            key.child(generation, text(&row, "name")).to_string(),
            text(&row, "child")
        );
    }
}

#[test]
fn client_keys_and_opaque_tenants_follow_their_formulas() {
    for row in of_kind("client") {
        let tenant = Tenant::parse(text(&row, "tenant")).unwrap();
        assert_eq!(
            ClientKey::parse(text(&row, "client_key"))
                .unwrap()
                .under(&tenant)
                .as_str(),
            text(&row, "key")
        );
    }
    for row in of_kind("opaque") {
        assert_eq!(Tenant::opaque(text(&row, "principal")).as_str(), text(&row, "tenant"));
    }
}

#[test]
fn keys_fingerprints_and_places_follow_their_formulas() {
    for row in of_kind("input") {
        let derived = derive(&Row(&row), Some(&Tenant::parse(text(&row, "tenant")).unwrap())).unwrap();
        assert_eq!(String::from_utf8(derived.preimage).unwrap(), text(&row, "preimage"));
        assert_eq!(derived.key.as_str(), text(&row, "expected_key"));
        assert_eq!(
            Digest::from_bytes(*derived.fingerprint.as_bytes()).to_string(),
            text(&row, "fingerprint")
        );
        let place = row["place"]
            .as_object()
            .unwrap()
            .iter()
            .fold(Place::builder(text(&row, "action")), |place, field| {
                place.field(field.0, &Json(field.1))
            });
        assert_eq!(
            Digest::from_bytes(*place.build().unwrap().digest()).to_string(),
            text(&row, "place_digest")
        );
    }
}

#[test]
fn a_decision_has_the_key_of_its_wire_form() {
    for row in of_kind("decision") {
        let decision = Decision::from_json(text(&row, "input").as_bytes()).unwrap();
        let derived = derive(&decision, None).unwrap();
        assert_eq!(String::from_utf8(derived.preimage).unwrap(), text(&row, "preimage"));
        assert_eq!(derived.key.as_str(), text(&row, "key"));
        assert_eq!(derived.subject.as_deref(), Some(text(&row, "subject")));
    }
}

fn of_kind(kind: &str) -> Vec<Value> {
    let rows: Vec<Value> = rows(KEYS).into_iter().filter(|row| row["kind"] == kind).collect();
    assert!(!rows.is_empty(), "there are vectors of kind {kind}");
    rows
}

/// An input whose fields stand in a vector.
struct Row<'v>(&'v Value);

impl IdempotentFields for Row<'_> {
    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::Call
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("case_id", &Json(&self.0["case_id"]))?;
        out.key("no", &Json(&self.0["no"]))
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.value("payload", &self.0["payload"])
    }
}

impl Idempotent for Row<'_> {
    fn action(&self) -> &str {
        text(self.0, "action")
    }
}

struct Json<'v>(&'v Value);

impl KeyField for Json<'_> {
    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.serialize(&Params::from(self.0.clone()))
    }
}
