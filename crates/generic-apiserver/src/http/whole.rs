// SPDX-License-Identifier: Apache-2.0
//! Another body for an answer that is there as a whole.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body as _;
use http_body_util::BodyExt;
use process::transport::{BodyError, full};
use process::{Body, Response};

/// Bytes of the body; `None` for a stream.
pub(super) fn size(response: &Response) -> Option<u64> {
    response.body().size_hint().exact()
}

/// The answer with the body that `change` makes of its body. It stays as it is where `change` makes none, and where the body is a
/// stream. `change` sets the headers that are about the body.
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
        // A body of known size is in memory; were it not, its end is the client's to see.
        Err(error) => return Response::from_parts(parts, broken(error)),
    };
    let Some(changed) = change(&mut parts.headers, &body) else { return Response::from_parts(parts, full(body)) };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, full(changed))
}

fn broken(error: BodyError) -> Body {
    http_body_util::StreamBody::new(futures::stream::once(async move { Err(error) })).boxed_unsync()
}
