//! What the program says at the end: a line of JSON for a machine, tables for a person.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use idem::Tenant;
use serde::Serialize;
use sqlx::AnyConnection;

use crate::books::Books;
use crate::chaos::Kills;
use crate::comparison::{Comparison, changed_members};
use crate::options::Mode;
use crate::questions::QUESTIONS;
use crate::recording::Call;
use crate::serve::{Answer, Refusal};

/// What came of serving the calls.
pub struct Served {
    /// The answers of the last complete pass, one for each call.
    pub answers: Vec<Answer>,
    pub kills: Kills,
}

/// All there is to say.
pub struct Report<'a> {
    pub mode: Mode,
    pub calls: &'a [Call],
    pub served: &'a Served,
    pub comparison: &'a Comparison,
    pub books: &'a Books,
}

/// The figures, under the names and in the order of the line of JSON.
#[derive(Default, Serialize)]
struct Figures {
    calls: usize,
    executed: usize,
    replayed: usize,
    refused: usize,
    failed: usize,
    effects_if_raw_arguments_were_hashed: usize,
    effects_if_canonical_arguments_were_hashed: usize,
    effect_rows: usize,
    ledger_executed: usize,
    kills: u32,
}

impl Report<'_> {
    /// The figures as one line of JSON.
    pub fn json(&self) -> String {
        // Numbers under fixed names always have a JSON form.
        serde_json::to_string(&self.figures()).unwrap_or_default() + "\n"
    }

    /// The figures and what they are made of.
    pub fn text(&self) -> String {
        [
            self.counts(),
            self.explanation(),
            self.let_through(),
            self.kills(),
            self.refusals(),
        ]
        .concat()
    }

    /// The questions with the ledger's answers. The example of one key is the first call that was refused, or else the
    /// first of all.
    pub async fn ledger(&self, connection: &mut AnyConnection, tenant: &Tenant) -> sqlx::Result<String> {
        let mut answered = self.answered();
        let refused = answered
            .find(|(_, answer)| matches!(answer, Answer::Refused(_)))
            .map(|(call, _)| call);
        let example = refused
            .or(self.calls.first())
            .map(|call| call.key.as_str())
            .unwrap_or_default();
        let mut text = String::from("The ledger answers\n\n");
        for question in &QUESTIONS {
            let rows = question.ask(connection, tenant.as_str(), example).await?;
            let _ = writeln!(text, "{}", question.text.replace("{key}", &short(example)));
            if rows.is_empty() {
                let _ = writeln!(text, "  {}\n", question.none);
                continue;
            }
            let mut table = table(question.headings);
            table.add_rows(
                rows.iter()
                    .take(MOST_ROWS)
                    .map(|row| row.iter().map(|cell| short(cell))),
            );
            let _ = writeln!(text, "{table}");
            if rows.len() > MOST_ROWS {
                let _ = writeln!(text, "… and {} more", rows.len() - MOST_ROWS);
            }
            text.push('\n');
        }
        let _ = writeln!(text, "{}", self.books);
        Ok(text)
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures {
            calls: self.served.answers.len(),
            effects_if_raw_arguments_were_hashed: self.comparison.raw,
            effects_if_canonical_arguments_were_hashed: self.comparison.canonical,
            effect_rows: self.books.effect_rows,
            ledger_executed: self.books.ledger_executed,
            kills: self.served.kills.total(),
            ..Figures::default()
        };
        for answer in &self.served.answers {
            *match answer {
                Answer::Executed => &mut figures.executed,
                Answer::Replayed => &mut figures.replayed,
                Answer::Refused(_) => &mut figures.refused,
                Answer::Failed => &mut figures.failed,
            } += 1;
        }
        figures
    }

    fn counts(&self) -> String {
        let figures = self.figures();
        let because = |reason: fn(&Refusal) -> bool| {
            let of_reason = |answer: &&Answer| matches!(answer, Answer::Refused(refusal) if reason(refusal));
            self.served.answers.iter().filter(of_reason).count()
        };
        let rows = [
            ("calls", figures.calls),
            ("executed: the effect happened in this pass", figures.executed),
            (
                "replayed: it stood already, the recorded outcome was given",
                figures.replayed,
            ),
            (
                "refused: the key stands with another payload",
                because(|refusal| *refusal == Refusal::Mismatch),
            ),
            (
                "refused: another key holds the place",
                because(|refusal| matches!(refusal, Refusal::OncePer { .. })),
            ),
            (
                "refused: the effect was undone",
                because(|refusal| *refusal == Refusal::Revoked),
            ),
            ("failed: the tool said no, nothing is on record", figures.failed),
            (self.effects(), figures.effect_rows),
            ("executed according to the ledger", figures.ledger_executed),
        ];
        let mut table = table(&["what became of the calls", ""]);
        for (what, count) in rows {
            if count > 0 || !what.starts_with("refused: ") {
                table.add_row([what.to_owned(), count.to_string()]);
            }
        }
        align_right(&mut table, 1);
        format!("{table}\n\n")
    }

    fn effects(&self) -> &'static str {
        match self.mode {
            Mode::Transactional => "rows in the airline's tables",
            Mode::Leased => "effects in the airline's own books",
        }
    }

    /// Why three ways of telling calls apart do not count alike.
    fn explanation(&self) -> String {
        let counts = self.comparison;
        let rows = [
            ("hashing the arguments as the model wrote them", counts.raw.to_string()),
            (
                "  only formatting or the order of members differed",
                minus(counts.raw - counts.canonical),
            ),
            ("hashing their canonical form", counts.canonical.to_string()),
            (
                "  only wording differed that is no part of the intent",
                minus(counts.reworded),
            ),
            (
                "  the model changed its mind about the payload: refused, a person must look",
                minus(counts.changed_payload),
            ),
            ("  another booking holds the place: refused", minus(counts.place_taken)),
            ("the keys of this program", counts.effects.to_string()),
        ];
        let mut table = table(&["effects in a new database, had a call been told apart by", ""]);
        for (what, count) in rows {
            if count != minus(0) {
                table.add_row([what.to_owned(), count]);
            }
        }
        align_right(&mut table, 1);
        format!("{table}\n\n")
    }

    /// What no way of hashing arguments catches, because the model chose another effect.
    fn let_through(&self) -> String {
        let by_action = &self.comparison.let_through;
        let total: usize = by_action.values().map(Vec::len).sum();
        if total == 0 {
            return String::new();
        }
        let mut text = format!(
            "What these keys still let through: {total} of the {} effects. A later attempt of the model chose another key\n\
             field (another flight, another amount) for what an earlier attempt had acted on already.\n",
            self.comparison.effects
        );
        for (action, tasks) in by_action {
            let tasks: Vec<_> = tasks.iter().map(i64::to_string).collect();
            let _ = writeln!(
                text,
                "  {action}: {}, for the requests {}",
                tasks.len(),
                tasks.join(", ")
            );
        }
        if by_action.contains_key("book_reservation") {
            text.push_str("--once-per stops the bookings among them.\n");
        }
        text + "\n"
    }

    fn kills(&self) -> String {
        let kills = &self.served.kills;
        if kills.total() == 0 {
            return String::new();
        }
        let mut table = table(&["killed with SIGKILL", ""]);
        // All of them: one that was not reached, because nothing was left to execute, shows as 0.
        let points = self.mode.points().iter();
        table.add_rows(points.map(|point| [format!("at `{point}`"), kills.at.get(*point).unwrap_or(&0).to_string()]));
        table.add_row(["at odd moments".to_owned(), kills.elsewhere.to_string()]);
        align_right(&mut table, 1);
        format!("{table}\n\n")
    }

    fn refusals(&self) -> String {
        let mut table = table(&[
            "line",
            "customer",
            "step",
            "action",
            "refused because",
            "stands from step",
        ]);
        for (call, answer) in self.answered() {
            let Answer::Refused(refusal) = answer else { continue };
            let holder = self
                .answered()
                .find(|(other, answer)| other.key == call.key && matches!(answer, Answer::Executed | Answer::Replayed))
                .map(|(holder, _)| holder);
            let (reason, step) = match refusal {
                Refusal::Mismatch => {
                    let changed = holder
                        .map(|holder| changed_members(holder, call).join(", "))
                        .unwrap_or_default();
                    (format!("payload changed: {changed}"), holder.map(Call::step_id))
                }
                Refusal::OncePer { holder, step } => (format!("the place is held by {}", short(holder)), step.clone()),
                Refusal::Revoked => ("its effect was undone".to_owned(), holder.map(Call::step_id)),
            };
            table.add_row([
                call.line.to_string(),
                call.run_id(),
                call.step_id(),
                call.tool.action().to_owned(),
                reason,
                step.unwrap_or_default(),
            ]);
        }
        if table.is_empty() {
            String::new()
        } else {
            format!("{table}\n\n")
        }
    }

    fn answered(&self) -> impl Iterator<Item = (&Call, &Answer)> {
        self.calls.iter().zip(&self.served.answers)
    }
}

/// Writes to standard output. A reader that has seen enough, such as `head`, is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to standard error, if anybody listens there.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    table
}

fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn minus(count: usize) -> String {
    format!("−{count}")
}

/// A key or a hash by its beginning; anything else as it is.
fn short(text: &str) -> String {
    let is_hash = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.rsplit_once('_') {
        Some((start, digits)) if start.starts_with("dk_") && is_hash(digits) => format!("{start}_{}…", &digits[..8]),
        _ if is_hash(text) => format!("{}…", &text[..8]),
        _ => text.to_owned(),
    }
}

const MOST_ROWS: usize = 12;
