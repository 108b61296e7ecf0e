//! Row-level security, forced, on idem's tables: a role that sees only what its setting `app.tenant` allows.

use idem::{Done, Error, ErrorKind, Idem, Place, Settings, Store as _, Tenant};
use idem_system_tests::{Postgres, postgres};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::engine::postgres::{Connection, Store, never, pay, put, receipt, text};
use crate::support::{CREATE_REFUNDS, Refund};

const ROLE: &str = "idem_test_tenant";

struct Secured {
    database: Postgres,
    /// The superuser, whom no policy holds.
    owner: PgPool,
    /// The application.
    pool: PgPool,
}

impl Secured {
    async fn new() -> Self {
        let database = postgres();
        let owner = database.pool(2).await;
        Store::new(owner.clone()).migrate().await.expect("migrated");
        sqlx::query(CREATE_REFUNDS)
            .execute(&owner)
            .await
            .expect("the table of the effects");
        // Roles belong to the server; another run may have made it, or be making it now.
        let role = format!(
            "DO $$ BEGIN CREATE ROLE {ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS;
             EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
        );
        sqlx::raw_sql(AssertSqlSafe(role))
            .execute(&owner)
            .await
            .expect("a role");
        let mut grants = format!(
            "GRANT SELECT ON idem_schema TO {ROLE}; GRANT SELECT, INSERT, UPDATE ON idem_record TO {ROLE};
             GRANT SELECT, INSERT ON idem_ledger, idem_ledger_detail, refunds TO {ROLE};"
        );
        for table in ["idem_record", "idem_ledger", "idem_ledger_detail"] {
            grants += &format!(
                "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
                 CREATE POLICY own ON {table} USING (tenant = current_setting('app.tenant', true));"
            );
        }
        sqlx::raw_sql(AssertSqlSafe(grants))
            .execute(&owner)
            .await
            .expect("grants and policies");
        let pool = PgPoolOptions::new()
            .max_connections(2)
            .after_connect(|connection, _| {
                Box::pin(async move {
                    let set = AssertSqlSafe(format!("SET ROLE {ROLE}"));
                    sqlx::query(set).execute(connection).await.map(drop)
                })
            })
            .connect(database.url())
            .await
            .expect("a pool");
        Self { database, owner, pool }
    }

    /// A store that sets the tenant at the beginning of each transaction.
    async fn prepared(&self, settings: Settings) -> Idem<Store> {
        let store = Store::new(self.pool.clone()).on_begin(|connection, tenant| {
            Box::pin(async move {
                let set = sqlx::query("SELECT set_config('app.tenant', $1, true)").bind(tenant.as_str());
                set.execute(connection).await.map(drop)
            })
        });
        Idem::with_settings(store.open().await.expect("the role may read the version"), settings)
            .expect("settings agree")
    }

    /// A store that does not.
    async fn unprepared(&self) -> Idem<Store> {
        Idem::new(Store::new(self.pool.clone()).open().await.expect("opened"))
    }

    async fn begin_as(&self, tenant: &str) -> sqlx::Transaction<'static, sqlx::Postgres> {
        let mut tx = self.pool.begin().await.expect("a transaction");
        let set = AssertSqlSafe(format!("SET LOCAL app.tenant = '{tenant}'"));
        sqlx::query(set).execute(&mut *tx).await.expect("set");
        tx
    }

    async fn ledger_of(&self, tenant: &str) -> Vec<String> {
        let entries = "SELECT kind || coalesce(' ' || reason, '') FROM idem_ledger WHERE tenant = $1 ORDER BY seq";
        sqlx::query_scalar(entries)
            .bind(tenant)
            .fetch_all(&self.owner)
            .await
            .expect("the ledger")
    }

    async fn count(&self, table: &str) -> i64 {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        sqlx::query_scalar(count).fetch_one(&self.owner).await.expect("a count")
    }

    async fn end(self) {
        let Self { database, owner, pool } = self;
        pool.close().await;
        // Grants go with the database; the role goes unless another run uses it.
        owner.close().await;
        let server = database.url().replace(database.name(), "postgres");
        drop(database);
        if let Ok(mut connection) = <sqlx::PgConnection as sqlx::Connection>::connect(&server).await {
            let _ = sqlx::query(AssertSqlSafe(format!("DROP ROLE IF EXISTS {ROLE}")))
                .execute(&mut connection)
                .await;
        }
    }
}

fn refund(tenant: &str, case_id: &str, cents: i64) -> Refund {
    Refund {
        tenant: tenant.into(),
        ..Refund::new(case_id, cents)
    }
}

fn place(case_id: &str) -> Place {
    Place::builder("refund.issue")
        .field("case_id", case_id)
        .build()
        .expect("a place")
}

#[tokio::test]
async fn a_transaction_prepared_for_its_tenant_does_all_that_it_does_without_policies() {
    let secured = Secured::new().await;
    let plain = secured.prepared(Settings::default()).await;
    let probing = secured.prepared(Settings::default().probe(true)).await;
    for tenant in ["acme", "beta"] {
        let first = refund(tenant, "K", 10);
        let done = plain.call(&first).once_per(place("C"));
        let done = done
            .transaction(async |tx: &mut Connection| pay(tx, "K").await)
            .await
            .expect("it runs");
        assert_eq!(done, Done::Executed(receipt("K")));
        for idem in [&plain, &probing] {
            assert!(idem.transaction(&first, never).await.expect("a replay").is_replayed());
            let error = idem.transaction(&refund(tenant, "K", 11), never).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let error = idem
                .call(&refund(tenant, "L", 10))
                .once_per(place("C"))
                .transaction(never)
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExecuted, "{}", text(&error));
            assert_eq!(
                error.entry().expect("the holder").key,
                plain.call(&first).key().expect("a key").as_str()
            );
        }
        // What reads a record is prepared as well: a hidden one would count as absent.
        let view = plain
            .store()
            .view(&plain.call(&first).key().expect("a key"), None)
            .await
            .expect("read");
        assert!(view.record.is_some() && view.ledger.own.is_some());
        assert_eq!(
            secured.ledger_of(tenant).await,
            ["executed", "refused mismatch", "refused once_per"]
        );
    }
    // Neither sees the other.
    for (tenant, other) in [("acme", "beta"), ("beta", "acme")] {
        let mut tx = secured.begin_as(tenant).await;
        for table in ["idem_record", "idem_ledger", "idem_ledger_detail"] {
            let seen: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("SELECT DISTINCT tenant FROM {table}")))
                .fetch_all(&mut *tx)
                .await
                .expect("rows");
            assert_eq!(seen, [tenant], "{table}, and nothing of {other}");
        }
    }
    secured.end().await;
}

#[tokio::test]
async fn a_join_after_the_setting_does_all_that_it_does_without_policies() {
    let secured = Secured::new().await;
    let idem = secured.unprepared().await;
    for tenant in ["acme", "beta"] {
        let first = refund(tenant, "K", 10);
        for replayed in [false, true] {
            let mut tx = secured.begin_as(tenant).await;
            put(&mut tx, "before").await.expect("a row");
            let call = idem.call(&first).once_per(place("C"));
            let done = call
                .join(&mut tx, async |tx: &mut Connection| pay(tx, "K").await)
                .await
                .expect("joined");
            assert_eq!(done.is_replayed(), replayed);
            let error = idem
                .call(&refund(tenant, "K", 11))
                .join(&mut tx, never)
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let second = refund(tenant, "L", 10);
            let error = idem
                .call(&second)
                .once_per(place("C"))
                .join(&mut tx, never)
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExecuted);
            tx.commit().await.expect("committed");
        }
        assert_eq!(
            secured.ledger_of(tenant).await,
            ["executed", "refused mismatch", "refused once_per"]
        );
    }
    secured.end().await;
}

#[tokio::test]
async fn without_the_setting_the_error_says_what_is_missing_and_nothing_runs() {
    let secured = Secured::new().await;
    let idem = secured.unprepared().await;
    let acme = refund("acme", "K", 10);
    assert_denied(&idem.transaction(&acme, never).await.unwrap_err());

    let mut tx = secured.pool.begin().await.expect("a transaction");
    assert_denied(&idem.call(&acme).join(&mut tx, never).await.unwrap_err());
    put(&mut tx, "row after")
        .await
        .expect("the caller's transaction is usable");
    tx.rollback().await.expect("rolled back");

    // Prepared for somebody else.
    let mut tx = secured.begin_as("beta").await;
    assert_denied(&idem.call(&acme).join(&mut tx, never).await.unwrap_err());
    tx.rollback().await.expect("rolled back");

    // The tenant that is claimed for is the call's, not what the effect sets later.
    let prepared = secured.prepared(Settings::default()).await;
    let tenant = Tenant::parse("beta").expect("a tenant");
    let error = prepared
        .call(&acme)
        .tenant(&tenant)
        .transaction(never)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidKey, "{error}");
    let error = prepared.transaction(&acme, async |tx: &mut Connection| {
        sqlx::query("SET LOCAL app.tenant = 'beta'").execute(&mut *tx).await?;
        pay(tx, "K").await
    });
    let error = error.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LostClaim | ErrorKind::Store),
        "{}",
        text(&error)
    );
    for table in ["refunds", "idem_record", "idem_ledger", "idem_ledger_detail"] {
        assert_eq!(secured.count(table).await, 0, "{table}");
    }
    secured.end().await;
}

#[track_caller]
fn assert_denied(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Store, "{}", text(error));
    assert!(!error.is_retryable(), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("row-level security") && message.contains("`on_begin`"),
        "{message}"
    );
}
