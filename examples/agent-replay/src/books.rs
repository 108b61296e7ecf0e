//! Whether the airline's rows and the ledger tell the same story.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use idem::Tenant;
use sqlx::AnyConnection;

use crate::airline;
use crate::recording::Call;
use crate::serve::{Answer, Refusal};
use crate::tools;

/// Effect rows, keys and ledger entries, read after the work is done.
///
/// The database may hold more than this recording. The three figures are about the keys of this recording; the
/// comparison row by row is about everything that the tenant ever did with the airline's tools.
#[derive(Debug, Default)]
pub struct Books {
    /// Rows in the airline's tables, or effects in the books of the airline of leased mode.
    pub effect_rows: usize,
    /// `executed` entries in the ledger.
    pub ledger_executed: usize,
    /// Keys whose effect stands, by the answers of the last pass.
    pub distinct_keys: usize,
    /// Keys that do not have exactly one row and one entry, with the numbers of both.
    pub disagreements: Vec<(String, usize, usize)>,
}

impl Books {
    /// Reads the rows, or takes what the airline of leased mode reports from `outside`, and reads the ledger.
    pub async fn read(
        connection: &mut AnyConnection,
        outside: Option<&BTreeMap<String, usize>>,
        tenant: &Tenant,
        calls: &[Call],
        answers: &[Answer],
    ) -> sqlx::Result<Self> {
        let rows: Vec<String> = match outside {
            Some(counts) => counts
                .iter()
                .flat_map(|(key, count)| vec![key.clone(); *count])
                .collect(),
            None => sqlx::query_scalar(airline::EFFECTS).fetch_all(&mut *connection).await?,
        };
        let entries: Vec<(String, String)> =
            sqlx::query_as("SELECT idem_key, action FROM idem_ledger WHERE tenant = $1 AND kind = 'executed'")
                .bind(tenant.as_str().to_owned())
                .fetch_all(connection)
                .await?;
        let mut books: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        // A key is `dk_`, the tenant, `_` and digits; the tenant may have a `_` of its own.
        let prefix = format!("dk_{tenant}");
        let of_tenant = |key: &String| key.rsplit_once('_').is_some_and(|(start, _)| start == prefix);
        for key in rows.into_iter().filter(of_tenant) {
            books.entry(key).or_default().0 += 1;
        }
        for (key, _) in entries
            .into_iter()
            .filter(|(_, action)| tools::NAMES.contains(&action.as_str()))
        {
            books.entry(key).or_default().1 += 1;
        }
        let recorded: BTreeSet<&str> = calls.iter().map(|call| call.key.as_str()).collect();
        let in_recording = |of: fn(&(usize, usize)) -> usize| {
            books
                .iter()
                .filter(|(key, _)| recorded.contains(key.as_str()))
                .map(|(_, counts)| of(counts))
                .sum()
        };
        Ok(Self {
            effect_rows: in_recording(|counts| counts.0),
            ledger_executed: in_recording(|counts| counts.1),
            distinct_keys: standing(calls, answers).len(),
            disagreements: books
                .iter()
                .filter(|(_, counts)| **counts != (1, 1))
                .map(|(key, (rows, entries))| (key.clone(), *rows, *entries))
                .collect(),
        })
    }

    /// Whether every effect that stands has one row and one entry, and nothing else has any.
    pub fn agree(&self) -> bool {
        self.disagreements.is_empty()
            && self.effect_rows == self.distinct_keys
            && self.ledger_executed == self.distinct_keys
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            effect_rows,
            ledger_executed,
            distinct_keys,
            disagreements,
        } = self;
        if self.agree() {
            return write!(f, "Effect rows, distinct keys and ledger agree: {distinct_keys}.");
        }
        write!(
            f,
            "effect rows ({effect_rows}), distinct keys ({distinct_keys}) and executed entries of the ledger \
             ({ledger_executed}) disagree"
        )?;
        for (key, rows, entries) in disagreements.iter().take(SHOWN) {
            write!(f, "\n{key}: {rows} rows, {entries} entries")?;
        }
        Ok(())
    }
}

/// The keys whose effect stands: it was executed or replayed, or it is what a changed payload was held against.
fn standing<'a>(calls: &'a [Call], answers: &[Answer]) -> BTreeSet<&'a str> {
    let stands = |answer: &Answer| match answer {
        Answer::Executed | Answer::Replayed | Answer::Refused(Refusal::Mismatch) => true,
        // A revoked effect has its row, unless the one who undid it deleted that, and its entry.
        Answer::Refused(Refusal::Revoked) => true,
        Answer::Refused(Refusal::OncePer { .. }) | Answer::Failed => false,
    };
    let answered = calls.iter().zip(answers);
    answered
        .filter(|(_, answer)| stands(answer))
        .map(|(call, _)| call.key.as_str())
        .collect()
}

/// How many keys are named that disagree.
const SHOWN: usize = 20;
