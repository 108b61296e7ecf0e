use std::time::Duration;

use super::{Intent, Notes, observed};
use crate::error::ErrorKind;
use crate::execute::{Done, Effect, EffectError, Idem, Leased, LeasedGuard};
use crate::record::Recovery;
use crate::store::MemoryStore;

const RERUN: Recovery = Recovery::Rerun {
    remembered_for: Duration::from_secs(3600),
};

async fn lease(idem: &Idem<MemoryStore>, intent: &Intent, recovery: Recovery) -> LeasedGuard<MemoryStore, u32> {
    match idem.call(intent).lease(recovery).await.expect("a claim") {
        Leased::Execute(guard) => guard,
        Leased::Replayed(_) => panic!("nothing is recorded yet"),
    }
}

/// What is told when the work that goes on in the background has ended.
async fn settled(idem: &Idem<MemoryStore>, notes: &Notes) -> Vec<String> {
    assert_eq!(idem.drain(Duration::from_secs(10)).await, 0);
    notes.take()
}

#[tokio::test]
async fn an_outside_effect_is_concluded_once() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    let done = idem.run(&intent, Recovery::Hold, async |_: Effect| Ok(7_u32)).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    assert_eq!(
        settled(&idem, &notes).await,
        ["kit.act claimed 1", "kit.act executed 1"]
    );
    let done = idem.run(&intent, Recovery::Hold, async |_: Effect| Ok(8_u32)).await;
    assert_eq!(done.expect("it replays"), Done::Replayed(7));
    assert_eq!(settled(&idem, &notes).await, ["kit.act replayed"]);
    let changed = intent.amount(2);
    let done = idem.run(&changed, Recovery::Hold, async |_: Effect| Ok(8_u32)).await;
    assert_eq!(done.expect_err("another payload").kind(), ErrorKind::Mismatch);
    assert_eq!(settled(&idem, &notes).await, ["kit.act mismatch"]);
    let declined = intent.case("declined");
    let declines = async |_: Effect| Err::<u32, _>(EffectError::final_("no"));
    idem.run(&declined, Recovery::Hold, declines)
        .await
        .expect_err("declined");
    assert_eq!(
        settled(&idem, &notes).await,
        ["kit.act claimed 1", "kit.act declined 1"]
    );
}

#[tokio::test]
async fn what_is_not_known_is_told_and_counted() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    let fails = async |_: Effect| Err::<u32, _>(EffectError::new("no answer"));
    idem.run(&intent, Recovery::Hold, fails)
        .await
        .expect_err("nobody knows");
    assert_eq!(settled(&idem, &notes).await, ["kit.act claimed 1", "kit.act unknown 1"]);
    idem.run(&intent, Recovery::Hold, fails)
        .await
        .expect_err("nobody knows");
    assert_eq!(settled(&idem, &notes).await, ["kit.act unknown"]);
    let running = lease(&idem, &intent.case("running"), Recovery::Hold).await;
    notes.take();
    assert_eq!(idem.observe_unknown(100).await.expect("counted"), 1);
    assert_eq!(notes.take(), ["unknown 1 true"]);
    running.complete(7).await.expect("recorded");
}

#[tokio::test]
async fn without_anything_unknown_that_is_told() {
    let (idem, notes) = observed();
    assert_eq!(idem.observe_unknown(100).await.expect("counted"), 0);
    assert_eq!(notes.take(), ["unknown 0 false"]);
}

#[tokio::test]
async fn an_attempt_that_takes_over_is_told_from_the_first() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    let fails = async |_: Effect| Err::<u32, _>(EffectError::new("no answer"));
    idem.run(&intent, RERUN, fails).await.expect_err("it may have happened");
    assert_eq!(settled(&idem, &notes).await, ["kit.act claimed 1", "kit.act failed 1"]);
    let done = idem.run(&intent, RERUN, async |_: Effect| Ok(7_u32)).await;
    assert_eq!(done.expect("it runs again"), Done::Executed(7));
    assert_eq!(
        settled(&idem, &notes).await,
        ["kit.act claimed 2", "kit.act takeover 2"]
    );
}

#[tokio::test]
async fn a_guard_is_concluded_by_what_is_said_or_not_said_of_it() {
    let (idem, notes) = observed();
    let intent = Intent::new("");
    let guard = lease(&idem, &intent.case("completed"), Recovery::Hold).await;
    guard.complete(7).await.expect("recorded");
    assert_eq!(
        settled(&idem, &notes).await,
        ["kit.act claimed 1", "kit.act executed 1"]
    );
    let guard = lease(&idem, &intent.case("failed"), Recovery::Hold).await;
    let error = EffectError::nothing_happened("no connection");
    guard.fail(error).await.expect_err("it failed");
    assert_eq!(settled(&idem, &notes).await, ["kit.act claimed 1", "kit.act failed 1"]);
    drop(lease(&idem, &intent.case("held"), Recovery::Hold).await);
    assert_eq!(settled(&idem, &notes).await, ["kit.act claimed 1", "kit.act unknown 1"]);
    drop(lease(&idem, &intent.case("rerun"), RERUN).await);
    assert_eq!(settled(&idem, &notes).await, ["kit.act claimed 1", "kit.act failed 1"]);
}

#[tokio::test]
async fn an_effect_whose_caller_went_away_is_concluded_by_its_own_end() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    let slow = async |_: Effect| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(7_u32)
    };
    let call = idem.run(&intent, Recovery::Hold, slow);
    tokio::time::timeout(Duration::from_millis(20), call)
        .await
        .expect_err("it is slow");
    assert_eq!(notes.take(), ["kit.act claimed 1"]);
    assert_eq!(settled(&idem, &notes).await, ["kit.act executed 1"]);
}

#[tokio::test]
async fn a_call_that_waits_for_an_outside_effect_is_concluded_once() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    let guard = lease(&idem, &intent, Recovery::Hold).await;
    let waiting = idem
        .call(&intent)
        .wait(Duration::from_secs(30))
        .run(Recovery::Hold, async |_: Effect| Ok(8_u32));
    let completing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        guard.complete(7).await
    };
    let (waited, completed) = tokio::join!(waiting, completing);
    assert_eq!(waited.expect("it replays"), Done::Replayed(7));
    completed.expect("recorded");
    let told = settled(&idem, &notes).await;
    assert_eq!(
        told,
        ["kit.act claimed 1", "kit.act executed 1", "kit.act waited after a wait"]
    );
}

#[test]
fn what_the_end_of_the_runtime_cuts_off_is_unknown() {
    let (idem, notes) = observed();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let intent = Intent::new("a");
    runtime.block_on(async {
        let endless = async |_: Effect| std::future::pending::<Result<u32, EffectError>>().await;
        let call = idem.run(&intent, Recovery::Hold, endless);
        tokio::time::timeout(Duration::from_millis(20), call)
            .await
            .expect_err("it never ends");
    });
    assert_eq!(notes.take(), ["kit.act claimed 1"]);
    drop(runtime);
    assert_eq!(notes.take(), ["kit.act unknown 1"]);
}
