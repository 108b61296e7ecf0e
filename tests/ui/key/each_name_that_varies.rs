use idem::idempotent;

#[idempotent(
    action = "refund.issue",
    key = [
        case_id, timestamp, created_at, updated_at, sent_at, now, trace_id, span_id, attempt, retry_count, rationale,
        reasoning,
    ],
    tenant = none,
)]
struct IssueRefund {
    case_id: String,
    timestamp: u64,
    created_at: u64,
    updated_at: u64,
    sent_at: u64,
    now: u64,
    trace_id: u64,
    span_id: u64,
    attempt: u64,
    retry_count: u64,
    rationale: u64,
    reasoning: u64,
}

fn main() {}
