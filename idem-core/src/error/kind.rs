/// What stopped a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another attempt under this key is running; send the call again later.
    InFlight,
    /// The key is bound to another request: use another key, or send what was sent first.
    Mismatch,
    /// The effect ended in a final error, now or in an earlier attempt;
    /// [`Error::declined`](crate::Error::declined) has its value.
    Declined,
    /// The effect may have happened; a person or a reconciliation has to say.
    OutcomeUnknown,
    /// The ledger holds the effect: this key's own, whose record has expired, or that of another key
    /// which holds the `once_per` place; [`Error::entry`](crate::Error::entry) names it.
    AlreadyExecuted,
    /// The effect was done and undone.
    Revoked,
    /// The effect stands, but its result was too large to keep, is not kept by choice, or cannot be read any more: the type has
    /// changed, or the key that it was encrypted with is missing. It is not run again.
    ResultUnavailable,
    /// No key can be made of the input, or the ledger cannot keep what is recorded beside the key.
    InvalidKey,
    /// The effect failed; nothing was recorded, and the call may be sent again.
    Effect,
    /// The call was used in a way that cannot be made safe.
    Misuse,
    /// The claim was lost before the outcome was recorded; what this attempt did was rolled back.
    LostClaim,
    /// The tables are missing, too old or too new for this build.
    Schema,
    /// A stored record cannot be read; it is never taken for absent.
    Corrupt,
    /// The storage failed.
    Store,
}
