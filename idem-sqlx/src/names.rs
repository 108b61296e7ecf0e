//! The names of our tables, and statements with the names filled in.

use std::sync::Arc;

use idem_core::{Error, ErrorKind};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

/// The tables of one installation: a prefix and what follows it.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    prefix: String,
}

/// PostgreSQL cuts identifiers at 63 bytes; the longest of ours has 24 after the prefix.
const LONGEST_PREFIX: usize = 32;

impl Default for Names {
    fn default() -> Self {
        Self {
            prefix: "idem_".to_owned(),
        }
    }
}

impl Names {
    /// Takes a prefix that needs no quoting in any dialect.
    pub(crate) fn with_prefix(prefix: &str) -> Result<Self, Error> {
        let starts_well = prefix.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        let is_plain = prefix
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !starts_well || !is_plain || prefix.len() > LONGEST_PREFIX {
            let message = format!(
                "`{}` cannot be a table prefix; use 1 to {LONGEST_PREFIX} of a-z, 0-9 and _, not beginning with a digit",
                prefix.escape_debug()
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(Self {
            prefix: prefix.to_owned(),
        })
    }

    pub(crate) fn ledger(&self) -> String {
        format!("{}ledger", self.prefix)
    }

    pub(crate) fn schema(&self) -> String {
        format!("{}schema", self.prefix)
    }

    /// Fills the names into a statement.
    pub(crate) fn fill(&self, template: &str) -> String {
        template
            .replace("{record}", &format!("{}record", self.prefix))
            .replace("{ledger}", &self.ledger())
            .replace("{ledger_detail}", &format!("{}ledger_detail", self.prefix))
            .replace("{schema}", &self.schema())
            .replace("{test_clock}", &format!("{}test_clock", self.prefix))
            .replace("{never}", &format!("{}never", self.prefix))
    }

    /// Fills the names into a statement that is run often.
    pub(crate) fn statement(&self, template: &str) -> SqlStr {
        // Safe: the prefix is checked above, everything else in a template is ours.
        AssertSqlSafe(Arc::<str>::from(self.fill(template))).into_sql_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_would_need_quoting_is_refused() {
        for bad in ["", "1x", "a b", "a\"b", "a;drop table x", "A", "ü", &"x".repeat(33)] {
            assert!(Names::with_prefix(bad).is_err(), "{bad}");
        }
        let names = Names::with_prefix("billing_idem_").expect("a plain prefix");
        assert_eq!(
            names.fill("SELECT 1 FROM {record}, {ledger_detail}"),
            "SELECT 1 FROM billing_idem_record, billing_idem_ledger_detail"
        );
    }
}
