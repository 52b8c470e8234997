// SPDX-License-Identifier: Apache-2.0
//! Watch bodies that are cut at line boundaries.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use process::transport::{Body, BodyError};

/// Wraps a body of lines so that it ends cleanly after its last complete line when its sender ends: clients take that
/// as the end of the watch's timeout, and watch again.
pub(crate) fn whole(body: Body) -> Body {
    Whole { body: Some(body), rest: VecDeque::new() }.boxed_unsync()
}

struct Whole {
    /// The wrapped body; `None` once it has ended.
    body: Option<Body>,
    /// Received part of an incomplete line.
    rest: VecDeque<Bytes>,
}

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            match Pin::new(body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None | Some(Err(_))) => this.body = None,
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers carry nothing for a client of a watch.
                    let Ok(data) = frame.into_data() else { continue };
                    if let Some(lines) = this.lines(data) {
                        return Poll::Ready(Some(Ok(Frame::data(lines))));
                    }
                }
            }
        }
    }
}

impl Whole {
    /// Returns the received bytes up to the last end of a line; `None` if there is no complete line.
    fn lines(&mut self, mut data: Bytes) -> Option<Bytes> {
        let Some(end) = data.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.push_back(data);
            return None;
        };
        let rest = data.split_off(end + 1);
        let lines = if self.rest.is_empty() {
            data
        } else {
            self.rest.push_back(data);
            Bytes::from(self.rest.drain(..).flatten().collect::<Vec<u8>>())
        };
        if !rest.is_empty() {
            self.rest.push_back(rest);
        }
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::StreamBody;

    use super::*;

    #[tokio::test]
    async fn a_line_that_was_cut_is_left_out() {
        for (pieces, expected) in [
            (vec!["a\n", "b\n"], "a\nb\n"),
            (vec!["a\nb", "c", "\nd"], "a\nbc\n"),
            (vec!["a"], ""),
            (vec!["a", "\n"], "a\n"),
        ] {
            let frames: Vec<_> = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from(*piece)))).collect();
            let broken = std::iter::once(Err(BodyError("gone".to_owned())));
            let body = StreamBody::new(stream::iter(frames.into_iter().chain(broken))).boxed_unsync();
            let text = whole(body).collect().await.expect("it ends cleanly").to_bytes();
            assert_eq!(text, expected, "{pieces:?}");
        }
    }
}
