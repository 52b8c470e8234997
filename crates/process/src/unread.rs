// SPDX-License-Identifier: Apache-2.0
//! Request bodies that are unread when the response is sent, for example of rejected requests.
//!
//! A connection of HTTP/1.1 cannot be reused after an unread body: the server would close it, and the client's next request
//! on it would fail. So the rest of such a body is read before the answer is sent, or the answer has `Connection: close`.
//!
//! A stream of HTTP/2 with an unread body is reset after the answer, and some clients (curl 7.88) then drop the answer. So the
//! rest is read as well; only the stream of a body that is too long or too slow is reset.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::{Either, select};
use http::header::{CONNECTION, EXPECT, HeaderValue};
use http::{HeaderMap, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;

use crate::transport::{Body, BodyError};

/// Maximum number of bytes of a body that are read and discarded.
const MOST: usize = 8 << 20;

#[derive(Debug, Default)]
enum State {
    /// The handler owns the body.
    #[default]
    Taken,
    /// The body was read to its end.
    Read,
    /// The body was dropped before its end; `was_asked_for`: the handler had begun to read, so the client sends the
    /// body.
    Left { body: Body, was_asked_for: bool },
}

/// Rest of a request's body.
#[derive(Debug)]
pub struct Unread {
    state: Arc<Mutex<State>>,
    /// True if the client waits for `100 Continue`.
    is_expectant: bool,
    /// True if an unread body ends the connection: before HTTP/2, where it ends its stream alone.
    ends_connection: bool,
}

struct Watched {
    /// Body; `None` once it was read.
    body: Option<Body>,
    was_polled: bool,
    state: Arc<Mutex<State>>,
}

impl Unread {
    /// Returns a body for the handler and its rest; the rest is `None` for requests without a body.
    pub fn of(version: Version, headers: &HeaderMap, body: Body) -> (Body, Option<Self>) {
        if body.is_end_stream() {
            return (body, None);
        }
        let (is_expectant, ends_connection) = (headers.contains_key(EXPECT), version <= Version::HTTP_11);
        let state = Arc::new(Mutex::new(State::Taken));
        let watched = Watched { body: Some(body), was_polled: false, state: state.clone() };
        (watched.boxed_unsync(), Some(Self { state, is_expectant, ends_connection }))
    }

    /// Reads the rest of the body. If it does not arrive before `patience` ends, the answer ends the connection, or the stream of
    /// HTTP/2.
    pub async fn settle<B>(self, response: &mut Response<B>, patience: impl Future<Output = ()>) {
        let state = std::mem::take(&mut *self.state.lock());
        let is_read = match state {
            State::Read => true,
            // The handler may drop the body at any time.
            State::Taken => false,
            State::Left { was_asked_for: false, .. } if self.is_expectant => false,
            State::Left { body, .. } => {
                let (drained, patience) = (std::pin::pin!(drain(body)), std::pin::pin!(patience));
                matches!(select(drained, patience).await, Either::Left((true, _)))
            }
        };
        if !is_read && self.ends_connection {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads a body to its end; false if it breaks off or is too long.
async fn drain(mut body: Body) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MOST {
            return false;
        }
    }
    true
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else { return };
        let was_asked_for = self.was_polled;
        *self.state.lock() = if body.is_end_stream() { State::Read } else { State::Left { body, was_asked_for } };
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        this.was_polled = true;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            this.body = None;
            *this.state.lock() = State::Read;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    /// Body in frames of 1 MiB, followed by its end or by nothing.
    fn body(frames: usize, ends: bool) -> Body {
        let frame = || Ok(Frame::data(Bytes::from(vec![0; 1 << 20])));
        let rest = if ends { futures::stream::empty().boxed() } else { futures::stream::pending().boxed() };
        http_body_util::StreamBody::new(futures::stream::repeat_with(frame).take(frames).chain(rest)).boxed_unsync()
    }

    /// True if the connection stays open after the answer to a request whose handler has read that number of frames.
    fn goes_on(body: Body, expects: bool, read: usize) -> bool {
        let mut headers = HeaderMap::new();
        if expects {
            headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
        }
        let (mut body, unread) = Unread::of(Version::HTTP_11, &headers, body);
        for _ in 0..read {
            body.frame().now_or_never().expect("it is there").expect("a frame").expect("data");
        }
        drop(body);
        let mut response = Response::new(());
        let unread = unread.expect("a body of HTTP/1.1");
        unread.settle(&mut response, futures::future::ready(())).now_or_never().expect("no more waiting");
        !response.headers().contains_key(CONNECTION)
    }

    #[test]
    fn a_connection_stays_open_after_a_readable_body() {
        assert!(goes_on(body(2, true), false, 0));
        assert!(goes_on(body(2, true), false, 1));
        assert!(goes_on(body(2, true), true, 1), "its client was asked for the body");
        assert!(!goes_on(body(2, true), true, 0), "the body does not come");
        assert!(!goes_on(body(9, true), false, 0), "too long");
        assert!(!goes_on(body(2, false), false, 0), "it does not come in time");
    }

    #[test]
    fn a_body_that_a_handler_keeps_ends_the_connection() {
        let (kept, unread) = Unread::of(Version::HTTP_11, &HeaderMap::new(), body(1, true));
        let mut response = Response::new(());
        let unread = unread.expect("a body of HTTP/1.1");
        unread.settle(&mut response, futures::future::pending()).now_or_never().expect("no waiting");
        assert_eq!(response.headers()[CONNECTION], "close");
        drop(kept);
        assert!(Unread::of(Version::HTTP_11, &HeaderMap::new(), crate::transport::full("")).1.is_none());
    }

    #[test]
    fn a_body_of_http_2_is_read_before_the_answer() {
        let left = Arc::new(Mutex::new(3));
        let frames = left.clone();
        let frame = move || {
            *frames.lock() -= 1;
            Ok(Frame::data(Bytes::from(vec![0; 1 << 20])))
        };
        let stream = futures::stream::repeat_with(frame).take(3);
        let body = http_body_util::StreamBody::new(stream).boxed_unsync();
        let (body, unread) = Unread::of(Version::HTTP_2, &HeaderMap::new(), body);
        drop(body);
        let mut response = Response::new(());
        let unread = unread.expect("a body");
        unread.settle(&mut response, futures::future::pending()).now_or_never().expect("no waiting");
        assert_eq!(*left.lock(), 0);
        assert!(!response.headers().contains_key(CONNECTION));
    }

    /// `Connection` is no header of HTTP/2.
    #[test]
    fn an_endless_body_of_http_2_ends_its_stream_alone() {
        let (body, unread) = Unread::of(Version::HTTP_2, &HeaderMap::new(), body(1, false));
        drop(body);
        let mut response = Response::new(());
        let unread = unread.expect("a body");
        unread.settle(&mut response, futures::future::ready(())).now_or_never().expect("no waiting");
        assert!(!response.headers().contains_key(CONNECTION));
    }
}
