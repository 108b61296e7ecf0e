//! Duplicates that arrive together, over several processes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use idem::{Done, EffectError, Error, ErrorKind, Idem, Place, SqliteStore};
use idem_system_tests::process::{self, Child};
use idem_system_tests::sqlite;
use sqlx::SqliteConnection;
use tokio::task::LocalSet;

use crate::stage::{
    Database, Dice, EXECUTED, Effects, LONG, PAYOUTS, no_effect_twice, on_both, on_the_named, one_effect, payout,
};
use crate::support::{Receipt, Refund};

#[test]
fn child_process_entry() {
    process::host(&[
        ("sends duplicates", || on_the_named!(sends_duplicates)),
        ("sends duplicates that fail", || on_the_named!(sends_failing)),
        ("takes one place", || on_the_named!(takes_one_place)),
    ]);
}

on_both!(
    of_fifty_duplicates_one_runs_and_all_get_its_receipt,
    fifty_duplicates_that_wait_are_never_turned_away,
    keys_whose_attempts_are_aborted_at_random_have_one_effect_each,
    of_twenty_keys_with_one_place_one_is_executed,
);

async fn of_fifty_duplicates_one_runs_and_all_get_its_receipt<D: Database>() {
    fifty_duplicates::<D>(Duration::ZERO).await;
}

async fn fifty_duplicates_that_wait_are_never_turned_away<D: Database>() {
    fifty_duplicates::<D>(LONG).await;
}

async fn fifty_duplicates<D: Database>(wait: Duration) {
    let database = D::fresh();
    let idem = database.front(2).await;
    let lines = together(&database, "sends duplicates", wait);
    assert_eq!(lines.len(), 2 * TASKS, "{lines:?}");

    let mut receipts = BTreeSet::new();
    let (mut executed, mut asked_again) = (0, 0);
    for line in &lines {
        let [kind, nonce, times] = words(line);
        executed += usize::from(kind == "executed");
        asked_again += times.parse::<u32>().expect("a number");
        receipts.insert(nonce.parse::<u64>().expect("a nonce"));
    }
    assert_eq!(receipts.len(), 1, "all get one receipt: {lines:?}");
    assert_eq!(executed, 1, "one has run it: {lines:?}");
    if wait.is_zero() {
        assert!(asked_again > 0, "nobody met anybody, so nothing was tested: {lines:?}");
    } else {
        assert_eq!(
            asked_again, 0,
            "somebody was turned away although it could wait: {lines:?}"
        );
    }
    let nonce = receipts.pop_first().expect("one");
    one_effect(
        &idem,
        &Receipt {
            case_id: "case-7".into(),
            nonce,
        },
    )
    .await;
}

async fn sends_duplicates<S: Effects>(idem: Idem<S>) {
    let wait = Duration::from_millis(process::argument("WAIT").parse().expect("milliseconds"));
    all_at_once(TASKS, |_| {
        let idem = idem.clone();
        async move {
            let refund = Refund::new("case-7", 1000);
            let (done, times) = until_answered(async || {
                let call = idem.call(&refund).wait(wait);
                call.transaction(async |tx: &mut S::Connection| slowly::<S>(tx, &refund).await)
                    .await
            })
            .await;
            let done = done.expect("an outcome");
            let kind = if done.is_replayed() { "replayed" } else { "executed" };
            process::say(format!("{kind} {} {times}", done.get().nonce));
        }
    })
    .await;
}

async fn keys_whose_attempts_are_aborted_at_random_have_one_effect_each<D: Database>() {
    let database = D::fresh();
    let idem = database.front(2).await;
    let lines = together(&database, "sends duplicates that fail", Duration::ZERO);
    assert_eq!(lines.len(), 2 * KEYS * COPIES, "{lines:?}");
    let mut receipts = BTreeMap::<String, BTreeSet<String>>::new();
    let mut aborted = 0;
    for line in &lines {
        let [case, nonce, aborts] = words(line);
        receipts.entry(case).or_default().insert(nonce);
        aborted += aborts.parse::<u32>().expect("a number");
    }
    assert_eq!(receipts.len(), KEYS);
    assert!(
        receipts.values().all(|nonces| nonces.len() == 1),
        "callers of one key got different receipts: {receipts:?}"
    );
    assert!(aborted > 0, "nothing was aborted, so nothing was tested");
    no_effect_twice(&idem).await;
    assert_eq!(idem.store().number(PAYOUTS).await, 20);
}

async fn sends_failing<S: Effects>(idem: Idem<S>) {
    all_at_once(KEYS * COPIES, |task| {
        let idem = idem.clone();
        async move {
            let refund = Refund::new(&format!("case-{}", task % KEYS), 1000);
            let mut dice = Dice::new(task as u64 * 2 + u64::from(std::process::id()));
            let mut aborts = 0;
            let (done, _) = until_answered(async || {
                let (fate, micros) = (dice.below(4), dice.below(8000));
                let call = idem.transaction(&refund, async |tx: &mut S::Connection| {
                    let receipt = payout::<S>(tx, &refund).await?;
                    if fate == 0 {
                        return Err(EffectError::nothing_happened("aborted by the test"));
                    }
                    Ok(receipt)
                });
                if fate == 1 {
                    // The caller goes away, wherever the call is by then.
                    return match tokio::time::timeout(Duration::from_micros(micros), call).await {
                        Ok(result) => result,
                        Err(_) => {
                            aborts += 1;
                            Err(Error::new(ErrorKind::InFlight, "gone; asked again"))
                        }
                    };
                }
                match call.await {
                    Err(error) if error.kind() == ErrorKind::Effect => {
                        aborts += 1;
                        Err(Error::new(ErrorKind::InFlight, "failed; asked again"))
                    }
                    result => result,
                }
            })
            .await;
            let done = done.expect("an outcome");
            process::say(format!("{} {} {aborts}", refund.case_id, done.get().nonce));
        }
    })
    .await;
}

async fn of_twenty_keys_with_one_place_one_is_executed<D: Database>() {
    let database = D::fresh();
    let idem = database.front(2).await;
    let lines = together(&database, "takes one place", Duration::ZERO);
    assert_eq!(lines.len(), KEYS, "{lines:?}");

    let (executed, refused): (Vec<_>, Vec<_>) = lines
        .iter()
        .map(|line| words::<3>(line))
        .partition(|[kind, ..]| kind == "executed");
    let [[_, winner, _]] = &executed[..] else {
        panic!("not one has run: {lines:?}");
    };
    for [kind, _, holder] in &refused {
        assert_eq!((kind.as_str(), holder), ("refused", winner), "{lines:?}");
    }
    assert_eq!(idem.store().number(PAYOUTS).await, 1);
    assert_eq!(idem.store().number(EXECUTED).await, 1);
    let on_record = "SELECT count(*) FROM idem_ledger WHERE kind = 'refused' AND reason = 'once_per' AND place =
        (SELECT place FROM idem_ledger WHERE kind = 'executed')";
    assert_eq!(idem.store().number(on_record).await, 19, "refusals in the ledger");
    let keys = "SELECT count(DISTINCT idem_key) FROM idem_ledger WHERE kind = 'refused' AND idem_key NOT IN
            (SELECT idem_key FROM idem_ledger WHERE kind = 'executed')";
    assert_eq!(idem.store().number(keys).await, 19, "keys with a refusal in the ledger");
}

async fn takes_one_place<S: Effects>(idem: Idem<S>) {
    all_at_once(KEYS / 2, |task| {
        let idem = idem.clone();
        async move {
            let refund = Refund::new(&format!("case-{}-{task}", std::process::id()), 1000);
            let place = Place::builder("refund.issue").field("order", "o-1").build();
            let place = place.expect("a place");
            let key = idem.call(&refund).key().expect("a key");
            let (done, _) = until_answered(async || {
                let call = idem.call(&refund).once_per(place.clone());
                call.transaction(async |tx: &mut S::Connection| slowly::<S>(tx, &refund).await)
                    .await
            })
            .await;
            match done {
                Ok(done) => {
                    assert!(!done.is_replayed());
                    process::say(format!("executed {key} -"));
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted, "{error:?}");
                    let holder = error.entry().expect("the holder is named");
                    process::say(format!("refused {key} {}", holder.key));
                }
            }
        }
    })
    .await;
}

/// SQLite has one writer, and waiting for it is a matter of luck: who waits longest may wait on. The calls of a process take
/// turns instead, so that they need no patience of SQLite's.
#[tokio::test]
async fn on_sqlite_the_calls_of_one_process_take_turns() {
    let database = sqlite();
    let _open = database.front(1).await;
    // Less than one effect takes.
    let patience = Duration::from_millis(30);
    let idem = Idem::new(<SqliteStore as Effects>::attach(&database.address(), 5, patience).await);
    let local = LocalSet::new();
    let calls = (0..10).map(|number| {
        let idem = idem.clone();
        local.spawn_local(async move {
            let refund = Refund::new(&format!("case-{number}"), 1000);
            let done = idem.transaction(&refund, async |tx: &mut SqliteConnection| {
                slowly::<SqliteStore>(tx, &refund).await
            });
            assert!(!done.await.expect("its turn comes").is_replayed());
        })
    });
    let calls: Vec<_> = calls.collect();
    local.await;
    for call in calls {
        call.await.expect("a task that does not panic");
    }
    no_effect_twice(&idem).await;
}

/// The effect, long enough to be met by its duplicates.
async fn slowly<S: Effects>(connection: &mut S::Connection, refund: &Refund) -> Result<Receipt, EffectError> {
    let receipt = payout::<S>(connection, refund).await?;
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(receipt)
}

/// Sends a call until the answer is not to come again later; returns how often it was.
async fn until_answered(
    mut call: impl AsyncFnMut() -> Result<Done<Receipt>, Error>,
) -> (Result<Done<Receipt>, Error>, u32) {
    let mut times = 0;
    loop {
        match call().await {
            Err(error) if error.is_retryable() => {
                assert!(
                    matches!(error.kind(), ErrorKind::InFlight | ErrorKind::Store),
                    "{error:?}"
                );
                times += 1;
                assert!(times < 10_000, "in flight for ever: {error:?}");
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            result => return (result, times),
        }
    }
}

/// Says that this process is ready, waits for the word, and runs that many tasks.
async fn all_at_once<F: Future<Output = ()> + 'static>(tasks: usize, task: impl Fn(usize) -> F) {
    process::say("ready");
    process::hear();
    let local = LocalSet::new();
    let handles: Vec<_> = (0..tasks).map(|number| local.spawn_local(task(number))).collect();
    local.await;
    for handle in handles {
        handle.await.expect("a task that does not panic");
    }
}

/// Has two processes play a role at the same moment, and returns what both said.
fn together<D: Database>(database: &D, role: &str, wait: Duration) -> Vec<String> {
    let start = || {
        process::role(role)
            .with("DATABASE", database.address())
            .with("WAIT", wait.as_millis())
            .start()
    };
    let mut children = [start(), start()];
    for child in &mut children {
        child.wait_for("ready");
    }
    for child in &mut children {
        child.tell("go");
    }
    children.map(Child::wait).map(|ended| ended.success()).concat()
}

fn words<const N: usize>(line: &str) -> [String; N] {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    words.try_into().unwrap_or_else(|_| panic!("a child said `{line}`"))
}

const TASKS: usize = 25;
const KEYS: usize = 20;
const COPIES: usize = 3;
