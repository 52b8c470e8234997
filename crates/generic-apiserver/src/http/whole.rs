// SPDX-License-Identifier: Apache-2.0
//! Replacement of the body of a complete response.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body as _;
use http_body_util::BodyExt;
use process::transport::{BodyError, full};
use process::{Body, Response};

/// Returns the size of the body in bytes; `None` for a stream.
pub(super) fn size(response: &Response) -> Option<u64> {
    response.body().size_hint().exact()
}

/// Replaces the body of a response by the result of `change`. A response stays as it is if `change` returns `None` or
/// the body is a stream. `change` sets the headers that describe the body.
pub(super) async fn rewrite(
    response: Response,
    change: impl FnOnce(&mut HeaderMap, &Bytes) -> Option<Bytes>,
) -> Response {
    if size(&response).is_none() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        // A body of known size is in memory; if reading it fails, the client sees the broken end.
        Err(error) => return Response::from_parts(parts, broken(error)),
    };
    let Some(changed) = change(&mut parts.headers, &body) else { return Response::from_parts(parts, full(body)) };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, full(changed))
}

fn broken(error: BodyError) -> Body {
    http_body_util::StreamBody::new(futures::stream::once(async move { Err(error) })).boxed_unsync()
}
