//! The same handler behind each layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum_idempotent::{IdempotentLayer, IdempotentOptions};
use http::StatusCode;
use idem::tower::IdempotencyLayer;
use idem::{MemoryStore, Recovery, Tenant};
use ruts::store::moka::MokaStore;
use ruts::{CookieOptions, Session, SessionLayer};
use tower::ServiceExt as _;
use tower_cookies::CookieManagerLayer;

use crate::SLOW;

pub const BARE: &str = "bare handler";
pub const OURS: &str = "idem";
pub const WITHOUT_LEDGER: &str = "idem, without ledger";
pub const IDEMPOTENT: &str = "idempotent 2.0";
pub const AXUM_IDEMPOTENT: &str = "axum-idempotent 0.6";

pub const ORDER: &str = r#"{"customer":"c-1042","currency":"EUR","items":[{"sku":"A-7","quantity":2,"cents":1250},{"sku":"B-3","quantity":1,"cents":800}],"note":"leave it with the neighbour","shipping":{"street":"Main St 1","city":"Springfield"}}"#;
pub const ANSWER: &str = r#"{"id":4711,"status":"accepted","total_cents":3300,"currency":"EUR","links":{"self":"/orders/4711"}}"#;

pub struct Contender {
    pub name: &'static str,
    pub router: Router,
    runs: Arc<AtomicUsize>,
    cookie: Option<String>,
}

impl Contender {
    pub fn request(&self, key: &str) -> Request {
        self.to("/orders", key)
    }

    pub fn slow_request(&self, key: &str) -> Request {
        self.to("/slow", key)
    }

    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn to(&self, path: &str, key: &str) -> Request {
        let mut request = Request::post(path)
            .header("content-type", "application/json")
            .header("host", "orders.example")
            .header("user-agent", "bench/1.0")
            .header("x-tenant", "acme")
            .header("idempotency-key", key);
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        request.body(Body::from(ORDER)).expect("a request")
    }
}

fn routes(runs: &Arc<AtomicUsize>) -> Router {
    let handler = |runs: Arc<AtomicUsize>, pause: Duration| {
        move |body: bytes::Bytes| {
            let runs = runs.clone();
            async move {
                runs.fetch_add(1, Ordering::SeqCst);
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                assert_eq!(body.len(), ORDER.len());
                answer()
            }
        }
    };
    Router::new()
        .route("/orders", post(handler(runs.clone(), Duration::ZERO)))
        .route("/slow", post(handler(runs.clone(), SLOW)))
}

fn answer() -> Response {
    let headers = [("content-type", "application/json"), ("location", "/orders/4711")];
    (StatusCode::CREATED, headers, ANSWER).into_response()
}

pub async fn all() -> Vec<Contender> {
    let mut all = Vec::new();
    let runs = || Arc::new(AtomicUsize::new(0));

    let counted = runs();
    all.push(Contender {
        name: BARE,
        router: routes(&counted),
        runs: counted,
        cookie: None,
    });

    let recovery = Recovery::Rerun {
        remembered_for: Duration::from_secs(24 * 60 * 60),
    };
    let ours = || {
        IdempotencyLayer::leased(MemoryStore::new(), recovery)
            .scope(|parts| Tenant::of_principal(parts.headers.get("x-tenant")?.to_str().ok()?))
    };
    for (name, layer) in [
        (OURS, ours().build().expect("a layer")),
        (WITHOUT_LEDGER, ours().without_ledger().build().expect("a layer")),
    ] {
        let counted = runs();
        all.push(Contender {
            name,
            router: routes(&counted).route_layer(layer),
            runs: counted,
            cookie: None,
        });
    }

    let counted = runs();
    let store = idempotent::memory::MemoryStore::builder().try_build().expect("a store");
    let layer = idempotent::middleware::IdempotencyLayer::new(store)
        .require_key(true)
        .scope(|parts| Some(parts.headers.get("x-tenant")?.to_str().ok()?.to_owned()));
    all.push(Contender {
        name: IDEMPOTENT,
        router: routes(&counted).route_layer(layer),
        runs: counted,
        cookie: None,
    });

    let counted = runs();
    let store = Arc::new(MokaStore::builder().build());
    let options = IdempotentOptions::default()
        .use_idempotency_key_header(Some("idempotency-key"), true)
        .expire_after(24 * 60 * 60);
    let login = |session: Session<MokaStore>| async move {
        let day = ruts::store::Ttl::new(86_400).expect("a time");
        session.set("user", &"ada", day, None).await.expect("a session");
    };
    let router = routes(&counted)
        .route_layer(IdempotentLayer::<MokaStore>::new(options))
        .route("/login", post(login))
        .layer(SessionLayer::new(store).with_cookie_options(CookieOptions::build().name("session").max_age(86_400).path("/")))
        .layer(CookieManagerLayer::new());
    let signed_in = router
        .clone()
        .oneshot(Request::post("/login").body(Body::empty()).expect("a request"))
        .await
        .expect("infallible");
    let cookie = signed_in.headers()["set-cookie"].to_str().expect("a cookie");
    let cookie = cookie.split(';').next().map(str::to_owned);
    all.push(Contender {
        name: AXUM_IDEMPOTENT,
        router,
        runs: counted,
        cookie,
    });
    all
}
