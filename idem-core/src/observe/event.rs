use std::time::Duration;

use super::Conclusion;

/// A call has won its claim: its effect is about to run. Told once for a call, also when its transaction is run again.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallClaimed<'a> {
    /// The action, as the program names it; never a part of the input.
    pub action: &'a str,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

/// A call has ended. Told once for a call, however often it waited, asked again or ran its transaction.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallConcluded<'a> {
    /// The action, as the program names it; never a part of the input.
    pub action: &'a str,
    /// How it ended. What was joined to the caller's transaction ends before that one commits.
    pub conclusion: Conclusion,
    /// From the derived key to the end, waiting and the effect included.
    pub duration: Duration,
    /// How long another attempt was waited for; `None` when none was.
    pub waited: Option<Duration>,
    /// The number of the attempt; `None` when no claim was won, so that no [`CallClaimed`] went before.
    pub attempt: Option<u32>,
}
