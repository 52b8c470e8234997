// SPDX-License-Identifier: Apache-2.0
//! What a process has under way: requests, and how far its watches have come.
//!
//! [`counted`] wraps a transport. A request is under way until its response has been read or dropped; a watch is not,
//! but has a number, which the request carries, and the barriers that its bookmarks name are noted once its reader has got
//! everything before them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderValue;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};

use crate::https::is_watch;
use crate::participant::{BARRIER_ANNOTATION, PARTICIPANT_HEADER, WATCH_HEADER, Watching};
use crate::transport::{Body, BodyError, Request, Transport};

/// How a bookmark's line in a watch begins.
const BOOKMARK: &[u8] = br#"{"type":"BOOKMARK""#;

/// What a process has under way: requests and watches. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<ActivityInner>);

#[derive(Debug, Default)]
struct ActivityInner {
    requests: AtomicUsize,
    /// Number of the watch that was asked for last.
    numbered: AtomicU64,
    watching: Mutex<Watching>,
}

impl Activity {
    /// A request begins; it ends when the value is dropped.
    pub fn request(&self) -> UnderWay {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.clone())
    }

    /// Watches are numbered from behind this one on.
    pub fn number_from(&self, number: u64) {
        self.0.numbered.store(number, Ordering::Relaxed);
    }

    /// The number of a watch that is about to be asked for.
    fn next_watch(&self) -> u64 {
        self.0.numbered.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The watch with this number was opened; it is closed when the value is dropped.
    pub fn watch(&self, number: u64) -> OpenWatch {
        self.state().open.insert(number);
        OpenWatch { activity: self.clone(), number }
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) > 0
    }

    /// The open watches, and how far they have come.
    pub fn watching(&self) -> Watching {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, Watching> {
        self.0.watching.lock()
    }
}

/// A request that is under way.
#[derive(Debug)]
pub struct UnderWay(Activity);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A watch that is open.
#[derive(Debug)]
pub struct OpenWatch {
    activity: Activity,
    number: u64,
}

impl OpenWatch {
    /// The bookmark of a barrier has come, and everything before it has been handed on.
    pub fn has_seen(&self, barrier: u64) {
        let mut watching = self.activity.state();
        if watching.barrier < barrier {
            watching.barrier = barrier;
            watching.seen.clear();
        }
        if watching.barrier == barrier {
            watching.seen.insert(self.number);
        }
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        let mut watching = self.activity.state();
        watching.open.remove(&self.number);
        watching.seen.remove(&self.number);
    }
}

/// A transport whose requests and watches are noted in `activity`, and carry the participant's name; watches also carry
/// their number.
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
                Some(number) => Note::Watch(activity.watch(number), Bookmarks::default()),
                None => Note::Request(under_way),
            };
            Ok(response.map(|body| Noted { body, note: Some(note) }.boxed_unsync()))
        })
    })
    .sharing(&shared)
}

enum Note {
    Request(#[expect(dead_code, reason = "it counts by being there")] UnderWay),
    Watch(OpenWatch, Bookmarks),
}

/// A body that ends its note when it ends.
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
            (Poll::Ready(Some(Ok(frame))), Some(Note::Watch(watch, bookmarks))) => {
                if let Some(barrier) = frame.data_ref().and_then(|data| bookmarks.push(data)) {
                    watch.has_seen(barrier);
                }
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

/// Finds the barriers in a watch's lines, however they are cut into frames.
#[derive(Debug, Default)]
struct Bookmarks {
    /// The present line as far as it has come, if it may be a bookmark.
    line: Vec<u8>,
    /// The present line is none.
    skips: bool,
}

impl Bookmarks {
    /// The last barrier of a bookmark that ends in these bytes.
    fn push(&mut self, mut data: &[u8]) -> Option<u64> {
        let mut last = None;
        while !data.is_empty() {
            let end = memchr::memchr(b'\n', data);
            let (part, rest) = end.map_or_else(|| (data, &data[data.len()..]), |end| (&data[..end], &data[end + 1..]));
            if !self.skips {
                self.line.extend_from_slice(part);
                let compared = self.line.len().min(BOOKMARK.len());
                self.skips = self.line[..compared] != BOOKMARK[..compared];
            }
            if end.is_some() {
                if !self.skips {
                    last = barrier(&self.line).or(last);
                }
                self.skips = false;
            }
            if end.is_some() || self.skips {
                self.line.clear();
            }
            data = rest;
        }
        last
    }
}

fn barrier(line: &[u8]) -> Option<u64> {
    let event: serde_json::Value = serde_json::from_slice(line).ok()?;
    event["object"]["metadata"]["annotations"][BARRIER_ANNOTATION].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bookmark(number: u64) -> String {
        format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"annotations\":{{\"{BARRIER_ANNOTATION}\":\"{number}\"}}}}}}}}\n"
        )
    }

    #[test]
    fn barriers_are_found_however_the_lines_are_cut() {
        let text = format!(
            "{{\"type\":\"ADDED\",\"object\":{{}}}}\n{}{{\"type\":\"BOOKMARK\",\"object\":{{}}}}\n{}",
            bookmark(3),
            bookmark(4)
        );
        for size in 1..text.len() {
            let mut bookmarks = Bookmarks::default();
            let found: Vec<u64> = text.as_bytes().chunks(size).filter_map(|chunk| bookmarks.push(chunk)).collect();
            assert_eq!(found.last(), Some(&4), "in pieces of {size}");
        }
    }

    #[test]
    fn an_object_that_names_a_barrier_is_none() {
        let line = bookmark(9).replace("BOOKMARK", "MODIFIED");
        assert_eq!(Bookmarks::default().push(line.as_bytes()), None);
    }

    #[test]
    fn the_watches_that_have_seen_the_last_barrier_are_known() {
        let activity = Activity::default();
        activity.number_from(70);
        let (one, other) = (activity.watch(activity.next_watch()), activity.watch(activity.next_watch()));
        let check = |barrier: u64, seen: &[u64], open: &[u64]| {
            let (open, seen) = (open.iter().copied().collect(), seen.iter().copied().collect());
            assert_eq!(activity.watching(), Watching { open, barrier, seen });
        };
        check(0, &[], &[71, 72]);
        one.has_seen(4);
        other.has_seen(5);
        check(5, &[72], &[71, 72]);
        one.has_seen(5);
        other.has_seen(4);
        check(5, &[71, 72], &[71, 72]);
        drop(other);
        check(5, &[71], &[71]);
        drop(one);
        check(5, &[], &[]);
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
