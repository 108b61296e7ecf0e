//! What the record of an effect says after its retention.

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);
const LAST: Duration = Duration::from_millis(1);

fn asks(owner_number: u8, print: u8, tombstone: Option<Duration>) -> Claim {
    let key = "dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2".parse();
    Claim {
        step_id: Some(format!("step {owner_number}")),
        tombstone: tombstone.map(|lasts| {
            Box::new(Tombstone {
                lasts,
                key: key.expect("a key"),
                action: "act".to_owned(),
            })
        }),
        ..claim(owner_number, print)
    }
}

/// A record that was completed at [`NOW`] under a claim with a tombstone of a day.
fn completed(outcome: Outcome) -> Record {
    let claim = asks(1, 1, Some(DAY));
    let retention = match outcome.kind() {
        OutcomeKind::Success => claim.kept(),
        _ => claim.retention,
    };
    let complete = Event::Complete {
        owner: owner(1),
        outcome,
        retention,
    };
    after([Event::Claim(claim), complete]).0.expect("a record")
}

fn asked(record: &Record, claim: Claim, past: Duration) -> Reply {
    let (after, reply) = transition(
        Some(record.clone()),
        &LedgerView::default(),
        Event::Claim(claim),
        NOW.after(past),
    )
    .expect("a record that is in order");
    if !matches!(reply, Reply::Claimed { .. }) {
        assert_eq!(
            format!("{after:?}"),
            format!("{:?}", Some(record)),
            "an answer changes nothing"
        );
    }
    reply
}

#[test]
fn an_outcome_is_replayed_to_the_end_of_its_retention_and_told_to_the_end_of_its_tombstone() {
    let record = completed(outcome());
    let ask = |past| asked(&record, asks(2, 1, Some(DAY)), past);
    assert_eq!(ask(HOUR - LAST), Reply::Replay(outcome()));
    let told = Reply::AlreadyExecuted(LedgerRef {
        key: "dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2".into(),
        step_id: Some("step 1".into()),
        ..entry("", 1)
    });
    assert_eq!(ask(HOUR), told);
    assert_eq!(ask(HOUR + DAY - LAST), told);
    assert!(matches!(ask(HOUR + DAY), Reply::Claimed { attempt: 1, .. }));
}

#[test]
fn a_mismatch_is_judged_before_a_tombstone() {
    let record = completed(outcome());
    assert_eq!(asked(&record, asks(2, 2, Some(DAY)), HOUR), Reply::Mismatch);
}

#[test]
fn a_final_error_has_no_tombstone() {
    let declined = Outcome::encode(OutcomeKind::Declined, &"no").expect("a text");
    let record = completed(declined.clone());
    let ask = |record, past| asked(record, asks(2, 1, Some(DAY)), past);
    assert_eq!(ask(&record, HOUR - LAST), Reply::Replay(declined.clone()));
    assert!(matches!(ask(&record, HOUR), Reply::Claimed { .. }));
    // Also where another call has asked to keep it for longer.
    let kept = Record {
        expires_at: Some(NOW.after(DAY)),
        ..record.clone()
    };
    assert_eq!(ask(&kept, HOUR), Reply::Replay(declined));
}

#[test]
fn whether_an_outcome_is_replayed_is_judged_by_the_call_that_asks() {
    let record = completed(outcome());
    assert_eq!(asked(&record, asks(2, 1, None), 2 * HOUR), Reply::Replay(outcome()));
    let longer = Claim {
        retention: 3 * HOUR,
        ..asks(2, 1, Some(DAY))
    };
    assert_eq!(asked(&record, longer, 2 * HOUR), Reply::Replay(outcome()));
    let shorter = Claim {
        retention: HOUR / 2,
        ..asks(2, 1, Some(Duration::ZERO))
    };
    assert!(matches!(asked(&record, shorter, HOUR / 2), Reply::AlreadyExecuted(_)));
}

#[test]
fn what_is_undone_is_told_as_undone_under_a_tombstone_too() {
    let revoked = Record {
        status: Status::Revoked,
        ..completed(outcome())
    };
    assert_eq!(
        asked(&revoked, asks(2, 1, Some(DAY)), HOUR),
        Reply::Revoked(Some(outcome()))
    );
}
