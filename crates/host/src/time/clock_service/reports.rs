// SPDX-License-Identifier: Apache-2.0
//! Transports of reports to the clock: other processes send them as lines of a long-lived request, the host's own
//! threads by a call.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use process::lines::Lines;
use process::participant::{Answer, Grant, Idle, Join, Line, ReportError, Reports};
use process::transport::BodyError;
use process::{Body, Response};

use super::{ClockService, NotJoined};

const NO_REPORT: &str = "this is not a report";
/// Maximum size of a report in bytes; a report has at most some twenty bytes per watch.
const LONGEST: usize = 1 << 20;

/// Answers a participant's request whose body is its reports, for as long as the connection lasts.
pub(super) fn answer(clock: &ClockService, name: String, reports: Body) -> Response {
    let connection = clock.connect(&name);
    let answers = Answers {
        clock: clock.clone(),
        name,
        connection,
        reports,
        lines: Lines::default(),
        waiting: None,
        ended: false,
    };
    Response::new(answers.boxed_unsync())
}

type PendingAnswer = BoxFuture<'static, Result<Option<Answer>, NotJoined>>;

/// Response body: reads lines of the request and writes their answers.
struct Answers {
    clock: ClockService,
    name: String,
    /// Number of the connection.
    connection: u64,
    reports: Body,
    lines: Lines,
    /// The last report and its pending answer.
    waiting: Option<(u64, PendingAnswer)>,
    ended: bool,
}

impl Answers {
    /// Polls the next report; `Ok(None)`: the participant has closed the connection.
    fn poll_report(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Idle>, ()>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Poll::Ready(serde_json::from_slice(&line).map(Some).map_err(drop));
            }
            if self.lines.begun() > LONGEST {
                return Poll::Ready(Err(()));
            }
            let Poll::Ready(frame) = Pin::new(&mut self.reports).poll_frame(cx) else { return Poll::Pending };
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.lines.push(chunk);
                    }
                }
                Some(Err(_)) | None => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// Polls the next line of the response; `None` at its end.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<Line>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // All received reports are read before an answer is polled: the answer to a report that was replaced is never
        // awaited.
        loop {
            match self.poll_report(cx) {
                Poll::Ready(Ok(Some(idle))) => {
                    let (clock, name) = (self.clock.clone(), self.name.clone());
                    let sequence = idle.sequence;
                    self.waiting = Some((sequence, Box::pin(async move { clock.idle(&name, idle).await })));
                    // Each report is passed to the clock at once, and in order.
                    if let Some(line) = self.poll_answer(cx) {
                        return Poll::Ready(Some(line));
                    }
                }
                Poll::Ready(Ok(None)) => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Poll::Ready(Err(())) => {
                    self.ended = true;
                    return Poll::Ready(Some(Line::Refused(NO_REPORT.to_owned())));
                }
                Poll::Pending => break,
            }
        }
        self.poll_answer(cx).map_or(Poll::Pending, |line| Poll::Ready(Some(line)))
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Option<Line> {
        let (sequence, answering) = self.waiting.as_mut()?;
        let Poll::Ready(answer) = answering.as_mut().poll(cx) else { return None };
        let sequence = *sequence;
        self.waiting = None;
        Some(match answer {
            Ok(answer) => Line::Answer { sequence, answer },
            Err(not_joined) => {
                self.ended = true;
                Line::NotJoined(not_joined.to_string())
            }
        })
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.clock.disconnect(&self.name, self.connection);
    }
}

impl http_body::Body for Answers {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Poll::Ready(line) = self.get_mut().poll_line(cx) else { return Poll::Pending };
        let Some(line) = line else { return Poll::Ready(None) };
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        Poll::Ready(Some(Ok(Frame::data(bytes.into()))))
    }
}

/// Reports of a thread of the host.
#[derive(Clone, Debug)]
pub struct OwnReports {
    clock: ClockService,
    name: &'static str,
}

impl OwnReports {
    /// Creates the transport of the participant with this name.
    pub fn new(clock: ClockService, name: &'static str) -> Self {
        Self { clock, name }
    }
}

impl Reports for OwnReports {
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>> {
        let grant = self.clock.join(self.name, join);
        self.clock.with(|keeper, _| keeper.keep(self.name));
        Box::pin(std::future::ready(Ok(grant)))
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, ReportError>> {
        let own = self.clone();
        Box::pin(async move {
            let answer = own.clock.idle(own.name, idle).await;
            answer.map_err(|error| ReportError::NotJoined(error.to_string()))
        })
    }

    fn leave(&self) -> BoxFuture<'static, Result<(), String>> {
        self.clock.leave(self.name);
        Box::pin(std::future::ready(Ok(())))
    }
}
