use crate::error::Codes;

/// SQLSTATE codes.
pub(crate) struct Sqlstate;

impl Codes for Sqlstate {
    fn is_conflict(code: &str) -> bool {
        // serialization_failure, deadlock_detected.
        matches!(code, "40001" | "40P01")
    }

    fn is_transient(code: &str) -> bool {
        // Lock not available, connection exceptions, insufficient resources, operator intervention
        // (shutdown, cancelled statement, starting up), idle-in-transaction time-out.
        code == "55P03" || code == "25P03" || ["08", "53", "57"].iter().any(|class| code.starts_with(class))
    }

    fn is_disconnect(code: &str) -> bool {
        // Shutdowns and administrator's orders; connection exceptions. Not the idle time-out: an effect that
        // idles too long would do so again.
        matches!(code, "57P01" | "57P02" | "57P05") || code.starts_with("08")
    }

    fn commit_is_unknown(code: &str) -> bool {
        // statement_completion_unknown; lost connections and shutdowns, which may come after the commit.
        code == "40003" || ["08", "57"].iter().any(|class| code.starts_with(class))
    }

    fn is_denied(code: &str) -> bool {
        // insufficient_privilege
        code == "42501"
    }

    fn is_missing(error: &dyn sqlx::error::DatabaseError) -> bool {
        // undefined_table
        error.code().is_some_and(|code| code == "42P01")
    }

    fn is_mixed_up(error: &dyn sqlx::error::DatabaseError) -> bool {
        match error.code().as_deref() {
            // invalid_sql_statement_name, duplicate_prepared_statement
            Some("26000" | "42P05") => true,
            // protocol_violation: the statement of that name takes other parameters. PgBouncer uses the code for much else.
            Some("08P01") => error.message().contains("prepared statement"),
            _ => false,
        }
    }
}
