use idem_core::{Error, ErrorKind};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr as _, SqlStr, Sqlite};
use sqlx_core::transaction::TransactionManager as _;
use tokio::sync::OwnedMutexGuard;

use super::{SqliteCodes, SqliteStore, store_error};
use crate::error;
use crate::transaction::{Root, Savepoint, acquire, left_open};

/// An open SQLite transaction, or a savepoint in one.
///
/// Dropping a transaction rolls it back. Dropping a savepoint leaves it open: a claim in it cannot be
/// committed then, so the transaction around it can only be rolled back.
pub struct SqliteTransaction<'c> {
    // Taken by the commit and the roll-back, which consume the whole, and by the destructor.
    place: Option<Place<'c>>,
    mark: Mark,
    // After the transaction: the next writer's turn comes when this one has ended.
    turn: Option<OwnedMutexGuard<()>>,
}

enum Place<'c> {
    Root(Root<Sqlite>),
    Nested(&'c mut SqliteConnection, Savepoint),
}

/// What is known of the mark.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    None,
    Set,
    /// The effect has ended the transaction.
    Gone,
}

/// Marks the place in the transaction where the effect begins. If the mark is gone afterwards, the
/// effect has ended the transaction, whatever it may have begun since.
const SET_MARK: &str = "SAVEPOINT idem_effect";
const RELEASE_MARK: &str = "RELEASE idem_effect";

impl SqliteTransaction<'static> {
    /// Waits for this process's turn and opens a transaction that writes.
    pub(super) async fn begin(store: &SqliteStore) -> Result<Self, Error> {
        let turn = store.turn().await?;
        let connection = acquire(store.pool())
            .await
            .map_err(|source| error::acquire::<SqliteCodes>("open the database", source))?;
        let root = Root::begin(connection, SqlStr::from_static("BEGIN IMMEDIATE")).await?;
        let root = root.map_err(|source| store_error("open a transaction", source))?;
        Ok(Self {
            place: Some(Place::Root(root)),
            mark: Mark::None,
            turn: Some(turn),
        })
    }
}

impl<'c> SqliteTransaction<'c> {
    /// Opens a savepoint.
    pub(super) async fn nest(connection: &'c mut SqliteConnection) -> Result<Self, Error> {
        if !connection.is_in_transaction() {
            let message = "`join`, and a change by hand that ends in `_in`, need an open transaction; begin one with `pool.begin_with(\"BEGIN IMMEDIATE\")` and hand it over as `&mut *tx` (a BEGIN sent as a statement does not count: sqlx would not know of it)";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let savepoint = Savepoint::new();
        let opened = sqlx::raw_sql(savepoint.open()).execute(&mut *connection).await;
        opened.map_err(|source| store_error("open a savepoint", source))?;
        Ok(Self {
            place: Some(Place::Nested(connection, savepoint)),
            mark: Mark::None,
            turn: None,
        })
    }

    /// Marks the beginning of the effect.
    pub(super) async fn mark(&mut self) -> Result<(), Error> {
        let set = sqlx::raw_sql(SET_MARK).execute(self.as_mut()).await;
        set.map_err(|source| store_error("open a savepoint", source))?;
        self.mark = Mark::Set;
        Ok(())
    }

    /// Whether the transaction in which the mark was set is still open. The mark is gone afterwards.
    pub(super) async fn is_intact(&mut self) -> Result<bool, Error> {
        if self.mark == Mark::Set {
            self.mark = match sqlx::raw_sql(RELEASE_MARK).execute(self.as_mut()).await {
                Ok(_) => Mark::None,
                Err(source) if is_gone(&source) => Mark::Gone,
                Err(source) => return Err(store_error("record the outcome", source)),
            };
        }
        Ok(self.mark != Mark::Gone)
    }

    pub(super) async fn commit(mut self) -> Result<(), Error> {
        match self.place.take() {
            None => Ok(()),
            Some(Place::Root(root)) if root.depth() != 1 => {
                roll_back(root).await?;
                Err(left_open())
            }
            Some(Place::Root(root)) => root.commit().await.map_err(error::commit::<SqliteCodes>),
            Some(Place::Nested(connection, savepoint)) => {
                let released = sqlx::raw_sql(savepoint.release()).execute(connection).await;
                released
                    .map(drop)
                    .map_err(|source| store_error("release the savepoint", source))
            }
        }
    }

    /// Rolls back, and tells when the effect has ended the transaction.
    pub(super) async fn rollback(mut self) -> Result<(), Error> {
        let ended = matches!(self.is_intact().await, Ok(false));
        match self.place.take() {
            None => {}
            Some(Place::Root(root)) => roll_back(root).await?,
            Some(Place::Nested(connection, _)) if ended => even_out(connection).await,
            Some(Place::Nested(connection, savepoint)) => {
                let rolled_back = sqlx::raw_sql(savepoint.roll_back()).execute(&mut *connection).await;
                match rolled_back {
                    Ok(_) => {}
                    Err(source) if is_gone(&source) => {
                        even_out(connection).await;
                        return Err(error::ended_by_effect().with_source(source));
                    }
                    Err(source) => return Err(store_error("roll back", source)),
                }
            }
        }
        if ended { Err(error::ended_by_effect()) } else { Ok(()) }
    }
}

/// Rolls everything back that is open, and whatever the effect has begun behind the driver's back.
async fn roll_back(mut root: Root<Sqlite>) -> Result<(), Error> {
    while root.depth() > 0 {
        if root.roll_back_one().await.is_ok() {
            continue;
        }
        // The effect has ended what the driver counts as open. The driver lowers its count only when a
        // roll-back succeeds, so it gets something to roll back.
        let _ = sqlx::raw_sql(stand_in(root.depth())).execute(root.connection()).await;
        if let Err(source) = root.roll_back_one().await {
            root.close();
            return Err(store_error("roll back", source));
        }
    }
    // Fails where nothing is open, as it should be.
    let _ = sqlx::raw_sql("ROLLBACK").execute(root.connection()).await;
    Ok(())
}

/// Gives the caller of a `join` whose effect has ended the transaction one to roll back: otherwise the
/// driver would hand the connection on as if it were in a transaction.
async fn even_out(connection: &mut SqliteConnection) {
    let depth = <Sqlite as sqlx::Database>::TransactionManager::get_transaction_depth(connection);
    for depth in 1..=depth {
        let _ = sqlx::raw_sql(stand_in(depth)).execute(&mut *connection).await;
    }
}

/// What sqlx has sent to reach this depth.
fn stand_in(depth: usize) -> SqlStr {
    match depth {
        0 | 1 => SqlStr::from_static("BEGIN"),
        // Safe: a number is put in.
        _ => AssertSqlSafe(format!("SAVEPOINT _sqlx_savepoint_{}", depth - 1)).into_sql_str(),
    }
}

fn is_gone(source: &sqlx::Error) -> bool {
    source
        .as_database_error()
        .is_some_and(|error| error.message().starts_with("no such savepoint"))
}

impl AsMut<SqliteConnection> for SqliteTransaction<'_> {
    fn as_mut(&mut self) -> &mut SqliteConnection {
        // Whoever takes it consumes the whole.
        match self.place.as_mut().expect("the transaction is open") {
            Place::Root(root) => root.connection(),
            Place::Nested(connection, _) => connection,
        }
    }
}

impl Drop for SqliteTransaction<'_> {
    /// The effect may have ended the transaction before it was cancelled, which only asking can tell. So
    /// the roll-back is done in a task; connection and turn are given back when it is.
    fn drop(&mut self) {
        if let Some(Place::Root(root)) = self.place.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let turn = self.turn.take();
            runtime.spawn(async move {
                let _ = roll_back(root).await;
                drop(turn);
            });
        }
    }
}
