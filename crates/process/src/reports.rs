// SPDX-License-Identifier: Apache-2.0
//! Reports over a transport to the host, which carries the participant's identity.
//!
//! Reports are so frequent that a request for each would cost more than its content. So there is one long-lived
//! request: its body has a line for each report, and the body of its response a [`Line`] for each answer. Reports and
//! answers of a participant keep their order; of two reports the earlier one is not answered once the host has read the
//! later one.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde::de::DeserializeOwned;

use crate::activity::PARTICIPANT_HEADER;
use crate::https::Streamed;
use crate::lines::Lines;
use crate::participant::{Answer, CLOCK_PATH, Grant, Idle, Join, Line, ReportError, Reports};
use crate::transport::{Body, Transport, full};

/// Reports over a transport to the host. Cheap to clone; clones share the participant.
#[derive(Clone, Debug)]
pub struct ReportsOver {
    transport: Transport,
    participant: HeaderValue,
    /// The request whose lines are the reports; `None` before the participant has joined.
    stream: Arc<tokio::sync::Mutex<Option<Stream>>>,
}

/// Outgoing reports and incoming answers.
struct Stream {
    reports: UnboundedSender<Bytes>,
    answers: Body,
    lines: Lines,
}

impl ReportsOver {
    /// Creates the reports of the participant with this name.
    pub fn new(transport: Transport, participant: HeaderValue) -> Self {
        Self { transport, participant, stream: Arc::default() }
    }

    async fn post(&self, place: &str, body: Body, streamed: bool) -> Result<Body, String> {
        let mut request = http::Request::post(format!("{CLOCK_PATH}{place}"))
            .header(PARTICIPANT_HEADER, self.participant.clone())
            .body(body)
            .map_err(|error| error.to_string())?;
        if streamed {
            request.extensions_mut().insert(Streamed);
        }
        let response = self.transport.send(request).await.map_err(|error| error.to_string())?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            other => {
                let text = whole(response.into_body()).await?;
                Err(format!("{other}: {}", String::from_utf8_lossy(&text)))
            }
        }
    }

    /// Opens the request whose lines are the reports.
    async fn open(&self) -> Result<Stream, String> {
        let (reports, lines) = unbounded::<Bytes>();
        let body = StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync();
        let answers = self.post("reports", body, true).await?;
        Ok(Stream { reports, answers, lines: Lines::default() })
    }
}

impl Reports for ReportsOver {
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>> {
        let own = self.clone();
        Box::pin(async move {
            let body = full(serde_json::to_string(&join).unwrap_or_default());
            let grant = read(&whole(own.post("join", body, false).await?).await?)?;
            *own.stream.lock().await = Some(own.open().await?);
            Ok(grant)
        })
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, ReportError>> {
        let own = self.clone();
        Box::pin(async move {
            // The caller of an earlier report has dropped its future by now.
            let mut stream = own.stream.lock().await;
            let not_joined = || ReportError::NotJoined("it has not joined the clock".to_owned());
            let stream = stream.as_mut().ok_or_else(not_joined)?;
            stream.send(&idle)?;
            stream.answer(idle.sequence).await
        })
    }

    fn leave(&self) -> BoxFuture<'static, Result<(), String>> {
        let own = self.clone();
        Box::pin(async move {
            let participant = String::from_utf8_lossy(own.participant.as_bytes());
            let body = full(serde_json::json!({ "participant": participant }).to_string());
            own.post("leave", body, false).await.map(drop)
        })
    }
}

impl Stream {
    fn send(&self, idle: &Idle) -> Result<(), ReportError> {
        let mut line = serde_json::to_vec(idle).map_err(|error| ReportError::Broken(error.to_string()))?;
        line.push(b'\n');
        self.reports.unbounded_send(line.into()).map_err(|_| ended())
    }

    /// Returns the answer to a report; late answers to earlier ones are skipped. The future is cancel safe.
    async fn answer(&mut self, wanted: u64) -> Result<Option<Answer>, ReportError> {
        loop {
            for line in self.lines.by_ref() {
                match read(&line).map_err(ReportError::Broken)? {
                    Line::Answer { sequence, answer } if sequence == wanted => return Ok(answer),
                    Line::Answer { .. } => {}
                    Line::NotJoined(reason) => return Err(ReportError::NotJoined(reason)),
                    Line::Refused(reason) => return Err(ReportError::Broken(reason)),
                }
            }
            let frame = self.answers.frame().await.ok_or_else(ended)?;
            if let Ok(chunk) = frame.map_err(|error| ReportError::Broken(error.to_string()))?.into_data() {
                self.lines.push(chunk);
            }
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

const BROKEN: &str = "the host takes no more reports";

fn ended() -> ReportError {
    ReportError::Broken(BROKEN.to_owned())
}

async fn whole(body: Body) -> Result<Bytes, String> {
    Ok(body.collect().await.map_err(|error| error.to_string())?.to_bytes())
}

fn read<T: DeserializeOwned>(line: &Bytes) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::transport::ResponseFuture;

    /// A host that grants, and answers every report with these lines.
    fn host(lines: &'static str, reported: &Arc<Mutex<Option<Body>>>) -> Transport {
        let reported = reported.clone();
        Transport::new(move |request| -> ResponseFuture {
            let answer = if request.uri().path().ends_with("join") {
                serde_json::to_string(&Grant { number: 0, now: chrono::DateTime::UNIX_EPOCH, watches: None })
            } else {
                *reported.lock() = Some(request.into_body());
                Ok(lines.to_owned())
            };
            Box::pin(async move { Ok(http::Response::new(full(answer.expect("JSON")))) })
        })
    }

    async fn report(lines: &'static str, sequences: &[u64]) -> Vec<Result<Option<Answer>, ReportError>> {
        let reported = Arc::default();
        let reports = ReportsOver::new(host(lines, &reported), HeaderValue::from_static("toy"));
        let early = reports.report(Idle::default()).await;
        assert_eq!(early, Err(ReportError::NotJoined("it has not joined the clock".to_owned())));
        reports.join(Join::default()).await.expect("a grant");
        let mut answers = Vec::new();
        for sequence in sequences {
            answers.push(reports.report(Idle { sequence: *sequence, ..Idle::default() }).await);
        }
        drop(reports);
        let body = reported.lock().take().expect("a request");
        let text = whole(body).await.expect("lines");
        let said = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let said: Vec<u64> =
            said.map(|line| read::<Idle>(&Bytes::copy_from_slice(line)).expect("one").sequence).collect();
        assert_eq!(said, sequences, "each report is a line");
        answers
    }

    #[tokio::test]
    async fn answers_are_those_of_the_report_that_waits() {
        let lines = concat!(
            "{\"answer\":{\"sequence\":1,\"answer\":null}}\n",
            "{\"answer\":{\"sequence\":2,\"answer\":{\"unread\":{\"7\":3}}}}\n",
            "{\"answer\":{\"sequence\":3,\"answer\":null}}\n",
            "{\"notJoined\":\"it was dropped\"}\n",
            "{\"refused\":\"this is no report\"}\n",
        );
        let answers = report(lines, &[1, 3, 4, 5]).await;
        let not_joined = ReportError::NotJoined("it was dropped".to_owned());
        let refused = ReportError::Broken("this is no report".to_owned());
        assert_eq!(answers, [Ok(None), Ok(None), Err(not_joined), Err(refused)]);
        let asked = report(lines, &[2]).await.remove(0).expect("an answer");
        assert!(matches!(asked, Some(Answer::Unread(_))), "{asked:?}");
    }

    #[tokio::test]
    async fn a_host_that_ends_its_answer_breaks_the_connection() {
        assert_eq!(report("", &[1]).await, [Err(ended())]);
    }
}
