use idem_core::{Error, ErrorKind};

/// The three roles that share the tables, for [`PgStore::migrations_sql`](crate::PgStore::migrations_sql).
///
/// They must exist, and need USAGE on the tables' schema, the migrator CREATE too.
///
/// | role | may |
/// |---|---|
/// | migrator | everything: it owns the tables |
/// | application | read all; insert, update and delete records; append to the ledger and its detail |
/// | auditor | read all |
#[derive(Clone, Debug)]
pub struct PgRoles {
    migrator: String,
    application: String,
    auditor: String,
}

/// PostgreSQL cuts longer names, so that another role could be meant.
const LONGEST: usize = 63;

impl PgRoles {
    /// Takes the names of three different roles, as they are: they are quoted in the SQL.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when a name is empty, longer than 63 bytes, holds a control character,
    /// or is given twice.
    pub fn try_new(migrator: &str, application: &str, auditor: &str) -> Result<Self, Error> {
        if migrator == application || migrator == auditor || application == auditor {
            let message = "migrator, application and auditor must be three different roles: whoever owns the tables may change the ledger";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(Self {
            migrator: quoted(migrator)?,
            application: quoted(application)?,
            auditor: quoted(auditor)?,
        })
    }

    pub(crate) fn fill(&self, template: &str) -> String {
        // The names go in last and in one pass each over text of ours: see the caller.
        template
            .split("{migrator}")
            .map(|part| {
                part.split("{application}")
                    .map(|part| part.replace("{auditor}", &self.auditor))
                    .collect::<Vec<_>>()
                    .join(&self.application)
            })
            .collect::<Vec<_>>()
            .join(&self.migrator)
    }
}

fn quoted(name: &str) -> Result<String, Error> {
    if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
        let message = format!(
            "`{}` cannot be the name of a role; use 1 to {LONGEST} bytes without control characters",
            name.escape_debug()
        );
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_never_filled_twice() {
        let roles = PgRoles::try_new("a\"; DROP TABLE x; --", "{auditor}", "Ü").expect("names");
        assert_eq!(
            roles.fill("{migrator} {application} {auditor}"),
            "\"a\"\"; DROP TABLE x; --\" \"{auditor}\" \"Ü\""
        );
    }

    #[test]
    fn what_cannot_be_three_roles_is_refused() {
        for bad in ["", "a\0b", "a\nb", &"x".repeat(64), "two"] {
            assert!(PgRoles::try_new(bad, "two", "three").is_err(), "{bad:?}");
        }
    }
}
