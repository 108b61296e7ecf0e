//! `--workers N`: N processes serve all calls at once, each in order.

use tokio::task::JoinSet;

use crate::child::{Child, Message, Work};
use crate::failure::Failure;
use crate::serve::Answer;

/// Gives one answer for each call: that of the worker that came to it first.
///
/// The first to come to a call meets what a single process would have met: a worker serves the calls in order, so nobody
/// can have served a later call before. The others find its outcome.
pub async fn run(work: &Work<'_>, workers: u16, calls: usize, mut tell: impl FnMut()) -> Result<Vec<Answer>, Failure> {
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let mut running = JoinSet::new();
    for _ in 0..workers {
        let (mut child, sender) = (Child::start(work, None)?, sender.clone());
        running.spawn(async move {
            while let Some(message) = child.message().await? {
                if let Message::Answered(index, answer) = message {
                    // The receiver lives until every sender is gone.
                    let _ = sender.send((index, answer));
                }
            }
            child.finish().await
        });
    }
    drop(sender);
    let mut first: Vec<Option<Answer>> = vec![None; calls];
    while let Some((index, answer)) = answers.recv().await {
        if let Some(slot) = first.get_mut(index) {
            if slot.as_ref().is_none_or(|known| rank(&answer) < rank(known)) {
                *slot = Some(answer);
            }
            tell();
        }
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(Failure::process)??;
    }
    Ok(first.into_iter().flatten().collect())
}

/// Which of two answers to one call was given first. A worker that finds the key taken comes after the one that took it,
/// and a tool can only fail while its key is free.
fn rank(answer: &Answer) -> u8 {
    match answer {
        Answer::Executed => 0,
        Answer::Failed => 1,
        Answer::Refused(_) => 2,
        Answer::Replayed => 3,
    }
}
