// SPDX-License-Identifier: Apache-2.0
//! Responses that leave the process: each waits until every entry that it may show is durable.
//!
//! Within the process a write is in order once the log has numbered it (docs/adr/0018). A client, a component in its
//! own process and a joined process observe a write only after it is on the disk, so that a crash loses nothing that
//! was observed. Responses of the clock service are not delayed: time moves only after earlier entries are durable.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use apimachinery::Status;
use bytes::Bytes;
use eventlog::log::BoxFuture;
use eventlog::{AppendError, EventLog};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use process::transport::{Body, BodyError};
use process::{Response, TransportError};

use crate::aggregation;
use crate::front::place::Place;

/// Returns a response once every entry that it may show is durable. A streamed response waits with each piece.
pub(super) async fn durable(
    log: &Arc<dyn EventLog>,
    place: &Place,
    answer: Result<Response, TransportError>,
) -> Result<Response, TransportError> {
    let response = answer?;
    if matches!(place, Place::ClockService | Place::Join) {
        return Ok(response);
    }
    if let Err(error) = log.durable(log.head()).await {
        return Ok(refusal(place, &error));
    }
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    let log = log.clone();
    Ok(response.map(|body| Durable { body, log, held: None }.boxed_unsync()))
}

/// Response while it is unknown whether a write becomes durable.
fn refusal(place: &Place, error: &AppendError) -> Response {
    let reason = format!("{error}; whether a change was made is not known");
    match place {
        Place::InCluster(_) => aggregation::refused(&Status::internal_error(&reason)),
        _ => aggregation::unavailable_because(reason),
    }
}

/// A body whose pieces wait until every entry that they may show is durable.
struct Durable {
    body: Body,
    log: Arc<dyn EventLog>,
    /// The piece that waits next.
    held: Option<WaitingPiece>,
}

/// A piece that waits.
struct WaitingPiece {
    frame: Frame<Bytes>,
    durable: BoxFuture<Result<(), AppendError>>,
}

impl http_body::Body for Durable {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.held.is_none() {
            let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(context)).transpose()? else {
                return Poll::Ready(None);
            };
            this.held = Some(WaitingPiece { frame, durable: this.log.durable(this.log.head()) });
        }
        let Some(held) = &mut this.held else { return Poll::Pending };
        let durable = ready!(held.durable.as_mut().poll(context));
        let frame = this.held.take().map(|held| held.frame);
        Poll::Ready(match durable {
            Ok(()) => frame.map(Ok),
            Err(error) => Some(Err(BodyError(error.to_string()))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt, stream};
    use http_body_util::StreamBody;
    use process::transport::full;

    use super::*;
    use crate::time::gated_log::{Gate, GatedLog};

    fn place(path: &str) -> Place {
        Place::of(path)
    }

    const SHOOTS: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots";

    #[tokio::test]
    async fn an_answer_waits_until_it_is_durable() {
        let (synced, log) = GatedLog::shut();
        let place = place(SHOOTS);
        let mut answer = Box::pin(durable(&log, &place, Ok(Response::new(full("{}")))));
        assert!(answer.as_mut().now_or_never().is_none());
        synced.send_replace(Gate::Open);
        assert_eq!(answer.await.expect("an answer").status(), 200);
    }

    #[tokio::test]
    async fn each_event_of_a_watch_waits_until_it_is_durable() {
        let (synced, log) = GatedLog::shut();
        synced.send_replace(Gate::Open);
        let frames = stream::iter(["a", "b"]).map(|text| Ok(Frame::data(Bytes::from(text))));
        let body = StreamBody::new(frames).boxed_unsync();
        let response = durable(&log, &place(SHOOTS), Ok(Response::new(body))).await.expect("an answer");
        let mut body = response.into_body();
        let mut next = async || body.frame().await.map(|frame| frame.map(|frame| frame.into_data().expect("data")));
        assert_eq!(next().await, Some(Ok(Bytes::from("a"))));
        synced.send_replace(Gate::Shut);
        // A reader that cancels and reads again gets the same event.
        assert_eq!(Box::pin(next()).now_or_never(), None);
        synced.send_replace(Gate::Open);
        assert_eq!(next().await, Some(Ok(Bytes::from("b"))));
        assert_eq!(next().await, None);
    }

    #[tokio::test]
    async fn entries_that_are_not_durable_are_not_shown() {
        let (synced, log) = GatedLog::shut();
        synced.send_replace(Gate::Broken("the disk is gone"));
        for (path, status, content) in [
            (SHOOTS, 500, "application/json"),
            ("/log/v1/append", 503, "text/plain; charset=utf-8"),
            ("/dashboard", 503, "text/plain; charset=utf-8"),
        ] {
            let response = durable(&log, &place(path), Ok(Response::new(full("{}")))).await.expect("an answer");
            assert_eq!(
                (response.status().as_u16(), &response.headers()["content-type"]),
                (status, &content.parse().expect("a value"))
            );
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let text = String::from_utf8_lossy(&body).into_owned();
            assert!(
                text.contains("the storage failed: the disk is gone; whether a change was made is not known"),
                "{text}"
            );
        }
        // The clock reports why time stands.
        let clock = durable(&log, &place("/terrarium/clock/"), Ok(Response::new(full("{}")))).await.expect("an answer");
        assert_eq!(clock.status(), 200);
    }
}
