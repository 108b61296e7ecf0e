//! What has to be true when the dust has settled.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem::{Done, ErrorKind, Idem, Recovery};

use super::{Chaos, WORKERS, charge};
use crate::downstream::{Downstream, Memory};
use crate::stage::{
    COMPLETED, Charge, EXECUTED, HELD, RECORDS, Receipt, Stage, ask, ask_until_answered, downstream_key, resolve,
};
use crate::worker::Answer;

impl Chaos<'_> {
    /// Asks for every order once more, resolves what is unknown by the downstream's books, and returns how much that was.
    pub(super) async fn settle<S: Stage>(&self, idem: &Idem<S>, downstream: &Downstream) -> u64 {
        let port = downstream.port();
        let (mut unknown, mut answered) = (Vec::new(), 0);
        for order in 0..self.effects {
            match ask_until_answered(idem, &charge(order), self.mode.recovery, port).await {
                Ok(done) => {
                    answered += 1;
                    self.note(order, done);
                }
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown => unknown.push(order),
                Err(error) => panic!("order {order} ended with {error:?}"),
            }
        }
        let store = idem.store();
        assert_eq!(
            store.number(RECORDS).await,
            self.effects as i64,
            "every order is on record"
        );
        assert_eq!(store.number(COMPLETED).await, answered);
        assert_eq!(store.number(HELD).await, unknown.len() as i64, "and completed or held");
        assert_eq!(
            store.number(UNKNOWN_WITHOUT_ENTRY).await,
            0,
            "held, and not in the ledger"
        );
        assert_eq!(
            store.number(EXECUTED).await,
            answered,
            "executed entries and completed records"
        );

        let books = downstream.report();
        for &order in &unknown {
            let input = charge(order);
            let calls = books.get(&downstream_key(idem, &input)).copied().unwrap_or_default();
            let receipt = (calls.charges > 0).then_some(Receipt {
                number: calls.number,
                attempt: 0,
                cents: input.cents,
            });
            resolve(idem, &input, receipt).await;
            let done = ask_until_answered(idem, &input, self.mode.recovery, port).await;
            let done = done.expect("it is known now");
            assert_eq!(done.is_replayed(), receipt.is_some(), "order {order}");
            self.note(order, done);
        }
        unknown.len() as u64
    }

    fn note(&self, order: usize, done: Done<Receipt>) {
        let answer = if done.is_replayed() {
            Answer::Replayed
        } else {
            Answer::Executed
        };
        let mut told = self.told.lock().expect("no panic");
        told.entry(order).or_default().push(answer(done.into_inner()));
    }

    pub(super) async fn check<S: Stage>(&self, idem: &Idem<S>, downstream: &Downstream, unknown: u64) {
        let (books, told) = (downstream.report(), self.told.lock().expect("no panic").clone());
        assert_eq!(books.len(), self.effects, "every order is charged");
        for order in 0..self.effects {
            let input = charge(order);
            let calls = books[&downstream_key(idem, &input)];
            assert_eq!(calls.charges, 1, "order {order} is charged once: {calls:?}");
            if self.mode.recovery == Recovery::Hold {
                assert_eq!(calls.requests, 1, "order {order} is asked for once: {calls:?}");
            }
            let mut receipts = Vec::new();
            for answer in &told[&order] {
                match answer {
                    Answer::Executed(receipt) | Answer::Replayed(receipt) => receipts.push(*receipt),
                    Answer::Refused(_) => {}
                }
            }
            let first = receipts[0];
            assert!(
                receipts.iter().all(|receipt| *receipt == first),
                "order {order}: {receipts:?}"
            );
            assert_eq!(
                (first.number, first.cents),
                (calls.number, input.cents),
                "order {order}"
            );
            let executed = told[&order]
                .iter()
                .filter(|answer| matches!(answer, Answer::Executed(_)));
            assert!(executed.count() <= 1, "order {order}: {:?}", told[&order]);
        }
        let kills = self.counts.kills.load(Ordering::SeqCst);
        match self.mode.memory {
            Memory::Always => assert_eq!(unknown, 0, "a rerun finds out"),
            Memory::Never => {
                let restarts = self.counts.restarts.load(Ordering::SeqCst);
                let most = kills + restarts * (WORKERS * self.mode.batch) as u64;
                assert!(
                    unknown <= most,
                    "{unknown} unknown outcomes of {kills} kills and {restarts} restarts"
                );
            }
            Memory::For(_) => {}
        }
        let store = idem.store();
        assert_eq!(store.number(COMPLETED).await, self.effects as i64);
        assert_eq!(store.number(EXECUTED).await, self.effects as i64);
        assert_eq!(store.number(EXECUTED_TWICE).await, 0);
        assert_eq!(
            store.number(NOT_INTENDED).await,
            0,
            "records with attempts that were never intended"
        );
        assert!(kills >= self.kills_wanted, "{kills} kills of {}", self.kills_wanted);
        for (what, count) in [
            ("stopped and continued", &self.counts.stops),
            ("stopped and killed", &self.counts.stopped_kills),
        ] {
            assert!(count.load(Ordering::SeqCst) > 0, "no worker was {what}");
        }

        // What stands is never replayed to another request.
        for order in (0..self.effects).step_by(self.effects.div_ceil(20)) {
            let changed = Charge {
                cents: -1,
                ..charge(order)
            };
            let asked = ask(idem, &changed, self.mode.recovery, downstream.port(), Duration::ZERO).await;
            assert_eq!(asked.expect_err("another request").kind(), ErrorKind::Mismatch);
        }
        assert_eq!(
            downstream.total().charges,
            u32::try_from(self.effects).expect("a number")
        );
    }

    pub(super) fn print(&self, on: &str, downstream: &Downstream, unknown: u64, ran: Duration) {
        let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
        let (counts, total) = (&self.counts, downstream.total());
        eprintln!(
            "{on}, {}: {} effects in {ran:.1?}; {} kills ({} of stopped workers), {} stops, {} cuts, {} restarts; answers: {} executed, {} replayed, {} unknown, {} to come again; \
             downstream: {} requests, {} charges; {unknown} unknown in the end, all resolved",
            self.mode.name,
            self.effects,
            count(&counts.kills),
            count(&counts.stopped_kills),
            count(&counts.stops),
            count(&counts.cuts),
            count(&counts.restarts),
            count(&counts.executed),
            count(&counts.replayed),
            count(&counts.unknown),
            count(&counts.asked_again),
            total.requests,
            total.charges,
        );
    }
}

const UNKNOWN_WITHOUT_ENTRY: &str = "SELECT count(*) FROM idem_record r WHERE r.status = 3 AND NOT EXISTS (
    SELECT 1 FROM idem_ledger e WHERE e.tenant = r.tenant AND e.idem_key = r.idem_key AND e.kind = 'unknown'
        AND e.generation = r.generation AND e.attempt = r.attempt)";
const EXECUTED_TWICE: &str = "SELECT count(*) FROM (
    SELECT idem_key FROM idem_ledger WHERE kind = 'executed' GROUP BY idem_key HAVING count(*) > 1) AS twice";
const NOT_INTENDED: &str = "SELECT count(*) FROM idem_record r WHERE r.attempt <> (
    SELECT count(*) FROM idem_ledger e WHERE e.tenant = r.tenant AND e.idem_key = r.idem_key AND e.kind = 'intended')";
