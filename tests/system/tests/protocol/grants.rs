//! Tables made by hand from the printed SQL, on PostgreSQL with three roles, and checked without rights to change them.

use idem::{ErrorKind, Idem, PgRoles};
use idem_system_tests::postgres;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::engine::on_both_databases;
use crate::support::{CREATE_REFUNDS, Refund};

on_both_databases! {
    async fn a_missing_table_or_column_is_named_when_the_store_is_opened() {
        for (damage, told) in [
            ("DROP TABLE idem_ledger_detail", "idem_ledger_detail"),
            ("ALTER TABLE idem_record RENAME COLUMN run_id TO other", "idem_record.run_id"),
        ] {
            let world = World::new().await;
            let store = Store::new(world.database.pool(1).await);
            store.check().await.expect("complete");
            run(&world.outside, damage).await;
            let errors = [
                store.check().await.unwrap_err(),
                store.clone().open().await.err().expect("refused"),
                store.migrate().await.err().expect("refused"),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
                assert!(error.to_string().contains(told) && error.to_string().contains("restore"), "{error}");
            }
        }
    }
}

async fn pool_as(url: &str, role: String) -> PgPool {
    PgPoolOptions::new()
        .max_connections(2)
        .after_connect(move |connection, _| {
            let set = AssertSqlSafe(format!("SET ROLE \"{role}\""));
            Box::pin(async move { sqlx::query(set).execute(connection).await.map(drop) })
        })
        .connect(url)
        .await
        .expect("a pool")
}

#[tokio::test]
async fn the_printed_grants_are_enough_for_the_application_and_no_more() {
    use crate::engine::postgres::{Connection, Store, never, pay};
    let database = postgres();
    let owner = database.pool(1).await;
    let [migrator, application, auditor] =
        ["migrator", "application", "auditor"].map(|role| format!("{}-{role}", database.name()));
    for role in [&migrator, &application, &auditor] {
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE ROLE \"{role}\"")))
            .execute(&owner)
            .await
            .expect("a role");
    }
    let grants = format!(
        "GRANT CREATE, USAGE ON SCHEMA public TO \"{migrator}\"; {CREATE_REFUNDS}; GRANT ALL ON refunds TO \"{application}\""
    );
    sqlx::raw_sql(AssertSqlSafe(grants))
        .execute(&owner)
        .await
        .expect("granted");
    let roles = PgRoles::try_new(&migrator, &application, &auditor).expect("roles");
    let sql = Store::migrations_sql("idem_", Some(&roles)).expect("SQL");
    let by_hand = pool_as(database.url(), migrator.clone()).await;
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&by_hand)
        .await
        .expect("made by hand");

    let app = pool_as(database.url(), application.clone()).await;
    let idem = Idem::new(Store::new(app.clone()).open().await.expect("opened"));
    let refund = Refund::new("K", 1);
    let pays = async |tx: &mut Connection| pay(tx, "K").await;
    assert!(!idem.transaction(&refund, pays).await.expect("runs").is_replayed());
    assert!(idem.transaction(&refund, never).await.expect("a replay").is_replayed());
    assert_eq!(
        idem.transaction(&Refund::new("K", 2), never).await.unwrap_err().kind(),
        ErrorKind::Mismatch
    );

    let audit = pool_as(database.url(), auditor.clone()).await;
    for table in ["idem_record", "idem_ledger", "idem_ledger_detail", "idem_schema"] {
        sqlx::raw_sql(AssertSqlSafe(format!("SELECT * FROM {table}")))
            .execute(&audit)
            .await
            .expect("the auditor reads");
    }
    let denied = [
        (&app, "UPDATE idem_ledger SET action = 'x'"),
        (&app, "DELETE FROM idem_ledger"),
        (&app, "TRUNCATE idem_ledger"),
        (&app, "DROP TABLE idem_ledger"),
        (&app, "ALTER TABLE idem_record ADD COLUMN x int"),
        (&app, "INSERT INTO idem_schema VALUES (9, 9)"),
        (&audit, "DELETE FROM idem_record"),
        (&audit, "UPDATE idem_record SET attempt = 9"),
        (
            &audit,
            "INSERT INTO idem_ledger_detail (seq, tenant, preimage, salt) VALUES (99, 'a', 'b', 'c')",
        ),
    ];
    for (pool, sql) in denied {
        let error = sqlx::raw_sql(sql).execute(pool).await.expect_err(sql);
        let said = error.to_string();
        assert!(
            said.contains("permission denied") || said.contains("must be owner"),
            "{sql}: {said}"
        );
    }
    for pool in [app, audit, by_hand] {
        pool.close().await;
    }
    let drop = format!(
        "DROP OWNED BY \"{migrator}\", \"{application}\", \"{auditor}\" CASCADE; DROP ROLE \"{migrator}\", \"{application}\", \"{auditor}\""
    );
    sqlx::raw_sql(AssertSqlSafe(drop))
        .execute(&owner)
        .await
        .expect("the roles are gone");
}
