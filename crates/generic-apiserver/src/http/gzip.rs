// SPDX-License-Identifier: Apache-2.0
//! Compression of large responses (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/writers.go).
//!
//! Only complete responses: a stream would be delayed, and every watcher would need its own encoder.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY};
use process::Response;

use super::whole;

/// Size in bytes above which a response is compressed.
const LARGE: u64 = 128 * 1024;

/// True if the client accepts gzip.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok()).any(|text| text.contains("gzip"))
}

/// Returns the response, compressed if it is large.
pub(super) async fn compress(response: Response) -> Response {
    let large = whole::size(&response).is_some_and(|size| size > LARGE);
    if !large || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    whole::rewrite(response, |headers, body| {
        let packed = pack(body)?;
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        Some(packed)
    })
    .await
}

fn pack(body: &[u8]) -> Option<Bytes> {
    // Level 1, as upstream: most of the gain for the least time.
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::fast());
    encoder.write_all(body).ok()?;
    Some(encoder.finish().ok()?.into())
}
