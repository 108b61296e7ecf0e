//! A request whose effect is outside of any transaction of ours.
//!
//! | the process ends | what remains | the next attempt |
//! |---|---|---|
//! | before the claim is committed | nothing | runs |
//! | while the handler runs, or its body is read | the claim and its `intended` entry | until the lease ends 409; then `Rerun` runs, `Hold` is told outcome-unknown |
//! | after the completion, before the response | everything | replays |

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt as _;
use idem_core::{
    Done, EffectError, Error, ErrorKind, Idem, IdempotencyKey, Leased as Claimed, LeasedGuard, Recovery, Store,
};
use tokio::sync::mpsc;

use super::answer::{Answers, is_unrecorded};
use super::handler::Called;
use super::late::LateClaims;
use super::private::{Inner, RequestBytes, ResponseBytes, Serves};
use super::{Reply, Work, fail_open, is_elapsed, is_in_flight, within};
use crate::attempt::Attempt;
use crate::config::{Config, route};
use crate::grpc::{self, Judged};
use crate::request::RequestBody;
use crate::response::{
    BoxError, Content, Relayed, ResponseBody, StoredResponse, Taken, Whole, in_bytes, is_event_stream, joined, take,
};
use crate::status::{Unbounded, Verdict, is_unrouted};

/// The handler calls other services, under a claim with a lease.
#[derive(Clone, Debug)]
pub struct Leased {
    recovery: Recovery,
    late: LateClaims,
}

impl Leased {
    pub(crate) fn new(recovery: Recovery) -> Self {
        Self {
            recovery,
            late: LateClaims::default(),
        }
    }
}

/// How long a response waits for its record, before it goes out while that is still tried.
const RECORDING_PATIENCE: Duration = Duration::from_secs(2);
/// Frames on their way to a client that is slower than its handler.
const RELAYED_FRAMES: usize = 8;

impl<S: Store> Serves<S> for Leased {
    #[expect(private_interfaces, reason = "nobody outside can implement or call it")]
    async fn serve<I, B, R>(self, idem: Idem<S>, config: Arc<Config>, work: Work<S, I, R, I::Error>)
    where
        I: Inner<B, R>,
        B: RequestBytes,
        R: ResponseBytes,
    {
        let Work {
            mut handler,
            mut parts,
            body,
            asked,
            call,
            mut reply,
        } = work;
        let answers = Answers(&config);
        let mut claiming = Box::pin(call.lease(self.recovery));
        let mut claimed = within(config.store_timeout, claiming.as_mut()).await;
        let is_late = is_in_flight(&claimed) && self.late.has(asked.effect.key());
        let wait = match is_late {
            true => config.wait.max(config.store_timeout),
            false => config.wait,
        };
        if !wait.is_zero() && is_in_flight(&claimed) {
            handler.give_back();
            claimed = match asked.call(&idem, &config, wait) {
                Ok(call) => {
                    claiming = Box::pin(call.lease(self.recovery));
                    within(config.store_timeout + wait, claiming.as_mut()).await
                }
                Err(error) => Err(error),
            };
        }
        if let Err(error) = &claimed
            && is_elapsed(error)
        {
            // The client hears of it now; a claim that is made all the same must not stay, since nothing comes of it. It is
            // given back by itself, as a handler that runs without protection may wait for what the claim holds.
            let late = self.late.enter(asked.effect.key().clone());
            idem.spawn(late.give_back(claiming));
            let answer = match config.fail_open {
                true => {
                    let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
                    Box::pin(fail_open(&idem, &config, error, handler, request)).await
                }
                false => Ok(answers.store_unavailable(error)),
            };
            return reply.send(answer);
        }
        if let Err(error) = &claimed
            && is_late
            && is_in_flight(&claimed)
            && self.late.has(asked.effect.key())
        {
            return reply.send(Ok(answers.store_unavailable(error)));
        }
        let guard = match claimed {
            Ok(Claimed::Execute(guard)) => guard,
            Ok(Claimed::Replayed(stored)) => return reply.send(Ok(answers.replay(stored))),
            Err(error) if config.fail_open && error.kind() == ErrorKind::Store => {
                let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
                return reply.send(fail_open(&idem, &config, &error, handler, request).await);
            }
            Err(error) => return reply.send(Ok(answers.refusal(error, asked.effect.key()))),
        };
        let handle = guard.effect().clone();
        let handle_key = handle.key().clone();
        parts.extensions.insert(Attempt {
            key: handle.key().clone(),
            client_key: asked.named.into_client_key(),
            number: handle.attempt(),
            generation: handle.generation(),
            effect: Some(handle),
        });
        let is_routed = route(&parts).is_some();
        let is_grpc = grpc::is_grpc(&parts.headers);
        let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
        let settling = Settling {
            config: &config,
            guard,
            key: handle_key,
            is_routed,
            is_grpc,
        };
        let renewal = settling.guard.renewal();
        let mut work = pin!(async {
            match handler.call(request).await {
                Called::Answered(response) => settling.settle(response, &mut reply).await,
                Called::Unready(error) => {
                    settling
                        .without_response(EffectError::nothing_happened("the service did not become ready"))
                        .await;
                    reply.send(Err(error));
                }
                Called::Failed(error) => {
                    settling.without_response(EffectError::new("the service failed")).await;
                    reply.send(Err(error));
                }
                Called::Panicked => {
                    settling
                        .without_response(EffectError::new("the handler panicked"))
                        .await;
                    reply.send(Ok(answers.internal(
                        "The service failed in the middle of the request. Repeat it with the same key.",
                    )));
                }
            }
        });
        renewal.during(work.as_mut()).await;
    }

    fn check(&self, retention: Duration) -> Result<(), Error> {
        match self.recovery {
            Recovery::Rerun { remembered_for } if remembered_for > retention => Err(Error::new(
                ErrorKind::Misuse,
                format!(
                    "other services remember the key for {remembered_for:?}, but responses would be kept for {retention:?}; raise the retention"
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// A response that is being recorded.
struct Settling<'c, S: Store> {
    config: &'c Config,
    guard: LeasedGuard<S, StoredResponse>,
    key: IdempotencyKey,
    is_routed: bool,
    is_grpc: bool,
}

/// What becomes of an attempt whose response stands.
enum Outcome {
    Committed,
    Declined,
}

impl<S: Store> Settling<'_, S> {
    /// Ends an attempt that has no response. What stands of another one is for the next call to find.
    async fn without_response(self, error: EffectError) {
        let _ = self.guard.fail(error).await;
    }

    async fn settle<R: ResponseBytes, E>(self, mut response: Response<R>, reply: &mut Reply<R, E>) {
        // What a handler passes on from another service says nothing of this request.
        response.headers_mut().remove(&self.config.replay_marker);
        if self.is_grpc && response.status() == StatusCode::OK {
            return Box::pin(self.settle_grpc(response, reply)).await;
        }
        let disposition = match is_unrouted(&response, self.is_routed) {
            true => crate::status::Disposition::Release,
            false => self.config.disposition(response.status()),
        };
        let verdict = Verdict::of(response.status(), disposition, response.extensions());
        let outcome = match verdict {
            Verdict::Committed => Outcome::Committed,
            Verdict::Declined => Outcome::Declined,
            Verdict::NothingHappened => {
                let error = EffectError::nothing_happened(Answered(response.status()));
                return Box::pin(self.pass_on(error, response.map(ResponseBody::passed), reply)).await;
            }
            Verdict::Failed => {
                let error = EffectError::new(Answered(response.status()));
                return Box::pin(self.pass_on(error, response.map(ResponseBody::passed), reply)).await;
            }
        };
        let limit = self.config.max_response_bytes;
        let size = response.body().size_hint();
        let has_end = response.extensions_mut().remove::<Unbounded>().is_none() && !is_event_stream(response.headers());
        let (parts, body) = response.into_parts();
        let head = stored_head(self.config, &parts);
        match size.exact() {
            _ if !has_end => {
                let response = Response::from_parts(parts, ResponseBody::passed(body));
                self.record(outcome, head, Content::NotKept, None, response, reply)
                    .await;
            }
            Some(length) if usize::try_from(length).is_ok_and(|length| length <= limit) => {
                self.record_whole(outcome, head, parts, body, reply).await;
            }
            Some(_) => {
                let response = Response::from_parts(parts, ResponseBody::passed(body));
                self.record(outcome, head, Content::NotKept, None, response, reply)
                    .await;
            }
            // Boxed, as all that is rare here, so that the rest is not as large as it.
            None => Box::pin(self.relay(outcome, head, parts, body, reply)).await,
        }
    }

    /// Settles by the status of gRPC, which is known when the response has been read.
    async fn settle_grpc<R: ResponseBytes, E>(self, response: Response<R>, reply: &mut Reply<R, E>) {
        let Judged {
            verdict,
            content,
            trailers,
            response,
        } = grpc::judge(response, self.config.max_response_bytes).await;
        let (parts, body) = response.into_parts();
        let head = stored_head(self.config, &parts);
        let response = Response::from_parts(parts, body);
        let outcome = match verdict {
            Verdict::Committed => Outcome::Committed,
            Verdict::Declined => Outcome::Declined,
            Verdict::NothingHappened => {
                let error = EffectError::nothing_happened(Answered(response.status()));
                return self.pass_on(error, response, reply).await;
            }
            Verdict::Failed => {
                let error = EffectError::new(Answered(response.status()));
                return self.pass_on(error, response, reply).await;
            }
        };
        self.record(outcome, head, content, trailers, response, reply).await;
    }

    /// Tells the executor that nothing is to be kept, and the client what the handler answered.
    async fn pass_on<R, E>(self, error: EffectError, response: Response<ResponseBody<R>>, reply: &mut Reply<R, E>) {
        let answers = Answers(self.config);
        let answer = match self.guard.fail(error).await {
            // Another attempt has taken over and has an outcome: that one stands.
            Ok(done) => answers.replay(done.into_inner()),
            Err(error) if error.kind() == ErrorKind::Declined => answers.refusal(error, &self.key),
            Err(_) => response,
        };
        reply.send(Ok(answer));
    }

    async fn record_whole<R: ResponseBytes, E>(
        self,
        outcome: Outcome,
        head: StoredResponse,
        parts: http::response::Parts,
        body: R,
        reply: &mut Reply<R, E>,
    ) {
        match take(body, self.config.max_response_bytes).await {
            Taken::Whole(Whole { bytes, trailers }) => {
                let content = Content::of(&bytes);
                let body = ResponseBody::whole(bytes, trailers.clone());
                let response = Response::from_parts(parts, body);
                self.record(outcome, head, content, trailers, response, reply).await;
            }
            // Its effect stands; what did not come whole is not kept.
            Taken::Longer(read, rest) => {
                let response = Response::from_parts(parts, ResponseBody::resumed(read, Ok(rest)));
                self.record(outcome, head, Content::NotKept, None, response, reply)
                    .await;
            }
            Taken::Broken(read, error) => {
                let response = Response::from_parts(parts, ResponseBody::resumed(read, Err(error)));
                self.record(outcome, head, Content::NotKept, None, response, reply)
                    .await;
            }
        }
    }

    /// Records the response, then lets it go. A store that does not answer does not keep it back for long.
    async fn record<R, E>(
        self,
        outcome: Outcome,
        head: StoredResponse,
        content: Content,
        trailers: Option<http::HeaderMap>,
        response: Response<ResponseBody<R>>,
        reply: &mut Reply<R, E>,
    ) {
        let (config, key) = (self.config, self.key.clone());
        let stored = head.with(content, trailers.as_ref());
        let mut recording = pin!(self.complete(outcome, stored));
        let recorded = match patiently(recording.as_mut()).await {
            Some(recorded) => recorded,
            None => {
                reply.send(Ok(response));
                if let Err(error) = recording.await {
                    unrecorded(&error);
                }
                return;
            }
        };
        let answers = Answers(config);
        reply.send(Ok(match recorded {
            Ok(None) => response,
            // Fenced out: what stands is another attempt's.
            Ok(Some(stands)) => answers.replay(stands),
            Err(error) if is_unrecorded(&error) => {
                unrecorded(&error);
                response
            }
            Err(error) if error.kind() == ErrorKind::LostClaim => answers.lost(),
            Err(error) => answers.refusal(error, &key),
        }));
    }

    /// Completes the record; what stands in its place if the claim was lost.
    async fn complete(self, outcome: Outcome, stored: StoredResponse) -> Result<Option<StoredResponse>, Error> {
        match outcome {
            Outcome::Committed => match self.guard.complete(stored).await? {
                Done::Executed(_) => Ok(None),
                Done::Replayed(stands) => Ok(Some(stands)),
            },
            Outcome::Declined => match Box::pin(self.guard.fail(EffectError::final_(&stored))).await {
                Ok(done) => Ok(Some(done.into_inner())),
                Err(error) if error.kind() == ErrorKind::Declined => match error.declined() {
                    Some(stands) if stands != stored => Ok(Some(stands)),
                    _ => Ok(None),
                },
                Err(error) => Err(error),
            },
        }
    }

    /// Delivers a body of unknown length as it comes and keeps it, up to the limit. The client sees its end when it is on
    /// record; one that goes away does not keep it from being read.
    async fn relay<R: ResponseBytes, E>(
        self,
        outcome: Outcome,
        head: StoredResponse,
        parts: http::response::Parts,
        body: R,
        reply: &mut Reply<R, E>,
    ) {
        let (sender, frames) = mpsc::channel(RELAYED_FRAMES);
        reply.send(Ok(Response::from_parts(parts, ResponseBody::relayed(frames))));
        let config = self.config;
        let mut body = Box::pin(body);
        let mut kept = Kept::new(config.max_response_bytes);
        let mut settling = Some((self, outcome));
        let failed: Option<BoxError> = loop {
            let Some(frame) = body.frame().await else {
                break None;
            };
            let frame = match frame {
                Ok(frame) => in_bytes(frame),
                Err(error) => break Some(error.into()),
            };
            if kept.push(&frame)
                && let Some((settling, outcome)) = settling.take()
            {
                let stored = head.clone().with(Content::NotKept, None);
                settling.conclude(outcome, stored).await;
            }
            let delivered = sender.send(Relayed::Frame(frame)).await;
            if delivered.is_err() && settling.is_none() {
                // Nobody reads it, and it is not kept.
                return;
            }
        };
        if let Some((settling, outcome)) = settling {
            let (content, trailers) = match failed {
                None => kept.into_parts(),
                // Part of a body is no response.
                Some(_) => (Content::NotKept, None),
            };
            let stored = head.with(content, trailers.as_ref());
            settling.conclude(outcome, stored).await;
        }
        let end = failed.map_or(Relayed::End, Relayed::Broken);
        let _ = sender.send(end).await;
    }

    /// Completes the record of a response that is on its way already.
    async fn conclude(self, outcome: Outcome, stored: StoredResponse) {
        if let Err(error) = self.complete(outcome, stored).await {
            unrecorded(&error);
        }
    }
}

fn unrecorded(error: &Error) {
    tracing::error!(error = %error, "a response went out whose record could not be completed; repeats are told what its recovery says");
}

/// Waits as long as a response may be kept back. What is done at once costs no timer.
async fn patiently<F: Future>(mut recording: Pin<&mut F>) -> Option<F::Output> {
    if let Poll::Ready(recorded) = poll_fn(|context| Poll::Ready(recording.as_mut().poll(context))).await {
        return Some(recorded);
    }
    tokio::time::timeout(RECORDING_PATIENCE, recording).await.ok()
}

/// What is kept of a response before its body is known.
pub(super) fn stored_head(config: &Config, parts: &http::response::Parts) -> StoredResponse {
    StoredResponse::head(parts.status, &parts.headers, |name| {
        config.keeps(name) || grpc::is_status(name)
    })
}

/// What was delivered so far, as long as it is to be kept.
struct Kept {
    frames: std::collections::VecDeque<Frame<Bytes>>,
    length: usize,
    limit: usize,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self {
            frames: std::collections::VecDeque::new(),
            length: 0,
            limit,
        }
    }

    /// Whether it is too long with this frame.
    fn push(&mut self, frame: &Frame<Bytes>) -> bool {
        self.length = self.length.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if self.length > self.limit {
            self.frames.clear();
            return true;
        }
        match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => self.frames.push_back(Frame::data(data.clone())),
            (None, Some(trailers)) => self.frames.push_back(Frame::trailers(trailers.clone())),
            (None, None) => {}
        }
        false
    }

    fn into_parts(self) -> (Content, Option<http::HeaderMap>) {
        let Whole { bytes, trailers } = joined(self.frames, self.length);
        (Content::of(&bytes), trailers)
    }
}

/// What the executor is told of a response that is not kept.
#[derive(Debug)]
pub(super) struct Answered(pub(super) http::StatusCode);

impl std::fmt::Display for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the handler answered {}", self.0.as_u16())
    }
}

impl std::error::Error for Answered {}
