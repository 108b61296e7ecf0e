//! Keys from the body.

use axum::extract::Request;
use http::StatusCode;
use idem::idempotent;
use idem::tower::Attempt;
use serde::{Deserialize, Serialize};

use crate::stage::*;

#[idempotent(action = "refund.issue", key = [case_id, refund_no], subject = case_id)]
#[derive(Serialize, Deserialize)]
struct IssueRefund {
    case_id: String,
    refund_no: u64,
    amount_cents: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[transient]
    #[serde(default)]
    rationale: String,
}

#[idempotent(action = "refund.issue", key = [tenant, case_id])]
#[derive(Serialize, Deserialize)]
struct OfTenant {
    tenant: String,
    case_id: String,
}

fn refund(case: &str, no: &str, cents: &str, rationale: &str) -> String {
    format!(r#"{{"case_id":"{case}","refund_no":{no},"amount_cents":{cents},"rationale":"{rationale}"}}"#)
}

#[tokio::test]
async fn a_reworded_repeat_replays_and_another_amount_is_refused() {
    for_both_databases!(|stage| {
        for mode in ["leased", "transactional"] {
            let service = match mode {
                "leased" => {
                    let layer = leased(stage.store(), RERUN).derive::<IssueRefund>().build().unwrap();
                    Service::start(&layer, created).await
                }
                _ => {
                    let layer = transactional(stage.store()).derive::<IssueRefund>().build().unwrap();
                    Service::start(&layer, created).await
                }
            };
            let ask = |body: String| service.post("/refunds").json(body);
            let first = ask(refund(mode, "1", "500", "the parcel never came")).send().await;
            first.is(201).fresh();
            let reworded = ask(refund(mode, "1.0", "500", "lost parcel")).send().await;
            assert_eq!(
                reworded.is(400).fresh().value()["code"],
                "key_invalid",
                "refund_no is no float"
            );
            let reworded = ask(refund(mode, "1", "500", "lost parcel")).send().await;
            assert_eq!(reworded.is(201).replayed().body, first.body);
            // The effect is the same whichever way it comes.
            let elsewhere = service.post("/v2/refunds").json(refund(mode, "1", "500", ""));
            elsewhere.send().await.is(201).replayed();
            ask(refund(mode, "1", "900", ""))
                .send()
                .await
                .problem("key-reused", 422);
            ask(refund(mode, "2", "900", "")).send().await.is(201).fresh();
            // A header is no key here.
            ask(refund(mode, "2", "900", ""))
                .key("other")
                .send()
                .await
                .is(201)
                .replayed();
            // Two clients with the same case are two tenants.
            ask(refund(mode, "1", "500", ""))
                .principal("bob")
                .send()
                .await
                .is(201)
                .fresh();
            assert_eq!(service.runs.get(), 3, "{mode}");
        }
        assert_eq!(stage.entries("executed").await, 6);
    });
}

#[tokio::test]
async fn b03_b07_a_body_that_two_parties_could_read_differently_is_refused() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).derive::<IssueRefund>().build().unwrap();
    let service = Service::start(&layer, created).await;
    let refused = [
        (refund("a", "9007199254740992", "1", ""), "refund_no"),
        (refund("a", "9007199254740993", "1", ""), "refund_no"),
        (refund("a", "18446744073709551615", "1", ""), "refund_no"),
        (refund("a", "18446744073709551616", "1", ""), ""),
        (refund("a", "-9223372036854775808", "1", ""), ""),
        (
            r#"{"case_id":"a","refund_no":1,"amount_cents":1,"amount_cents":2}"#.into(),
            "amount_cents",
        ),
        (
            r#"{"case_id":"a","refund_no":1,"amount_cents":1,"amount\u005fcents":2}"#.into(),
            "amount_cents",
        ),
        (
            r#"{"case_id":"a","refund_no":1,"amount_cents":1,"x":[{"y":1,"y":1}]}"#.into(),
            "x[0].y",
        ),
        (r#"{"case_id":"a","refund_no":1}"#.into(), "amount_cents"),
        ("{".into(), ""),
        (String::new(), ""),
    ];
    for (body, word) in refused {
        let problem = service
            .post("/refunds")
            .json(body.clone())
            .send()
            .await
            .problem("key-invalid", 400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{body}: {detail}");
    }
    assert_eq!((service.runs.get(), stage.entries("intended").await), (0, 0));
    let good = r#"{"case_id":"a","refund_no":1,"amount_cents":2}"#;
    service.post("/refunds").json(good).send().await.is(201).fresh();
    // B06: what is absent is absent, however it is written.
    let with_null = r#"{"case_id":"a","refund_no":1,"amount_cents":2,"currency":null}"#;
    service.post("/refunds").json(with_null).send().await.is(201).replayed();
    let with_empty = r#"{"case_id":"a","refund_no":1,"amount_cents":2,"currency":""}"#;
    service
        .post("/refunds")
        .json(with_empty)
        .send()
        .await
        .problem("key-reused", 422);
}

#[tokio::test]
async fn b15_a_tenant_in_the_body_is_that_of_the_request() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .derive::<OfTenant>()
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    let body = |tenant: &str| {
        service
            .post("/x")
            .json(format!(r#"{{"tenant":"{tenant}","case_id":"c"}}"#))
    };
    body("ada").send().await.is(201).fresh();
    let other = body("bob").send().await.problem("key-invalid", 400);
    assert!(other["detail"].as_str().unwrap().contains("tenant"), "{other}");
    body("bob").principal("bob").send().await.is(201).fresh();
    assert_eq!(service.runs.get(), 2);
}

#[tokio::test]
async fn a_hybrid_route_records_the_header_as_the_step() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).hybrid::<IssueRefund>().build().unwrap();
    let service = Service::start(&layer, async |run, request: Request| {
        let attempt = request.extensions().get::<Attempt>().unwrap();
        let step = attempt.client_key().map(|step| step.as_str().to_owned());
        (StatusCode::CREATED, format!("run {run} {step:?}"))
    })
    .await;
    let ask = |step: &str| service.post("/refunds").json(refund("a", "1", "5", step)).key(step);
    assert_eq!(
        ask("step-1").send().await.is(201).fresh().text(),
        "run 1 Some(\"step-1\")"
    );
    ask("step-2").send().await.is(201).replayed();
    service
        .post("/refunds")
        .json(refund("a", "1", "5", ""))
        .send()
        .await
        .problem("key-missing", 400);
    ask("a,b").send().await.problem("key-invalid", 400);
    let steps: Vec<String> = sqlx::query_scalar("SELECT step_id FROM idem_ledger WHERE kind = 'executed'")
        .fetch_all(stage.store().pool())
        .await
        .unwrap();
    assert_eq!(steps, ["step-1"]);
    let optional = layer.to_builder().optional().build().unwrap();
    let service = Service::start(&optional, created).await;
    service
        .post("/refunds")
        .json(refund("a", "1", "5", ""))
        .send()
        .await
        .is(201)
        .replayed();
}

#[tokio::test]
async fn the_ledger_has_action_route_and_path() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).build().unwrap();
    let router = axum::Router::new()
        .route("/orders/{id}/cancel", axum::routing::post(async || "cancelled"))
        .route_layer(layer.clone())
        .layer(axum::middleware::from_fn(authenticate));
    let service = Service::serve(router, Runs::default()).await;
    service.post("/orders/7/cancel").key("k").send().await.is(200).fresh();
    let row: (String, String, String) = sqlx::query_as(
        "SELECT action, subject, preimage FROM idem_ledger JOIN idem_ledger_detail USING (seq) WHERE kind = 'executed'",
    )
    .fetch_one(stage.store().pool())
    .await
    .unwrap();
    assert_eq!(
        row,
        (
            "POST /orders/{id}/cancel".into(),
            "/orders/7/cancel".into(),
            "\"k\"".into()
        )
    );
    let named = layer.to_builder().action(|_| "order.cancel".into()).build().unwrap();
    let service = Service::start(&named, created).await;
    service.post("/orders/8/cancel").key("k2").send().await.is(201).fresh();
    // A path of any length is no reason to refuse a request.
    let long = format!("/{}", "x".repeat(3000));
    let router = axum::Router::new()
        .fallback(async || "made")
        .layer(layer)
        .layer(axum::middleware::from_fn(authenticate));
    let service = Service::serve(router, Runs::default()).await;
    service.post(&long).key("k3").send().await.is(200).fresh();
    let actions: Vec<String> =
        sqlx::query_scalar("SELECT action FROM idem_ledger WHERE kind = 'executed' ORDER BY seq")
            .fetch_all(stage.store().pool())
            .await
            .unwrap();
    assert_eq!(actions[1], "order.cancel");
    assert!(
        actions[2].starts_with("POST #") && actions[2].len() < 80,
        "{}",
        actions[2]
    );
}
