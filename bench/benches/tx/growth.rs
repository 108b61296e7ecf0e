//! Claim and replay in tables of ten thousand records and entries, and of very many.

use std::time::{Duration, Instant};

use idem_bench::{Bar, judge};
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::effect::Variant;
use crate::rounds::{Row, compare};
use crate::server::Server;

/// Fills the tables in two steps and measures at each.
pub async fn measure(server: &Server, records: u64, rounds: usize) {
    fill(server, 0, SMALL).await;
    let small = compare(server, 1, rounds, TURN).await;
    let started = Instant::now();
    fill(server, SMALL, records).await;
    println!("\n{records} records and entries, filled in {:.0?}", started.elapsed());
    let large = compare(server, 8, 1, TURN).await; // warms what the filling has pushed out
    drop(large);
    let large = compare(server, 1, rounds, TURN).await;
    for variant in [Variant::Transaction, Variant::Replay] {
        // The floor shows what the machine did in between.
        let of = |rows: &[Row]| rows.iter().find(|row| row.variant == variant).expect("listed").ratio;
        println!(
            "{}: {:.2} of its floor, then {:.2}",
            variant.name(),
            of(&small),
            of(&large)
        );
        let p50 = |rows: &[Row]| rows.iter().find(|row| row.variant == variant).expect("listed").p50;
        let ratio = p50(&large).as_secs_f64() / p50(&small).as_secs_f64();
        judge("of its time with ten thousand", ratio, Some(Bar::AtMost(1.3)));
    }
}

/// Rows as an execution leaves them.
async fn fill(server: &Server, from: u64, to: u64) {
    let mut connection = server.connect().await;
    let mut start = from + 1;
    while start <= to {
        let end = (start + BATCH - 1).min(to);
        let key = "'dk_acme_' || left(encode(sha256(n::text::bytea), 'hex'), 40)";
        let digest = "sha256(n::text::bytea)";
        let statement = format!(
            "INSERT INTO idem_record (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt,
                generation, step_id, run_id, outcome_kind, outcome, created_at, completed_at, expires_at)
            SELECT 'acme', {key}, {digest}, 1, 1, 0, substr({digest}, 1, 16), 1, 1, '1/5', n::text, 0, {digest} || {digest},
                now(), now(), now() + interval '90 days'
            FROM generate_series({start}, {end}) n;
            WITH entry AS (
                INSERT INTO idem_ledger (tenant, idem_key, generation, attempt, kind, slot, action, fingerprint,
                    fingerprint_version, step_id, run_id, payload_digest, outcome_digest, detail_commitment)
                SELECT 'acme', {key}, 1, 1, 'executed', '', 'refund.issue', {digest}, 1, '1/5', n::text, {digest}, {digest},
                    {digest}
                FROM generate_series({start}, {end}) n RETURNING seq)
            INSERT INTO idem_ledger_detail (seq, tenant, subject, preimage, basis, salt)
            SELECT seq, 'acme', seq::text, '{{\"case_id\":\"' || seq || '\"}}', '{{}}', '\\x00' FROM entry"
        );
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .expect("filled");
        start = end + 1;
    }
    connection.execute("VACUUM ANALYZE").await.expect("analysed");
    connection.execute("CHECKPOINT").await.expect("written");
    connection.close().await.expect("closed");
}

const SMALL: u64 = 10_000;
const BATCH: u64 = 200_000;
const TURN: Duration = Duration::from_millis(300);
