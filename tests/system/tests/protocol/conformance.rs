//! The conformance kit on every store.

use idem_core::testing;
use idem_system_tests::{postgres, sqlite};

use idem::{PgStore, SqliteStore};

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
