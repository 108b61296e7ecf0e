//! What `idem_core::testing::kill_after_commit` proves of a handler, and what it says where it proves nothing.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use idem::{Begun, Done, EffectError, Error, Idem, Leased, PgStore, Recovery, SqliteStore, Tenant};
use idem_core::testing::{Run, kill_after_commit};
use idem_system_tests::{Postgres, postgres};

use crate::stage::{Effects, one_effect, pay, payout};
use crate::support::{Receipt, Refund};

type Answer = Result<Done<Receipt>, Error>;

/// A handler of an effect in the database.
async fn in_a_transaction<S: Effects>(idem: &Idem<S>, _: &Path) -> Answer {
    pay(idem, &refund(), Duration::ZERO).await
}

async fn through_a_guard<S: Effects>(idem: &Idem<S>, _: &Path) -> Answer {
    let refund = refund();
    match idem.call(&refund).begin::<Receipt>().await? {
        Begun::Execute(mut guard) => {
            let receipt = payout::<S>(guard.connection(), &refund).await.expect("a row");
            guard.complete(receipt).await
        }
        Begun::Replayed(receipt) => Ok(Done::Replayed(receipt)),
    }
}

/// Handlers of an effect elsewhere, which is a line of a file.
async fn under_a_lease<S: Effects>(idem: &Idem<S>, folder: &Path) -> Answer {
    let folder = folder.to_owned();
    idem.run(&refund(), Recovery::Hold, async move |_| Ok(call_downstream(&folder)))
        .await
}

async fn through_a_leased_guard<S: Effects>(idem: &Idem<S>, folder: &Path) -> Answer {
    match idem.call(&refund()).lease::<Receipt>(Recovery::Hold).await? {
        Leased::Execute(guard) => guard.complete(call_downstream(folder)).await,
        Leased::Replayed(receipt) => Ok(Done::Replayed(receipt)),
    }
}

/// Two effects of which idem knows one.
async fn partly_outside<S: Effects>(idem: &Idem<S>, folder: &Path) -> Answer {
    call_downstream(folder);
    in_a_transaction(idem, folder).await
}

async fn declining<S: Effects>(idem: &Idem<S>, _: &Path) -> Answer {
    idem.transaction(&refund(), async |_: &mut S::Connection| {
        Err(EffectError::final_("card_declined"))
    })
    .await
}

macro_rules! killed {
    ($($name:ident: $handler:ident, $rows:literal in the database, $lines:literal outside;)*) => {
        $(mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let test = concat!("kill_after_commit::", stringify!($name), "::on_postgres");
                kill_after_commit(test, async |run| {
                    let (_database, url) = shared_postgres(run);
                    let idem = Idem::new(PgStore::create(&url, 5).await);
                    replayed(&idem, run, $handler(&idem, run.folder()).await, $rows, $lines).await;
                })
                .await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                let test = concat!("kill_after_commit::", stringify!($name), "::on_sqlite");
                kill_after_commit(test, async |run| {
                    let idem = Idem::new(SqliteStore::create(&sqlite_url(run), 5).await);
                    replayed(&idem, run, $handler(&idem, run.folder()).await, $rows, $lines).await;
                })
                .await;
            }
        })*
    };
}

killed! {
    a_transaction_is_replayed: in_a_transaction, 1 in the database, 0 outside;
    a_guard_is_replayed: through_a_guard, 1 in the database, 0 outside;
    a_leased_run_is_replayed: under_a_lease, 0 in the database, 1 outside;
    a_leased_guard_is_replayed: through_a_leased_guard, 0 in the database, 1 outside;
    an_effect_beside_idem_is_caught: partly_outside, 1 in the database, 2 outside;
}

async fn replayed<S: Effects>(idem: &Idem<S>, run: &Run, answer: Answer, rows: usize, lines: usize) {
    match answer {
        Ok(Done::Replayed(receipt)) if rows == 1 => one_effect(idem, &receipt).await,
        Ok(Done::Replayed(_)) => {}
        other => panic!("the killed process had the effect: {other:?}"),
    }
    assert_eq!(downstream_calls(run.folder()), lines);
}

#[test]
fn a_final_error_is_replayed_in_a_test_with_a_runtime_of_its_own() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let test = "kill_after_commit::a_final_error_is_replayed_in_a_test_with_a_runtime_of_its_own";
    let answer = runtime.block_on(kill_after_commit(test, async |run| {
        let idem = Idem::new(SqliteStore::create(&sqlite_url(run), 5).await);
        // Also the first answer of this process is a replay: the child's was lost.
        declining(&idem, run.folder()).await
    }));
    let error = answer.expect_err("a final error");
    assert_eq!(error.declined::<String>().as_deref(), Some("card_declined"));
}

#[tokio::test]
#[should_panic(expected = "by running a test `kill_after_commit::misspelt`")]
async fn a_misspelt_name_is_told() {
    kill_after_commit("kill_after_commit::misspelt", async |_| {}).await;
}

#[tokio::test]
#[should_panic(expected = "did not come to this call of `kill_after_commit`")]
async fn the_name_of_another_test_is_told() {
    let another = "kill_after_commit::a_transaction_is_replayed::on_sqlite";
    kill_after_commit(another, async |_| {}).await;
}

#[tokio::test]
#[should_panic(expected = "failed before a call of it had committed")]
async fn a_body_that_panics_is_told() {
    kill_after_commit("kill_after_commit::a_body_that_panics_is_told", async |_| {
        panic!("the body cannot connect");
    })
    .await;
}

#[tokio::test]
#[should_panic(expected = "failed before a call of it had committed")]
async fn a_process_that_dies_of_something_else_is_told() {
    kill_after_commit(
        "kill_after_commit::a_process_that_dies_of_something_else_is_told",
        async |_| std::process::abort(),
    )
    .await;
}

#[tokio::test]
#[should_panic(expected = "ended and no call of it had committed")]
async fn a_joined_effect_is_not_known_to_be_committed() {
    let test = "kill_after_commit::a_joined_effect_is_not_known_to_be_committed";
    kill_after_commit(test, async |run| {
        let idem = Idem::new(SqliteStore::create(&sqlite_url(run), 5).await);
        let tenant = Tenant::parse(&refund().tenant).expect("a tenant");
        let mut transaction = idem::TransactionalStore::begin(idem.store(), &tenant)
            .await
            .expect("a transaction");
        let refund = refund();
        idem.call(&refund)
            .join(transaction.as_mut(), async |tx| {
                payout::<SqliteStore>(tx, &refund).await
            })
            .await
            .expect("it runs");
    })
    .await;
}

fn refund() -> Refund {
    Refund::new("c-1", 100)
}

fn call_downstream(folder: &Path) -> Receipt {
    let mut calls = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(CALLS))
        .expect("a file in the folder of the run");
    writeln!(calls, "paid").expect("a line");
    Receipt {
        case_id: refund().case_id,
        nonce: 1,
    }
}

fn downstream_calls(folder: &Path) -> usize {
    fs::read_to_string(folder.join(CALLS)).map_or(0, |calls| calls.lines().count())
}

const CALLS: &str = "calls";

fn sqlite_url(run: &Run) -> String {
    format!("sqlite://{}?mode=rwc", run.folder().join("test.sqlite").display())
}

/// A database that the killed process made and this one drops.
fn shared_postgres(run: &Run) -> (Postgres, String) {
    let mut made = None;
    let url = run.shared("url", || made.insert(postgres()).url().to_owned());
    (made.unwrap_or_else(|| Postgres::adopt(&url)), url)
}
