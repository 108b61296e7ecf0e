use super::*;
use crate::key::{IdempotentFields, KeyField, Model};

/// An input whose parts a test chooses.
struct Input {
    tenant: TenantSource<'static>,
    case: Option<&'static str>,
    nested: Option<Nested>,
    cents: i64,
    note: Option<&'static str>,
    place: bool,
}

/// What `#[derive(KeyField)]` makes of a struct with an optional field.
struct Nested(Option<u32>);

impl KeyField for Nested {
    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.object(|members| members.key("no", &self.0))
    }
}

impl IdempotentFields for Input {
    fn tenant(&self) -> TenantSource<'_> {
        self.tenant
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("case", &self.case)?;
        out.key("nested", &self.nested)?;
        match self.tenant {
            TenantSource::Field { path, text } => out.tenant(path, text),
            _ => Ok(()),
        }
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.value("cents", &self.cents)?;
        out.value("note", &self.note)
    }

    fn subject(&self) -> Result<Option<String>, CanonicalError> {
        crate::key::subject_text("case", &self.case)
    }

    fn once_per(&self, out: &mut Members<'_>) -> Result<bool, CanonicalError> {
        if self.place {
            out.key("case", &self.case)?;
        }
        Ok(self.place)
    }
}

impl Idempotent for Input {
    fn action(&self) -> &str {
        "refund"
    }
}

const FIELD: TenantSource<'static> = TenantSource::Field {
    path: "org",
    text: "acme",
};

fn input(tenant: TenantSource<'static>) -> Input {
    Input {
        tenant,
        case: Some("C-7"),
        nested: None,
        cents: 900,
        note: None,
        place: false,
    }
}

fn tenant(text: &str) -> Tenant {
    Tenant::parse(text).unwrap()
}

fn preimage(input: &Input, tenant: Option<&Tenant>) -> String {
    String::from_utf8(derive(input, tenant).unwrap().preimage).unwrap()
}

fn fault(input: &Input, tenant: Option<&Tenant>) -> (KeyErrorKind, String) {
    let error = derive(input, tenant).unwrap_err();
    (error.kind(), error.path().to_owned())
}

#[test]
fn the_tenant_is_a_member_unless_a_field_or_nobody_gives_it() {
    let acme = tenant("acme");
    let call = preimage(&input(TenantSource::Call), Some(&acme));
    assert_eq!(call, r#"{"action":"refund","case":"C-7","tenant":"acme"}"#);
    let field = preimage(&input(FIELD), None);
    assert_eq!(field, r#"{"action":"refund","case":"C-7","org":"acme"}"#);
    assert_eq!(preimage(&input(FIELD), Some(&acme)), field);
    assert_eq!(
        preimage(&input(TenantSource::None), None),
        r#"{"action":"refund","case":"C-7"}"#
    );
    assert!(
        derive(&input(TenantSource::None), None)
            .unwrap()
            .key
            .as_str()
            .starts_with("dk_-_")
    );
}

#[test]
fn type_and_call_must_agree_on_the_tenant() {
    let other = tenant("globex");
    assert_eq!(
        fault(&input(TenantSource::Call), None),
        (KeyErrorKind::TenantMissing, "tenant".into())
    );
    assert_eq!(
        fault(&input(FIELD), Some(&other)),
        (KeyErrorKind::TenantConflict, "org".into())
    );
    assert_eq!(
        fault(&input(TenantSource::None), Some(&other)),
        (KeyErrorKind::TenantConflict, "tenant".into())
    );
    let bad = TenantSource::Field {
        path: "org",
        text: "a b",
    };
    assert_eq!(fault(&input(bad), None), (KeyErrorKind::TenantInvalid, "org".into()));
    let reserved = TenantSource::Field { path: "org", text: "-" };
    assert_eq!(
        fault(&input(reserved), None),
        (KeyErrorKind::TenantInvalid, "org".into())
    );
}

#[test]
fn a_key_without_an_anchor_is_refused() {
    let mut empty = Input {
        case: None,
        ..input(FIELD)
    };
    assert_eq!(fault(&empty, None), (KeyErrorKind::NoAnchor, "case, nested".into()));
    empty.nested = Some(Nested(None));
    assert_eq!(fault(&empty, None).0, KeyErrorKind::NoAnchor);
    empty.nested = Some(Nested(Some(1)));
    assert_eq!(
        preimage(&empty, None),
        r#"{"action":"refund","nested":{"no":1},"org":"acme"}"#
    );
}

#[test]
fn the_fingerprint_covers_the_payload_and_the_key_does_not() {
    let first = derive(&input(FIELD), None).unwrap();
    let second = derive(
        &Input {
            cents: 901,
            ..input(FIELD)
        },
        None,
    )
    .unwrap();
    assert_eq!(first.key, second.key);
    assert_ne!(first.fingerprint, second.fingerprint);
    assert_eq!(first.payload_digest(), *Digest::of(br#"{"cents":900}"#).as_bytes());
    let whole = br#"{"action":"refund","key":{"action":"refund","case":"C-7","org":"acme"},"payload":{"cents":900}}"#;
    assert_eq!(first.fingerprint.as_bytes(), Digest::of(whole).as_bytes());
}

#[test]
fn a_place_is_that_of_the_builder_and_complete() {
    let derived = derive(
        &Input {
            place: true,
            ..input(FIELD)
        },
        None,
    )
    .unwrap();
    assert_eq!(
        derived.place,
        Some(Place::builder("refund").field("case", "C-7").build().unwrap())
    );
    let incomplete = Input {
        place: true,
        case: None,
        nested: Some(Nested(Some(1))),
        ..input(FIELD)
    };
    assert_eq!(fault(&incomplete, None), (KeyErrorKind::PlaceIncomplete, "case".into()));
    assert_eq!(derive(&input(FIELD), None).unwrap().place, None);
}

#[test]
fn the_basis_of_a_call_is_added_beside_that_of_the_type() {
    let basis = Basis {
        model: Model::try_new("m", "1").unwrap(),
        prompt_template_sha256: Digest::of(""),
        retrieval_snapshot_id: None,
        policy_version: "2".into(),
        approver: None,
    };
    let mut derived = derive(&input(FIELD), None).unwrap();
    assert_eq!(derived.basis, None);
    derived.add_basis(&basis).unwrap();
    let json: serde_json::Value = serde_json::from_str(derived.basis.as_deref().unwrap()).unwrap();
    assert_eq!(serde_json::from_value::<Basis>(json["basis"].clone()).unwrap(), basis);

    derived.basis = Some(r#"{"a":18446744073709551616,"c":[]}"#.into());
    derived.add_basis(&basis).unwrap();
    let text = derived.basis.clone().unwrap();
    assert!(
        text.starts_with(r#"{"a":18446744073709551616,"basis":{"#) && text.ends_with(r#"},"c":[]}"#),
        "{text}"
    );
    assert_eq!(derived.add_basis(&basis).unwrap_err().path(), "basis");
}

#[test]
fn the_subject_is_text() {
    assert_eq!(derive(&input(FIELD), None).unwrap().subject.as_deref(), Some("C-7"));
}
