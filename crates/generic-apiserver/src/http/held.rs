// SPDX-License-Identifier: Apache-2.0
//! Responses that are held in memory until their clients have read them.
//!
//! A response is built completely before it is sent, so clients that request many and read none would fill the memory.
//! Above a limit of all such bytes, and of those of one user, large responses are refused until others have been read.
//! Small ones are never refused. As long as nothing has been read, the same request is refused again before its
//! response is built: refused responses would fill the memory, too. A response that is not read in time ends its
//! connection, so that it does not block others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use process::Response;

use super::deadlines::Deadline;
use super::whole;
use crate::status::{Failure, Result};

/// Maximum size in bytes of a response that is not counted.
const SMALL: u64 = 4 << 10;

/// Name of the user that receives a response; an extension of the response.
#[derive(Clone, Debug)]
pub(super) struct Reader(pub(super) Arc<str>);

/// Maximum number of refused requests in memory.
const REMEMBERED: usize = 64;

/// Held responses.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Bytes by user.
    bytes: BTreeMap<Arc<str>, u64>,
    /// Requests that were refused since the last response was read: user, and path with query.
    refused: BTreeSet<(Arc<str>, String)>,
}

/// Share of a response in the held bytes, until it is dropped.
struct Share {
    size: u64,
    reader: Arc<str>,
    held: Held,
    _deadline: Deadline,
}

/// Bytes that count until the last reference to them is dropped.
struct CountedBytes {
    bytes: Bytes,
    _share: Share,
}

fn refusal() -> Failure {
    Failure::TooMany("too many large answers are not read yet, please try again later".to_owned())
}

impl Held {
    /// Refuses a request whose response was refused, if no response has been read since.
    ///
    /// # Errors
    /// The same as [`Held::hold`] for its response.
    pub(super) fn admit(&self, reader: &Reader, request: &str) -> Result<()> {
        let is_refused = self.0.lock().refused.contains(&(reader.0.clone(), request.to_owned()));
        if is_refused { Err(refusal()) } else { Ok(()) }
    }

    /// Returns the response to a request and counts its bytes until they are dropped; a counted response has to be read
    /// by the `deadline`.
    ///
    /// # Errors
    /// All responses together would exceed `most` bytes, or several responses to the user would exceed half of the
    /// bytes that the responses to other users leave. A single response may have any size.
    pub(super) async fn hold(
        &self,
        response: Response,
        request: &str,
        most: u64,
        deadline: impl FnOnce() -> Deadline,
    ) -> Result<Response> {
        let size = whole::size(&response).unwrap_or_default();
        if size <= SMALL {
            return Ok(response);
        }
        let reader = response.extensions().get::<Reader>().map_or_else(Arc::default, |reader| reader.0.clone());
        {
            let Inner { bytes: held, refused } = &mut *self.0.lock();
            let (all, own) = (held.values().sum::<u64>(), held.get(&reader).copied().unwrap_or_default());
            let is_above = |held: u64, most: u64| held > 0 && held.saturating_add(size) > most;
            if is_above(all, most) || is_above(own, most.saturating_sub(all - own) / 2) {
                if refused.len() < REMEMBERED {
                    refused.insert((reader, request.to_owned()));
                }
                return Err(refusal());
            }
            *held.entry(reader.clone()).or_default() += size;
        }
        let share = Share { size, reader, held: self.clone(), _deadline: deadline() };
        let counted = |bytes: &Bytes| Bytes::from_owner(CountedBytes { bytes: bytes.clone(), _share: share });
        Ok(whole::rewrite(response, |_, body| Some(counted(body))).await)
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Inner { bytes, refused } = &mut *self.held.0.lock();
        refused.clear();
        let Some(own) = bytes.get_mut(&self.reader) else { return };
        *own = own.saturating_sub(self.size);
        if *own == 0 {
            bytes.remove(&self.reader);
        }
    }
}

#[cfg(test)]
mod tests {
    use clock::Instant;
    use futures::FutureExt;
    use http_body_util::BodyExt;
    use process::transport::full;

    use super::super::deadlines::Deadlines;
    use super::*;

    fn answer(reader: &str, size: usize) -> Response {
        let mut response = Response::new(full(vec![b'x'; size]));
        response.extensions_mut().insert(Reader(reader.into()));
        response
    }

    #[test]
    fn large_answers_wait_until_others_are_read() {
        const MOST: u64 = 400 << 10;
        let held = Held::default();
        let deadlines = Deadlines::new();
        let hold = |reader, size| {
            let answer = held.hold(answer(reader, size), "/list", MOST, || deadlines.at(Instant::UNIX_EPOCH));
            answer.now_or_never().expect("no waiting")
        };
        let whole = hold("a", 1 << 20).expect("a single answer may have any size");
        assert!(hold("b", 100 << 10).is_err());
        assert!(hold("b", 1 << 10).is_ok(), "small ones are always given");
        let admits = |reader: &str, request| held.admit(&Reader(reader.into()), request).is_ok();
        assert!(!admits("b", "/list"), "nothing has been read since");
        assert!(admits("b", "/object") && admits("c", "/list"));
        drop(whole);
        assert!(admits("b", "/list"));
        let first = hold("a", 100 << 10).expect("nothing is held");
        let second = hold("a", 100 << 10).expect("half of the limit");
        assert!(hold("a", 100 << 10).is_err(), "others are given the rest");
        let third = hold("b", 100 << 10).expect("less than the limit");
        drop(first);
        let bytes = second.into_body().frame().now_or_never().expect("a frame").expect("data").expect("data");
        assert!(hold("a", 150 << 10).is_err(), "a frame that is not sent yet is held");
        drop((bytes, third));
        assert!(hold("a", 150 << 10).is_ok());
        // Each further user has half of the bytes that the responses to others leave.
        let [first, second] = [150 << 10, 100 << 10].map(|size| hold("a", size));
        assert!(first.is_ok() && second.is_err());
        let [first, second] = [100 << 10, 70 << 10].map(|size| hold("b", size));
        assert!(first.is_ok() && second.is_err(), "125 KiB of 250");
        assert!(hold("c", 100 << 10).is_ok());
    }
}
