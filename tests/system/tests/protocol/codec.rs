//! How outcomes are kept: encrypted under keys that rotate and get lost, or not at all.

use std::sync::Arc;

use idem::{
    Done, Effect, EffectError, Error, ErrorKind, Idem, KeyRing, Outcome, OutcomeKind, Recovery, Retain, Settings, Store,
};

use crate::engine::on_both_databases;
use crate::support::{Receipt, Refund};

fn ring(id: &str) -> KeyRing {
    KeyRing::new(id, &key(id)).expect("the id of a key")
}

fn key(id: &str) -> [u8; 32] {
    [id.as_bytes()[1]; 32]
}

fn encrypted(ring: KeyRing) -> Settings {
    Settings::default().outcome_codec(Arc::new(ring))
}

/// The outcome as the database has it.
async fn stored<S: Store>(idem: &Idem<S>, refund: &Refund) -> Outcome {
    let key = idem.call(refund).key().expect("a key");
    let record = idem.peek(&key).await.expect("read").record.expect("a record");
    record.outcome.expect("an outcome")
}

/// Whether bytes have `text` in them.
fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[track_caller]
fn unavailable(result: Result<Done<Receipt>, Error>, says: &[&str]) {
    let error = result.expect_err("the result is not available");
    assert_eq!(error.kind(), ErrorKind::ResultUnavailable, "{error}");
    assert!(!error.is_retryable());
    for says in says {
        assert!(error.to_string().contains(says), "{says} in: {error}");
    }
}

on_both_databases! {
    async fn what_is_in_the_database_is_not_the_outcome_and_repeats_get_the_outcome() {
        let world = World::with(encrypted(ring("k1"))).await;
        let refund = Refund::new("secret", 10);
        let effect = async |tx: &mut Connection| pay(tx, "secret").await;
        world.idem.transaction(&refund, effect).await.expect("executed");
        let kept = stored(&world.idem, &refund).await;
        let bytes = kept.bytes().expect("kept");
        assert!(!has(bytes, "secret") && !has(bytes, "nonce"), "it is the outcome itself");
        assert_eq!(kept.codec(), "xchacha20poly1305:k1");
        let other = world.apart_with(encrypted(ring("k1"))).await;
        let done = other.transaction(&refund, never).await.expect("replayed");
        assert_eq!(done, Done::Replayed(receipt("secret")));
        assert_eq!(world.count("idem_record WHERE outcome_codec = 'xchacha20poly1305:k1'").await, 1);
    }

    async fn a_key_is_rotated_and_a_lost_one_leaves_the_effect_as_it_is() {
        let world = World::with(encrypted(ring("k1"))).await;
        let (old, new) = (Refund::new("old", 10), Refund::new("new", 10));
        world.idem.transaction(&old, async |tx: &mut Connection| pay(tx, "old").await).await.expect("executed");
        let rotated = ring("k2").with_older("k1", &key("k1")).expect("another id");
        let rotated = world.apart_with(encrypted(rotated)).await;
        let done = rotated.transaction(&old, never).await.expect("replayed");
        assert_eq!(done, Done::Replayed(receipt("old")));
        rotated.transaction(&new, async |tx: &mut Connection| pay(tx, "new").await).await.expect("executed");
        assert_eq!(stored(&rotated, &new).await.codec(), "xchacha20poly1305:k2");

        unavailable(world.idem.transaction(&new, never).await, &["`k2`", "add that key", "not run again"]);
        let unkeyed = world.apart().await;
        unavailable(unkeyed.transaction(&old, never).await, &["xchacha20poly1305:k1", "Settings::outcome_codec"]);
        assert_eq!(world.effects().await, ["new", "old"]);
        assert_eq!(world.ledger().await, ["executed", "executed"], "nothing was run or refused");
    }

    async fn a_ciphertext_that_was_changed_or_moved_is_not_replayed() {
        let world = World::with(encrypted(ring("k1"))).await;
        let (mine, theirs) = (Refund::new("mine", 10), Refund::new("theirs", 10));
        for (refund, case) in [(&mine, "mine"), (&theirs, "theirs")] {
            let effect = async |tx: &mut Connection| pay(tx, case).await;
            world.idem.transaction(refund, effect).await.expect("executed");
        }
        let put = async |refund: &Refund, bytes: &[u8]| {
            let key = world.idem.call(refund).key().expect("a key");
            let update = sqlx::query("UPDATE idem_record SET outcome = $1 WHERE idem_key = $2");
            let update = update.bind(bytes.to_vec()).bind(key.as_str().to_owned());
            assert_eq!(update.execute(&world.outside).await.expect("changed").rows_affected(), 1);
        };
        let kept = stored(&world.idem, &mine).await.bytes().expect("kept").to_vec();
        put(&mine, stored(&world.idem, &theirs).await.bytes().expect("kept")).await;
        unavailable(world.idem.transaction(&mine, never).await, &["moved from another record", "`k1`"]);
        let mut changed = kept.clone();
        changed[30] ^= 1;
        put(&mine, &changed).await;
        unavailable(world.idem.transaction(&mine, never).await, &["it was changed"]);
        put(&mine, &kept[..7]).await;
        unavailable(world.idem.transaction(&mine, never).await, &["it was changed"]);
        put(&mine, &kept).await;
        let done = world.idem.transaction(&mine, never).await.expect("replayed");
        assert_eq!(done, Done::Replayed(receipt("mine")));

        // A result that is said to be a final error is neither.
        let flip = "UPDATE idem_record SET outcome_kind = 1 WHERE outcome_kind = 0";
        sqlx::raw_sql(flip).execute(&world.outside).await.expect("changed");
        unavailable(world.idem.transaction(&mine, never).await, &["it was changed"]);
        assert_eq!(world.effects().await, ["mine", "theirs"]);
    }

    async fn a_final_error_is_encrypted_as_well() {
        let world = World::with(encrypted(ring("k1"))).await;
        let refund = Refund::new("K", 10);
        let declines = async |_: &mut Connection| Err::<Receipt, _>(EffectError::final_("no funds"));
        world.idem.transaction(&refund, declines).await.expect_err("declined");
        let kept = stored(&world.idem, &refund).await;
        assert_eq!((kept.kind(), kept.codec()), (OutcomeKind::Declined, "xchacha20poly1305:k1"));
        assert!(!has(kept.bytes().expect("kept"), "funds"));
        let error = world.idem.transaction(&refund, never).await.expect_err("declined");
        assert_eq!(error.declined::<String>().as_deref(), Some("no funds"));
        let unkeyed = world.apart_with(encrypted(ring("k2"))).await;
        unavailable(unkeyed.transaction(&refund, never).await, &["final error", "`k1`"]);
    }

    async fn the_outcome_of_an_outside_effect_is_encrypted_as_well() {
        let world = World::with(encrypted(ring("k1"))).await;
        let refund = Refund::new("secret", 10);
        let sends = async |_: Effect| Ok(receipt("secret"));
        world.idem.run(&refund, Recovery::Hold, sends).await.expect("executed");
        let kept = stored(&world.idem, &refund).await;
        assert!(!has(kept.bytes().expect("kept"), "secret"));
        let again = async |_: Effect| -> Result<Receipt, EffectError> { panic!("it is not sent again") };
        let done = world.idem.run(&refund, Recovery::Hold, again).await.expect("replayed");
        assert_eq!(done, Done::Replayed(receipt("secret")));
        let unkeyed = world.apart_with(encrypted(ring("k2"))).await;
        unavailable(unkeyed.run(&refund, Recovery::Hold, again).await, &["`k1`"]);
        assert_eq!(world.ledger().await, ["intended", "executed"]);
    }

    async fn outcomes_from_before_the_keys_are_read_until_they_are_refused() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await.expect("executed");
        let keyed = world.apart_with(encrypted(ring("k1"))).await;
        let done = keyed.transaction(&refund, never).await.expect("replayed");
        assert_eq!(done, Done::Replayed(receipt("K")));
        let strict = world.apart_with(encrypted(ring("k1").refuse_plain())).await;
        unavailable(strict.transaction(&refund, never).await, &["does not accept"]);
    }

    async fn where_only_the_digest_is_kept_the_effect_stands_without_its_result() {
        let world = World::new().await;
        let (refund, charge) = (Refund::new("K", 10), Refund::new("L", 10));
        let call = || world.idem.call(&refund).retain(Retain::DigestOnly);
        let done = call().transaction(async |tx: &mut Connection| pay(tx, "K").await).await.expect("executed");
        assert_eq!(done, Done::Executed(receipt("K")));
        let sends = async |_: Effect| Ok(receipt("L"));
        let call = || world.idem.call(&charge).retain(Retain::DigestOnly);
        call().run(Recovery::Hold, sends).await.expect("executed");
        for refund in [&refund, &charge] {
            // Whatever a repeat chooses.
            unavailable(world.idem.transaction(refund, never).await, &["by choice", "not run again"]);
        }
        assert_eq!(world.count("idem_record WHERE outcome IS NULL AND outcome_codec = 'discarded'").await, 2);
        assert_eq!(world.count("idem_ledger WHERE length(outcome_digest) = 32").await, 2);
    }

    async fn the_limit_is_that_of_what_is_stored() {
        let length = serde_json::to_vec(&receipt("K")).expect("JSON").len();
        let small = encrypted(ring("k1")).max_outcome_bytes(length);
        let world = World::with(small.clone()).await;
        let refund = Refund::new("K", 10);
        let effect = async |tx: &mut Connection| pay(tx, "K").await;
        world.idem.transaction(&refund, effect).await.expect("executed");
        unavailable(world.idem.transaction(&refund, never).await, &["too large"]);
        // 24 bytes of nonce and 16 of tag.
        let larger = world.apart_with(small.max_outcome_bytes(length + 40)).await;
        let other = Refund::new("L", 10);
        larger.transaction(&other, async |tx: &mut Connection| pay(tx, "L").await).await.expect("executed");
        assert!(larger.transaction(&other, never).await.expect("kept").is_replayed());
    }
}
