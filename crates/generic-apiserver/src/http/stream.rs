// SPDX-License-Identifier: Apache-2.0
//! Bodies of long-running responses: they end when serving stops, and are counted while they last.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use process::transport::{Body, BodyError};

use super::metrics::Running;

/// Wraps a body that ends cleanly with `stopped`: clients treat it as the end of a watch's time, and watch again.
pub(super) fn until(stopped: impl Future<Output = ()> + Send + 'static, running: Running, body: Body) -> Body {
    Until { body, stopped: Some(Box::pin(stopped)), _running: running }.boxed_unsync()
}

struct Until {
    body: Body,
    /// `None` once it has stopped.
    stopped: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _running: Running,
}

impl http_body::Body for Until {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        match &mut this.stopped {
            None => return Poll::Ready(None),
            Some(stopped) => {
                if stopped.as_mut().poll(cx).is_ready() {
                    this.stopped = None;
                    return Poll::Ready(None);
                }
            }
        }
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.stopped.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // A body that may be cut must not announce its length.
        SizeHint::default()
    }
}
