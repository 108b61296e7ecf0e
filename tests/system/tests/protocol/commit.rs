//! What a database answers to COMMIT when it refuses.

use idem::ErrorKind;

use crate::engine::on_both_databases;
use crate::support::Refund;

on_both_databases! {
    // A constraint that is checked at the end is the effect's own fault, and nothing of the effect stands.
    async fn a_constraint_that_fails_at_commit_is_the_effects_error() {
        let world = World::new().await;
        let tables = "CREATE TABLE owner (id bigint PRIMARY KEY);
            CREATE TABLE owned (id bigint REFERENCES owner (id) DEFERRABLE INITIALLY DEFERRED)";
        send(&mut world.outside.acquire().await.expect("a connection"), tables).await.expect("two tables");
        let refund = Refund::new("K", 10);
        let orphan = async |tx: &mut Connection| {
            put(tx, "K").await?;
            send(tx, "INSERT INTO owned VALUES (7)").await?;
            Ok(receipt("K"))
        };
        let error = world.idem.transaction(&refund, orphan).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Effect, "{}", text(&error));
        assert!(error.effect_ref::<sqlx::Error>().is_some() && !error.is_retryable(), "{}", text(&error));
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await;
        assert!(!done.expect("nothing was recorded, so it runs").is_replayed());
    }
}
