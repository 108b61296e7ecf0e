//! gRPC behind the layer, with a real client and server: a failure is none the less one because HTTP says 200.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::from_fn;
use axum::routing::any;
use bytes::{Buf as _, BufMut as _};
use http::uri::PathAndQuery;
use idem::tower::{IdempotencyLayer, Mode, Tx};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::stage::*;

/// Messages as the bytes they are.
#[derive(Clone, Copy, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(source.copy_to_bytes(source.remaining()).to_vec()))
    }
}

/// Answers with the code that the message names for the run, and inserts a row before it does where it has a transaction.
async fn serve<S: Stage>(run: u32, request: tonic::Request<Vec<u8>>) -> Result<tonic::Response<Vec<u8>>, Status> {
    if let Ok(mut tx) = Tx::<S::Store>::take(request.extensions()) {
        S::insert(tx.connection()).await.unwrap();
    }
    // One code for each run, separated by commas; the last one for all that follow.
    let codes = String::from_utf8(request.into_inner()).unwrap();
    let codes: Vec<i32> = codes.split(',').map(|code| code.parse().unwrap()).collect();
    let code = codes[(run as usize - 1).min(codes.len() - 1)];
    if code == 0 {
        return Ok(tonic::Response::new(format!("run {run}").into_bytes()));
    }
    let mut metadata = MetadataMap::new();
    metadata.insert_bin("why-bin", MetadataValue::from_bytes(b"\x00\xff"));
    metadata.insert("x-run", run.to_string().parse().unwrap());
    Err(Status::with_metadata(
        Code::from(code),
        format!("grüße, run {run}"),
        metadata,
    ))
}

async fn start<S: Stage, M: Mode<S::Store>>(layer: &IdempotencyLayer<S::Store, M>) -> Service {
    let runs = Runs::default();
    let counted = runs.clone();
    let handler = move |request: Request| {
        let run = counted.count();
        async move {
            let unary = tower::service_fn(move |request| serve::<S>(run, request));
            tonic::server::Grpc::new(Bytes)
                .unary(unary, request)
                .await
                .map(Body::new)
        }
    };
    let router = axum::Router::new()
        .route("/pkg.Orders/{method}", any(handler))
        .route_layer(layer.clone())
        .layer(from_fn(authenticate));
    Service::serve(router, runs).await
}

struct Client(tonic::client::Grpc<Channel>);

impl Client {
    async fn of(service: &Service) -> Self {
        let channel = Channel::from_shared(format!("http://{}", service.address))
            .unwrap()
            .connect()
            .await
            .unwrap();
        Self(tonic::client::Grpc::new(channel))
    }

    async fn ask(&mut self, key: &str, message: &str) -> Result<tonic::Response<Vec<u8>>, Status> {
        let mut request = tonic::Request::new(message.as_bytes().to_vec());
        let metadata = request.metadata_mut();
        metadata.insert("x-principal", "ada".parse().unwrap());
        metadata.insert("idempotency-key", key.parse().unwrap());
        self.0.ready().await.unwrap();
        let path = PathAndQuery::from_static("/pkg.Orders/Create");
        self.0.unary(request, path, Bytes).await
    }
}

fn is_replay(metadata: &MetadataMap) -> bool {
    metadata.contains_key("idempotent-replayed")
}

#[tokio::test]
async fn b21_what_a_grpc_status_says_counts_and_replays_whole() {
    for_both_databases!(|stage: S| {
        let leased = leased(stage.store(), RERUN).build().unwrap();
        let transactional = transactional(stage.store()).build().unwrap();
        let mut rows = 0;
        for (mode, service) in [
            ("leased", start::<S, _>(&leased).await),
            ("transactional", start::<S, _>(&transactional).await),
        ] {
            let mut client = Client::of(&service).await;
            let key = |name: &str| format!("{mode}-{name}");
            // OK twice: the same message, once made.
            let first = client.ask(&key("ok"), "0").await.unwrap();
            let repeat = client.ask(&key("ok"), "0").await.unwrap();
            assert_eq!(first.get_ref(), repeat.get_ref());
            assert!(
                !is_replay(first.metadata()) && is_replay(repeat.metadata()),
                "{repeat:?}"
            );
            assert_eq!(service.runs.get(), 1, "{mode}");
            // UNAVAILABLE, then OK: the second call runs.
            let failed = client.ask(&key("later"), "14,14,0").await.unwrap_err();
            assert_eq!(failed.code(), Code::Unavailable);
            let second = client.ask(&key("later"), "14,14,0").await.unwrap();
            assert_eq!(
                (second.get_ref().as_slice(), is_replay(second.metadata())),
                (&b"run 3"[..], false)
            );
            assert_eq!(service.runs.get(), 3, "{mode}");
            // ALREADY_EXISTS is an answer, and comes back with all that it said.
            let first = client.ask(&key("exists"), "6").await.unwrap_err();
            let repeat = client.ask(&key("exists"), "6").await.unwrap_err();
            assert_eq!((repeat.code(), repeat.message()), (Code::AlreadyExists, "grüße, run 4"));
            assert_eq!((first.code(), first.message()), (repeat.code(), repeat.message()));
            assert!(is_replay(repeat.metadata()) && !is_replay(first.metadata()));
            assert_eq!(service.runs.get(), 4, "{mode}");
            // ABORTED and PERMISSION_DENIED run again.
            for (name, code) in [("aborted", 10), ("denied", 7)] {
                for _ in 0..2 {
                    let status = client.ask(&key(name), &code.to_string()).await.unwrap_err();
                    assert_eq!(status.code(), Code::from(code));
                    assert!(!is_replay(status.metadata()), "{status:?}");
                }
            }
            assert_eq!(service.runs.get(), 8, "{mode}");
            if mode == "transactional" {
                rows += 2;
            }
            assert_eq!(stage.rows().await, rows, "rows stand for what was OK");
        }
        assert_eq!(stage.entries("executed").await, 4);
        assert_eq!(stage.entries("declined").await, 2);
    });
}
