//! Effects inside a transaction of the caller's.

use super::{Effect, Failed, Intent, Kit, kind};
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, EffectError};
use crate::key::Tenant;
use crate::store::TransactionalStore;

pub(super) async fn run<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    kit.case(
        "a joined effect stands or falls with the caller's transaction",
        stands_or_falls(kit),
    )
    .await;
    kit.case("the caller's transaction stays usable", stays_usable(kit))
        .await;
    kit.case("a joined effect inside an effect", inside_an_effect(kit))
        .await;
}

async fn join<S: TransactionalStore + Clone>(
    kit: &Kit<S>,
    connection: &mut S::Connection,
    intent: &Intent,
    effect: Effect,
) -> Result<Done<u32>, Error> {
    let body = async |_: &mut S::Connection| {
        kit.calls.add();
        match effect {
            Effect::Succeeds => Ok(7),
            Effect::Fails => Err(EffectError::from(Failed)),
            Effect::Declines => Err(EffectError::final_("no")),
        }
    };
    kit.call(intent).join(connection, body).await
}

async fn stands_or_falls<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("join");
    let tenant = Tenant::parse(&intent.tenant).expect("a tenant");
    for commits in [false, true] {
        let mut transaction = kit.store.begin(&tenant).await.expect("a transaction");
        let done = join(kit, transaction.as_mut(), &intent, Effect::Succeeds).await;
        assert_eq!(done.expect("it runs"), Done::Executed(7));
        let again = join(kit, transaction.as_mut(), &intent, Effect::Succeeds).await;
        assert_eq!(again.expect("the transaction sees its own record"), Done::Replayed(7));
        if commits {
            kit.store.commit(transaction).await.expect("a commit");
        } else {
            kit.store.rollback(transaction).await.expect("a roll-back");
            assert!(kit.view(&intent).await.record.is_none());
        }
    }
    assert_eq!(kit.ran(), 2);
    assert_eq!(
        kit.run(&intent, Effect::Succeeds).await.expect("it is recorded"),
        Done::Replayed(7)
    );
    assert_eq!(kit.ran(), 0);
}

async fn stays_usable<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("usable");
    let tenant = Tenant::parse(&intent.tenant).expect("a tenant");
    kit.run(&intent.case("done"), Effect::Succeeds).await.expect("it runs");
    let mut transaction = kit.store.begin(&tenant).await.expect("a transaction");
    let connection = transaction.as_mut();
    assert_eq!(
        kind(join(kit, connection, &intent.case("fails"), Effect::Fails).await),
        ErrorKind::Effect
    );
    assert_eq!(
        kind(join(kit, connection, &intent.case("declines"), Effect::Declines).await),
        ErrorKind::Declined
    );
    let changed = intent.case("done").amount(2);
    assert_eq!(
        kind(join(kit, connection, &changed, Effect::Succeeds).await),
        ErrorKind::Mismatch
    );
    let replayed = join(kit, connection, &intent.case("done"), Effect::Succeeds).await;
    assert_eq!(replayed.expect("it is recorded"), Done::Replayed(7));
    assert_eq!(
        join(kit, connection, &intent, Effect::Succeeds).await.expect("it runs"),
        Done::Executed(7)
    );
    kit.store.commit(transaction).await.expect("a commit");
    kit.ran();
    assert_eq!(
        kit.run(&intent, Effect::Succeeds).await.expect("recorded"),
        Done::Replayed(7)
    );
    assert_eq!(
        kind(kit.run(&intent.case("declines"), Effect::Succeeds).await),
        ErrorKind::Declined
    );
    assert_eq!(
        kit.run(&intent.case("fails"), Effect::Succeeds).await.expect("it runs"),
        Done::Executed(7)
    );
    assert_eq!(kit.ran(), 1);
}

async fn inside_an_effect<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let outer = Intent::new("outer");
    let done = kit.call(&outer).transaction(async |connection: &mut S::Connection| {
        assert_eq!(
            kind(join(kit, connection, &outer, Effect::Succeeds).await),
            ErrorKind::Misuse
        );
        Ok(join(kit, connection, &outer.case("inner"), Effect::Succeeds)
            .await?
            .into_inner())
    });
    assert_eq!(done.await.expect("both run"), Done::Executed(7));
    assert_eq!(kit.ran(), 1);
    assert_eq!(
        kit.run(&outer.case("inner"), Effect::Fails).await.expect("recorded"),
        Done::Replayed(7)
    );
}
