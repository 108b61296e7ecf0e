//! What a person asks the ledger, each by one SQL statement that both engines accept.
//!
//! `$1` is the tenant and `$2`, where it stands, a key. Every column is text, so that one reader shows them all.

use sqlx::{AnyConnection, Row};

/// A question with its answer in SQL.
pub struct Question {
    pub text: &'static str,
    pub headings: &'static [&'static str],
    /// What it means that there is no row.
    pub none: &'static str,
    sql: &'static str,
    about_key: bool,
}

impl Question {
    /// Asks the ledger.
    pub async fn ask(&self, connection: &mut AnyConnection, tenant: &str, key: &str) -> sqlx::Result<Vec<Vec<String>>> {
        let mut query = sqlx::query(self.sql).bind(tenant.to_owned());
        if self.about_key {
            query = query.bind(key.to_owned());
        }
        let rows = query.fetch_all(connection).await?;
        let cell = |row: &sqlx::any::AnyRow, column| Ok(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
        rows.iter()
            .map(|row| (0..self.headings.len()).map(|column| cell(row, column)).collect())
            .collect()
    }
}

pub const QUESTIONS: [Question; 5] = [
    Question {
        text: "How many of each action did the agent carry out?",
        headings: &["action", "executed"],
        none: "none",
        about_key: false,
        sql: "
            SELECT action, CAST(COUNT(*) AS TEXT)
            FROM idem_ledger
            WHERE tenant = $1 AND kind = 'executed'
            GROUP BY action
            ORDER BY action",
    },
    Question {
        text: "Was any action attempted a second time in another form, and which attempt (trial/step) won?",
        headings: &["customer", "action", "winner", "turned away", "because"],
        none: "no attempt was turned away",
        about_key: false,
        sql: "
            SELECT second.run_id, second.action, first.step_id, second.step_id, second.reason
            FROM idem_ledger second
            LEFT JOIN idem_ledger first
                ON first.tenant = second.tenant AND first.kind = 'executed'
                AND (first.idem_key = second.idem_key OR first.place = second.place)
            WHERE second.tenant = $1 AND second.kind = 'refused'
            ORDER BY second.seq",
    },
    Question {
        text: "Did any request get two of the same action for the same subject, and by which attempts (trial/step)?",
        headings: &["customer", "action", "subject", "executed by"],
        none: "no request got two",
        about_key: false,
        sql: "
            SELECT entry.run_id, entry.action, detail.subject, string_agg(entry.step_id, ', ' ORDER BY entry.seq)
            FROM idem_ledger entry
            JOIN idem_ledger_detail detail ON detail.seq = entry.seq
            WHERE entry.tenant = $1 AND entry.kind = 'executed'
            GROUP BY entry.run_id, entry.action, detail.subject
            HAVING COUNT(*) > 1
            ORDER BY MIN(entry.seq)",
    },
    Question {
        text: "Under which model and prompt were these decisions made?",
        headings: &["model", "version", "prompt", "executed"],
        none: "no decision has a basis on record",
        about_key: false,
        sql: "
            SELECT detail.model_id, detail.model_version, detail.prompt_sha256, CAST(COUNT(*) AS TEXT)
            FROM idem_ledger entry
            JOIN idem_ledger_detail detail ON detail.seq = entry.seq
            WHERE entry.tenant = $1 AND entry.kind = 'executed'
            GROUP BY detail.model_id, detail.model_version, detail.prompt_sha256
            ORDER BY COUNT(*) DESC",
    },
    Question {
        text: "What became of the key {key}?",
        headings: &["entry", "what happened", "because", "customer", "step", "action"],
        none: "nothing is on record for it",
        about_key: true,
        sql: "
            SELECT CAST(seq AS TEXT), kind, reason, run_id, step_id, action
            FROM idem_ledger
            WHERE tenant = $1 AND idem_key = $2
            ORDER BY seq",
    },
];
