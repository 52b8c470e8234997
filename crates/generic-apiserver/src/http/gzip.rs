// SPDX-License-Identifier: Apache-2.0
//! Compression of large answers (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/writers.go).
//!
//! Only what is there as a whole: a stream would be held back, and every watcher would need an encoder of its own.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, VARY};
use http_body::Body as _;
use http_body_util::BodyExt;
use process::Response;
use process::transport::full;

/// Bytes above which an answer is compressed.
const LARGE: u64 = 128 * 1024;

/// Whether the client takes gzip.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok()).any(|text| text.contains("gzip"))
}

/// The answer, compressed if it is large.
pub(super) async fn compress(response: Response) -> Response {
    let large = response.body().size_hint().exact().is_some_and(|size| size > LARGE);
    if !large || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        // A body of known size is in memory; were it not, its end is the client's to see.
        Err(error) => return Response::from_parts(parts, broken(error)),
    };
    let Some(packed) = pack(&body) else { return Response::from_parts(parts, full(body)) };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(parts, full(packed))
}

fn pack(body: &[u8]) -> Option<Bytes> {
    // Level 1, as upstream: most of the gain for the least time.
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::fast());
    encoder.write_all(body).ok()?;
    Some(encoder.finish().ok()?.into())
}

fn broken(error: process::transport::BodyError) -> process::Body {
    http_body_util::StreamBody::new(futures::stream::once(async move { Err(error) })).boxed_unsync()
}
