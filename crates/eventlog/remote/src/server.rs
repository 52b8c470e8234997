// SPDX-License-Identifier: Apache-2.0
//! The server of the log: one function from request to response.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use eventlog::codec::{
    put_append_error, put_entry, put_frame, put_key, put_number, put_read_error, put_sections, take_append,
};
use eventlog::log::MAX_OBJECT_BYTES;
use eventlog::{AppendError, Entry, EventLog, Key, Message, ReadError, Revision, Verb};
use futures::{Stream, StreamExt};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use percent_encoding::percent_decode_str;

use crate::{Body, BodyError, MEDIA_TYPE, PREFIX, frame};

/// Maximum number of bytes of an append in addition to its object.
const OVERHEAD: usize = 64 << 10;

/// Maximum number of messages that are put into one piece of a body.
const PIECE: usize = 64;

/// Refusal of access to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// 401 or 403.
    pub status: StatusCode,
    /// Message for people.
    pub message: String,
}

type Authorize = dyn Fn(&Parts) -> Result<(), Refusal> + Send + Sync;

/// Serves a log. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    log: Arc<dyn EventLog>,
    authorize: Arc<Authorize>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({:?})", self.log)
    }
}

/// An unsuccessful answer.
enum Failure {
    Append(AppendError),
    Read(ReadError),
    /// Request that the log does not serve: plain text.
    Plain(StatusCode, String),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl Server {
    /// Creates a server of a log. `authorize` is called with every request first; the request's extensions identify
    /// the user.
    pub fn new(
        log: Arc<dyn EventLog>,
        authorize: impl Fn(&Parts) -> Result<(), Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { log, authorize: Arc::new(authorize) }
    }

    /// Answers a request whose path begins with [`PREFIX`]. A watch's body ends when the reader lags or the log closes;
    /// dropping it ends the subscription.
    pub async fn serve<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        if let Err(Refusal { status, message }) = (self.authorize)(&parts) {
            return failed(&Failure::Plain(status, message));
        }
        self.answer(&parts, body).await.unwrap_or_else(|failure| failed(&failure))
    }

    async fn answer<B>(&self, parts: &Parts, body: B) -> Result<Response<Body>, Failure>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let query = parts.uri.query().unwrap_or_default();
        let revision = |name: &str| {
            let text = parameter(query, name).unwrap_or_default();
            let number = text
                .parse()
                .map_err(|_| Failure::Plain(StatusCode::BAD_REQUEST, format!("`{name}` is not a revision: `{text}`")));
            number.map(Revision)
        };
        let cluster = parameter(query, "cluster");
        let cluster = cluster.as_deref();
        let name = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
        match (&parts.method, name) {
            (&Method::POST, "append") => {
                let body = Limited::new(body, MAX_OBJECT_BYTES + OVERHEAD).collect().await;
                let body = body.map_err(|error| match error.downcast_ref::<http_body_util::LengthLimitError>() {
                    Some(_) => Failure::Append(AppendError::TooLarge),
                    None => Failure::Plain(StatusCode::BAD_REQUEST, error.to_string()),
                })?;
                let append = take_append(&body.to_bytes())
                    .map_err(|error| Failure::Plain(StatusCode::BAD_REQUEST, error.to_string()))?;
                let done = self.log.append(append).await.map_err(Failure::Append)?;
                Ok(number(done.revision))
            }
            (&Method::GET, "head") => Ok(number(self.log.head())),
            (&Method::GET, "entries") => {
                let (from, to) = (revision("from")?, revision("to")?);
                let entries = self.log.read(from, to, cluster).await?;
                let mut told = DeliveredRevisions::default();
                let frames = futures::stream::iter(entries).ready_chunks(PIECE).map(move |entries| {
                    let mut out = Vec::new();
                    for entry in entries {
                        told.put(&mut out, &entry);
                    }
                    out
                });
                Ok(streamed(frames.chain(end())))
            }
            (&Method::GET, "watch") => {
                let subscription = self.log.subscribe(revision("from")?, cluster)?;
                let mut told = DeliveredRevisions::default();
                let frames = subscription.messages.ready_chunks(PIECE).map(move |messages| {
                    let mut out = Vec::new();
                    for message in messages {
                        match message {
                            Message::Entry(entry) => told.put(&mut out, &entry),
                            Message::Position(position) => {
                                let mut payload = Vec::new();
                                put_number(&mut payload, position.0);
                                put_frame(&mut out, frame::POSITION, &payload);
                            }
                        }
                    }
                    out
                });
                Ok(streamed(frames))
            }
            (&Method::GET, "state") => {
                let objects = match parameter(query, "resource") {
                    Some(resource) => self.log.state_of(revision("at")?, &resource).await?,
                    None => self.log.state_at(revision("at")?).await?,
                };
                let frames = futures::stream::iter(objects).ready_chunks(PIECE).map(|objects| {
                    let mut out = Vec::new();
                    for (key, revision, sections) in objects {
                        let mut payload = Vec::new();
                        put_key(&mut payload, &key);
                        put_number(&mut payload, revision.0);
                        put_sections(&mut payload, &sections);
                        put_frame(&mut out, frame::OBJECT, &payload);
                    }
                    out
                });
                Ok(streamed(frames.chain(end())))
            }
            (&Method::POST, "compact") => {
                let to = revision("to")?;
                self.log.compact(to).await?;
                Ok(number(to))
            }
            (_, "append" | "head" | "entries" | "watch" | "state" | "compact") => {
                Err(Failure::Plain(StatusCode::METHOD_NOT_ALLOWED, "no such method".to_owned()))
            }
            _ => Err(Failure::Plain(StatusCode::NOT_FOUND, "no such path".to_owned())),
        }
    }
}

/// Last revision of each object that a stream has delivered: the reader holds that state.
#[derive(Default)]
struct DeliveredRevisions(BTreeMap<Key, Revision>);

impl DeliveredRevisions {
    fn put(&mut self, out: &mut Vec<u8>, entry: &Entry) {
        let held = self.0.get(&entry.key);
        let known = entry.previous.as_ref().is_some_and(|(at, _)| held == Some(at));
        let mut payload = Vec::new();
        put_entry(&mut payload, entry, known);
        put_frame(out, frame::ENTRY, &payload);
        if entry.verb == Verb::Delete {
            self.0.remove(&entry.key);
        } else {
            self.0.insert(entry.key.clone(), entry.revision);
        }
    }
}

fn end() -> impl Stream<Item = Vec<u8>> + Send {
    let mut out = Vec::new();
    put_frame(&mut out, frame::END, &[]);
    futures::stream::iter([out])
}

fn streamed(frames: impl Stream<Item = Vec<u8>> + Send + 'static) -> Response<Body> {
    let frames = frames.map(|frames| Ok::<_, BodyError>(http_body::Frame::data(Bytes::from(frames))));
    response(StatusCode::OK, StreamBody::new(frames).boxed_unsync())
}

fn number(revision: Revision) -> Response<Body> {
    let mut out = Vec::new();
    put_number(&mut out, revision.0);
    response(StatusCode::OK, full(out))
}

/// Responds with a failure. Clients read the body; the status code is for people.
fn failed(failure: &Failure) -> Response<Body> {
    let mut out = Vec::new();
    let status = match failure {
        Failure::Append(error) => {
            put_append_error(&mut out, error);
            match error {
                AppendError::Conflict { .. } => StatusCode::CONFLICT,
                AppendError::GuardFailed => StatusCode::PRECONDITION_FAILED,
                AppendError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                AppendError::Busy => StatusCode::TOO_MANY_REQUESTS,
                AppendError::Closed => StatusCode::SERVICE_UNAVAILABLE,
                AppendError::Storage(_) | AppendError::LiveLock(_) => StatusCode::INTERNAL_SERVER_ERROR,
                AppendError::Unknown(_) => StatusCode::GATEWAY_TIMEOUT,
            }
        }
        Failure::Read(error) => {
            put_read_error(&mut out, *error);
            match error {
                ReadError::Compacted(_) => StatusCode::GONE,
                ReadError::Future(_) => StatusCode::RANGE_NOT_SATISFIABLE,
                ReadError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            }
        }
        Failure::Plain(status, message) => {
            let mut response = response(*status, full(format!("{message}\n")));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            return response;
        }
    };
    response(status, full(out))
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    response
}

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns a parameter of a query, percent-decoded; `None` also if it is not UTF-8.
fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    percent_decode_str(value).decode_utf8().ok().map(Cow::into_owned)
}
