//! The conformance kit on every store.

use idem_core::testing::{self, Clock, TestClock};
use idem_system_tests::{postgres, sqlite};

use idem::{ErrorKind, PgStore, SqliteStore, Timestamp};

#[tokio::test]
async fn postgres_conforms() {
    let database = postgres();
    let store = PgStore::new(database.pool(10).await).migrate().await.expect("migrated");
    testing::transactional_store(store).await;
}

#[tokio::test]
async fn postgres_without_advisory_locks_conforms() {
    let database = postgres();
    let store = PgStore::new(database.pool(40).await)
        .advisory_locks(false)
        .migrate()
        .await
        .expect("migrated");
    testing::transactional_store(store).await;
}

#[tokio::test]
async fn sqlite_conforms() {
    let database = sqlite();
    let store = SqliteStore::connect(&database.url()).await.expect("opened");
    testing::transactional_store(store).await;
}

#[tokio::test]
async fn sqlite_in_memory_conforms() {
    let store = SqliteStore::connect("sqlite::memory:").await.expect("opened");
    testing::transactional_store(store).await;
}

/// On databases of their own: a purge is one of the events.
const HISTORIES: usize = 60;

#[tokio::test]
async fn postgres_follows_the_transition_function() {
    let database = postgres();
    let store = PgStore::new(database.pool(3).await).migrate().await.expect("migrated");
    testing::histories(store.with_test_clock().await.expect("a clock"), HISTORIES).await;
}

#[tokio::test]
async fn sqlite_follows_the_transition_function() {
    let store = SqliteStore::connect("sqlite::memory:").await.expect("opened");
    testing::histories(store.with_test_clock().await.expect("a clock"), HISTORIES).await;
}

/// A clock that is not obeyed, or that no column could hold, would make a test say what it has not seen.
async fn refuses_what_it_cannot_do(plain: impl TestClock, store: impl TestClock) {
    let misuse = |result: Result<(), idem::Error>| assert_eq!(result.expect_err("refused").kind(), ErrorKind::Misuse);
    misuse(plain.set_clock(Clock::Ahead(1)).await);
    for end in [i64::MAX, i64::MIN] {
        misuse(store.set_clock(Clock::Ahead(end)).await);
        misuse(store.set_clock(Clock::Stopped(Timestamp::from_millis(end))).await);
    }
    store.set_clock(Clock::Ahead(1)).await.expect("set");
}

#[tokio::test]
async fn a_clock_of_tests_that_cannot_be_set_is_refused() {
    let store = SqliteStore::connect("sqlite::memory:").await.expect("opened");
    refuses_what_it_cannot_do(store.clone(), store.with_test_clock().await.expect("a clock")).await;
    let database = postgres();
    let store = PgStore::new(database.pool(3).await).migrate().await.expect("migrated");
    refuses_what_it_cannot_do(store.clone(), store.with_test_clock().await.expect("a clock")).await;
}
