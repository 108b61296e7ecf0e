//! What errors of the driver mean for a call.

use std::error::Error as StdError;

use idem_core::{Error, ErrorKind, Retry};

/// How a driver's error is to be understood.
pub(crate) trait Codes {
    /// The database undid the transaction, which may be run again at once.
    fn is_conflict(code: &str) -> bool;
    /// Trouble that may be over when the call is sent again.
    fn is_transient(code: &str) -> bool;
    /// The server has closed the connection.
    fn is_disconnect(code: &str) -> bool;
    /// An answer to COMMIT that leaves open whether it happened.
    fn commit_is_unknown(code: &str) -> bool;
    /// Permissions are missing.
    fn is_denied(code: &str) -> bool;
    /// A table is missing.
    fn is_missing(error: &dyn sqlx::error::DatabaseError) -> bool;
    /// A pooler has given the connection to a server that does not have its prepared statements.
    fn is_mixed_up(error: &dyn sqlx::error::DatabaseError) -> bool;
}

/// Wraps an error of a statement of ours.
pub(crate) fn store<C: Codes>(what: &str, source: sqlx::Error) -> Error {
    let retry = retry_of::<C>(&source);
    let what = if source.as_database_error().is_some_and(C::is_mixed_up) {
        format!(
            "{what}: a pooler between this program and the database mixes up prepared statements, as PgBouncer in transaction mode does before 1.21 or without `max_prepared_statements`; set `persistent_statements(false)` on the store and `.persistent(false)` on the queries of effects, or have the pooler keep the statements apart"
        )
    } else if code_of(&source).is_some_and(|code| C::is_denied(&code)) {
        format!(
            "{what}: the database role may not, or a row-level security policy refused; grant it, or set what the policy reads in `on_begin`, and before `join` in the transaction itself"
        )
    } else {
        what.to_owned()
    };
    Error::store(what, source).with_retry(retry)
}

/// Wraps an error of a statement on idem's tables.
pub(crate) fn tables<C: Codes>(what: &str, source: sqlx::Error) -> Error {
    if source.as_database_error().is_some_and(C::is_missing) {
        let message = format!(
            "could not {what}: idem's tables are missing, or have another `table_prefix`; run `migrate()` on the store once, with a role that may create tables"
        );
        return Error::new(ErrorKind::Schema, message).with_source(source);
    }
    store::<C>(what, source)
}

/// Wraps an error of taking a connection from the pool: nothing has begun.
pub(crate) fn acquire<C: Codes>(what: &str, source: sqlx::Error) -> Error {
    let retry = match retry_of::<C>(&source) {
        Retry::ConnectionLost => Retry::Later,
        retry => retry,
    };
    Error::store(what, source).with_retry(retry)
}

/// Wraps an error of COMMIT: unless the database itself said that nothing was committed, nobody
/// knows.
pub(crate) fn commit<C: Codes>(source: sqlx::Error) -> Error {
    let code = code_of(&source);
    let refused = matches!(source, sqlx::Error::Database(_)) && !code.as_deref().is_some_and(C::commit_is_unknown);
    if !refused {
        let what = "learn whether the transaction was committed; call again to find out";
        return Error::store(what, source).with_retry(Retry::CommitUnknown);
    }
    let is_open_claim = source
        .as_database_error()
        .and_then(|error| error.constraint())
        .is_some_and(|name| name.ends_with("_claim_without_outcome"));
    if is_open_claim {
        let message = "the transaction holds a claim without its outcome: a `join` inside the effect was cancelled, or the effect sent COMMIT; nothing was committed";
        return Error::new(ErrorKind::Misuse, message).with_source(source);
    }
    match retry_of::<C>(&source) {
        // A constraint that is checked at the end, say: what the effect did cannot be committed.
        Retry::Never => {
            let message = "the database refused to commit what the effect did; nothing was committed or recorded";
            Error::new(ErrorKind::Effect, message).with_source(source)
        }
        retry => Error::store("commit; nothing was committed", source).with_retry(retry),
    }
}

/// What an error that an effect returned means, wherever in its chain of causes the driver spoke.
pub(crate) fn classify<C: Codes>(error: &(dyn StdError + 'static)) -> Retry {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return retry_of::<C>(error);
        }
        if let Some(error) = error.downcast_ref::<Error>() {
            return error.retry();
        }
        cause = error.source();
    }
    Retry::Never
}

fn retry_of<C: Codes>(error: &sqlx::Error) -> Retry {
    match error {
        // The next connection would not be better.
        sqlx::Error::Database(error) if C::is_mixed_up(&**error) => Retry::Never,
        sqlx::Error::Database(error) => match error.code() {
            Some(code) if C::is_conflict(&code) => Retry::Transaction,
            Some(code) if C::is_disconnect(&code) => Retry::ConnectionLost,
            Some(code) if C::is_transient(&code) => Retry::Later,
            _ => Retry::Never,
        },
        sqlx::Error::Io(_) => Retry::ConnectionLost,
        sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed => Retry::Later,
        _ => Retry::Never,
    }
}

fn code_of(error: &sqlx::Error) -> Option<std::borrow::Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// A stored value that this build cannot read. It is never taken for absent.
pub(crate) fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

/// The effect sent COMMIT or ROLLBACK itself.
pub(crate) fn ended_by_effect() -> Error {
    Error::new(
        ErrorKind::Misuse,
        "the effect ended the transaction that it was given; its outcome is not recorded, and what it committed stands alone. Leave COMMIT and ROLLBACK to the helper, and use a savepoint to undo a part",
    )
}
