// SPDX-License-Identifier: Apache-2.0
//! Live regions: a stream of server-sent events for one page.
//!
//! ```text
//! GET stream?page=LINK&region=ID:HASH…          &only=time: nothing but clock and bar of time
//! event: clock    {"id", "hash", "html"}     landscape time
//! event: region   {"id", "hash", "html"}     a region that has changed
//! event: gone     regions were removed: the page must be loaded again
//! event: behind   the log no longer has the page's revision: the page must be loaded again
//! event: trouble  {"text"}                   why the page cannot be drawn; empty: it can be drawn again
//! event: alive    {}                         no change, twice a second
//! event: over     the session has ended, or has too many streams
//! ```
//!
//! A stream draws its page again when an object changes that the page follows, at most ten times a second and for at most half of
//! the time, and sends regions whose hash differs. The request names the regions of the page and their hashes, so no change is
//! lost between the page and its stream, nor when the stream is opened again.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::TimerClass;
use eventlog::Message;
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::json;
use tokio::sync::oneshot;

use crate::page::{Page, Region, Section};
use crate::parts::time;
use crate::view::View;
use crate::{frame, pages, timebar};

/// Wall time between two checks: ten a second.
const LOOK: TimeDelta = TimeDelta::milliseconds(100);
/// Wall time between two updates of the bar of time.
const BAR: TimeDelta = TimeDelta::seconds(1);
/// Number of checks without a change after which an event is sent, so that both ends detect a broken connection.
const SILENCE: u32 = 5;

/// Regions of the page, by id, with the hash of each.
type RegionHashes = BTreeMap<String, String>;

/// Answers with the stream of a page; `regions` are `ID:HASH` each. has_time_alone: the page is a form that a user fills in; only
/// clock and bar of time are sent.
pub(crate) fn answer<'a>(view: View, has_time_alone: bool, regions: impl Iterator<Item = &'a str>) -> Response {
    let known: RegionHashes = regions
        .filter_map(|region| region.split_once(':'))
        .map(|(id, hash)| (id.to_owned(), hash.to_owned()))
        .collect();
    let ended = view.session.add_stream();
    let (sender, receiver) = mpsc::channel::<Bytes>(4);
    let running = run(view, has_time_alone, known, sender, ended);
    // The response body drives the task: it ends when the browser disconnects.
    let frames = futures::stream::select(receiver.map(Some), futures::stream::once(running).map(|()| None));
    let frames = frames
        .filter_map(|frame| async move { frame.map(|bytes| Ok::<_, std::convert::Infallible>(Frame::data(bytes))) });
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn run(
    mut view: View,
    has_time_alone: bool,
    mut known: RegionHashes,
    mut sender: mpsc::Sender<Bytes>,
    mut ended: oneshot::Receiver<()>,
) {
    let wall = view.dashboard.options().wall.clone();
    let log = view.dashboard.options().log.clone();
    let mut page = Page::new(Section::Other, "");
    if !has_time_alone && let Ok(drawn) = pages::draw(&view).await {
        page = drawn;
    }
    let follows = page.follows.clone();
    let Ok(mut changes) = log.subscribe(log.head(), None) else {
        let _ = sender.send(event("behind", "{}")).await;
        return;
    };
    // The page may be older than its stream.
    let (mut is_stale, mut silent, mut has_trouble) = (!has_time_alone, 0_u32, false);
    let (mut shown, mut is_bar_stale, mut bar_drawn) = (view.now(), true, None);
    let dashboard = view.dashboard.clone();
    let upgrade = || dashboard.options().upgrades.as_ref().map(|upgrades| upgrades.changes());
    let mut upgraded = upgrade();
    loop {
        if !matches!(ended.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
            let _ = sender.send(event("over", "{}")).await;
            return;
        }
        while let Some(message) = futures::FutureExt::now_or_never(changes.messages.next()) {
            match message {
                Some(Message::Entry(entry)) => {
                    is_bar_stale |= !entry.volatile;
                    is_stale |= !entry.volatile && follows.iter().any(|resource| **resource == *entry.key.resource);
                }
                Some(_) => {}
                None => {
                    let _ = sender.send(event("behind", "{}")).await;
                    return;
                }
            }
        }
        // The page shows distances of time, and expirations.
        let now = view.now();
        is_stale |= !follows.is_empty() && now != shown;
        is_bar_stale |= now != shown;
        is_stale |= !follows.is_empty() && upgrade() != std::mem::replace(&mut upgraded, upgrade());
        shown = now;
        let begun = wall.now();
        let mut events = Vec::new();
        changed(&mut known, &frame::clock(&view), "clock", &mut events);
        let drawn = if std::mem::take(&mut is_stale) {
            // An upgrade may have been carried out meanwhile.
            view = view.with_gardener().await;
            Some(pages::draw(&view).await)
        } else {
            None
        };
        let trouble = match &drawn {
            Some(Err(refusal)) if refusal.code == StatusCode::SERVICE_UNAVAILABLE => {
                Some((refusal.title.as_str(), "This page shows what was known before."))
            }
            Some(Ok(page)) if page.lacks_answers => {
                Some(("The API does not answer", "Parts of this page are missing."))
            }
            _ => None,
        };
        if let Some((title, then)) = trouble {
            // Each check draws it again.
            is_stale = true;
            if !std::mem::replace(&mut has_trouble, true) {
                let since = view.dashboard.silent_since().unwrap_or(shown);
                let text = format!("{title} since {}. {then}", time::text(since));
                events.push(event("trouble", &json!({ "text": text }).to_string()));
            }
        }
        let is_whole = trouble.is_none();
        if let Some(Ok(drawn)) = drawn {
            page = drawn;
            if is_whole && std::mem::take(&mut has_trouble) {
                events.push(event("trouble", &json!({ "text": "" }).to_string()));
            }
            let is_of_page = |id: &&String| !matches!(id.as_str(), "clock" | "timebar");
            let has_gone = known.keys().filter(is_of_page).any(|id| page.regions.iter().all(|region| region.id != *id));
            if has_gone {
                let _ = sender.send(event("gone", "{}")).await;
                return;
            }
            page.regions.iter().for_each(|region| changed(&mut known, region, "region", &mut events));
        }
        if is_bar_stale && bar_drawn.is_none_or(|drawn| wall.now() - drawn >= BAR) {
            (is_bar_stale, bar_drawn) = (false, Some(wall.now()));
            changed(&mut known, &timebar::region(&view, &page).await, "region", &mut events);
        }
        silent = if events.is_empty() { silent + 1 } else { 0 };
        if silent >= SILENCE {
            silent = 0;
            events.push(event("alive", "{}"));
        }
        for event in events {
            if sender.send(event).await.is_err() {
                return;
            }
        }
        let took = wall.now() - begun;
        wall.sleep(LOOK.max(took), TimerClass::Work).await;
    }
}

/// Adds a region's event if its hash differs from the page's.
fn changed(known: &mut RegionHashes, region: &Region, name: &str, events: &mut Vec<Bytes>) {
    let hash = region.hash();
    if known.get(&region.id) == Some(&hash) {
        return;
    }
    let data = json!({ "id": region.id, "hash": hash, "html": region.inner().into_string() });
    events.push(event(name, &data.to_string()));
    known.insert(region.id.clone(), hash);
}

fn event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
