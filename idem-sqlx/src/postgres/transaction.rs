use idem_core::{Error, ErrorKind};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Postgres, Transaction};

use super::{PgStore, Sqlstate, connect_error, store_error};
use crate::error;

/// An open PostgreSQL transaction, or a savepoint in one. Dropping it rolls it back.
pub struct PgTransaction<'c> {
    inner: Transaction<'c, Postgres>,
    claimed_in: Option<String>,
    nested: bool,
}

impl PgTransaction<'static> {
    /// Opens a transaction in one round trip.
    ///
    /// # Cancel safety
    ///
    /// The connection returns to the pool outside of any transaction. In sqlx 0.9.0 a dropped
    /// `begin()` can leave BEGIN under way on a connection that counts as idle; the next borrower's
    /// statements would then never be committed. So BEGIN runs in a task of its own, which a dropped
    /// caller does not reach: it ends, and rolls back what nobody waits for.
    pub(super) async fn begin(store: &PgStore) -> Result<Self, Error> {
        let pool = store.pool().clone();
        let statement = store.begin_statement();
        let connection = pool
            .acquire()
            .await
            .map_err(|source| connect_error("connect to the database", source))?;
        let began = tokio::spawn(Transaction::begin(connection, Some(statement))).await;
        let began = began.map_err(|source| Error::store("open a transaction: the runtime is shutting down", source))?;
        let inner = began.map_err(|source| store_error("open a transaction", source))?;
        Ok(Self {
            inner,
            claimed_in: None,
            nested: false,
        })
    }
}

impl<'c> PgTransaction<'c> {
    /// Opens a savepoint.
    pub(super) async fn nest(connection: &'c mut PgConnection) -> Result<Self, Error> {
        if !connection.is_in_transaction() {
            let message = "`join` needs an open transaction; begin one with `pool.begin()` or `connection.begin()` and hand it over as `&mut *tx` (a BEGIN sent as a statement does not count: sqlx would not know of it)";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let inner = connection
            .begin()
            .await
            .map_err(|source| store_error("open a savepoint", source))?;
        Ok(Self {
            inner,
            claimed_in: None,
            nested: true,
        })
    }

    pub(super) fn claimed_in(&mut self, transaction: String) {
        self.claimed_in = Some(transaction);
    }

    pub(super) fn claimed(&self) -> Option<&str> {
        self.claimed_in.as_deref()
    }

    pub(super) async fn commit(self) -> Result<(), Error> {
        let nested = self.nested;
        match self.inner.commit().await {
            Ok(()) => Ok(()),
            Err(source) if nested && is_gone(&source) => Err(error::ended_by_effect().with_source(source)),
            Err(source) if nested => Err(store_error("release the savepoint", source)),
            Err(source) => Err(error::commit::<Sqlstate>(source)),
        }
    }

    /// Rolls back, and tells when the effect has ended the transaction.
    pub(super) async fn rollback(mut self) -> Result<(), Error> {
        let nested = self.nested;
        // ROLLBACK outside of a transaction is a warning, which the driver does not show. A savepoint
        // that is gone is an error.
        let ended = !nested && matches!(self.is_claiming_transaction().await, Ok(false));
        match self.inner.rollback().await {
            Ok(()) if ended => Err(error::ended_by_effect()),
            Ok(()) => Ok(()),
            Err(source) if nested && is_gone(&source) => Err(error::ended_by_effect().with_source(source)),
            Err(source) => Err(store_error("roll back", source)),
        }
    }

    /// Whether this is still the transaction in which the key was claimed, if one was.
    pub(super) async fn is_claiming_transaction(&mut self) -> Result<bool, sqlx::Error> {
        let Some(claimed_in) = self.claimed_in.clone() else {
            return Ok(true);
        };
        sqlx::query_scalar("SELECT pg_current_xact_id_if_assigned()::text IS NOT DISTINCT FROM $1")
            .bind(claimed_in)
            .fetch_one(&mut *self.inner)
            .await
    }
}

/// invalid_savepoint_specification, no_active_sql_transaction: our savepoint is gone.
fn is_gone(source: &sqlx::Error) -> bool {
    super::code_is(source, "3B001") || super::code_is(source, "25P01")
}

impl AsMut<PgConnection> for PgTransaction<'_> {
    fn as_mut(&mut self) -> &mut PgConnection {
        &mut self.inner
    }
}
