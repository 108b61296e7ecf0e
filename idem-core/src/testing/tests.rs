use std::time::Duration;

use super::leased_store;
use crate::error::Error;
use crate::key::IdempotencyKey;
use crate::ledger::Entry;
use crate::state::{Reply, Settlement};
use crate::store::{Capabilities, Completed, Completion, MemoryStore, OpenClaim, PlaceDigest, Store, StoreClaim, View};

/// What the author of a store without transactions has: `Store` and nothing else.
#[derive(Clone)]
struct LeasedOnly {
    store: MemoryStore,
    ledger: bool,
    /// Every claim is granted.
    generous: bool,
}

impl Store for LeasedOnly {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities().with_ledger(self.ledger)
    }

    async fn view(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>) -> Result<View, Error> {
        self.store.view(key, place).await
    }

    async fn claim(&self, claim: &StoreClaim, intended: Option<&Entry>) -> Result<Reply, Error> {
        let reply = self.store.claim(claim, intended).await?;
        Ok(match self.generous {
            true => Reply::Claimed {
                generation: 1,
                attempt: 1,
                took_over: false,
            },
            false => reply,
        })
    }

    async fn complete(&self, completion: &Completion) -> Result<Completed, Error> {
        self.store.complete(completion).await
    }

    async fn settle(&self, key: &IdempotencyKey, event: &Settlement, entries: &[Entry]) -> Result<Reply, Error> {
        self.store.settle(key, event, entries).await
    }

    async fn append(&self, entry: &Entry) -> Result<(), Error> {
        self.store.append(entry).await
    }

    async fn origin(&self, key: &IdempotencyKey) -> Result<Option<Entry>, Error> {
        self.store.origin(key).await
    }

    async fn open_claims(&self, older_than: Duration, limit: u32) -> Result<Vec<OpenClaim>, Error> {
        self.store.open_claims(older_than, limit).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, Error> {
        self.store.purge(batch).await
    }
}

#[tokio::test]
async fn a_store_without_transactions_conforms() {
    leased_store(conforming()).await;
}

#[tokio::test]
async fn a_store_without_a_ledger_is_spared_what_needs_one() {
    let store = LeasedOnly {
        ledger: false,
        ..conforming()
    };
    leased_store(store).await;
}

#[tokio::test]
#[should_panic(expected = "assertion")]
async fn a_store_that_grants_every_claim_is_found_out() {
    let store = LeasedOnly {
        generous: true,
        ..conforming()
    };
    leased_store(store).await;
}

fn conforming() -> LeasedOnly {
    LeasedOnly {
        store: MemoryStore::new(),
        ledger: true,
        generous: false,
    }
}
