//! The layer among others: tower's contract, routers that nest, bodies that are compressed.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::middleware::from_fn;
use axum::routing::{any, post};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full};
use idem::MemoryStore;
use idem::tower::{IdempotencyLayer, Leased, RequestBody};
use tower::buffer::BufferLayer;
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::{Layer, Service as _, ServiceBuilder, ServiceExt as _};

use crate::stage::*;

fn layer() -> IdempotencyLayer<MemoryStore, Leased> {
    IdempotencyLayer::leased(MemoryStore::new(), RERUN)
        .shared_namespace()
        .build()
        .unwrap()
}

fn request(key: usize) -> Request<Full<Bytes>> {
    Request::post("/x")
        .header("idempotency-key", key)
        .body(Full::from("{}"))
        .unwrap()
}

/// A service that panics when it is called without having been made ready, and counts what it is given.
#[derive(Default)]
struct Probe {
    is_ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Probe {
    fn clone(&self) -> Self {
        Self {
            is_ready: false,
            calls: self.calls.clone(),
        }
    }
}

impl<B> tower::Service<Request<RequestBody<B>>> for Probe {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<RequestBody<B>>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.is_ready),
            "called without having been made ready"
        );
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        ready(Ok(Response::new(Full::from(format!("call {call}")))))
    }
}

#[tokio::test]
async fn b24_the_instance_that_was_made_ready_is_called() {
    let probe = Probe::default();
    let calls = probe.calls.clone();
    let mut service = layer().layer(probe);
    for round in 0..2 {
        for key in 0..50 {
            let ready = tower::ServiceExt::<Request<Full<Bytes>>>::ready(&mut service);
            let response = ready.await.unwrap().call(request(key)).await.unwrap();
            assert_eq!(response.headers().contains_key("idempotent-replayed"), round == 1);
        }
    }
    // What passes is called on it too.
    let get = Request::get("/x").body(Full::<Bytes>::default()).unwrap();
    service.oneshot(get).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 51);
}

#[tokio::test(flavor = "multi_thread")]
async fn b24_permits_come_back_from_replays_and_runs() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let inner = tower::service_fn(move |_: Request<RequestBody<Full<Bytes>>>| {
        let counted = counted.clone();
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("done")))
        }
    });
    let service = ServiceBuilder::new()
        .layer(layer())
        .layer(ConcurrencyLimitLayer::new(1))
        .layer(BufferLayer::new(64))
        .service(inner);
    for key in 0..50 {
        let response = service.clone().oneshot(request(key / 2)).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
    let at_once: Vec<_> = (0..50)
        .map(|key| tokio::spawn(service.clone().oneshot(request(100 + key / 2))))
        .collect();
    for response in at_once {
        let status = response.await.unwrap().unwrap().status();
        assert!(matches!(status.as_u16(), 200 | 409), "{status}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 50);
    // A load-shedder around it sees a free permit.
    let shed = ServiceBuilder::new().layer(LoadShedLayer::new()).service(service);
    let mut shed = shed;
    for key in 0..5 {
        // A permit comes back with the end of the work, a moment after the response.
        let mut tries = 0;
        loop {
            match shed.ready().await.unwrap().call(request(key)).await {
                Ok(response) => break assert!(response.headers().contains_key("idempotent-replayed")),
                Err(error) if tries == 100 => panic!("{error}"),
                Err(_) => tries += 1,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn b24_a_repeat_that_waits_holds_no_permit() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let (waiting, entered) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = entered.clone();
    let inner = tower::service_fn(move |request: Request<RequestBody<Full<Bytes>>>| {
        let (waiting, count) = (waiting.clone(), count.clone());
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            if request.uri().path() == "/x" {
                waiting.acquire().await.unwrap().forget();
            }
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("done")))
        }
    });
    let layer = layer().to_builder().wait(Duration::from_secs(20)).build().unwrap();
    let service = ServiceBuilder::new()
        .layer(layer)
        .layer(ConcurrencyLimitLayer::new(2))
        .service(inner);
    let first = tokio::spawn(service.clone().oneshot(request(1)));
    while entered.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = tokio::spawn(service.clone().oneshot(request(1)));
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The second waits; its permit serves another request meanwhile.
    let mut other = request(2);
    *other.uri_mut() = "/other".parse().unwrap();
    tokio::time::timeout(Duration::from_secs(5), service.clone().oneshot(other))
        .await
        .unwrap()
        .unwrap();
    gate.add_permits(1);
    assert!(
        !first
            .await
            .unwrap()
            .unwrap()
            .headers()
            .contains_key("idempotent-replayed")
    );
    assert!(
        second
            .await
            .unwrap()
            .unwrap()
            .headers()
            .contains_key("idempotent-replayed")
    );
}

#[tokio::test]
async fn an_error_of_the_service_is_passed_on_and_frees_the_key() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let inner = tower::service_fn(move |_: Request<RequestBody<Full<Bytes>>>| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            match call {
                0 => Err(std::io::Error::other("the service is out of order")),
                _ => Ok(Response::new(Full::<Bytes>::from("done"))),
            }
        }
    });
    let service = layer().layer(inner);
    let error = service.clone().oneshot(request(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "the service is out of order");
    service.clone().oneshot(request(1)).await.unwrap();
    let repeat = service.oneshot(request(1)).await.unwrap();
    assert!(repeat.headers().contains_key("idempotent-replayed"));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn b23_nested_routers_do_not_hide_their_prefix() {
    let layer = leased(MemoryStore::new(), RERUN).build().unwrap();
    let runs = Runs::default();
    let handler = {
        let runs = runs.clone();
        move |request: axum::extract::Request| {
            let run = runs.count();
            async move { format!("run {run} {}", request.uri().path()) }
        }
    };
    let orders = || {
        Router::new()
            .route("/orders", post(handler.clone()))
            .layer(layer.clone())
    };
    let service_of = || Router::new().fallback(handler.clone()).layer(layer.clone());
    let router = Router::new()
        .nest("/v1", orders())
        .nest("/v2", orders())
        .nest("/{tenant}/deep", Router::new().nest("/er", orders()))
        .nest_service("/s1", service_of())
        .nest_service("/s2", service_of())
        .merge(
            Router::new()
                .route("/merged/{id}", any(handler.clone()))
                .route_layer(layer.clone()),
        )
        .fallback_service(service_of())
        .layer(from_fn(authenticate));
    let service = Service::serve(router, runs).await;
    let paths = [
        "/v1/orders",
        "/v2/orders",
        "/a/deep/er/orders",
        "/b/deep/er/orders",
        "/s1/orders",
        "/s2/orders",
        "/merged/1",
        "/merged/2",
        "/elsewhere",
    ];
    for first in paths {
        let ask = |path: &str| service.post(path).key(&first.replace('/', "-")).json("{}");
        ask(first).send().await.is(200).fresh();
        let runs = service.runs.get();
        for other in paths {
            let reply = ask(other).send().await;
            match first == other {
                true => drop(reply.is(200).replayed()),
                false => drop(reply.problem("key-reused", 422)),
            }
        }
        assert_eq!(service.runs.get(), runs);
    }
}

#[tokio::test]
async fn compression_and_decompression_on_either_side() {
    use tower_http::compression::CompressionLayer;
    use tower_http::decompression::RequestDecompressionLayer;
    let echo = async |body: Bytes| (StatusCode::CREATED, [body, Bytes::from(vec![b'x'; 2000])].concat());
    let plain = br#"{"a":1}"#;
    let gzipped = {
        let body = Body::from(plain.to_vec());
        let service = CompressionLayer::new()
            .compress_when(|_: StatusCode, _: http::Version, _: &http::HeaderMap, _: &http::Extensions| true)
            .layer(tower::service_fn(|request: Request<Body>| async {
                Ok::<_, Infallible>(Response::new(request.into_body()))
            }));
        let request = Request::builder().header("accept-encoding", "gzip").body(body).unwrap();
        service
            .oneshot(request)
            .await
            .unwrap()
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
    };
    assert_ne!(&gzipped[..], plain);
    // Inside of both: it sees and keeps what is not compressed.
    let layer = leased(MemoryStore::new(), RERUN).build().unwrap();
    let inside = Router::new()
        .route("/x", post(echo))
        .route_layer(layer.clone())
        .layer(
            ServiceBuilder::new()
                .layer(CompressionLayer::new())
                .layer(RequestDecompressionLayer::new()),
        )
        .layer(from_fn(authenticate));
    let service = Service::serve(inside, Runs::default()).await;
    let sent = |encoding: &str, body: &[u8]| {
        let ask = service.post("/x").key("k").body("application/json", body.to_vec());
        if encoding.is_empty() {
            ask
        } else {
            ask.header("content-encoding", encoding)
        }
    };
    let first = sent("gzip", &gzipped).send().await;
    first.is(201).fresh();
    assert!(first.body.starts_with(plain));
    let repeat = sent("", plain).header("accept-encoding", "gzip").send().await;
    assert_eq!(repeat.is(201).replayed().header("content-encoding"), Some("gzip"));
    assert_eq!(sent("", plain).send().await.is(201).replayed().body, first.body);
    // Around both: it sees and keeps what is sent.
    let around = Router::new()
        .route("/x", post(echo))
        .layer(
            ServiceBuilder::new()
                .layer(CompressionLayer::new())
                .layer(RequestDecompressionLayer::new()),
        )
        .route_layer(layer)
        .layer(from_fn(authenticate));
    let service = Service::serve(around, Runs::default()).await;
    let ask = || {
        let ask = service
            .post("/x")
            .key("around")
            .body("application/json", gzipped.clone());
        ask.header("content-encoding", "gzip").header("accept-encoding", "gzip")
    };
    let first = ask().send().await;
    assert_eq!(first.is(201).fresh().header("content-encoding"), Some("gzip"));
    let repeat = ask().send().await;
    assert_eq!(repeat.is(201).replayed().header("content-encoding"), Some("gzip"));
    assert_eq!(repeat.body, first.body);
}

/// A body with trailers.
struct WithTrailers(Vec<Frame<Bytes>>);

impl http_body::Body for WithTrailers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop().map(Ok))
    }
}

#[tokio::test]
async fn b21_trailers_pass_both_ways_and_replay() {
    let trailers = |name: &'static str, value: &'static str| {
        let mut map = http::HeaderMap::new();
        map.insert(name, http::HeaderValue::from_static(value));
        Frame::trailers(map)
    };
    let inner = tower::service_fn(move |request: Request<RequestBody<WithTrailers>>| async move {
        let collected = request.into_body().collect().await.unwrap();
        assert_eq!(collected.trailers().unwrap()["x-sum"], "7");
        let body = WithTrailers(vec![trailers("x-status", "0"), Frame::data(collected.to_bytes())]);
        Ok::<_, Infallible>(Response::new(body))
    });
    let service = layer().layer(inner);
    for replayed in [false, true] {
        let body = WithTrailers(vec![
            trailers("x-sum", "7"),
            Frame::data(Bytes::from_static(b"payload")),
        ]);
        let request = Request::post("/x").header("idempotency-key", "k").body(body).unwrap();
        let response = service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers().contains_key("idempotent-replayed"), replayed);
        let collected = response.into_body().collect().await.unwrap();
        assert_eq!(collected.trailers().unwrap()["x-status"], "0");
        assert_eq!(collected.to_bytes(), "payload");
    }
}

/// That the futures of the layer can be sent, whatever the store.
#[allow(dead_code)]
fn futures_are_send(
    service: idem::tower::Idempotency<axum::routing::Route, idem::PgStore, idem::tower::Transactional>,
) {
    fn is_send<F: Future + Send>(_: F) {}
    is_send(service.oneshot(Request::new(Body::empty())));
}
