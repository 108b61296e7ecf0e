//! A clock that tests set, in a table beside the others, so that all processes on the database go by it.

use idem_core::testing::{Clock, TestClock};
use idem_core::{Error, ErrorKind};

/// What a clock is set to: how far ahead, and where it stands still. `goes_by_it` says whether the store does.
fn columns(clock: Clock, goes_by_it: bool) -> Result<(i64, Option<i64>), Error> {
    let (ahead, stopped_at) = match clock {
        Clock::Ahead(millis) => (millis, None),
        Clock::Stopped(at) => (0, Some(at.as_millis())),
    };
    let refused = |message| Err(Error::new(ErrorKind::Misuse, message));
    if !goes_by_it {
        return refused("this store does not go by the clock of tests; make it with `with_test_clock()`");
    }
    if ahead.max(stopped_at.unwrap_or(0)) > FARTHEST || ahead.min(stopped_at.unwrap_or(0)) < -FARTHEST {
        return refused("the clock of tests goes to a thousand years from now or from 1970, and no further");
    }
    Ok((ahead, stopped_at))
}

/// Beyond it, moments and lengths would not fit into what the databases keep.
const FARTHEST: i64 = 1000 * 366 * 24 * 60 * 60 * 1000;

#[cfg(feature = "postgres")]
mod postgres {
    use super::{Clock, Error, TestClock, columns};
    use crate::PgStore;
    use crate::postgres::store_error;

    const CREATE: &str = "
CREATE TABLE IF NOT EXISTS {test_clock} (one smallint PRIMARY KEY, ahead bigint NOT NULL, stopped_at timestamptz);
INSERT INTO {test_clock} VALUES (1, 0, NULL) ON CONFLICT DO NOTHING";

    impl PgStore {
        /// Takes the time from a table `test_clock` (with the prefix), which is created here and [set](TestClock::set_clock) by
        /// tests. For tests only: whoever may write to the table can end leases and retentions.
        ///
        /// # Errors
        ///
        /// Kind [`Store`](idem_core::ErrorKind::Store) when the table cannot be created.
        ///
        /// # Cancel safety
        ///
        /// The table is created or not.
        pub async fn with_test_clock(self) -> Result<Self, Error> {
            sqlx::raw_sql(self.names().statement(CREATE))
                .execute(self.pool())
                .await
                .map_err(|source| store_error("create the clock of the tests", source))?;
            Ok(self.by_test_clock())
        }
    }

    impl TestClock for PgStore {
        async fn set_clock(&self, clock: Clock) -> Result<(), Error> {
            let (ahead, stopped_at) = columns(clock, self.goes_by_test_clock())?;
            let set =
                "UPDATE {test_clock} SET ahead = $1, stopped_at = 'epoch'::timestamptz + $2 * interval '1 millisecond'";
            sqlx::query(self.names().statement(set))
                .bind(ahead)
                .bind(stopped_at)
                .execute(self.pool())
                .await
                .map_err(|source| store_error("set the clock of the tests", source))?;
            Ok(())
        }
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use super::{Clock, Error, TestClock, columns};
    use crate::SqliteStore;
    use crate::sqlite::store_error;

    const CREATE: &str = "
CREATE TABLE IF NOT EXISTS {test_clock} (one INTEGER PRIMARY KEY, ahead INTEGER NOT NULL, stopped_at INTEGER);
INSERT INTO {test_clock} VALUES (1, 0, NULL) ON CONFLICT DO NOTHING";

    impl SqliteStore {
        /// Takes the time from a table `test_clock` (with the prefix), which is created here and [set](TestClock::set_clock) by
        /// tests. For tests only: whoever may write to the table can end leases and retentions.
        ///
        /// # Errors
        ///
        /// Kind [`Store`](idem_core::ErrorKind::Store) when the table cannot be created.
        ///
        /// # Cancel safety
        ///
        /// The table is created or not.
        pub async fn with_test_clock(self) -> Result<Self, Error> {
            sqlx::raw_sql(self.names().statement(CREATE))
                .execute(self.pool())
                .await
                .map_err(|source| store_error("create the clock of the tests", source))?;
            Ok(self.by_test_clock())
        }
    }

    impl TestClock for SqliteStore {
        async fn set_clock(&self, clock: Clock) -> Result<(), Error> {
            let (ahead, stopped_at) = columns(clock, self.goes_by_test_clock())?;
            sqlx::query(
                self.names()
                    .statement("UPDATE {test_clock} SET ahead = $1, stopped_at = $2"),
            )
            .bind(ahead)
            .bind(stopped_at)
            .execute(self.pool())
            .await
            .map_err(|source| store_error("set the clock of the tests", source))?;
            Ok(())
        }
    }
}
