//! Running again over a database that has been used before.

use crate::sample;
use crate::support::{Database, Figures, Folder};

#[test]
fn a_second_run_replays_everything_and_changes_nothing() {
    for database in Database::both() {
        database.figures(&[]);
        let again = database.figures(&[]);
        // The calls that failed before their key was taken find it taken now, with another payload or the same.
        assert_eq!(again.executed, 0, "{}", database.url);
        assert_eq!((again.effect_rows, again.ledger_executed), (14, 14), "{}", database.url);
        assert_eq!(
            again.calls,
            again.replayed + again.refused + again.failed,
            "{}",
            database.url
        );
    }
}

#[test]
fn another_tenant_shares_nothing() {
    for database in Database::both() {
        database.figures(&["--tenant", "air"]);
        assert_eq!(
            database.figures(&["--tenant", "air_2"]),
            sample::expected(),
            "{}",
            database.url
        );
        assert_eq!(
            database.figures(&["--tenant", "air"]).ledger_executed,
            14,
            "{}",
            database.url
        );
    }
}

#[test]
fn another_recording_in_the_same_database_is_counted_alone() {
    let folder = Folder::new();
    let line = r#"{"task":900,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"{\"reservation_id\":\"A\"}","result":"ok"}"#;
    let other = folder.recording(line);
    for database in Database::both() {
        database.figures(&[]);
        let figures = database.figures(&["--calls", &other]);
        let one = Figures {
            calls: 1,
            executed: 1,
            effects_if_raw_arguments_were_hashed: 1,
            effects_if_canonical_arguments_were_hashed: 1,
            effect_rows: 1,
            ledger_executed: 1,
            ..Figures::default()
        };
        assert_eq!(figures, one, "{}", database.url);
    }
}

#[test]
fn rows_that_the_ledger_does_not_know_are_found() {
    for database in Database::both() {
        database.figures(&[]);
        database.execute(
            "INSERT INTO airline_certificate SELECT * FROM airline_certificate WHERE task = 7 AND amount = '150'",
        );
        let run = database.run(&["--json"]);
        assert_eq!(run.status, Some(1), "{}", run.stderr);
        assert!(
            run.stdout.contains("\"effect_rows\":15,\"ledger_executed\":14"),
            "{}",
            run.stdout
        );
        assert!(run.stderr.contains("2 rows, 1 entries"), "{}", run.stderr);
    }
}

#[test]
fn rows_that_are_lost_are_found_even_if_they_belong_to_another_recording() {
    let folder = Folder::new();
    let empty = folder.recording("");
    for database in Database::both() {
        database.figures(&[]);
        assert_eq!(database.figures(&["--calls", &empty]), Figures::default());
        database.execute("DELETE FROM airline_passenger_change");
        let run = database.run(&["--json", "--calls", &empty]);
        assert_eq!(run.status, Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("0 rows, 1 entries"), "{}", run.stderr);
    }
}
