//! Which effects the current task is inside of.

use crate::error::{Error, ErrorKind};
use crate::key::IdempotencyKey;

tokio::task_local! {
    static INSIDE: Vec<IdempotencyKey>;
}

/// Runs `body` as the inside of the effect of `key`.
pub(crate) async fn inside<F: Future>(key: &IdempotencyKey, body: F) -> F::Output {
    let mut keys = INSIDE.try_with(Vec::clone).unwrap_or_default();
    keys.push(key.clone());
    INSIDE.scope(keys, body).await
}

fn is_inside() -> bool {
    INSIDE.try_with(|keys| !keys.is_empty()).unwrap_or(false)
}

/// Refuses a change by hand that would commit apart from the effect that it is made in.
pub(crate) fn check_by_hand() -> Result<(), Error> {
    if is_inside() {
        let message = "a change by hand inside an effect would commit apart from it; use the function that ends in `_in` on the effect's own transaction, or make the change before or after the effect";
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}

/// Refuses a purge that would wait for the effect that it is made in.
pub(crate) fn check_purge() -> Result<(), Error> {
    if is_inside() {
        let message = "a purge inside an effect may wait for the effect itself; run it in a task of its own";
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}

/// Refuses a call that would open a second transaction inside an effect.
pub(crate) fn check_outside() -> Result<(), Error> {
    if is_inside() {
        let message = "a second call inside an effect would commit apart from it; use `.join(tx, ..)` on the effect's own transaction; where the effect has none (`run`, `lease`), make the other call before or after it";
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}

/// Refuses a key inside its own effect.
pub(crate) fn check_not_inside(key: &IdempotencyKey) -> Result<(), Error> {
    if INSIDE.try_with(|keys| keys.contains(key)).unwrap_or(false) {
        return Err(asks_for_itself(key));
    }
    Ok(())
}

pub(crate) fn asks_for_itself(key: &IdempotencyKey) -> Error {
    let message = format!(
        "the effect of key {} asks for itself; a nested effect needs a key of its own",
        key.short()
    );
    Error::new(ErrorKind::Misuse, message)
}
