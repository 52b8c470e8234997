// SPDX-License-Identifier: Apache-2.0
//! Isolation of panics: a panic while one request is answered ends the response to that request only.
//!
//! Source: k8s.io/apiserver pkg/server/filters/wrap.go: the panic is logged; the client receives a 500 if its response
//! has not begun, otherwise it is disconnected.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use process::panics;
use process::transport::{Body, BodyError, ResponseFuture};
use process::{Request, Response};

use crate::status::{Failure, Result};

/// Wraps a handler so that a panic ends only the request that caused it: for requests without a connection.
pub fn guarded(
    handler: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static,
) -> impl Fn(Request) -> ResponseFuture + Send + Sync + 'static {
    move |request| {
        let what = format!("{} {}", request.method(), request.uri().path());
        let answer = handler(request);
        Box::pin(async move {
            match AssertUnwindSafe(answer).catch_unwind().await {
                Ok(answered) => Ok(answered?.map(|answer| body(answer, what))),
                Err(panic) => Ok(panicked(&what, &*panic).response()),
            }
        })
    }
}

/// Returns the result of a future, or the failure for a panic.
pub(super) async fn answer(what: &str, answer: impl Future<Output = Result<Response>>) -> Result<Response> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(what, &*panic)))
}

/// Logs a panic; returns the failure for its client.
pub(super) fn panicked(what: &str, panic: &(dyn Any + Send)) -> Failure {
    tracing::error!(request = what, panic = panics::text(panic), "a request made the server panic");
    Failure::Panicked
}

/// Wraps a body that ends with an error when it panics.
pub(super) fn body(body: Body, what: String) -> Body {
    Guarded { body: Some(body), what }.boxed_unsync()
}

struct Guarded {
    /// `None`: it has ended with an error.
    body: Option<Body>,
    what: String,
}

impl http_body::Body for Guarded {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        catch_unwind(AssertUnwindSafe(|| Pin::new(body).poll_frame(cx))).unwrap_or_else(|panic| {
            panicked(&this.what, &*panic);
            this.body = None;
            Poll::Ready(Some(Err(BodyError("the server panicked".to_owned()))))
        })
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
    use std::sync::Arc;

    use process::transport::full;

    use super::*;

    fn request() -> Request {
        http::Request::get("/clusters/a/x").body(full("")).expect("a request")
    }

    /// The body of a response that panics after its first frame.
    fn breaks() -> Body {
        let mut count = 0;
        let frames = futures::stream::poll_fn(move |_| {
            count += 1;
            assert!(count == 1, "on purpose");
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"a\n")))))
        });
        http_body_util::StreamBody::new(frames).boxed_unsync()
    }

    #[tokio::test]
    async fn a_panic_ends_the_request_that_caused_it() {
        let handler: Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync> = Arc::new(guarded(|request| {
            Box::pin(async move {
                assert!(request.uri().path() != "/clusters/a/x", "on purpose: {}", request.uri());
                Ok(Response::new(breaks()))
            })
        }));
        let (parts, answer) = handler(request()).await.expect("an answer").into_parts();
        assert_eq!(parts.status, 500);
        assert_eq!(parts.headers["content-type"], "text/plain; charset=utf-8");
        let text = "This request caused apiserver to panic. Look in the logs for details.\n";
        assert_eq!(answer.collect().await.expect("a body").to_bytes(), text);

        let mut other = request();
        *other.uri_mut() = http::Uri::from_static("/clusters/a/y");
        let mut answer = handler(other).await.expect("an answer").into_body();
        assert_eq!(answer.frame().await.expect("a frame").expect("no error").into_data().expect("data"), "a\n");
        assert!(answer.frame().await.expect("an end").is_err(), "it breaks off");
        assert!(answer.frame().await.is_none());
    }
}
