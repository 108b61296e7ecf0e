//! The work is killed and started again until it gets through.

use crate::sample;
use crate::support::{Database, Figures, Folder, Run, run};

const POINTS: [&str; 5] = ["begun", "claimed", "effect_done", "completed", "committed"];

#[test]
fn kills_at_every_point_leave_each_effect_done_once() {
    for seed in ["1", "2", "18446744073709551615"] {
        for database in Database::both() {
            let (figures, _) = under_chaos(&database, seed, &[]);
            assert_eq!(
                (figures.effect_rows, figures.ledger_executed),
                (14, 14),
                "seed {seed} on {}",
                database.url
            );
            assert_eq!(figures.calls, 29);
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_plan() {
    let plan = || {
        let (_, run) = under_chaos(&Database::sqlite(), "7", &[]);
        // Whether the work is still there at an odd moment is up to the machine.
        let planned = |line: &str| line.split([':', ';']).nth(1).unwrap_or_default().to_owned();
        run.stderr.lines().map(planned).collect::<Vec<_>>()
    };
    assert_eq!(plan(), plan());
}

#[test]
fn a_recording_with_one_effect_is_enough_to_hit_every_point() {
    let folder = Folder::new();
    let line = r#"{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"{\"reservation_id\":\"A\"}","result":"ok"}"#;
    let one = folder.recording(line);
    let (figures, _) = under_chaos(&Database::sqlite(), "3", &["--calls", &one]);
    assert_eq!((figures.effect_rows, figures.ledger_executed), (1, 1));
}

#[test]
fn a_recording_without_effects_is_killed_all_the_same() {
    let folder = Folder::new();
    let empty = folder.recording("");
    let figures = Database::sqlite().figures(&["--chaos", "3", "--calls", &empty]);
    assert!(figures.kills >= 10, "{figures:?}");
}

#[test]
fn chaos_is_for_one_process() {
    let run = run(&["--chaos", "1", "--workers", "2"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn a_person_sees_the_kills() {
    let run = Database::sqlite().run(&["--chaos", "5", "--calls", &sample_path()]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(
        POINTS.iter().all(|point| run.stdout.contains(&format!("at `{point}`"))),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains(&format!("ledger agree: {}", sample::expected().effect_rows)),
        "{}",
        run.stdout
    );
}

fn under_chaos(database: &Database, seed: &str, arguments: &[&str]) -> (Figures, Run) {
    let run = database.run(&[&["--json", "--chaos", seed], arguments].concat());
    let figures = run.figures();
    assert!(figures.kills >= 10, "{}", run.stderr);
    for point in POINTS {
        assert!(
            run.stderr.contains(&format!(": at `{point}`, hit ")),
            "{point} is missing: {}",
            run.stderr
        );
    }
    (figures, run)
}

fn sample_path() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/sample-calls.jsonl").to_owned()
}
