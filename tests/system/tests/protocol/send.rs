//! Calls are made in handlers and in spawned tasks, so their futures are `Send`: whatever the effect captures, whatever
//! form it has, nested or not. What counts here is that it compiles.

use idem::{Begun, Done, EffectError, Error};
use sqlx::Connection as _;

use crate::engine::on_both_databases;
use crate::support::{Receipt, Refund};

on_both_databases! {
    async fn owned_captures() {
        let World { idem, database: _kept, .. } = World::new().await;
        let (note, refund) = (String::from("K"), Refund::new("K", 1));
        let task = tokio::spawn(async move {
            idem.transaction(&refund, async move |tx: &mut Connection| pay(tx, &note).await).await
        });
        assert_eq!(task.await.expect("no panic").expect("done"), Done::Executed(receipt("K")));
    }

    async fn captures_borrowed_from_the_task() {
        let World { idem, database: _kept, .. } = World::new().await;
        let task = tokio::spawn(async move {
            let (note, refund) = (String::from("K"), Refund::new("K", 1));
            let untyped = idem.transaction(&refund, async |tx| pay(tx, &note).await).await?;
            let lines = [note.as_str(); 2];
            let once = idem.call(&refund).transaction_once(async |tx: &mut Connection| pay(tx, lines[1]).await).await?;
            Ok::<_, Error>((untyped, once))
        });
        let (untyped, once) = task.await.expect("no panic").expect("done");
        assert!(!untyped.is_replayed() && once.is_replayed());
    }

    async fn an_effect_that_can_be_called_once() {
        let World { idem, database: _kept, .. } = World::new().await;
        struct NotClone(String);
        let note = NotClone("K".into());
        let task = tokio::spawn(async move {
            let effect = async move |tx: &mut Connection| {
                let NotClone(note) = note;
                pay(tx, &note).await
            };
            idem.call(&Refund::new("K", 1)).transaction_once(effect).await
        });
        assert!(!task.await.expect("no panic").expect("done").is_replayed());
    }

    async fn a_named_async_fn() {
        async fn effect(tx: &mut Connection) -> Result<Receipt, EffectError> {
            pay(tx, "K").await
        }
        let World { idem, database: _kept, .. } = World::new().await;
        let task = tokio::spawn(async move {
            let refund = Refund::new("K", 1);
            let first = idem.transaction(&refund, effect).await?;
            let second = idem.call(&refund).transaction_once(effect).await?;
            Ok::<_, Error>((first, second))
        });
        let (first, second) = task.await.expect("no panic").expect("done");
        assert!(!first.is_replayed() && second.is_replayed());
    }

    async fn a_guard_held_across_awaits() {
        let World { idem, database: _kept, .. } = World::new().await;
        let task = tokio::spawn(async move {
            let refund = Refund::new("K", 1);
            match idem.call(&refund).begin::<Receipt>().await? {
                Begun::Execute(mut guard) => {
                    tokio::task::yield_now().await;
                    pay(guard.connection(), "K").await.expect("the effect");
                    guard.complete(receipt("K")).await
                }
                Begun::Replayed(receipt) => Ok(Done::Replayed(receipt)),
            }
        });
        assert!(!task.await.expect("no panic").expect("done").is_replayed());
    }

    async fn a_join_in_a_savepoint() {
        let World { idem, pool, database: _kept, .. } = World::new().await;
        let task = tokio::spawn(async move {
            let note = String::from("K");
            let refund = Refund::new(&note, 1);
            let mut tx = begin(&pool).await;
            let mut inner = tx.begin().await.expect("a savepoint");
            let joined = idem.call(&refund).join(&mut inner, async |tx: &mut Connection| pay(tx, &note).await).await?;
            inner.commit().await.expect("released");
            tx.commit().await.expect("committed");
            Ok::<_, Error>(joined)
        });
        assert!(!task.await.expect("no panic").expect("done").is_replayed());
    }

    async fn a_helper_in_a_helper() {
        async fn outer(idem: &idem::Idem<Store>, cases: &[Refund]) -> Result<Done<Receipt>, Error> {
            let (first, rest) = cases.split_first().expect("a case");
            idem.transaction(first, async |tx: &mut Connection| {
                for case in rest {
                    inner(idem, tx, case).await?;
                }
                pay(tx, &first.case_id).await
            })
            .await
        }
        async fn inner(idem: &idem::Idem<Store>, tx: &mut Connection, case: &Refund) -> Result<Done<Receipt>, Error> {
            idem.call(case).step_id(&case.case_id).join(tx, async |tx: &mut Connection| pay(tx, &case.case_id).await).await
        }
        fn is_send<T: Send>(future: T) -> T {
            future
        }
        let world = World::new().await;
        let idem = world.idem.clone();
        let task = tokio::spawn(async move {
            let cases = [Refund::new("a", 1), Refund::new("b", 1), Refund::new("c", 1)];
            is_send(outer(&idem, &cases)).await
        });
        assert!(!task.await.expect("no panic").expect("done").is_replayed());
        assert_eq!(world.effects().await, ["a", "b", "c"]);
    }

    async fn a_repository_that_takes_the_connection() {
        trait Repository {
            fn save<'c>(
                &'c self,
                tx: &'c mut Connection,
            ) -> std::pin::Pin<Box<dyn Future<Output = Result<Receipt, EffectError>> + Send + 'c>>;
        }
        struct Refunds(String);
        impl Repository for Refunds {
            fn save<'c>(
                &'c self,
                tx: &'c mut Connection,
            ) -> std::pin::Pin<Box<dyn Future<Output = Result<Receipt, EffectError>> + Send + 'c>> {
                Box::pin(pay(tx, &self.0))
            }
        }
        let World { idem, database: _kept, .. } = World::new().await;
        let repository: Box<dyn Repository + Send + Sync> = Box::new(Refunds("K".into()));
        let task = tokio::spawn(async move {
            idem.transaction(&Refund::new("K", 1), async |tx: &mut Connection| repository.save(tx).await).await
        });
        assert!(!task.await.expect("no panic").expect("done").is_replayed());
    }
}
