use idem_core::{Error, ErrorKind};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _, Postgres, Row as _};

use super::{PgStore, Sqlstate, connect_error, store_error};
use crate::error;
use crate::transaction::{Root, Savepoint, acquire, left_open};

/// An open PostgreSQL transaction, or a savepoint in one.
///
/// Dropping a transaction rolls it back. Dropping a savepoint leaves it open: a claim in it cannot be
/// committed then, so the transaction around it can only be rolled back.
pub struct PgTransaction<'c> {
    place: Place<'c>,
    claimed_in: Option<String>,
}

enum Place<'c> {
    Root(Root<Postgres>),
    Nested(&'c mut PgConnection, Savepoint),
}

impl PgTransaction<'static> {
    /// Opens a transaction in one round trip.
    pub(super) async fn begin(store: &PgStore) -> Result<Self, Error> {
        let connection = acquire(store.pool())
            .await
            .map_err(|source| connect_error("connect to the database", source))?;
        let root = Root::begin(connection, store.begin_statement()).await?;
        let root = root.map_err(|source| store_error("open a transaction", source))?;
        Ok(Self {
            place: Place::Root(root),
            claimed_in: None,
        })
    }
}

impl<'c> PgTransaction<'c> {
    /// Opens a savepoint.
    pub(super) async fn nest(connection: &'c mut PgConnection) -> Result<Self, Error> {
        if !connection.is_in_transaction() {
            let message = "`join`, and a change by hand that ends in `_in`, need an open transaction; begin one with `pool.begin()` or `connection.begin()` and hand it over as `&mut *tx` (a BEGIN sent as a statement does not count: sqlx would not know of it)";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let savepoint = Savepoint::new();
        let opened = sqlx::raw_sql(savepoint.open()).execute(&mut *connection).await;
        opened.map_err(|source| store_error("open a savepoint", source))?;
        Ok(Self {
            place: Place::Nested(connection, savepoint),
            claimed_in: None,
        })
    }

    pub(super) fn claimed_in(&mut self, transaction: String) {
        self.claimed_in = Some(transaction);
    }

    pub(super) fn claimed(&self) -> Option<&str> {
        self.claimed_in.as_deref()
    }

    pub(super) async fn commit(self) -> Result<(), Error> {
        match self.place {
            Place::Root(root) if root.depth() != 1 => {
                roll_back(root).await?;
                Err(left_open())
            }
            Place::Root(root) => root.commit().await.map_err(error::commit::<Sqlstate>),
            Place::Nested(connection, savepoint) => {
                match sqlx::raw_sql(savepoint.release()).execute(connection).await {
                    Ok(_) => Ok(()),
                    Err(source) if is_gone(&source) => Err(error::ended_by_effect().with_source(source)),
                    Err(source) => Err(store_error("release the savepoint", source)),
                }
            }
        }
    }

    /// Rolls back, and tells when the effect has ended the transaction.
    pub(super) async fn rollback(mut self) -> Result<(), Error> {
        // ROLLBACK outside of a transaction is a warning, which the driver does not show. A savepoint
        // that is gone is an error.
        let ended = matches!(self.place, Place::Root(_)) && matches!(self.is_claiming_transaction().await, Ok(false));
        match self.place {
            Place::Root(root) => {
                roll_back(root).await?;
                if ended { Err(error::ended_by_effect()) } else { Ok(()) }
            }
            Place::Nested(connection, savepoint) => {
                match sqlx::raw_sql(savepoint.roll_back()).execute(connection).await {
                    Ok(_) => Ok(()),
                    Err(source) if is_gone(&source) => Err(error::ended_by_effect().with_source(source)),
                    Err(source) => Err(store_error("roll back", source)),
                }
            }
        }
    }

    /// Whether this is still the transaction in which the key was claimed, if one was.
    pub(super) async fn is_claiming_transaction(&mut self) -> Result<bool, sqlx::Error> {
        if self.claimed_in.is_none() {
            return Ok(true);
        }
        // Without parameters, so that nothing has to be prepared.
        let current = self
            .as_mut()
            .fetch_one(sqlx::raw_sql("SELECT pg_current_xact_id_if_assigned()::text"))
            .await?;
        let current: Option<String> = current.try_get(0)?;
        Ok(current == self.claimed_in)
    }
}

/// Rolls everything back that is open, and whatever the effect has begun behind the driver's back.
async fn roll_back(mut root: Root<Postgres>) -> Result<(), Error> {
    let mut result = Ok(());
    while root.depth() > 0 {
        result = root.roll_back_one().await;
        if result.is_err() {
            break;
        }
    }
    match result {
        Ok(()) => Ok(()),
        Err(source) => {
            root.close();
            Err(store_error("roll back", source))
        }
    }
}

/// invalid_savepoint_specification, no_active_sql_transaction: our savepoint is gone.
fn is_gone(source: &sqlx::Error) -> bool {
    super::code_is(source, "3B001") || super::code_is(source, "25P01")
}

impl AsMut<PgConnection> for PgTransaction<'_> {
    fn as_mut(&mut self) -> &mut PgConnection {
        match &mut self.place {
            Place::Root(root) => root.connection(),
            Place::Nested(connection, _) => connection,
        }
    }
}
