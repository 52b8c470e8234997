// SPDX-License-Identifier: Apache-2.0
//! Watches: the checks of a request, and the stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use apimachinery::field::{FieldError, Path};
use bytes::{Bytes, BytesMut};
use chrono::TimeDelta;
use clock::{Clock, Sleep, TimerClass};
use eventlog::Revision;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::BodyExt;
use process::Response;
use process::activity::WATCH_HEADER;
use process::transport::BodyError;

use super::read::unknown;
use super::{LONGEST, Scope};
use crate::negotiation::Form;
use crate::output;
use crate::request::Query;
use crate::status::{Failure, Result};
use crate::storage::replay::{Progress, Replay};
use crate::storage::stored::{EventType, Stored};
use crate::storage::watcher::{Item, Watcher};
use crate::storage::{Store, StoreError, WatchStart};

/// Interval of bookmarks of an idle watch, in wall time.
const BOOKMARKS: TimeDelta = TimeDelta::seconds(60);
/// Time between the last bookmark of a watch and its end.
const LAST_BOOKMARK: TimeDelta = TimeDelta::seconds(2);
/// Size in bytes from which no more frames are combined.
const BATCH: usize = 64 << 10;

impl Scope {
    pub(super) async fn watch(self) -> Result<Response> {
        let query = &self.call.query;
        let initial = check_watch_options(query)?;
        let mut selection = self.selection()?;
        if !self.path.name.is_empty() {
            if !query.text("fieldSelector").is_empty() && query.selected_name().as_ref() != Some(&self.path.name) {
                let text = "fieldSelector metadata.name doesn't match requested name";
                return Err(Failure::BadRequest(text.to_owned()));
            }
            selection.narrow_to(&self.path.name);
        }
        let bookmarks = query.flag("allowWatchBookmarks") == Some(true);
        let revision = self.revision().map_err(unknown)?;
        if let Some(revision) = revision {
            self.wait_for(revision).await?;
        }
        let start = match (initial, revision) {
            (Some(true), _) | (None, None | Some(0)) => WatchStart::State,
            (Some(false), None | Some(0)) => WatchStart::After(self.server.store.position()),
            (_, Some(revision)) => WatchStart::After(Revision(revision)),
        };
        let mut watcher = Watcher::new(self.kind.clone(), selection, bookmarks);
        let number = self.call.headers.get(WATCH_HEADER).and_then(|number| number.to_str().ok()?.parse().ok());
        if let Some(number) = number {
            watcher = watcher.of_participant(number);
        }
        let watcher = Arc::new(watcher);
        let (replay, failure) = match Store::watch(&self.server.store, self.id, start, &watcher).await {
            Ok(replay) => (replay, None),
            Err(StoreError::Compacted(oldest)) => {
                watcher.close();
                (None, Some(too_old(Revision(revision.unwrap_or_default()), oldest)))
            }
            Err(other) => return Err(other.into()),
        };
        let wall = self.server.foundation.wall.clone();
        let end = wall.now() + self.watch_time()?;
        let stream = Stream {
            bookmark: bookmarks.then(|| wall.sleep(BOOKMARKS, TimerClass::Calendar)),
            last_bookmark: (bookmarks && end - wall.now() > LAST_BOOKMARK)
                .then(|| wall.sleep_until(end - LAST_BOOKMARK, TimerClass::Calendar)),
            end: Some(wall.sleep_until(end, TimerClass::Calendar)),
            wall,
            scope: self,
            watcher,
            replay,
            failure,
            first: true,
        };
        let mut response = Response::new(stream.boxed_unsync());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        Ok(response)
    }

    /// Duration of the watch, in wall time.
    fn watch_time(&self) -> Result<TimeDelta> {
        let asked = self.call.query.number("timeoutSeconds")?.unwrap_or(0);
        if asked > 0 {
            return Ok(TimeDelta::seconds(asked.min(LONGEST)));
        }
        let key = format!("{}/{}", self.call.route.cluster, self.names().log_resource);
        let extra = self.server.foundation.random.below(1800, "watch time-out", &key, 0);
        Ok(TimeDelta::seconds(1800 + i64::try_from(extra).unwrap_or(0)))
    }
}

/// Checks the options of a watch; returns `sendInitialEvents`.
fn check_watch_options(query: &Query) -> Result<Option<bool>> {
    let initial = query.flag("sendInitialEvents");
    let match_ = query.text("resourceVersionMatch");
    let path = Path::new("resourceVersionMatch");
    let fail = |error: FieldError| Err(Failure::options("ListOptions", error));
    match (initial, match_) {
        (None, "") | (Some(_), "NotOlderThan") => Ok(initial),
        (None, _) => fail(FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )),
        (Some(_), "") => fail(FieldError::forbidden(
            &path,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )),
        (Some(_), other) => fail(FieldError::not_supported(&path, other, &["NotOlderThan"])),
    }
}

/// The body of a watch.
struct Stream {
    scope: Scope,
    watcher: Arc<Watcher>,
    wall: Clock,
    bookmark: Option<Sleep>,
    last_bookmark: Option<Sleep>,
    /// End of the watch; `None`: it has passed, and only queued frames are still sent.
    end: Option<Sleep>,
    /// Frames that are read from the log before those of the queue; `None`: all were read.
    replay: Option<Replay>,
    /// Failure for the `ERROR` frame of a watch that cannot start or continue.
    failure: Option<Failure>,
    /// True if no frame was sent yet.
    first: bool,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.watcher.close();
    }
}

impl Stream {
    fn frame(&mut self, item: &Item) -> Bytes {
        let first = std::mem::take(&mut self.first);
        let scope = &self.scope;
        // Few objects of a kind that prunes have a field to prune: all others share their frames.
        let is_shared = |object: &Stored| scope.form == Form::Object && scope.shown(object).is_none();
        match item {
            Item::Initial(object) => output::frame(scope, EventType::Added, object, first),
            Item::Change(type_, event) if is_shared(event.shown(*type_)) => event.frame(*type_, scope.annotation()),
            Item::Change(type_, event) => output::frame(scope, *type_, event.shown(*type_), first),
            Item::Bookmark(revision, occasion) => output::bookmark(scope, *revision, *occasion, first),
        }
    }

    /// Returns a chunk of the body: a frame of the watch together with all waiting ones, so that a connection that is
    /// behind is written to once and not for each frame.
    fn with_what_waits(&mut self, first: Bytes) -> Bytes {
        let Some(second) = self.watcher.waiting() else { return first };
        let mut body = BytesMut::from(&first[..]);
        let mut next = Some(second);
        while let Some(item) = next {
            body.extend_from_slice(&self.frame(&item));
            next = if body.len() < BATCH { self.watcher.waiting() } else { None };
        }
        body.freeze()
    }

    /// Handles the passage of wall time: due bookmarks, and the end of the watch, which follows the queued frames.
    fn tick(&mut self, cx: &mut Context<'_>) {
        if let Some(sleep) = &mut self.last_bookmark
            && sleep.as_mut().poll(cx).is_ready()
        {
            self.last_bookmark = None;
            self.watcher.bookmark();
        }
        while let Some(sleep) = &mut self.bookmark
            && sleep.as_mut().poll(cx).is_ready()
        {
            self.watcher.bookmark();
            self.bookmark = Some(self.wall.sleep(BOOKMARKS, TimerClass::Calendar));
        }
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            self.end = None;
            self.watcher.close();
        }
    }

    /// Continues the replay, if there is one; returns true if it queued anything.
    fn read_on(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        let Poll::Ready(done) = replay.poll(cx) else { return false };
        match done {
            Ok(Progress::Queued) => return true,
            Ok(Progress::Done) => {}
            Err(StoreError::Compacted(oldest)) => {
                self.failure = Some(too_old(replay.at(), oldest));
                self.watcher.close();
            }
            // The client starts another watch, which fails with the reason.
            Err(StoreError::Closed | StoreError::Future(_)) => self.watcher.close(),
        }
        self.replay = None;
        true
    }
}

fn too_old(asked: Revision, oldest: Revision) -> Failure {
    Failure::Expired(format!("too old resource version: {asked} ({oldest})"), None)
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            if let Some(failure) = this.failure.take() {
                let text = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", failure.text().trim_end());
                return Poll::Ready(Some(Ok(Frame::data(text.into()))));
            }
            this.tick(cx);
            match this.watcher.poll(cx) {
                Poll::Ready(Some(item)) => {
                    let first = this.frame(&item);
                    return Poll::Ready(Some(Ok(Frame::data(this.with_what_waits(first)))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if this.read_on(cx) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
