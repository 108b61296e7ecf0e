//! A request whose effect is in the transaction that its key is claimed in.
//!
//! | the process ends | what remains | the next attempt |
//! |---|---|---|
//! | before COMMIT is sent | nothing: effect, record and entry roll back together | runs |
//! | while COMMIT is under way | everything or nothing | its claim finds out |
//! | after the commit, before the response | everything | replays |

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use idem_core::{Begun, Done, Error, ErrorKind, Guard, Idem, IdempotencyKey, Retry, TransactionalStore};

use super::answer::Answers;
use super::handler::Called;
use super::leased::stored_head;
use super::private::{Inner, RequestBytes, ResponseBytes, Serves};
use super::{Work, fail_open, is_in_flight, within};
use crate::attempt::Attempt;
use crate::config::{Config, route};
use crate::failure::failure_of;
use crate::grpc::{self, Judged};
use crate::request::RequestBody;
use crate::response::{Content, ResponseBody, StoredResponse, Taken, Whole, is_event_stream, take};
use crate::status::{Disposition, Unbounded, Verdict, is_unrouted};
use crate::tx::Slot;

/// The handler's effect is in the database of the store, in the transaction that [`Tx`](crate::Tx) hands over.
#[derive(Clone, Debug)]
pub struct Transactional(pub(crate) ());

impl<S: TransactionalStore> Serves<S> for Transactional {
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
        let mut begun = within(config.store_timeout, pin!(call.begin())).await;
        if !config.wait.is_zero() && is_in_flight(&begun) {
            handler.give_back();
            begun = match asked.call(&idem, &config, config.wait) {
                Ok(call) => within(config.store_timeout + config.wait, pin!(call.begin())).await,
                Err(error) => Err(error),
            };
        }
        let guard = match begun {
            Ok(Begun::Execute(guard)) => guard,
            Ok(Begun::Replayed(stored)) => return reply.send(Ok(answers.replay(stored))),
            Err(error) if config.fail_open && error.kind() == ErrorKind::Store => {
                let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
                return reply.send(fail_open(&idem, &config, &error, handler, request).await);
            }
            Err(error) => return reply.send(Ok(answers.refusal(error, asked.effect.key()))),
        };
        let key = guard.key().clone();
        let action = config.action(&parts);
        parts.extensions.insert(Attempt {
            key: key.clone(),
            client_key: asked.named.into_client_key(),
            number: guard.attempt(),
            generation: guard.generation(),
            effect: None,
        });
        let slot = Slot::new(guard);
        parts.extensions.insert(slot.clone());
        let is_routed = route(&parts).is_some();
        let is_grpc = grpc::is_grpc(&parts.headers);
        let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
        let called = Box::pin(idem.inside(&key, handler.call(request))).await;
        let was_lent = slot.was_lent();
        let guard = slot.close();
        let response = match (called, guard) {
            (Called::Answered(response), Some(guard)) => {
                let settling = Settling {
                    idem: &idem,
                    config: &config,
                    guard,
                    key,
                    is_routed,
                    is_grpc,
                };
                let (response, committed) = Box::pin(settling.settle(response)).await;
                if committed && !was_lent {
                    tracing::warn!(
                        action,
                        "the handler did not take its transaction (`Tx`): the response is recorded, but what the handler did is not part of it and may be done again after a crash"
                    );
                    idem.observe(|observer| observer.unused_transaction(&action));
                }
                Ok(response)
            }
            (called, guard) => {
                if let Some(guard) = guard {
                    // Awaited, so that the key is free when the client hears of it.
                    let _ = guard.roll_back().await;
                }
                match called {
                    Called::Answered(_) => {
                        tracing::error!(
                            action,
                            "the handler kept its transaction (`Tx`) beyond its response, so nothing could be committed; drop it, or let the function that takes it return, before the response does"
                        );
                        Ok(answers.internal("The service cannot complete the request. Nothing was done."))
                    }
                    Called::Failed(error) | Called::Unready(error) => Err(error),
                    Called::Panicked => Ok(answers.internal(
                        "The service failed in the middle of the request. Nothing was done; repeat it with the same key.",
                    )),
                }
            }
        };
        reply.send(response);
    }

    fn check(&self, _retention: Duration) -> Result<(), Error> {
        Ok(())
    }
}

/// A response whose transaction is open.
struct Settling<'c, S: TransactionalStore> {
    idem: &'c Idem<S>,
    config: &'c Config,
    guard: Guard<S, StoredResponse>,
    key: IdempotencyKey,
    is_routed: bool,
    is_grpc: bool,
}

impl<S: TransactionalStore> Settling<'_, S> {
    /// Ends the transaction as the response says; what the client gets, and whether the effect was committed now.
    async fn settle<R: ResponseBytes>(self, mut response: Response<R>) -> (Response<ResponseBody<R>>, bool) {
        // What a handler passes on from another service says nothing of this request.
        response.headers_mut().remove(&self.config.replay_marker);
        if self.is_grpc && response.status() == StatusCode::OK {
            return self.settle_grpc(response).await;
        }
        let disposition = match is_unrouted(&response, self.is_routed) {
            true => Disposition::Release,
            false => self.config.disposition(response.status()),
        };
        let verdict = Verdict::of(response.status(), disposition, response.extensions());
        if matches!(verdict, Verdict::NothingHappened | Verdict::Failed) {
            return (self.roll_back(response.map(ResponseBody::passed)).await, false);
        }
        let has_end = response.extensions_mut().remove::<Unbounded>().is_none() && !is_event_stream(response.headers());
        let limit = self.config.max_response_bytes;
        let fits = |length: u64| usize::try_from(length).is_ok_and(|length| length <= limit);
        let (parts, body) = response.into_parts();
        let head = stored_head(self.config, &parts);
        let (content, trailers, body) = if has_end && fits(body.size_hint().lower()) {
            match take(body, limit).await {
                Taken::Whole(Whole { bytes, trailers }) => {
                    let content = Content::of(&bytes);
                    (content, trailers.clone(), ResponseBody::whole(bytes, trailers))
                }
                Taken::Longer(read, rest) => (Content::NotKept, None, ResponseBody::resumed(read, Ok(rest))),
                Taken::Broken(_, error) => {
                    // The client would get half of a success; nothing is committed yet.
                    tracing::error!(error = %error, "the body of a response broke off; its transaction is rolled back");
                    let _ = self.guard.roll_back().await;
                    let detail = "The service failed while it made the response. Nothing was done; repeat the request with the same key.";
                    return (Answers(self.config).internal(detail), false);
                }
            }
        } else {
            (Content::NotKept, None, ResponseBody::passed(body))
        };
        let stored = head.with(content, trailers.as_ref());
        let response = Response::from_parts(parts, body);
        match verdict {
            Verdict::Committed => self.commit(stored, response).await,
            _ => (self.decline(stored, response).await, false),
        }
    }

    /// Settles by the status of gRPC, which is known when the response has been read.
    async fn settle_grpc<R: ResponseBytes>(self, response: Response<R>) -> (Response<ResponseBody<R>>, bool) {
        let Judged {
            verdict,
            content,
            trailers,
            response,
        } = grpc::judge(response, self.config.max_response_bytes).await;
        let (parts, body) = response.into_parts();
        let stored = stored_head(self.config, &parts).with(content, trailers.as_ref());
        let response = Response::from_parts(parts, body);
        match verdict {
            Verdict::Committed => self.commit(stored, response).await,
            Verdict::Declined => (self.decline(stored, response).await, false),
            Verdict::NothingHappened | Verdict::Failed => (self.roll_back(response).await, false),
        }
    }

    async fn commit<R>(
        self,
        stored: StoredResponse,
        response: Response<ResponseBody<R>>,
    ) -> (Response<ResponseBody<R>>, bool) {
        let answers = Answers(self.config);
        match self.guard.complete(stored).await {
            Ok(Done::Executed(_)) => (response, true),
            Ok(Done::Replayed(stands)) => (answers.replay(stands), false),
            Err(error) => (answers.refusal(error, &self.key), false),
        }
    }

    async fn decline<R>(
        self,
        stored: StoredResponse,
        response: Response<ResponseBody<R>>,
    ) -> Response<ResponseBody<R>> {
        let answers = Answers(self.config);
        match self.guard.decline(&stored).await {
            Ok(done) => answers.replay(done.into_inner()),
            Err(error) if error.kind() == ErrorKind::Declined => match error.declined::<StoredResponse>() {
                Some(stands) if stands != stored => answers.replay(stands),
                _ => response,
            },
            Err(error) => answers.refusal(error, &self.key),
        }
    }

    /// Nothing is kept. A failure of which the database says that it undid the transaction is no failure of the request.
    async fn roll_back<R>(self, response: Response<ResponseBody<R>>) -> Response<ResponseBody<R>> {
        let answers = Answers(self.config);
        let rolled_back = self.guard.roll_back().await;
        match rolled_back {
            Err(error) if error.kind() == ErrorKind::Misuse => return answers.at_fault(&error),
            Ok(()) | Err(_) => {}
        }
        let undone = |source: &(dyn StdError + 'static)| {
            matches!(
                self.idem.store().classify(source),
                Retry::Transaction | Retry::ConnectionLost
            )
        };
        match failure_of(response.extensions()) {
            Some(source) if undone(source) => {
                let error = Error::store(
                    "run the request: the database undid its transaction",
                    source.to_string(),
                );
                answers.store_unavailable(&error)
            }
            _ => response,
        }
    }
}
