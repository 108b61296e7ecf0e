//! Several installations in one database of PostgreSQL, each in a schema of its own: the same key in two of them is two
//! keys, also while it runs.

use std::time::Duration;

use idem::{Begun, ErrorKind, Guard, Idem, PgStore};
use idem_system_tests::{Postgres, postgres};
use sqlx::{AssertSqlSafe, PgPool};

use crate::engine::postgres::{Connection, never, pay, receipt, text};
use crate::stage::pg_pool;
use crate::support::{CREATE_REFUNDS, Receipt, Refund};

const SCHEMAS: [&str; 2] = ["one", "two"];

async fn with_schemas() -> Postgres {
    let database = postgres();
    let pool = database.pool(1).await;
    for schema in SCHEMAS {
        let create = format!("CREATE SCHEMA {schema}; SET search_path TO {schema}; {CREATE_REFUNDS}");
        sqlx::raw_sql(AssertSqlSafe(create))
            .execute(&pool)
            .await
            .expect("a schema");
        let own = pg_pool(&in_schema(&database, schema), 1).await;
        PgStore::new(own).migrate().await.expect("migrated");
    }
    database
}

fn in_schema(database: &Postgres, schema: &str) -> String {
    format!("{}?options=-c%20search_path%3D{schema}", database.url())
}

/// A store that works in `schema`, as the next process would.
async fn of_schema(database: &Postgres, schema: &str) -> Idem<PgStore> {
    let pool = pg_pool(&in_schema(database, schema), 2).await;
    Idem::new(PgStore::new(pool).open().await.expect("opened"))
}

/// A store that sets the path at the beginning of each transaction, on connections that others set to another.
fn on_path(pool: &PgPool, schema: &'static str) -> Idem<PgStore> {
    Idem::new(PgStore::new(pool.clone()).on_begin(move |connection, _| {
        Box::pin(async move {
            let set = AssertSqlSafe(format!("SET LOCAL search_path TO {schema}"));
            sqlx::raw_sql(set).execute(connection).await.map(drop)
        })
    }))
}

async fn claims(idem: &Idem<PgStore>, refund: &Refund) -> Guard<PgStore, Receipt> {
    match idem.call(refund).begin::<Receipt>().await {
        Ok(Begun::Execute(guard)) => guard,
        Ok(_) => panic!("it has not run in this schema"),
        Err(error) => panic!("{}", text(&error)),
    }
}

async fn is_in_flight(idem: &Idem<PgStore>, refund: &Refund) {
    let error = idem.call(refund).wait(Duration::ZERO).transaction(never).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InFlight);
}

async fn effects(database: &Postgres, schema: &str) -> Vec<String> {
    let sql = AssertSqlSafe(format!("SELECT case_id FROM {schema}.refunds ORDER BY 1"));
    sqlx::query_scalar(sql)
        .fetch_all(&mut database.connect().await)
        .await
        .expect("the effects")
}

/// Claims the same key in both, and lets each pay.
async fn both_run_at_the_same_time(database: &Postgres, doors: [&Idem<PgStore>; 2], unaware: [&Idem<PgStore>; 2]) {
    let refund = Refund::new("K", 1);
    let mut guards = [claims(doors[0], &refund).await, claims(doors[1], &refund).await];
    for idem in unaware {
        is_in_flight(idem, &refund).await;
    }
    for (guard, schema) in guards.iter_mut().zip(SCHEMAS) {
        pay(guard.connection(), schema).await.expect("paid");
    }
    for guard in guards {
        guard.complete(receipt("K")).await.expect("completed");
    }
    for (schema, idem) in SCHEMAS.into_iter().zip(unaware) {
        assert!(idem.transaction(&refund, never).await.expect("a replay").is_replayed());
        assert!(effects(database, schema).await.contains(&schema.to_owned()));
    }
}

#[tokio::test]
async fn a_key_that_runs_in_one_schema_is_not_in_flight_in_another() {
    let database = with_schemas().await;
    let [one, two] = [of_schema(&database, "one").await, of_schema(&database, "two").await];
    let unaware = [of_schema(&database, "one").await, of_schema(&database, "two").await];
    both_run_at_the_same_time(&database, [&one, &two], [&unaware[0], &unaware[1]]).await;
}

#[tokio::test]
async fn a_path_for_each_transaction_is_followed_by_the_locks_of_prepared_statements() {
    let database = with_schemas().await;
    let pool = pg_pool(database.url(), 4).await;
    let [one, two] = SCHEMAS.map(|schema| on_path(&pool, schema));
    // Every connection prepares its statements, and PostgreSQL settles on plans for them, in the first schema.
    let guards = ["a", "b", "c", "d"].map(|case| Refund::new(case, 1));
    let [a, b, c, d] = &guards;
    let held = (
        claims(&one, a).await,
        claims(&one, b).await,
        claims(&one, c).await,
        claims(&one, d).await,
    );
    drop(held);
    for number in 0..40 {
        let case_id = format!("warm {number}");
        let refund = Refund::new(&case_id, 1);
        let done = one.transaction(&refund, async |tx: &mut Connection| pay(tx, &case_id).await);
        assert!(!done.await.expect("runs").is_replayed());
    }
    let unaware = SCHEMAS.map(|schema| on_path(&pool, schema));
    both_run_at_the_same_time(&database, [&one, &two], [&unaware[0], &unaware[1]]).await;
    assert_eq!(effects(&database, "two").await, ["two"]);
    assert_eq!(effects(&database, "one").await.len(), 41);
}
