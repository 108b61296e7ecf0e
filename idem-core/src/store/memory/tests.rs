use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::testing::{self, Intent};
use crate::{Done, EffectError, Idem};

#[tokio::test]
async fn it_conforms() {
    testing::transactional_store(MemoryStore::new()).await;
}

#[tokio::test]
async fn effects_happen_with_the_commit_and_not_without_it() {
    let store = MemoryStore::new();
    let idem = Idem::new(store.clone());
    let balance = Arc::new(AtomicU32::new(0));
    let pay = |intent: Intent, fails: bool| {
        let (idem, balance) = (idem.clone(), Arc::clone(&balance));
        async move {
            let effect = async |connection: &mut MemoryConnection| {
                let balance = Arc::clone(&balance);
                connection.on_commit(move || {
                    balance.fetch_add(5, Ordering::SeqCst);
                });
                if fails {
                    Err(EffectError::nothing_happened("no"))
                } else {
                    Ok(())
                }
            };
            idem.call(&intent).transaction(effect).await
        }
    };
    let intent = Intent::new("pay");
    assert!(pay(intent.clone(), true).await.is_err());
    assert_eq!(balance.load(Ordering::SeqCst), 0);
    assert_eq!(pay(intent.clone(), false).await.expect("it runs"), Done::Executed(()));
    assert_eq!(pay(intent, false).await.expect("it replays"), Done::Replayed(()));
    assert_eq!((balance.load(Ordering::SeqCst), store.executed()), (5, 1));
}

#[tokio::test]
async fn repeated_refusals_do_not_grow_the_ledger() {
    let store = MemoryStore::new();
    let idem = Idem::new(store.clone());
    let intent = Intent::new("refused");
    let act = async |_: &mut MemoryConnection| Ok(1);
    idem.call(&intent).transaction(act).await.expect("it runs");
    for amount in [2, 2, 3, 3, 2] {
        idem.call(&intent.amount(amount))
            .transaction(act)
            .await
            .expect_err("another payload");
    }
    let kinds: Vec<_> = store.entries().iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["executed", "refused", "refused"]);
}

#[tokio::test]
async fn a_refusal_names_the_place_and_does_not_take_it() {
    let store = MemoryStore::new();
    let idem = Idem::new(store.clone());
    let first = Intent::new("place").once_per("p");
    let act = async |_: &mut MemoryConnection| Ok(1);
    idem.call(&first).transaction(act).await.expect("the place is free");
    let second = first.case("second");
    for _ in 0..2 {
        let error = idem
            .call(&second)
            .transaction(act)
            .await
            .expect_err("the place is taken");
        assert_eq!(
            error.entry().expect("the holder").key,
            idem.call(&first).key().expect("a key").as_str()
        );
    }
    let entries = store.entries();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].place, entries[1].place);
}
