// SPDX-License-Identifier: Apache-2.0
//! Heads of HTTP/1.1 requests: their maximum size, and the maximum time to receive them.
//!
//! An idle connection may stay open for long, since clients keep them; one on which a head has begun to arrive may not,
//! or a few bytes would hold it. Go's servers distinguish the two, hyper does not.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use chrono::TimeDelta;
use clock::{Clock, Instant, TimerClass};
use futures::future::{Either, select};
use http::request::Parts;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use process::transport::{Body, BodyError};
use process::watch;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Limits;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No byte was received since the last response.
    Idle,
    /// A head began to arrive at this instant.
    Head(Instant),
    /// A request is being answered.
    Busy,
}

/// Phase of the connection; shared by its halves.
#[derive(Clone)]
pub(super) struct Heads(Arc<watch::Sender<Phase>>);

impl Heads {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Phase::Idle)))
    }

    /// Records that a head was received; the returned value marks the response until its body ends.
    pub(super) fn complete(&self) -> Answering {
        self.0.send_replace(Phase::Busy);
        Answering(self.clone())
    }

    /// Records that bytes were read.
    fn came(&self, wall: &Clock) {
        self.0.send_if_modified(|phase| {
            let begins = *phase == Phase::Idle;
            if begins {
                *phase = Phase::Head(wall.now());
            }
            begins
        });
    }

    /// Resolves when the arrival of a head takes longer than `patience`.
    pub(super) async fn overdue(self, wall: Clock, patience: TimeDelta) {
        let mut phase = self.0.subscribe();
        loop {
            let begun = match *phase.borrow() {
                Phase::Head(begun) => Some(begun),
                Phase::Idle | Phase::Busy => None,
            };
            let changed = std::pin::pin!(phase.changed());
            // No error is possible, since the sender is held here.
            let Some(begun) = begun else {
                let _ = changed.await;
                continue;
            };
            if let Either::Right(_) = select(changed, wall.sleep_until(begun + patience, TimerClass::Calendar)).await {
                return;
            }
        }
    }
}

/// Marks a request as being answered, until it is dropped.
pub(super) struct Answering(Heads);

impl Answering {
    /// Wraps the body so that the connection is busy until the body ends.
    pub(super) fn holding(self, body: Body) -> Body {
        Held { body, _answering: self }.boxed_unsync()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.send_replace(Phase::Idle);
    }
}

struct Held {
    body: Body,
    _answering: Answering,
}

impl http_body::Body for Held {
    type Data = bytes::Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<bytes::Bytes>, BodyError>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream of bytes that records the arrival of bytes.
pub(super) struct Noted<S> {
    stream: S,
    heads: Heads,
    wall: Clock,
}

impl<S> Noted<S> {
    pub(super) fn new(stream: S, heads: Heads, wall: Clock) -> Self {
        Self { stream, heads, wall }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            this.heads.came(&this.wall);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// True if the head of a request exceeds the limits: bytes of its path and of its fields, or the number of fields.
pub(super) fn is_too_large(parts: &Parts, limits: &Limits) -> bool {
    let path = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    parts.headers.len() > limits.fields || path + size(&parts.headers) > limits.head_bytes
}

/// Returns the total size of all fields of a head, in bytes.
pub fn size(headers: &http::HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}
