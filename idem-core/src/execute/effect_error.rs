use std::error::Error as StdError;
use std::fmt;

use serde::Serialize;

use crate::canonical::CanonicalError;
use crate::record::{Outcome, OutcomeKind};

type Source = Box<dyn StdError + Send + Sync>;

/// Why an effect did not succeed.
///
/// Made by `?` from any error: then nothing is recorded and the call may be sent again. A final
/// error, which every repeat shall get, is made by [`final_`](Self::final_).
///
/// # Examples
///
/// ```
/// use idem_core::EffectError;
///
/// fn parse(text: &str) -> Result<u32, EffectError> {
///     Ok(text.parse::<u32>()?)
/// }
/// assert!(parse("x").is_err());
///
/// // "Card declined" is an answer, not a fault: asking again must give it again.
/// let declined = EffectError::final_("card_declined");
/// assert!(declined.is_final());
/// ```
pub struct EffectError(Cause);

enum Cause {
    Final(Result<Outcome, CanonicalError>),
    Failed(Source),
    NothingHappened(Source),
}

/// How the executor sees it.
pub(crate) enum Verdict {
    /// Record this outcome.
    Final(Outcome),
    /// The value of a final error could not be encoded.
    Unencodable(CanonicalError),
    /// Roll back and report; outside of a transaction it is not known what happened.
    Failed(Source),
    /// Nothing happened, anywhere.
    NothingHappened(Source),
}

impl EffectError {
    /// An error of any kind, such as a boxed one or a text; what `?` makes of an error value.
    pub fn new(error: impl Into<Source>) -> Self {
        Self(Cause::Failed(error.into()))
    }

    /// A final error: the effect is rolled back, `value` is recorded, and every repeat gets it
    /// without running again.
    pub fn final_<T: Serialize + ?Sized>(value: &T) -> Self {
        Self(Cause::Final(Outcome::encode(OutcomeKind::Declined, value)))
    }

    /// An error of which it is certain that nothing happened, neither here nor anywhere outside.
    ///
    /// In a transaction every error that is not final means this, since it rolls everything back.
    pub fn nothing_happened(error: impl Into<Source>) -> Self {
        Self(Cause::NothingHappened(error.into()))
    }

    /// Whether repeats will get this error without running again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self.0, Cause::Final(_))
    }

    pub(crate) fn into_verdict(self) -> Verdict {
        match self.0 {
            Cause::Final(Ok(outcome)) => Verdict::Final(outcome),
            Cause::Final(Err(source)) => Verdict::Unencodable(source),
            Cause::Failed(source) => Verdict::Failed(source),
            Cause::NothingHappened(source) => Verdict::NothingHappened(source),
        }
    }
}

// Like other error types that `?` converts into, it is not an error itself: the two would overlap.
impl<E: StdError + Send + Sync + 'static> From<E> for EffectError {
    fn from(error: E) -> Self {
        Self(Cause::Failed(Box::new(error)))
    }
}

impl fmt::Debug for EffectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Final(Ok(_)) => f.write_str("EffectError::Final(..)"),
            Cause::Final(Err(error)) => write!(f, "EffectError::Final({error:?})"),
            Cause::Failed(error) => write!(f, "EffectError({error:?})"),
            Cause::NothingHappened(error) => write!(f, "EffectError::NothingHappened({error:?})"),
        }
    }
}
