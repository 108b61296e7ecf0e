//! The sample beside the program.

use crate::support::{Database, Figures, program, run};

/// Counted by hand and by an independent script.
pub fn expected() -> Figures {
    Figures {
        calls: 29,
        executed: 14,
        replayed: 8,
        refused: 3,
        failed: 4,
        effects_if_raw_arguments_were_hashed: 21,
        effects_if_canonical_arguments_were_hashed: 19,
        effect_rows: 14,
        ledger_executed: 14,
        kills: 0,
    }
}

#[test]
fn the_sample_gives_its_figures_on_both_databases() {
    for database in Database::both() {
        assert_eq!(database.figures(&[]), expected(), "{}", database.url);
    }
}

#[test]
fn the_line_of_json_has_the_agreed_names_in_the_agreed_order() {
    let line = "{\"calls\":29,\"executed\":14,\"replayed\":8,\"refused\":3,\"failed\":4,\
                \"effects_if_raw_arguments_were_hashed\":21,\"effects_if_canonical_arguments_were_hashed\":19,\
                \"effect_rows\":14,\"ledger_executed\":14,\"kills\":0}\n";
    assert_eq!(Database::sqlite().run(&["--json"]).stdout, line);
}

#[test]
fn one_booking_per_trip_is_an_option() {
    for database in Database::both() {
        let once_per = database.figures(&["--once-per"]);
        assert_eq!((once_per.executed, once_per.refused), (13, 4), "{}", database.url);
        assert_eq!(
            (once_per.effect_rows, once_per.ledger_executed),
            (13, 13),
            "{}",
            database.url
        );
    }
}

#[test]
fn a_person_is_told_what_the_figures_are_made_of() {
    for database in Database::both() {
        let Ok(text) = told(&database, &["--once-per"]) else {
            panic!("{} fails", database.url)
        };
        for part in [
            "payload changed: payment_id",
            "payload changed: passengers",
            "the place is held by dk_airline_",
            "the model changed its mind about the payload: refused, a person must look",
            "only formatting or the order of members differed",
            "only wording differed that is no part of the intent",
            "What these keys still let through: 1 of the 13 effects",
            "How many of each action did the agent carry out?",
            "gpt-4o",
            "once_per",
            "Effect rows, distinct keys and ledger agree: 13.",
        ] {
            assert!(text.contains(part), "`{part}` is missing in\n{text}");
        }
    }
}

#[test]
fn without_a_database_a_new_file_is_used_and_named() {
    let run = run(&[]);
    let (_, rest) = run.stdout.split_once("sqlite://").expect("the database is named");
    let path = rest.split('?').next().expect("a path");
    assert!(std::fs::metadata(path).is_ok_and(|file| file.len() > 0), "{path}");
    for name in [path.to_owned(), format!("{path}-wal"), format!("{path}-shm")] {
        let _ = std::fs::remove_file(name);
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let database = Database::sqlite();
    let mut child = program(&["--database", &database.url])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("panicked"), "{stderr}");
}

fn told(database: &Database, arguments: &[&str]) -> Result<String, String> {
    let run = database.run(arguments);
    if run.status == Some(0) {
        Ok(run.stdout)
    } else {
        Err(run.stderr)
    }
}
