//! The same calls where the effects are outside: an airline in a process of its own, claims with a lease.

use crate::other_recordings::Model;
use crate::reference;
use crate::sample;
use crate::support::{Database, Figures, Folder};

const POINTS: [&str; 4] = ["claimed", "sent", "effect_done", "completed"];

/// Runs in leased mode, with the airline's books in a file of the folder.
struct Airline<'a> {
    database: &'a Database,
    books: String,
}

impl<'a> Airline<'a> {
    fn new(database: &'a Database, folder: &Folder) -> Self {
        let books = folder.recording("");
        Self { database, books }
    }

    fn arguments<'b>(&'b self, arguments: &[&'b str]) -> Vec<&'b str> {
        [&["--json", "--mode", "leased", "--airline", &self.books], arguments].concat()
    }

    fn figures(&self, arguments: &[&str]) -> Figures {
        self.database.run(&self.arguments(arguments)).figures()
    }

    fn effects(&self) -> usize {
        let books = std::fs::read_to_string(&self.books).expect("the airline keeps its books");
        books.lines().count()
    }
}

#[test]
fn the_sample_gives_the_figures_of_transactional_mode() {
    let folder = Folder::new();
    for database in Database::both() {
        let airline = Airline::new(&database, &folder);
        assert_eq!(airline.figures(&[]), sample::expected(), "{}", database.url);
        assert_eq!(airline.effects(), 14);
        let again = airline.figures(&[]);
        assert_eq!((again.executed, again.effect_rows), (0, 14), "{}", database.url);
        assert_eq!(airline.effects(), 14, "the airline was asked for nothing new");
    }
}

#[test]
fn workers_at_once_do_each_effect_once_and_count_each_call_once() {
    let folder = Folder::new();
    for database in Database::both() {
        let airline = Airline::new(&database, &folder);
        let figures = airline.figures(&["--workers", "4"]);
        assert_eq!(figures, sample::expected(), "{}", database.url);
        assert_eq!(airline.effects(), 14);
    }
}

#[test]
fn kills_at_every_point_leave_each_effect_done_once() {
    let folder = Folder::new();
    for seed in ["1", "2"] {
        for database in Database::both() {
            let airline = Airline::new(&database, &folder);
            let run = database.run(&airline.arguments(&["--chaos", seed]));
            let figures = run.figures();
            assert_eq!((figures.effect_rows, figures.ledger_executed), (14, 14), "seed {seed}");
            assert_eq!(airline.effects(), 14);
            for point in POINTS {
                assert!(
                    run.stderr.contains(&format!(": at `{point}`, hit ")),
                    "{point} is missing: {}",
                    run.stderr
                );
            }
        }
    }
}

#[test]
fn random_recordings_survive_kills_and_crowds() {
    let folder = Folder::new();
    for seed in 200..202 {
        let recording = Model::new(seed).recording(60);
        let (calls, expected) = (folder.recording(&recording), reference::figures(&recording));
        for database in Database::both() {
            let airline = Airline::new(&database, &folder);
            let crowd = airline.figures(&["--calls", &calls, "--workers", "4", "--tenant", "crowd"]);
            assert_eq!(crowd, expected, "seed {seed} on {}:\n{recording}", database.url);
            let killed = airline.figures(&["--calls", &calls, "--chaos", &seed.to_string(), "--tenant", "killed"]);
            let effects = (killed.effect_rows, killed.ledger_executed);
            assert_eq!(effects, (expected.effect_rows, expected.effect_rows), "seed {seed}");
        }
    }
}

/// A call whose tool says no, killed while its claim is on record, must not bind its key: the next call has another payload.
#[test]
fn a_refusal_after_a_kill_frees_the_key_for_another_payload() {
    let folder = Folder::new();
    let line = |seq: u32, payment: &str, result: &str| {
        format!(
            "{{\"task\":1,\"trial\":0,\"seq\":{seq},\"tool\":\"cancel_reservation\",\"arguments\":\
             \"{{\\\"reservation_id\\\":\\\"A\\\",\\\"note\\\":\\\"{payment}\\\"}}\",\"result\":\"{result}\"}}\n"
        )
    };
    let recording = [
        line(1, "first", "Error: no"),
        line(2, "second", "Error: no"),
        line(3, "third", "ok"),
    ]
    .concat();
    let expected = reference::figures(&recording);
    assert_eq!((expected.executed, expected.failed), (1, 2));
    let calls = folder.recording(&recording);
    for seed in 0..4 {
        for database in Database::both() {
            let airline = Airline::new(&database, &folder);
            let figures = airline.figures(&["--calls", &calls, "--chaos", &seed.to_string()]);
            assert_eq!((figures.effect_rows, figures.ledger_executed), (1, 1), "seed {seed}");
            assert_eq!(airline.effects(), 1);
        }
    }
}

#[test]
fn an_airline_that_knows_nothing_of_what_the_ledger_says_is_found() {
    let folder = Folder::new();
    let database = Database::sqlite();
    let airline = Airline::new(&database, &folder);
    airline.figures(&[]);
    let forgetful = Airline::new(&database, &folder);
    let run = database.run(&forgetful.arguments(&[]));
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("0 rows, 1 entries"), "{}", run.stderr);
    assert!(run.stderr.contains(&forgetful.books), "{}", run.stderr);
}

#[test]
fn books_that_cannot_be_kept_are_named() {
    let folder = Folder::new();
    let database = Database::sqlite();
    let nowhere = folder.path().join("no/such/folder");
    let nowhere = nowhere.to_str().expect("the path is UTF-8");
    let run = database.run(&["--mode", "leased", "--airline", nowhere]);
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains(nowhere), "{}", run.stderr);
}

#[test]
fn without_a_file_the_books_are_beside_that_of_sqlite() {
    let database = Database::sqlite();
    let run = database.run(&["--mode", "leased"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("replay.sqlite-airline.jsonl"), "{}", run.stdout);
    assert!(
        run.stdout.contains("effects in the airline's own books"),
        "{}",
        run.stdout
    );
    assert_eq!(database.figures(&["--mode", "leased"]).effect_rows, 14);
}
