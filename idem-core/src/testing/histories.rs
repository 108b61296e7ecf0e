//! Random histories, held against the transition function.

use std::time::Duration;

use super::expiry::{retention, wait_for_expiry};
use super::{Effect, Intent, Kit};
use crate::clock::{Timestamp, random_bytes};
use crate::error::{Error, ErrorKind};
use crate::execute::Done;
use crate::key::derive;
use crate::ledger::{Detail, Entry, EntryKind, LedgerRef, LedgerView, Standing};
use crate::record::{Outcome, OutcomeKind, OwnerToken, Record};
use crate::state::{Claim, Event, Reply, transition};
use crate::store::{Completion, StoreClaim, TransactionalStore};

pub(super) async fn run<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    for _ in 0..HISTORIES {
        let seed = u64::from_be_bytes(random_bytes().expect("the operating system gives random bytes"));
        kit.case(&format!("a random history, seed {seed}"), history(kit, seed))
            .await;
    }
}

const HISTORIES: usize = 20;
const STEPS: usize = 12;

/// The expected state of one key.
#[derive(Default)]
struct Model {
    record: Option<Record>,
    ledger: LedgerView,
}

async fn history<S: TransactionalStore + Clone>(kit: &Kit<S>, seed: u64) {
    let base = Intent::new("history");
    let mut model = Model::default();
    let mut random = SplitMix(seed);
    for step in 0..STEPS {
        let intent = base.amount(u32::try_from(random.below(2)).expect("a small number"));
        let effect = [Effect::Succeeds, Effect::Fails, Effect::Declines][random.below(3)];
        let expires = random.below(2) == 0;
        let keep = if expires {
            retention()
        } else {
            Duration::from_secs(3600)
        };
        let at = format!("step {step}: {effect:?}, amount {}, expires {expires}", intent.amount);

        let now = kit.view(&intent).await.now;
        let expected = model.call(&intent, effect, keep, now);
        let found = tell(kit.finish(kit.call(&intent).retention(keep), effect).await);
        assert_eq!(found, expected, "{at}");
        let record = kit.view(&intent).await.record;
        assert_eq!(record.as_ref().map(essence), model.record.as_ref().map(essence), "{at}");
        if expires {
            wait_for_expiry().await;
        }
    }
    kit.ran();
}

impl Model {
    fn call(&mut self, intent: &Intent, effect: Effect, keep: Duration, now: Timestamp) -> String {
        let parts = parts(intent);
        let claim = Claim {
            retention: keep,
            ..parts.claim.claim
        };
        let owner = claim.owner;
        let (claimed, reply) = decide(self.record.clone(), &self.ledger, Event::Claim(claim), now);
        let Reply::Claimed { generation, .. } = reply else {
            return tell_reply(&reply);
        };
        let kind = match effect {
            // Rolled back: what was stored before is stored again.
            Effect::Fails => return format!("{:?}", ErrorKind::Effect),
            Effect::Succeeds => OutcomeKind::Success,
            Effect::Declines => OutcomeKind::Declined,
        };
        let outcome = Outcome::encode(kind, &7).expect("a number");
        let complete = Event::Complete {
            owner,
            outcome,
            retention: keep,
        };
        let (completed, reply) = decide(claimed, &LedgerView::default(), complete, now);
        assert_eq!(reply, Reply::Done);
        self.record = completed;
        if kind == OutcomeKind::Declined {
            return format!("{:?}", ErrorKind::Declined);
        }
        let entry = LedgerRef {
            key: parts.claim.key.as_str().to_owned(),
            generation,
            action: "kit.act".to_owned(),
            step_id: None,
            run_id: None,
            recorded_at: now,
        };
        self.ledger.own = Some(Standing {
            kind: EntryKind::Executed,
            fingerprint: parts.completion.entry.fingerprint,
            entry,
            alias: None,
        });
        "executed".to_owned()
    }
}

fn decide(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> (Option<Record>, Reply) {
    transition(record, ledger, event, now).expect("the model stores what the function says")
}

fn tell(result: Result<Done<u32>, Error>) -> String {
    match result {
        Ok(Done::Executed(_)) => "executed".to_owned(),
        Ok(Done::Replayed(_)) => "replayed".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn tell_reply(reply: &Reply) -> String {
    match reply {
        Reply::Replay(outcome) if outcome.kind() == OutcomeKind::Success => "replayed".to_owned(),
        Reply::Replay(_) => format!("{:?}", ErrorKind::Declined),
        Reply::Mismatch => format!("{:?}", ErrorKind::Mismatch),
        Reply::AlreadyExecuted(_) => format!("{:?}", ErrorKind::AlreadyExecuted),
        other => format!("unexpected {other:?}"),
    }
}

/// What of a record the model foresees: all but tokens and times.
fn essence(record: &Record) -> String {
    let Record {
        fingerprint,
        status,
        mode,
        attempt,
        generation,
        outcome,
        ..
    } = record;
    let outcome = outcome.as_ref().map(Outcome::kind);
    format!("{fingerprint:?} {status:?} {mode:?} attempt {attempt} generation {generation} {outcome:?}")
}

/// What the executor hands to a store for an intent.
pub(super) struct Parts {
    pub(super) claim: StoreClaim,
    pub(super) completion: Completion,
}

pub(super) fn parts(intent: &Intent) -> Parts {
    let derived = derive(intent, None).expect("intents of the kit have keys");
    let owner = OwnerToken::random().expect("the operating system gives random bytes");
    let outcome = Outcome::encode(OutcomeKind::Success, &7).expect("a number");
    let entry = Entry {
        key: derived.key.clone(),
        generation: 1,
        attempt: 1,
        kind: EntryKind::Executed,
        reason: None,
        action: "kit.act".to_owned(),
        fingerprint: derived.fingerprint.clone(),
        step_id: None,
        run_id: None,
        payload_digest: derived.payload_digest(),
        outcome_digest: outcome.digest(),
        place: None,
        frees_place: false,
        actor: None,
        references: None,
        detail: Detail::new(derived.subject, "{}".to_owned(), None).expect("a salt"),
    };
    let claim = Claim {
        fingerprint: derived.fingerprint,
        owner,
        lease: None,
        retention: Duration::from_secs(3600),
        step_id: None,
        run_id: None,
    };
    Parts {
        claim: StoreClaim {
            key: derived.key,
            claim,
            place: None,
            alias: None,
        },
        completion: Completion {
            owner,
            outcome,
            retention: Duration::from_secs(3600),
            entry,
        },
    }
}

/// The entry that goes with a leased claim of an intent.
pub(super) fn intended(intent: &Intent) -> Entry {
    let entry = parts(intent).completion.entry;
    Entry {
        kind: EntryKind::Intended,
        outcome_digest: None,
        ..entry
    }
}

/// A small generator whose histories can be run again from their seed.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap_or(0)
    }
}
