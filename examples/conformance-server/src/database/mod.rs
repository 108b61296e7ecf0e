//! Orders, in the database of the records.

mod memory;
mod sql;

use std::future::Future;

use idem::TransactionalStore;
use idem::testing::{Clock, TestClock};
use idem::tower::Failure;

pub use memory::Memory;
pub use sql::{Postgres, Sqlite};

/// One order.
#[derive(Clone)]
pub struct Order {
    pub id: i64,
    /// JSON, as it was sent.
    pub body: String,
    pub state: String,
}

/// What handlers do to orders.
#[derive(Clone)]
pub enum Change {
    Insert(String),
    Replace(i64, String),
    Cancel(i64),
    Delete(i64),
}

/// What handlers run their statements on in transactional mode.
pub type ConnectionOf<D> = <<D as Database>::Store as TransactionalStore>::Connection;

/// Where records and orders are.
pub trait Database: Clone + Send + Sync + 'static {
    type Store: TransactionalStore + TestClock + Clone;

    fn store(&self) -> &Self::Store;

    /// Makes a change in an open transaction: the order after it, or before it where it is deleted; `None` if it is not
    /// there.
    fn change(
        &self,
        connection: &mut ConnectionOf<Self>,
        change: Change,
    ) -> impl Future<Output = Result<Option<Order>, Failure>> + Send;

    /// Makes a change that is committed by itself.
    fn change_alone(&self, change: Change) -> impl Future<Output = Result<Option<Order>, Failure>> + Send;

    fn order(&self, id: i64) -> impl Future<Output = Result<Option<Order>, Failure>> + Send;

    fn count(&self) -> impl Future<Output = Result<i64, Failure>> + Send;

    /// Adds to how far the clock is ahead for every process on this database, in milliseconds; how far it is now.
    fn add_to_clock(&self, millis: i64) -> impl Future<Output = Result<i64, Failure>> + Send;

    /// Moves the clock that leases and retentions go by.
    fn advance(&self, millis: i64) -> impl Future<Output = Result<i64, Failure>> + Send {
        async move {
            let ahead = self.add_to_clock(millis).await?;
            self.store().set_clock(Clock::Ahead(ahead)).await?;
            Ok(ahead)
        }
    }
}
