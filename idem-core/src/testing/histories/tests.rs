use super::*;
use crate::store::MemoryStore;

/// Each event with all that it can be answered with. What an event of two keys adds is in the last line.
const ANSWERS: [(&str, &str); 12] = [
    (
        "claim",
        "Claimed Replay InFlight Mismatch OutcomeUnknown AlreadyExecuted PlaceTaken Revoked Aliased",
    ),
    (
        "transaction",
        "Claimed Claimed,Done Replay InFlight Mismatch OutcomeUnknown AlreadyExecuted PlaceTaken Revoked Aliased",
    ),
    ("completion", "Done Stale"),
    ("failure", "Done OutcomeUnknown Stale"),
    ("release", "Done Stale"),
    ("renewal", "Done Stale"),
    ("verdict", "Done Refused"),
    ("revocation", "Done Refused"),
    ("reopening", "Done PlaceTaken Refused"),
    ("claim of two keys", "Claimed Aliased Mismatch InFlight"),
    ("transaction on two keys", "Claimed,Done Aliased Mismatch InFlight"),
    ("purge", "-"),
];

/// Histories that never meet an answer compare nothing about it.
#[tokio::test]
async fn histories_meet_every_answer() {
    let abilities = Abilities::transactional().with_clock();
    let mut missing = String::new();
    let mut seen = BTreeSet::new();
    // As a rule fifty are enough.
    for _ in 0..100 {
        seen.append(&mut play(&MemoryStore::new(), &abilities, 10).await);
        let wanted = ANSWERS.iter().flat_map(|(event, answers)| {
            answers
                .split(' ')
                .map(move |answer| format!("{event}: {}", answer.replace(',', ", ")))
        });
        missing = wanted
            .filter(|answer| !seen.contains(answer))
            .collect::<Vec<_>>()
            .join("; ");
        if missing.is_empty() {
            return;
        }
    }
    panic!("no history had {missing}");
}
