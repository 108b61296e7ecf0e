use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, Row};

use super::*;
use crate::{Postgres, postgres};

/// A database with one table, and a connection through a wire that has prepared nothing yet.
async fn wired() -> (Postgres, Proxy, PgConnection) {
    let database = postgres();
    database
        .connect()
        .await
        .execute("CREATE TABLE t (x int)")
        .await
        .unwrap();
    let wire = database.wire();
    let connection = PgConnection::connect(wire.url()).await.unwrap();
    wire.reset(); // sqlx sets a few things on a new connection
    (database, wire, connection)
}

async fn rows(database: &Postgres) -> i64 {
    sqlx::query("SELECT count(*) FROM t")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
        .get(0)
}

#[tokio::test]
async fn a_transaction_of_two_statements_is_four_round_trips_once_prepared() {
    let (database, wire, mut connection) = wired().await;
    for _ in 0..2 {
        wire.reset();
        let mut transaction = connection.begin().await.unwrap();
        for x in [1, 2] {
            sqlx::query("INSERT INTO t VALUES ($1)")
                .bind(x)
                .execute(&mut *transaction)
                .await
                .unwrap();
        }
        transaction.commit().await.unwrap();
    }
    assert_eq!(
        wire.statements(),
        [
            "BEGIN",
            "INSERT INTO t VALUES ($1)",
            "INSERT INTO t VALUES ($1)",
            "COMMIT"
        ]
    );
    assert_eq!(wire.round_trips(), 4);
    assert_eq!(wire.connections(), 1);
    assert_eq!(rows(&database).await, 4);
}

#[tokio::test]
async fn preparing_is_a_round_trip_of_its_own() {
    let (_database, wire, mut connection) = wired().await;
    for _ in 0..2 {
        sqlx::query("SELECT $1::int")
            .bind(1)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    }
    let text = || vec!["SELECT $1::int".to_owned()];
    let prepare = RoundTrip {
        parsed: text(),
        executed: vec![],
    };
    let execute = RoundTrip {
        parsed: vec![],
        executed: text(),
    };
    assert_eq!(wire.log(), [prepare, execute.clone(), execute]);
}

#[tokio::test]
async fn large_rows_and_server_errors_pass_unchanged() {
    let (_database, wire, mut connection) = wired().await;
    let large: String = sqlx::query("SELECT repeat('x', 3000000)")
        .fetch_one(&mut connection)
        .await
        .unwrap()
        .get(0);
    assert_eq!(large.len(), 3_000_000);
    assert!(
        sqlx::query("SELECT 1/0")
            .execute(&mut connection)
            .await
            .unwrap_err()
            .as_database_error()
            .is_some()
    );
    connection.ping().await.unwrap();
    assert!(wire.round_trips() >= 4);
}

#[tokio::test]
async fn a_commit_whose_answer_is_cut_off_is_done_and_looks_failed() {
    let (database, wire, mut connection) = wired().await;
    wire.cut(At::after("commit"));
    let mut transaction = connection.begin().await.unwrap();
    transaction.execute("INSERT INTO t VALUES (1)").await.unwrap();
    assert!(!wire.has_struck());
    transaction.commit().await.unwrap_err();
    wire.wait_struck();
    assert_eq!(rows(&database).await, 1);
    // Once only: the next connection commits.
    let mut again = PgConnection::connect(wire.url()).await.unwrap();
    let transaction = again.begin().await.unwrap();
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn a_commit_that_is_cut_before_it_arrives_never_happens() {
    let (database, wire, mut connection) = wired().await;
    wire.cut(At::before("COMMIT"));
    let mut transaction = connection.begin().await.unwrap();
    transaction.execute("INSERT INTO t VALUES (1)").await.unwrap();
    transaction.commit().await.unwrap_err();
    assert_eq!(rows(&database).await, 0);
}

#[tokio::test]
async fn a_prepared_statement_is_cut_when_it_executes_not_when_it_is_parsed() {
    let (database, wire, mut connection) = wired().await;
    wire.cut(At::after("insert into t"));
    sqlx::query("INSERT INTO t VALUES ($1)")
        .bind(1)
        .execute(&mut connection)
        .await
        .unwrap_err();
    assert_eq!(rows(&database).await, 1);
}

#[tokio::test]
async fn the_nth_round_trip_is_cut_on_either_side() {
    let (database, wire, mut connection) = wired().await;
    wire.cut(At::after_round_trip(2));
    connection.execute("INSERT INTO t VALUES (1)").await.unwrap();
    connection.execute("INSERT INTO t VALUES (2)").await.unwrap_err();
    let mut connection = PgConnection::connect(wire.url()).await.unwrap();
    wire.cut(At::before_round_trip(1));
    connection.execute("INSERT INTO t VALUES (3)").await.unwrap_err();
    assert_eq!(rows(&database).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_answer_arrives_after_the_release() {
    let (database, wire, mut connection) = wired().await;
    let wire = Arc::new(wire);
    wire.hold(At::after("INSERT"));
    let insert = tokio::spawn(async move {
        connection.execute("INSERT INTO t VALUES (1)").await.unwrap();
        connection
    });
    wire.wait_struck();
    assert_eq!(rows(&database).await, 1);
    assert!(!insert.is_finished());
    wire.release();
    let mut connection = insert.await.unwrap();
    connection.execute("INSERT INTO t VALUES (2)").await.unwrap();
    assert_eq!(rows(&database).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_request_is_not_done_before_the_release() {
    let (database, wire, mut connection) = wired().await;
    wire.hold(At::before("INSERT"));
    let insert = tokio::spawn(async move { connection.execute("INSERT INTO t VALUES (1)").await.map(drop) });
    wire.wait_struck();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(rows(&database).await, 0);
    wire.release();
    insert.await.unwrap().unwrap();
    assert_eq!(rows(&database).await, 1);
}

#[tokio::test]
async fn a_severed_wire_can_be_refused_and_used_again() {
    let (_database, wire, mut connection) = wired().await;
    wire.sever();
    connection.ping().await.unwrap_err();
    wire.refuse(true);
    assert!(PgConnection::connect(wire.url()).await.is_err());
    wire.refuse(false);
    PgConnection::connect(wire.url()).await.unwrap().ping().await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_wire_is_the_end_of_its_connections() {
    let (_database, wire, mut connection) = wired().await;
    let url = wire.url().to_owned();
    drop(wire);
    connection.ping().await.unwrap_err();
    assert!(PgConnection::connect(&url).await.is_err());
}
