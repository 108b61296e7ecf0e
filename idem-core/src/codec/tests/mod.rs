mod ways;

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, EffectError, Idem, Resolution, Settings};
use crate::record::{Outcome, OutcomeKind, Recovery};
use crate::store::{MemoryConnection, MemoryStore};
use crate::testing::Intent;
use ways::every_way;

/// Turns bytes around, and remembers whose they are.
#[derive(Debug)]
struct Mirror;

impl OutcomeCodec for Mirror {
    fn encode(&self, context: &CodecContext<'_>, mut bytes: Vec<u8>) -> Result<Encoded, CodecError> {
        bytes.reverse();
        bytes.extend_from_slice(&context.associated_data());
        Ok(Encoded::new("mirror", bytes))
    }

    fn decode(&self, context: &CodecContext<'_>, codec: &str, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        let own = bytes.strip_suffix(&context.associated_data()[..]);
        let mut bytes = match (codec, own) {
            ("mirror", Some(own)) => own.to_vec(),
            _ => return Err(CodecError::new("it is not of this record")),
        };
        bytes.reverse();
        Ok(bytes)
    }
}

/// Has no key, no power, no luck.
#[derive(Debug)]
struct Broken;

impl OutcomeCodec for Broken {
    fn encode(&self, _: &CodecContext<'_>, _: Vec<u8>) -> Result<Encoded, CodecError> {
        Err(CodecError::new("the key store does not answer"))
    }

    fn decode(&self, _: &CodecContext<'_>, _: &str, _: &[u8]) -> Result<Vec<u8>, CodecError> {
        Err(CodecError::new("the key store does not answer"))
    }

    fn reads_plain(&self) -> bool {
        false
    }
}

fn with(settings: Settings, store: &MemoryStore) -> Idem<MemoryStore> {
    Idem::with_settings(store.clone(), settings).expect("settings without contradictions")
}

fn mirrored(store: &MemoryStore) -> Idem<MemoryStore> {
    with(Settings::default().outcome_codec(Arc::new(Mirror)), store)
}

const RERUN: Recovery = Recovery::Rerun {
    remembered_for: Duration::from_secs(3600),
};

/// An effect whose result is `text`.
fn says(
    text: &'static str,
) -> impl AsyncFnOnce(&mut MemoryConnection) -> Result<String, EffectError> + Clone + Send + 'static {
    async move |_: &mut MemoryConnection| Ok(text.to_owned())
}

async fn tell(idem: &Idem<MemoryStore>, intent: &Intent) -> Result<Done<String>, Error> {
    idem.transaction(intent, says("told")).await
}

async fn stored(idem: &Idem<MemoryStore>, intent: &Intent) -> Outcome {
    let key = idem.call(intent).key().expect("a key");
    let record = idem.peek(&key).await.expect("read").record.expect("a record");
    record.outcome.expect("an outcome")
}

#[tokio::test]
async fn every_outcome_is_stored_through_the_codec_and_read_back_through_it() {
    let idem = mirrored(&MemoryStore::new());
    for (own, kind) in every_way(&idem, &Intent::new("")).await {
        let way = &own.case;
        let stored = stored(&idem, &own).await;
        assert_eq!((stored.kind(), stored.codec()), (kind, "mirror"), "{way}");
        let bytes = stored.bytes().expect("kept");
        assert!(bytes.starts_with(b"\"dlot\""), "{way}");
        let ledger: Vec<_> = idem.store().entries();
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let entry = ledger
            .iter()
            .rfind(|entry| entry.detail.subject() == Some(way) && entry.outcome_digest.is_some())
            .expect("an entry with a digest");
        assert_eq!(
            entry.outcome_digest,
            Some(digest),
            "{way}: the digest of what is stored"
        );
        let key = idem.call(&own).key().expect("a key");
        let opened = idem.open_outcome(&key, &stored).expect("opened");
        assert_eq!(opened.decode::<String>().expect("kept").expect("read"), "told", "{way}");
        match (kind, tell(&idem, &own).await) {
            (OutcomeKind::Success, Ok(Done::Replayed(text))) => assert_eq!(text, "told", "{way}"),
            (OutcomeKind::Declined, Err(error)) => {
                assert_eq!(error.declined::<String>().as_deref(), Some("told"), "{way}");
            }
            (_, other) => panic!("{way}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_was_undone_is_at_hand_decoded() {
    let idem = mirrored(&MemoryStore::new());
    let intent = Intent::new("revoked");
    tell(&idem, &intent).await.expect("executed");
    let key = idem.call(&intent).key().expect("a key");
    idem.by_hand("ada", "wrong card")
        .revoke(&key, 1)
        .await
        .expect("revoked");
    let error = tell(&idem, &intent).await.expect_err("revoked");
    assert_eq!(error.kind(), ErrorKind::Revoked);
    let outcome = error.outcome().expect("at hand");
    assert_eq!(outcome.decode::<String>().expect("kept").expect("read"), "told");
    let error = tell(&with(Settings::default(), idem.store()), &intent)
        .await
        .expect_err("revoked");
    assert_eq!(error.kind(), ErrorKind::Revoked, "also when it cannot be decoded");
}

#[tokio::test]
async fn a_codec_is_set_and_taken_away() {
    let store = MemoryStore::new();
    let (plain, coded) = (with(Settings::default(), &store), mirrored(&store));
    let (before, after) = (Intent::new("before"), Intent::new("after"));
    tell(&plain, &before).await.expect("executed");
    tell(&coded, &after).await.expect("executed");
    assert_eq!(
        tell(&coded, &before).await.expect("still readable"),
        Done::Replayed("told".to_owned())
    );
    let error = tell(&plain, &after).await.expect_err("nothing reads it");
    assert_eq!(error.kind(), ErrorKind::ResultUnavailable);
    assert!(
        error.to_string().contains("`mirror`") && error.to_string().contains("Settings::outcome_codec"),
        "{error}"
    );
    let strict = with(Settings::default().outcome_codec(Arc::new(Broken)), &store);
    let error = tell(&strict, &before).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::ResultUnavailable);
    assert!(error.to_string().contains("does not accept"), "{error}");
    assert_eq!(store.executed(), 2);
}

#[tokio::test]
async fn a_transaction_whose_outcome_cannot_be_encoded_commits_nothing() {
    let store = MemoryStore::new();
    let idem = with(Settings::default().outcome_codec(Arc::new(Broken)), &store);
    let intent = Intent::new("broken");
    let error = tell(&idem, &intent).await.expect_err("it cannot be kept");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Store, true));
    assert!(error.to_string().contains("the key store does not answer"), "{error}");
    let effect = async |_: &mut MemoryConnection| Err::<String, _>(EffectError::final_("told"));
    let error = idem.transaction(&intent, effect).await.expect_err("it cannot be kept");
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(store.entries().is_empty());
    assert_eq!(
        tell(&mirrored(&store), &intent).await.expect("it runs"),
        Done::Executed("told".to_owned())
    );
}

#[tokio::test]
async fn an_outside_effect_whose_outcome_cannot_be_encoded_stands() {
    let store = MemoryStore::new();
    let idem = with(Settings::default().outcome_codec(Arc::new(Broken)), &store);
    let intent = Intent::new("broken");
    let done = idem.run(&intent, RERUN, async |_| Ok("told".to_owned())).await;
    assert_eq!(done.expect("it happened"), Done::Executed("told".to_owned()));
    let again = async |_| -> Result<String, EffectError> { panic!("it is not run again") };
    let error = mirrored(&store)
        .run(&intent, RERUN, again)
        .await
        .expect_err("no result");
    assert_eq!(error.kind(), ErrorKind::ResultUnavailable);
    assert_eq!(store.executed(), 1);
}

#[tokio::test]
async fn a_resolution_that_cannot_be_encoded_changes_nothing() {
    let store = MemoryStore::new();
    let idem = with(Settings::default().outcome_codec(Arc::new(Broken)), &store);
    let intent = Intent::new("broken");
    let effect = async |_| Err::<String, _>(EffectError::new("no answer"));
    idem.run(&intent, Recovery::Hold, effect)
        .await
        .expect_err("nobody knows");
    let key = idem.call(&intent).key().expect("a key");
    let view = idem.peek(&key).await.expect("it can be read");
    let attempt = view.record.expect("a record").attempt_id();
    let resolve = |idem: &Idem<MemoryStore>| {
        let (idem, key) = (idem.clone(), key.clone());
        async move {
            idem.by_hand("ada", "looked")
                .resolve(&key, attempt, Resolution::Happened("told"))
                .await
        }
    };
    assert_eq!(
        resolve(&idem).await.expect_err("it cannot be kept").kind(),
        ErrorKind::Store
    );
    resolve(&mirrored(&store)).await.expect("resolved");
}

#[tokio::test]
async fn only_a_digest_is_kept_where_that_is_the_choice() {
    let store = MemoryStore::new();
    let idem = with(Settings::default().retain(Retain::DigestOnly), &store);
    for (own, kind) in every_way(&idem, &Intent::new("")).await {
        let way = &own.case;
        let stored = stored(&idem, &own).await;
        assert_eq!((stored.kind(), stored.bytes()), (kind, None), "{way}");
        let digest: [u8; 32] = Sha256::digest(b"\"told\"").into();
        assert!(
            store
                .entries()
                .iter()
                .any(|entry| entry.detail.subject() == Some(way) && entry.outcome_digest == Some(digest)),
            "{way}"
        );
        let error = tell(&idem, &own).await.expect_err("the result is gone");
        match kind {
            OutcomeKind::Success => {
                assert_eq!(error.kind(), ErrorKind::ResultUnavailable, "{way}");
                assert!(error.to_string().contains("by choice"), "{way}: {error}");
            }
            OutcomeKind::Declined => {
                assert_eq!(error.kind(), ErrorKind::Declined, "{way}");
                assert_eq!(error.declined::<String>(), None, "{way}");
            }
            OutcomeKind::Alias => panic!("{way} has no alias"),
        }
    }
    let intent = Intent::new("this one is kept");
    let call = || idem.call(&intent).retain(Retain::Body).transaction(says("told"));
    call().await.expect("executed");
    assert_eq!(call().await.expect("kept"), Done::Replayed("told".to_owned()));
}

#[tokio::test]
async fn the_limit_is_that_of_the_stored_bytes() {
    let store = MemoryStore::new();
    // `"told"` has 6 bytes; what the codec adds makes it larger.
    let small = Settings::default().max_outcome_bytes(6);
    let (plain, coded) = (
        with(small.clone(), &store),
        with(small.outcome_codec(Arc::new(Mirror)), &store),
    );
    let (fits, grows) = (Intent::new("fits"), Intent::new("grows"));
    tell(&plain, &fits).await.expect("executed");
    tell(&coded, &grows).await.expect("executed");
    assert!(tell(&plain, &fits).await.expect("kept").is_replayed());
    let error = tell(&coded, &grows).await.expect_err("too large to keep");
    assert_eq!(error.kind(), ErrorKind::ResultUnavailable);
    assert!(error.to_string().contains("too large"), "{error}");
}

#[tokio::test]
async fn a_codec_with_a_name_that_cannot_be_kept_is_refused_before_anything_is_committed() {
    #[derive(Debug)]
    struct Named(&'static str);
    impl OutcomeCodec for Named {
        fn encode(&self, _: &CodecContext<'_>, bytes: Vec<u8>) -> Result<Encoded, CodecError> {
            Ok(Encoded::new(self.0, bytes))
        }

        fn decode(&self, _: &CodecContext<'_>, _: &str, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
            Ok(bytes.to_vec())
        }
    }
    let store = MemoryStore::new();
    for name in ["", "nul\0", "discarded"] {
        let idem = with(Settings::default().outcome_codec(Arc::new(Named(name))), &store);
        let error = tell(&idem, &Intent::new("named")).await.expect_err("no name");
        assert!(error.to_string().contains("cannot be called"), "{error}");
    }
    assert!(store.entries().is_empty());
}
