use super::*;
use crate::store::MemoryStore;

/// Whatever an event can be answered with is met.
#[tokio::test]
async fn histories_meet_every_answer() {
    let store = MemoryStore::new();
    let abilities = Abilities::transactional().with_clock();
    let seen = play(&store, &abilities, 1500).await;
    for answer in &seen {
        println!("{answer}");
    }
    for wanted in ["claim: Claimed"] {
        assert!(seen.contains(wanted), "no history had {wanted}: {seen:#?}");
    }
}
