// SPDX-License-Identifier: Apache-2.0
//! Heads of requests of HTTP/1.1: how large they may be, and how long they may take to come.
//!
//! An idle connection may stay open for long, since clients keep them; one on which a head has begun to come may not, or
//! a few bytes would hold it. Go's servers tell the two apart, hyper does not.

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

/// What a connection is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has come since the last answer.
    Idle,
    /// A head began to come at this instant.
    Head(Instant),
    /// A request is being answered.
    Busy,
}

/// Where the connection stands; shared by its halves.
#[derive(Clone)]
pub(super) struct Heads(Arc<watch::Sender<Phase>>);

impl Heads {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Phase::Idle)))
    }

    /// A head is there as a whole; its answer's body says when it is over.
    pub(super) fn complete(&self) -> Answering {
        self.0.send_replace(Phase::Busy);
        Answering(self.clone())
    }

    /// Something was read.
    fn came(&self, wall: &Clock) {
        self.0.send_if_modified(|phase| {
            let begins = *phase == Phase::Idle;
            if begins {
                *phase = Phase::Head(wall.now());
            }
            begins
        });
    }

    /// Resolves when a head takes longer than `patience` to come.
    pub(super) async fn overdue(self, wall: Clock, patience: TimeDelta) {
        let mut phase = self.0.subscribe();
        loop {
            let begun = match *phase.borrow() {
                Phase::Head(begun) => Some(begun),
                Phase::Idle | Phase::Busy => None,
            };
            let changed = std::pin::pin!(phase.changed());
            // An error would mean that the sender is gone, which is held here.
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

/// While it lives, a request is being answered.
pub(super) struct Answering(Heads);

impl Answering {
    /// The body, which holds the connection busy until it is over.
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

/// A stream of bytes that notes when something comes.
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

/// Whether the head of a request is more than is taken: bytes of its path and of its fields, and their number.
pub(super) fn is_too_large(parts: &Parts, limits: &Limits) -> bool {
    let path = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    parts.headers.len() > limits.fields || path + size(&parts.headers) > limits.head_bytes
}

/// Bytes of all fields of a head.
pub fn size(headers: &http::HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}
