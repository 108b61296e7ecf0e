//! Several processes serve the same calls at once.

use std::time::Duration;

use crate::sample;
use crate::support::Database;

#[test]
fn processes_at_once_do_each_effect_once_and_count_each_call_once() {
    for database in Database::both() {
        for workers in ["4", "2"] {
            let figures = database.figures(&["--workers", workers, "--tenant", &format!("w{workers}")]);
            assert_eq!(figures, sample::expected(), "{workers} workers on {}", database.url);
        }
    }
}

#[test]
fn programs_started_by_hand_at_once_share_a_new_database() {
    for database in Database::both() {
        let runs: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| database.figures(&[]))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("the run ends well"))
                .collect()
        });
        assert_eq!(
            runs.iter().map(|figures| figures.executed).sum::<u64>(),
            14,
            "{}",
            database.url
        );
        assert_eq!(database.figures(&[]).effect_rows, 14, "{}", database.url);
    }
}

#[test]
fn connections_that_are_cut_in_the_middle_of_the_work_are_replaced() {
    let database = Database::postgres();
    database.figures(&["--tenant", "warm"]);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| database.figures(&["--workers", "3"]));
        while !work.is_finished() {
            // Those that write: a supervisor only reads once the tables are there, and does not try again.
            database.execute(
                "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ~* '^\\s*(with|insert)'",
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(work.join().expect("the work gets through"), sample::expected());
    });
}

#[test]
fn the_number_of_workers_is_checked() {
    for bad in ["0", "65", "-1", "many"] {
        let run = Database::sqlite().run(&[&format!("--workers={bad}")]);
        assert_eq!(run.status, Some(2), "{bad}");
        assert!(run.stderr.contains("--workers"), "{}", run.stderr);
    }
}
