//! Claim and replay in tables of ten thousand records and entries, and in tables of very many.

use std::time::{Duration, Instant};

use idem_bench::{Bar, judge};
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::effect::Variant;
use crate::rounds::{Row, compare, median};
use crate::server::Server;

/// Fills two databases, and measures one after the other in turns, so that what else the machine does meets both.
pub async fn measure(small: &Server, records: u64, rounds: usize) {
    let large = Server::prepare("large").await;
    let started = Instant::now();
    fill(small, SMALL).await;
    fill(&large, records).await;
    println!("\n{records} records and entries, filled in {:.0?}", started.elapsed());
    // Warms what the filling has pushed out.
    drop(compare(&large, 8, 1, TURN).await);
    let mut passes = Vec::new();
    for _ in 0..PASSES {
        let few = compare(small, 1, rounds.div_ceil(PASSES), TURN).await;
        let many = compare(&large, 1, rounds.div_ceil(PASSES), TURN).await;
        passes.push((few, many));
    }
    println!("\n| p50 | with ten thousand | with {records} |\n|---|---|---|");
    for variant in [Variant::Bare, Variant::Transaction, Variant::Select, Variant::Replay] {
        let p50 = |rows: &[Row]| rows.iter().find(|row| row.variant == variant).expect("listed").p50;
        let of =
            |side: fn(&(Vec<Row>, Vec<Row>)) -> &Vec<Row>| median(passes.iter().map(|pass| p50(side(pass))).collect());
        println!(
            "| {} | {:.0?} | {:.0?} |",
            variant.name(),
            of(|pass| &pass.0),
            of(|pass| &pass.1)
        );
    }
    println!();
    for variant in [Variant::Transaction, Variant::Replay] {
        let p50 = |rows: &[Row]| rows.iter().find(|row| row.variant == variant).expect("listed").p50;
        let ratios = passes
            .iter()
            .map(|(few, many)| p50(many).as_secs_f64() / p50(few).as_secs_f64());
        println!("{}:", variant.name());
        judge(
            "of its time with ten thousand",
            median(ratios.collect()),
            Some(Bar::AtMost(1.3)),
        );
    }
    large.remove().await;
}

/// Rows as an execution leaves them.
async fn fill(server: &Server, to: u64) {
    let mut connection = server.connect().await;
    let mut start = 1;
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
const PASSES: usize = 5;
const BATCH: u64 = 200_000;
const TURN: Duration = Duration::from_millis(300);
