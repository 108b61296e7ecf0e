//! The inputs that are measured.

use idem::{Decision, Digest, Model, Subject, Tenant, idempotent};
use serde::Serialize;
use serde_json::{Value, json};

/// A flat struct of 8 fields, three of them the key and five the payload.
#[idempotent(action = "refund.issue", key = [tenant, case_id, refund_no])]
#[derive(Serialize)]
pub struct IssueRefund {
    tenant: String,
    case_id: String,
    refund_no: u32,
    amount_cents: i64,
    currency: String,
    merchant_account: String,
    statement_text: String,
    reason: String,
}

pub fn flat() -> IssueRefund {
    IssueRefund {
        tenant: "acme-eu".into(),
        case_id: "case-2026-08-14-000193".into(),
        refund_no: 2,
        amount_cents: 12_900,
        currency: "EUR".into(),
        merchant_account: "urn:merchant:de:4711-0042".into(),
        statement_text: "Refund for order 7781-A".into(),
        reason: "The parcel was delivered on the third attempt, two of five items were broken, and the customer sent photographs of the box, the padding and both broken items on the same day, as the policy of the shop asks for.".into(),
    }
}

/// The same with a reason that the model words anew on every attempt.
#[idempotent(action = "refund.issue", key = [tenant, case_id, refund_no])]
#[derive(Serialize)]
pub struct IssueRefundWithReason {
    tenant: String,
    case_id: String,
    refund_no: u32,
    amount_cents: i64,
    currency: String,
    merchant_account: String,
    statement_text: String,
    #[transient]
    reason: String,
}

pub fn flat_with_transient() -> IssueRefundWithReason {
    let flat = flat();
    IssueRefundWithReason {
        tenant: flat.tenant,
        case_id: flat.case_id,
        refund_no: flat.refund_no,
        amount_cents: flat.amount_cents,
        currency: flat.currency,
        merchant_account: flat.merchant_account,
        statement_text: flat.statement_text,
        reason: flat.reason,
    }
}

/// A tool call with arguments of any shape.
#[idempotent(action = "tool.call", key = [tenant, run_id, step])]
#[derive(Serialize)]
pub struct CallTool {
    tenant: String,
    run_id: String,
    step: u32,
    tool: String,
    params: Value,
}

pub fn nested(bytes: usize) -> CallTool {
    CallTool {
        tenant: "acme-eu".into(),
        run_id: "run-2026-08-14-000193".into(),
        step: 7,
        tool: "create_purchase_order".into(),
        params: params(bytes - 120),
    }
}

/// A decision, whose params are part of the key.
pub fn nested_decision(bytes: usize) -> Decision {
    Decision {
        tenant_id: Tenant::parse("acme-eu").expect("a tenant"),
        subject: Subject {
            kind: "customer".into(),
            id: "c-7".into(),
        },
        action: "order.place".into(),
        params: params(bytes - 300).into(),
        model: Model::try_new("gpt-x", "2026-08-14").expect("a pinned model"),
        prompt_template_sha256: Digest::of("You are"),
        retrieval_snapshot_id: None,
        policy_version: "30".into(),
    }
}

fn params(bytes: usize) -> Value {
    let mut lines = Vec::new();
    loop {
        let index = lines.len();
        lines.push(json!({
            "sku": format!("sku-{:05}", index * 7919 % 100_000),
            "quantity": index % 9 + 1,
            "unit_price": { "currency": "EUR", "amount": (index as f64) * 1.37 + 0.5 },
            "note": "leave at the door",
            "tags": ["fragile", "cold chain"],
            "express": index % 3 == 0,
        }));
        let params = json!({ "order": { "lines": lines, "ship_to": "DE-10115" } });
        if params.to_string().len() >= bytes {
            return params;
        }
    }
}
