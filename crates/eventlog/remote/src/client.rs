// SPDX-License-Identifier: Apache-2.0
//! Client of the log for processes other than its host.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Display, Write};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use eventlog::codec::{
    Decoder, FRAME_OVERHEAD, put_append, take_append_error, take_entry, take_frame, take_read_error,
};
use eventlog::log::BoxFuture;
use eventlog::splice::Corrupt;
use eventlog::{
    Append, AppendError, Appended, Entry, EventLog, Key, Message, ReadError, Revision, Sections, Snapshot,
    Subscription, Verb,
};
use futures::StreamExt;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{Body, BodyError, MEDIA_TYPE, PREFIX, frame};

/// Maximum number of bytes of a frame: an entry with its object before and after it.
const MAX_FRAME: usize = 8 << 20;

/// Characters that are not escaped in the value of a query: the unreserved ones of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Retries of a client whose log does not answer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum number of attempts of a request. A subscription is retried indefinitely.
    pub attempts: u32,
    /// Wall time between the first two attempts; doubled for each that follows, up to `longest_pause`.
    pub pause: TimeDelta,
    /// Maximum wall time between two attempts.
    pub longest_pause: TimeDelta,
}

impl Default for Options {
    fn default() -> Self {
        Self { attempts: 8, pause: TimeDelta::milliseconds(50), longest_pause: TimeDelta::seconds(2) }
    }
}

type SendFunction = dyn Fn(Request<Full<Bytes>>) -> BoxFuture<Result<Response<Body>, String>> + Send + Sync;

/// A log in another process. Cheap to clone.
#[derive(Clone)]
pub struct Remote(Arc<Inner>);

struct Inner {
    send: Box<SendFunction>,
    wall: Clock,
    options: Options,
    head: AtomicU64,
    compacted: AtomicU64,
    reachable: AtomicBool,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote(head {})", self.head())
    }
}

/// Reason for which a request has no successful answer of the log.
enum NoAnswer {
    /// The log was not reached, or the connection broke off: another attempt may succeed.
    Broken(String),
    /// The log refused to read.
    Read(ReadError),
    /// The log refused to append.
    Append(AppendError),
}

impl From<Corrupt> for NoAnswer {
    fn from(error: Corrupt) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Remote {
    /// Creates a client that sends with a function, and waits between attempts on a wall clock. Requests have a path
    /// and no authority; the function supplies the log's address.
    pub fn new<F, B, E>(
        send: impl Fn(Request<Full<Bytes>>) -> F + Send + Sync + 'static,
        wall: Clock,
        options: Options,
    ) -> Self
    where
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Display,
        E: Display,
    {
        let send = move |request: Request<Full<Bytes>>| -> BoxFuture<Result<Response<Body>, String>> {
            let sent = send(request);
            Box::pin(async move {
                let response = sent.await.map_err(|error| error.to_string())?;
                Ok(response.map(|body| body.map_err(|error| BodyError(error.to_string())).boxed_unsync()))
            })
        };
        Self(Arc::new(Inner {
            send: Box::new(send),
            wall,
            options,
            head: AtomicU64::new(0),
            compacted: AtomicU64::new(0),
            reachable: AtomicBool::new(true),
        }))
    }

    /// Requests the present head from the log. [`EventLog::head`] returns the highest revision that was received.
    ///
    /// # Errors
    /// [`ReadError::Closed`] if no answer was received.
    pub async fn fetch_head(&self) -> Result<Revision, ReadError> {
        let head = self.ask(Method::GET, "head").await?;
        self.heard_of(head);
        Ok(head)
    }

    /// Returns true if the last request was answered.
    pub fn reachable(&self) -> bool {
        self.0.reachable.load(Ordering::Relaxed)
    }

    fn heard_of(&self, revision: Revision) {
        self.0.head.fetch_max(revision.0, Ordering::Relaxed);
    }

    fn forgotten(&self, revision: Revision) {
        self.0.compacted.fetch_max(revision.0, Ordering::Relaxed);
    }

    /// Sends one request, once; returns the body of a successful answer of the log.
    async fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Body, NoAnswer> {
        let answer = self.send(method, path, body).await;
        let reachable = !matches!(answer, Err(NoAnswer::Broken(_)));
        self.0.reachable.store(reachable, Ordering::Relaxed);
        answer
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Body, NoAnswer> {
        let is_append = path == "append";
        let request = Request::builder()
            .method(method)
            .uri(format!("{PREFIX}{path}"))
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .body(Full::new(body))
            .map_err(|error| NoAnswer::Broken(error.to_string()))?;
        let response = (self.0.send)(request).await.map_err(NoAnswer::Broken)?;
        let status = response.status();
        if response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != MEDIA_TYPE) {
            return Err(NoAnswer::Broken(format!("the answer is {status} and not the log's")));
        }
        if status.is_success() {
            return Ok(response.into_body());
        }
        let body = whole(response.into_body()).await?;
        Err(if is_append {
            NoAnswer::Append(take_append_error(&body)?)
        } else {
            NoAnswer::Read(take_read_error(&body)?)
        })
    }

    /// Waits before another attempt.
    async fn pause(&self, attempts: u32) {
        let Options { pause, longest_pause, .. } = self.0.options;
        let factor = 1_i32.checked_shl(attempts.min(16)).unwrap_or(i32::MAX);
        let pause = pause.checked_mul(factor).unwrap_or(longest_pause).min(longest_pause);
        self.0.wall.sleep(pause, TimerClass::Work).await;
    }

    /// Returns the result of an attempt to read; `None` after a pause if another attempt may succeed.
    async fn settle<T>(&self, answer: Result<T, NoAnswer>, attempts: u32) -> Option<Result<T, ReadError>> {
        match answer {
            Ok(value) => Some(Ok(value)),
            Err(NoAnswer::Read(error)) => {
                match error {
                    ReadError::Compacted(revision) => self.forgotten(revision),
                    ReadError::Future(head) => self.heard_of(head),
                    ReadError::Closed => {}
                }
                Some(Err(error))
            }
            Err(NoAnswer::Append(_) | NoAnswer::Broken(_)) => {
                self.pause(attempts).await;
                None
            }
        }
    }

    /// Sends a request that is answered with a revision, once.
    async fn number(&self, method: Method, path: &str, body: Bytes) -> Result<Revision, NoAnswer> {
        let body = self.request(method, path, body).await?;
        Ok(Decoder::new(&whole(body).await?).revision()?)
    }

    /// Sends a request that is answered with a revision, as often as `attempts` allows.
    async fn ask(&self, method: Method, path: &str) -> Result<Revision, ReadError> {
        for attempts in 0..self.0.options.attempts {
            let answer = self.number(method.clone(), path, Bytes::new()).await;
            if let Some(done) = self.settle(answer, attempts).await {
                return done;
            }
        }
        Err(ReadError::Closed)
    }

    /// Tries once to read the rest of a range.
    async fn entries(&self, path: &str, entries: &mut Vec<Arc<Entry>>) -> Result<(), NoAnswer> {
        let mut frames = Frames::new(self.request(Method::GET, path, Bytes::new()).await?);
        loop {
            match frames.next().await? {
                Frame::Entry(entry) => entries.push(entry),
                Frame::End => return Ok(()),
                _ => return Err(Corrupt.into()),
            }
        }
    }

    /// Reads the objects of a path, with as many attempts as other reads.
    fn snapshot(&self, path: String) -> BoxFuture<Result<Snapshot, ReadError>> {
        let remote = self.clone();
        Box::pin(async move {
            for attempts in 0..remote.0.options.attempts {
                let answer = remote.objects(&path).await;
                if let Some(done) = remote.settle(answer, attempts).await {
                    return done;
                }
            }
            Err(ReadError::Closed)
        })
    }

    /// Tries once to read a state.
    async fn objects(&self, path: &str) -> Result<Snapshot, NoAnswer> {
        let mut frames = Frames::new(self.request(Method::GET, path, Bytes::new()).await?);
        let mut objects = Snapshot::new();
        loop {
            match frames.next().await? {
                Frame::Object(object) => objects.push(*object),
                Frame::End => return Ok(objects),
                _ => return Err(Corrupt.into()),
            }
        }
    }
}

/// Reads all bytes of a body.
async fn whole(body: Body) -> Result<Bytes, NoAnswer> {
    body.collect().await.map(http_body_util::Collected::to_bytes).map_err(|error| NoAnswer::Broken(error.to_string()))
}

/// The frames of a body, in order, and the states after its entries.
struct Frames {
    body: Body,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    read: usize,
    states: BTreeMap<Key, (Revision, Sections)>,
}

/// A frame, decoded.
enum Frame {
    Entry(Arc<Entry>),
    Position(Revision),
    Object(Box<(Key, Revision, Sections)>),
    End,
}

impl Frames {
    fn new(body: Body) -> Self {
        Self { body, buffer: Vec::new(), read: 0, states: BTreeMap::new() }
    }

    /// Returns the next frame; an error if the body ends or is malformed.
    async fn next(&mut self) -> Result<Frame, NoAnswer> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.buffer.drain(..std::mem::take(&mut self.read));
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(NoAnswer::Broken(error.to_string())),
                None => return Err(NoAnswer::Broken("the body ended".to_owned())),
            }
        }
    }

    fn take(&mut self) -> Result<Option<Frame>, NoAnswer> {
        let bytes = &self.buffer[self.read..];
        let Some(length) = bytes.get(1..5) else { return Ok(None) };
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        if length > MAX_FRAME {
            return Err(Corrupt.into());
        }
        if bytes.len() < length + FRAME_OVERHEAD {
            return Ok(None);
        }
        let mut rest = bytes;
        let (kind, payload) = take_frame(&mut rest).ok_or(Corrupt)?;
        let mut from = Decoder::new(payload);
        let frame = match kind {
            frame::ENTRY => {
                let states = &self.states;
                let held = |key: &Key, at: Revision| {
                    states.get(key).filter(|(held, _)| *held == at).map(|(_, sections)| sections.clone())
                };
                let entry = Arc::new(take_entry(payload, held)?);
                if entry.verb == Verb::Delete {
                    self.states.remove(&entry.key);
                } else {
                    self.states.insert(entry.key.clone(), (entry.revision, entry.object.clone()));
                }
                Frame::Entry(entry)
            }
            frame::POSITION => Frame::Position(from.revision()?),
            frame::OBJECT => Frame::Object(Box::new((from.key()?, from.revision()?, from.sections()?))),
            frame::END => Frame::End,
            _ => return Err(Corrupt.into()),
        };
        self.read = self.buffer.len() - rest.len();
        Ok(Some(frame))
    }
}

/// `&cluster=NAME`, or nothing.
fn cluster_parameter(cluster: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(cluster) = cluster {
        put_parameter(&mut out, "cluster", cluster);
    }
    out
}

/// Appends `&NAME=VALUE` to a query.
fn put_parameter(query: &mut String, name: &str, value: &str) {
    write!(query, "&{name}={}", utf8_percent_encode(value, UNRESERVED)).expect("a String takes everything");
}

/// A subscription over successive connections.
struct Following {
    remote: Remote,
    position: Revision,
    cluster: Option<Arc<str>>,
    /// A pending request.
    connecting: Option<BoxFuture<Result<Body, NoAnswer>>>,
    frames: Option<Frames>,
    ready: VecDeque<Message>,
    /// Attempts since the last message.
    failures: u32,
}

/// Requests a watch.
fn connect(remote: &Remote, from: Revision, cluster: Option<&str>) -> BoxFuture<Result<Body, NoAnswer>> {
    let remote = remote.clone();
    let path = format!("watch?from={from}{}", cluster_parameter(cluster));
    Box::pin(async move { remote.request(Method::GET, &path, Bytes::new()).await })
}

impl Following {
    /// Returns the next message; `None` if the log refuses to continue where the subscription stopped.
    async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let heard = match &mut self.frames {
                Some(frames) => frames.next().await,
                None => {
                    let answer = self
                        .connecting
                        .get_or_insert_with(|| connect(&self.remote, self.position, self.cluster.as_deref()));
                    let answer = answer.await;
                    self.connecting = None;
                    match answer {
                        Ok(body) => {
                            self.frames = Some(Frames::new(body));
                            continue;
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            match heard {
                Ok(Frame::Entry(entry)) => {
                    self.heard(entry.revision);
                    self.ready.push_back(Message::Entry(entry));
                }
                Ok(Frame::Position(position)) => {
                    self.heard(position);
                    self.ready.push_back(Message::Position(position));
                }
                Err(NoAnswer::Read(ReadError::Compacted(revision))) => {
                    self.remote.forgotten(revision);
                    return None;
                }
                Err(NoAnswer::Read(ReadError::Future(_))) => return None,
                // A closed log is available again after its host has restarted.
                Ok(Frame::Object(_) | Frame::End) | Err(_) => {
                    self.frames = None;
                    self.remote.pause(self.failures).await;
                    self.failures += 1;
                }
            }
        }
    }

    fn heard(&mut self, revision: Revision) {
        self.failures = 0;
        self.position = self.position.max(revision);
        self.remote.heard_of(revision);
    }
}

impl EventLog for Remote {
    /// Sends the append until it is answered; a repetition is answered with the first result. Without any answer the
    /// outcome is unknown.
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        let remote = self.clone();
        Box::pin(async move {
            let mut body = Vec::new();
            put_append(&mut body, &append);
            let body = Bytes::from(body);
            let mut last = String::new();
            for attempts in 0..remote.0.options.attempts {
                match remote.number(Method::POST, "append", body.clone()).await {
                    Ok(revision) => {
                        remote.heard_of(revision);
                        return Ok(Appended { revision });
                    }
                    Err(NoAnswer::Append(error)) => return Err(error),
                    Err(NoAnswer::Broken(error)) => last = error,
                    Err(NoAnswer::Read(error)) => last = error.to_string(),
                }
                remote.pause(attempts).await;
            }
            Err(AppendError::Unknown(last))
        })
    }

    /// Resolves at once: the host answers with durable entries only.
    fn durable(&self, _: Revision) -> BoxFuture<Result<(), AppendError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the highest revision that was received; see [`Remote::fetch_head`].
    fn head(&self) -> Revision {
        Revision(self.0.head.load(Ordering::Relaxed))
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        let remote = self.clone();
        let cluster = cluster_parameter(cluster);
        Box::pin(async move {
            let mut entries: Vec<Arc<Entry>> = Vec::new();
            for attempts in 0..remote.0.options.attempts {
                // Entries that were received before the connection broke are not requested again.
                let from = entries.last().map_or(from, |entry| entry.revision);
                let answer = remote.entries(&format!("entries?from={from}&to={to}{cluster}"), &mut entries).await;
                if let Some(done) = remote.settle(answer, attempts).await {
                    return done.map(|()| entries);
                }
            }
            Err(ReadError::Closed)
        })
    }

    /// Refuses a revision that is known to be refused. Otherwise the subscription continues over any number of
    /// connections; it ends if the log has forgotten the next entries.
    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        let compacted = Revision(self.0.compacted.load(Ordering::Relaxed));
        if from < compacted {
            return Err(ReadError::Compacted(compacted));
        }
        if from > self.head() {
            return Err(ReadError::Future(self.head()));
        }
        // Sent at once if possible, so that heartbeats are received from now on.
        let mut request = connect(self, from, cluster);
        let (frames, connecting) = match request.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(body)) => (Some(Frames::new(body)), None),
            Poll::Ready(Err(_)) => (None, None),
            Poll::Pending => (None, Some(request)),
        };
        let following = Following {
            remote: self.clone(),
            position: from,
            cluster: cluster.map(Arc::from),
            connecting,
            frames,
            ready: VecDeque::new(),
            failures: 0,
        };
        let messages = futures::stream::unfold(following, |mut following| async move {
            let message = following.next().await?;
            Some((message, following))
        });
        Ok(Subscription { messages: Box::pin(messages.fuse()) })
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.snapshot(format!("state?at={revision}"))
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        let mut path = format!("state?at={revision}");
        put_parameter(&mut path, "resource", resource);
        self.snapshot(path)
    }
    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        let remote = self.clone();
        Box::pin(async move {
            remote.ask(Method::POST, &format!("compact?to={revision}")).await?;
            remote.forgotten(revision);
            Ok(())
        })
    }
}
