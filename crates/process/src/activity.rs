// SPDX-License-Identifier: Apache-2.0
//! Activity of a process: pending requests, and the progress of its watches.
//!
//! [`counted`] wraps a transport. A request is pending until its response has been read or dropped; a watch is never
//! pending, but has a number, which its request carries, and its lines are counted as they are read.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderValue;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::https::is_watch;
use crate::transport::{Body, BodyError, Request, Transport};

/// Header of a participant's requests: its name.
pub const PARTICIPANT_HEADER: &str = "terrarium-participant";
/// Header of a participant's watch: its number, unique in the landscape. API servers count the lines of the watches
/// that carry it.
pub const WATCH_HEADER: &str = "terrarium-watch";

/// Open watches of a participant, by number: number of lines read of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watching(pub BTreeMap<u64, u64>);

impl Watching {
    /// True if the same watches are open.
    pub(crate) fn are_the_same(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

/// Pending requests and open watches of a process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<ActivityInner>);

#[derive(Debug, Default)]
struct ActivityInner {
    requests: AtomicUsize,
    /// Number of the latest watch.
    numbered: AtomicU64,
    watching: Mutex<Watching>,
}

impl Activity {
    /// Registers a pending request; it ends when the value is dropped.
    pub fn request(&self) -> UnderWay {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.clone())
    }

    /// Sets the number after which new watches are numbered.
    pub fn number_from(&self, number: u64) {
        self.0.numbered.store(number, Ordering::Relaxed);
    }

    /// Returns the number for a new watch.
    pub(crate) fn next_watch(&self) -> u64 {
        self.0.numbered.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers an open watch with this number; it is closed when the value is dropped.
    pub fn watch(&self, number: u64) -> OpenWatch {
        self.state().0.insert(number, 0);
        OpenWatch { activity: self.clone(), number }
    }

    /// True if a request is pending.
    pub fn is_busy(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) > 0
    }

    /// Returns the open watches, and the number of lines read of each.
    pub fn watching(&self) -> Watching {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, Watching> {
        self.0.watching.lock()
    }
}

/// A pending request.
#[derive(Debug)]
pub struct UnderWay(Activity);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open watch.
#[derive(Debug)]
pub struct OpenWatch {
    activity: Activity,
    number: u64,
}

impl OpenWatch {
    /// Counts further lines that were read.
    fn has_read(&self, lines: u64) {
        if let Some(read) = self.activity.state().0.get_mut(&self.number) {
            *read += lines;
        }
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.activity.state().0.remove(&self.number);
    }
}

/// Returns a transport whose requests and watches are registered in `activity`, and carry the participant's name;
/// watches also carry their number.
pub fn counted(transport: Transport, activity: &Activity, participant: &HeaderValue) -> Transport {
    let (activity, participant) = (activity.clone(), participant.clone());
    let shared = transport.shared().clone();
    Transport::new(move |mut request: Request| {
        let under_way = activity.request();
        let activity = activity.clone();
        let number = is_watch(request.uri().query()).then(|| activity.next_watch());
        request.headers_mut().insert(PARTICIPANT_HEADER, participant.clone());
        if let Some(number) = number {
            request.headers_mut().insert(WATCH_HEADER, number.into());
        }
        let response = transport.send(request);
        Box::pin(async move {
            let response = response.await?;
            let note = match number.filter(|_| response.status().is_success()) {
                Some(number) => Note::Watch(activity.watch(number)),
                None => Note::Request(under_way),
            };
            Ok(response.map(|body| Noted { body, note: Some(note) }.boxed_unsync()))
        })
    })
    .sharing(&shared)
}

enum Note {
    Request(#[expect(dead_code, reason = "it counts by being there")] UnderWay),
    Watch(OpenWatch),
}

/// A body that unregisters its request or watch when it ends.
struct Noted {
    body: Body,
    note: Option<Note>,
}

impl http_body::Body for Noted {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        match (&polled, &mut this.note) {
            (Poll::Ready(Some(Ok(frame))), Some(Note::Watch(watch))) => {
                watch.has_read(frame.data_ref().map_or(0, lines));
            }
            (Poll::Ready(None | Some(Err(_))), _) => this.note = None,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Number of line ends in these bytes.
fn lines(data: &Bytes) -> u64 {
    memchr::memchr_iter(b'\n', data).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_watches_are_counted_across_chunks() {
        let text = Bytes::from_static(b"{\"type\":\"ADDED\"}\n{\"type\":\"BOOKMARK\"}\n{\"type\":\"DELETED\"}\n{");
        let activity = Activity::default();
        activity.number_from(70);
        let (one, other) = (activity.watch(activity.next_watch()), activity.watch(activity.next_watch()));
        let check = |expected: &[(u64, u64)]| {
            assert_eq!(activity.watching(), Watching(expected.iter().copied().collect()));
        };
        check(&[(71, 0), (72, 0)]);
        one.has_read(lines(&text));
        check(&[(71, 3), (72, 0)]);
        for byte in 0..text.len() {
            other.has_read(lines(&text.slice(byte..=byte)));
        }
        check(&[(71, 3), (72, 3)]);
        drop(one);
        check(&[(72, 3)]);
        drop(other);
        check(&[]);
    }

    #[test]
    fn a_request_is_under_way_until_its_response_is_read() {
        let activity = Activity::default();
        let transport = Transport::new(|_| Box::pin(async { Ok(http::Response::new(crate::transport::full("{}"))) }));
        let transport = counted(transport, &activity, &HeaderValue::from_static("p"));
        let request = http::Request::get("/x").body(crate::transport::full("")).expect("well formed");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
        runtime.block_on(async {
            let response = transport.send(request).await.expect("an answer");
            assert!(activity.is_busy());
            response.into_body().collect().await.expect("whole");
            assert!(!activity.is_busy());
        });
    }
}
