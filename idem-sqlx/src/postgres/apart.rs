use idem_core::Error;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;

use super::PgTransaction;

/// A connection, or a transaction of its own around one statement.
pub(super) enum Apart {
    Connection(PoolConnection<Postgres>),
    Transaction(PgTransaction<'static>),
}

impl Apart {
    pub(super) async fn end(self) -> Result<(), Error> {
        match self {
            Self::Connection(_) => Ok(()),
            Self::Transaction(transaction) => transaction.commit().await,
        }
    }
}

impl AsMut<PgConnection> for Apart {
    fn as_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Connection(connection) => connection,
            Self::Transaction(transaction) => transaction.as_mut(),
        }
    }
}
