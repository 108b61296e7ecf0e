//! Orders in the memory of this process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idem::tower::Failure;
use idem::{MemoryConnection, MemoryStore};

use super::{Change, Database, Order};

#[derive(Clone)]
pub struct Memory {
    store: MemoryStore,
    orders: Arc<Orders>,
}

#[derive(Default)]
struct Orders {
    rows: Mutex<BTreeMap<i64, Order>>,
    last_id: AtomicI64,
    ahead: AtomicI64,
}

impl Memory {
    pub async fn open() -> Result<Self, idem::Error> {
        Ok(Self {
            store: MemoryStore::new(),
            orders: Arc::default(),
        })
    }
}

impl Orders {
    /// The order as the change makes it, which nobody sees before [`apply`](Self::apply).
    fn prepare(&self, change: &Change) -> Option<Order> {
        let order = |id| self.rows().get(id).cloned();
        match change {
            Change::Insert(body) => Some(Order {
                id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
                body: body.clone(),
                state: "open".into(),
            }),
            Change::Replace(id, body) => order(id).map(|order| Order {
                body: body.clone(),
                ..order
            }),
            Change::Cancel(id) => order(id).map(|order| Order {
                state: "cancelled".into(),
                ..order
            }),
            Change::Delete(id) => order(id),
        }
    }

    fn apply(&self, change: &Change, order: Order) {
        match change {
            Change::Delete(id) => self.rows().remove(id),
            _ => self.rows().insert(order.id, order),
        };
    }

    // Each change of the map is one step.
    fn rows(&self) -> MutexGuard<'_, BTreeMap<i64, Order>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for Memory {
    type Store = MemoryStore;

    fn store(&self) -> &MemoryStore {
        &self.store
    }

    async fn change(&self, connection: &mut MemoryConnection, change: Change) -> Result<Option<Order>, Failure> {
        let order = self.orders.prepare(&change);
        if let Some(order) = order.clone() {
            let orders = Arc::clone(&self.orders);
            connection.on_commit(move || orders.apply(&change, order));
        }
        Ok(order)
    }

    async fn change_alone(&self, change: Change) -> Result<Option<Order>, Failure> {
        let order = self.orders.prepare(&change);
        if let Some(order) = order.clone() {
            self.orders.apply(&change, order);
        }
        Ok(order)
    }

    async fn order(&self, id: i64) -> Result<Option<Order>, Failure> {
        Ok(self.orders.rows().get(&id).cloned())
    }

    async fn count(&self) -> Result<i64, Failure> {
        Ok(i64::try_from(self.orders.rows().len())?)
    }

    async fn add_to_clock(&self, millis: i64) -> Result<i64, Failure> {
        Ok(self.orders.ahead.fetch_add(millis, Ordering::Relaxed) + millis)
    }
}
