//! Reading records and entries. Both drivers select the same columns: whole numbers and moments as
//! 64-bit integers, so that one reader serves both.

use std::time::Duration;

use idem_core::{
    Claim, Completed, Completion, Detail, Entry, EntryKind, Error, ErrorKind, Event, Fingerprint, IdempotencyKey,
    LedgerRef, Mode, OpenClaim, Outcome, OutcomeKind, OwnerToken, Record, Recovery, Reply, Retry, Settlement, Standing,
    Status, Timestamp, View, alias_of, transition,
};

use crate::error::corrupt;

/// A row of either driver.
pub(crate) trait Readable {
    fn int(&self, column: &str) -> Result<Option<i64>, sqlx::Error>;
    fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;
}

macro_rules! readable {
    ($row:ty) => {
        impl Readable for $row {
            fn int(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
                sqlx::Row::try_get(self, column)
            }

            fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
                sqlx::Row::try_get(self, column)
            }

            fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
                sqlx::Row::try_get(self, column)
            }
        }
    };
}

#[cfg(feature = "postgres")]
readable!(sqlx::postgres::PgRow);
#[cfg(feature = "sqlite")]
readable!(sqlx::sqlite::SqliteRow);

/// Applies the transition function to what was seen, for the answer; the statements that write repeat
/// its whole condition.
pub(crate) fn decide(view: &View, claim: &Claim) -> Result<Reply, Error> {
    let (_, reply) = transition(view.record.clone(), &view.ledger, Event::Claim(claim.clone()), view.now)
        .map_err(|illegal| corrupt("the stored record contradicts itself").with_source(illegal))?;
    Ok(reply)
}

/// What a settlement is answered, from what stands after it.
pub(crate) fn settled(view: View, event: &Settlement, changed: bool) -> Result<Reply, Error> {
    match (view.record, changed) {
        (Some(record), true) if record.status == Status::Unknown => Ok(Reply::OutcomeUnknown {
            generation: record.generation,
            attempt: record.attempt,
        }),
        (_, true) => Ok(Reply::Done),
        (record, false) => {
            let before = record
                .as_ref()
                .map(|record| (record.status, record.owner, record.lease_until));
            let (record, reply) = transition(record, &view.ledger, Event::Settle(event.clone()), view.now)
                .map_err(|illegal| corrupt("the stored record contradicts itself").with_source(illegal))?;
            if before
                == record
                    .as_ref()
                    .map(|record| (record.status, record.owner, record.lease_until))
            {
                return Ok(reply);
            }
            // The statement did not see what the view sees now, so it has to be sent again.
            let changed = Error::new(ErrorKind::Store, "the record has changed in between");
            Err(changed.with_retry(Retry::Transaction))
        }
    }
}

/// Whether a completion that wrote nothing had been written before: it was sent again.
pub(crate) fn completed(view: View, completion: &Completion) -> Completed {
    match view.record {
        Some(record) if record.status == Status::Completed && record.owner == completion.owner => Completed::Done,
        _ => Completed::Stale,
    }
}

/// The record in a row, if there is one: every record has a status.
pub(crate) fn record(row: &impl Readable) -> Result<Option<Record>, Error> {
    let Some(status) = int(row, "status")? else {
        return Ok(None);
    };
    let status = i16::try_from(status).ok().and_then(Status::from_code).ok_or_else(|| {
        corrupt(format!(
            "the record has status {status}, which this build does not know"
        ))
    })?;
    let mode = match need(int(row, "mode")?, "mode")? {
        0 => Mode::Transactional,
        1 => Mode::Leased,
        other => {
            return Err(corrupt(format!(
                "the record has mode {other}, which this build does not know"
            )));
        }
    };
    let recovery = match int(row, "recovery")? {
        None => None,
        Some(-1) => Some(Recovery::Hold),
        Some(millis) => Some(Recovery::Rerun {
            remembered_for: Duration::from_millis(number(millis, "recovery")?),
        }),
    };
    let owner = need(bytes(row, "owner_token")?, "owner_token")?;
    let owner = owner
        .try_into()
        .map_err(|_| corrupt("the record's owner token has another length than 16 bytes"))?;
    Ok(Some(Record {
        fingerprint: fingerprint(row, "fingerprint", "fingerprint_version")?,
        status,
        mode,
        recovery,
        owner: OwnerToken::from_bytes(owner),
        lease_until: moment(row, "lease_until")?,
        attempt: number(need(int(row, "attempt")?, "attempt")?, "attempt")?,
        generation: number(need(int(row, "generation")?, "generation")?, "generation")?,
        step_id: text(row, "step_id")?,
        run_id: text(row, "run_id")?,
        outcome: outcome(row)?,
        created_at: need(moment(row, "created_at")?, "created_at")?,
        completed_at: moment(row, "completed_at")?,
        expires_at: moment(row, "expires_at")?,
    }))
}

fn outcome(row: &impl Readable) -> Result<Option<Outcome>, Error> {
    let kind = match int(row, "outcome_kind")? {
        None => return Ok(None),
        Some(0) => OutcomeKind::Success,
        Some(1) => OutcomeKind::Declined,
        Some(2) => OutcomeKind::Alias,
        Some(other) => {
            return Err(corrupt(format!(
                "the record's outcome has kind {other}, which this build does not know"
            )));
        }
    };
    let type_tag = need(text(row, "outcome_type")?, "outcome_type")?;
    let codec = need(text(row, "outcome_codec")?, "outcome_codec")?;
    Ok(Some(Outcome::from_stored(
        kind,
        bytes(row, "outcome")?,
        type_tag,
        codec,
    )))
}

/// Whether a record is claimed with a lease, which may have ended.
pub(crate) fn has_lease(record: &Record) -> bool {
    record.status == Status::InFlight && record.lease_until.is_some()
}

/// The newest fact about the key itself, from columns that begin with `own_`.
pub(crate) fn standing(row: &impl Readable) -> Result<Option<Standing>, Error> {
    let Some(kind) = text(row, "own_kind")? else {
        return Ok(None);
    };
    let kind = EntryKind::parse(&kind).ok_or_else(|| {
        corrupt(format!(
            "the ledger has an entry of kind `{kind}`, which this build does not know"
        ))
    })?;
    let fingerprint = fingerprint(row, "own_fingerprint", "own_fingerprint_version")?;
    let alias = text(row, "own_references")?.as_deref().and_then(alias_of);
    Ok(reference(row, "own_")?.map(|entry| Standing {
        kind,
        fingerprint,
        entry,
        alias,
    }))
}

/// What a key asks for, if an attempt has left an entry.
pub(crate) fn origin(row: &impl Readable, key: &IdempotencyKey) -> Result<Entry, Error> {
    let kind = need(text(row, "kind")?, "kind")?;
    let kind = EntryKind::parse(&kind).ok_or_else(|| {
        corrupt(format!(
            "the ledger has an entry of kind `{kind}`, which this build does not know"
        ))
    })?;
    let payload_digest = need(bytes(row, "payload_digest")?, "payload_digest")?;
    let digest = |bytes: Vec<u8>, column: &str| {
        <[u8; 32]>::try_from(bytes)
            .map_err(|_| corrupt(format!("the stored column `{column}` has another length than 32 bytes")))
    };
    Ok(Entry {
        key: key.clone(),
        generation: number(need(int(row, "generation")?, "generation")?, "generation")?,
        attempt: number(need(int(row, "attempt")?, "attempt")?, "attempt")?,
        kind,
        reason: None,
        action: need(text(row, "action")?, "action")?,
        fingerprint: fingerprint(row, "fingerprint", "fingerprint_version")?,
        step_id: text(row, "step_id")?,
        run_id: text(row, "run_id")?,
        payload_digest: digest(payload_digest, "payload_digest")?,
        outcome_digest: None,
        place: bytes(row, "place")?.map(|place| digest(place, "place")).transpose()?,
        frees_place: false,
        actor: None,
        references: None,
        // Its detail may have been erased.
        detail: Detail::new(
            text(row, "subject")?,
            text(row, "preimage")?.unwrap_or_default(),
            text(row, "basis")?,
        )?,
    })
}

/// An outside effect without an outcome.
pub(crate) fn open_claim(row: &impl Readable) -> Result<OpenClaim, Error> {
    let key = need(text(row, "idem_key")?, "idem_key")?;
    let key = IdempotencyKey::parse(&key)
        .map_err(|source| corrupt("the stored column `idem_key` holds no key").with_source(source))?;
    Ok(OpenClaim {
        key,
        record: need(record(row)?, "status")?,
        now: now(row)?,
    })
}

/// An entry from columns with a common beginning, if there is one.
pub(crate) fn reference(row: &impl Readable, prefix: &str) -> Result<Option<LedgerRef>, Error> {
    let column = |name: &str| format!("{prefix}{name}");
    let Some(key) = text(row, &column("key"))? else {
        return Ok(None);
    };
    Ok(Some(LedgerRef {
        key,
        generation: number(need(int(row, &column("generation"))?, "generation")?, "generation")?,
        action: need(text(row, &column("action"))?, "action")?,
        step_id: text(row, &column("step_id"))?,
        run_id: text(row, &column("run_id"))?,
        recorded_at: need(moment(row, &column("recorded_at"))?, "recorded_at")?,
    }))
}

/// The storage's clock, in the column `now`.
pub(crate) fn now(row: &impl Readable) -> Result<Timestamp, Error> {
    need(moment(row, "now")?, "now")
}

fn fingerprint(row: &impl Readable, column: &str, version: &str) -> Result<Fingerprint, Error> {
    let bytes = need(bytes(row, column)?, column)?;
    let bytes = bytes
        .try_into()
        .map_err(|_| corrupt("a fingerprint has another length than 32 bytes"))?;
    Ok(Fingerprint::from_stored(
        number(need(int(row, version)?, version)?, version)?,
        bytes,
    ))
}

fn moment(row: &impl Readable, column: &str) -> Result<Option<Timestamp>, Error> {
    Ok(int(row, column)?.map(Timestamp::from_millis))
}

fn int(row: &impl Readable, column: &str) -> Result<Option<i64>, Error> {
    row.int(column).map_err(|source| unreadable(column, source))
}

fn text(row: &impl Readable, column: &str) -> Result<Option<String>, Error> {
    row.text(column).map_err(|source| unreadable(column, source))
}

fn bytes(row: &impl Readable, column: &str) -> Result<Option<Vec<u8>>, Error> {
    row.bytes(column).map_err(|source| unreadable(column, source))
}

fn unreadable(column: &str, source: sqlx::Error) -> Error {
    corrupt(format!("the stored column `{column}` cannot be read")).with_source(source)
}

fn need<T>(value: Option<T>, column: &str) -> Result<T, Error> {
    value.ok_or_else(|| corrupt(format!("the stored column `{column}` is empty")))
}

fn number<T: TryFrom<i64>>(value: i64, column: &str) -> Result<T, Error> {
    T::try_from(value).map_err(|_| {
        corrupt(format!(
            "the stored column `{column}` holds {value}, which is out of range"
        ))
    })
}
