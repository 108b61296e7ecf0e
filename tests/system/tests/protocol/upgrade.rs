//! Two versions of the code on one database: what this one does while the next one migrates the tables under it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use idem::{Effect, ErrorKind, Recovery};

use crate::engine::on_both_databases;
use crate::support::Refund;

/// What the next version may add without asking more of this one. Tables are changed in the order in which calls lock them,
/// the record first: PostgreSQL would see a deadlock otherwise.
const ADDITIVE: [&str; 5] = [
    "ALTER TABLE idem_record ADD COLUMN trace text",
    "ALTER TABLE idem_ledger ADD COLUMN trace text",
    "CREATE INDEX idem_record_trace ON idem_record (trace)",
    "CREATE TABLE idem_trace (trace text PRIMARY KEY)",
    "INSERT INTO idem_schema (version, min_reader) VALUES (2, 1)",
];

const WORKERS: usize = 4;
/// How often each worker goes round before and after the migration.
const ROUNDS: usize = 10;

/// How far the workers are, and whether they may end.
#[derive(Default)]
struct Progress {
    rounds: [AtomicUsize; WORKERS],
    is_over: AtomicBool,
}

impl Progress {
    fn seen(&self) -> [usize; WORKERS] {
        self.rounds.each_ref().map(|rounds| rounds.load(Ordering::SeqCst))
    }

    /// Waits until every worker has gone round so many times more, unless one has ended.
    async fn wait_for_rounds<T>(&self, more: usize, tasks: &[tokio::task::JoinHandle<T>]) {
        let from = self.seen();
        while self.seen().into_iter().zip(from).any(|(now, then)| now < then + more) {
            assert!(
                tasks.iter().all(|task| !task.is_finished()),
                "a worker has ended, and said why above"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

on_both_databases! {
    async fn calls_go_on_while_the_next_version_adds_to_the_tables() {
        let world = World::new().await;
        let shared = Refund::new("shared", 1);
        world.idem.transaction(&shared, async |tx: &mut Connection| pay(tx, "shared").await).await.expect("runs");
        let progress = Arc::new(Progress::default());
        let mut workers = Vec::new();
        for worker in 0..WORKERS {
            let (idem, shared, progress) = (world.apart().await, shared.clone(), Arc::clone(&progress));
            workers.push(tokio::spawn(async move {
                let mut round = 0;
                while !progress.is_over.load(Ordering::SeqCst) {
                    let case_id = format!("{worker}-{round}");
                    let refund = Refund::new(&case_id, 1);
                    let outside = Refund::new(&format!("outside {case_id}"), 1);
                    for again in [false, true] {
                        let done = idem.transaction(&refund, async |tx: &mut Connection| pay(tx, &case_id).await).await;
                        let done = done.unwrap_or_else(|error| panic!("{case_id}: {}", text(&error)));
                        assert_eq!((done.is_replayed(), done.get()), (again, &receipt(&case_id)));
                        let name = case_id.clone();
                        let done = idem.run(&outside, Recovery::Hold, async move |_: Effect| Ok(receipt(&name))).await;
                        let done = done.unwrap_or_else(|error| panic!("outside {case_id}: {}", text(&error)));
                        assert_eq!((done.is_replayed(), done.get()), (again, &receipt(&case_id)));
                    }
                    let done = idem.transaction(&shared, never).await;
                    assert!(done.unwrap_or_else(|error| panic!("shared: {}", text(&error))).is_replayed());
                    round += 1;
                    progress.rounds[worker].store(round, Ordering::SeqCst);
                }
                round
            }));
        }
        progress.wait_for_rounds(ROUNDS, &workers).await;
        let mut migration = begin(&world.outside).await;
        for statement in ADDITIVE {
            send(&mut migration, statement).await.expect(statement);
        }
        migration.commit().await.expect("migrated");
        // The next version uses what it has added.
        run(&world.outside, "UPDATE idem_record SET trace = 'written by the next version'").await;
        progress.wait_for_rounds(ROUNDS, &workers).await;
        progress.is_over.store(true, Ordering::SeqCst);
        let mut expected = 1;
        for worker in workers {
            expected += worker.await.expect("no worker panics");
        }
        assert_eq!(world.effects().await.len(), expected, "each effect once");
        let twice = "SELECT count(*) FROM (SELECT case_id FROM refunds GROUP BY case_id HAVING count(*) > 1) AS twice";
        assert_eq!(sqlx::query_scalar::<_, i64>(twice).fetch_one(&world.outside).await.expect("a count"), 0);

        // This version starts on the new tables, and leaves them as they are.
        let started = Store::new(world.database.pool(1).await).open().await.expect("opened");
        started.check().await.expect("complete");
        started.migrate().await.expect("nothing to do");
        let versions: Vec<i64> = sqlx::query_scalar("SELECT version FROM idem_schema ORDER BY 1").fetch_all(&world.outside).await.expect("versions");
        assert_eq!(versions, [1, 2]);
        assert!(world.idem.transaction(&shared, never).await.expect("a replay").is_replayed());
    }

    async fn tables_that_need_newer_code_are_told_to_what_starts_and_to_what_checks() {
        let world = World::new().await;
        run(&world.outside, "INSERT INTO idem_schema (version, min_reader) VALUES (2, 2)").await;
        for error in [
            world.idem.store().check().await.unwrap_err(),
            Store::new(world.outside.clone()).open().await.err().expect("refused"),
            Store::new(world.outside.clone()).migrate().await.err().expect("refused"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
            let said = error.to_string();
            assert!(said.contains("version 2 or newer (`idem_schema.min_reader`), and this code knows 1"), "{said}");
            assert!(said.contains("upgrade idem-sqlx in this program"), "{said}");
        }
        // No call asks for the version, so what runs goes on until its tables are not there any more.
        let refund = Refund::new("K", 1);
        for again in [false, true] {
            let done = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await;
            assert_eq!(done.expect("it goes on").is_replayed(), again);
        }
        run(&world.outside, "ALTER TABLE idem_record RENAME COLUMN run_id TO run").await;
        let error = world.idem.transaction(&Refund::new("L", 1), async |tx: &mut Connection| pay(tx, "L").await).await;
        assert!(!error.expect_err("a column is gone").is_retryable());
        assert_eq!(world.effects().await, ["K"], "nothing runs that cannot be recorded");
    }
}
