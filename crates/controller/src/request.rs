// SPDX-License-Identifier: Apache-2.0
//! Requests by path: the common part of all kinds.

use std::fmt::Write as _;

use apimachinery::Status;
use apimachinery::status::{StatusDetails, reason};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use process::transport::Decoded;
use process::{Body, Context, Response, TransportError, transport};

use crate::erased::{Reader, Shared};
use crate::error::Error;

/// Characters that are not escaped in the value of a query: the unreserved ones of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Sends a request of `context`'s component. `path` starts with `/clusters/`; names in it are path segments without
/// escapes.
pub(crate) async fn send(
    context: &Context,
    method: Method,
    path: String,
    body: Option<(&'static str, Vec<u8>)>,
) -> Result<Bytes, Error> {
    object(context, method, path, body).await.map(|answer| answer.bytes)
}

/// A response that holds an object.
pub(crate) struct Answer {
    pub(crate) bytes: Bytes,
    /// Decoded object, if the server is in this process.
    pub(crate) decoded: Option<Decoded>,
}

impl Answer {
    /// Returns the object, decoded unless another reader of this process has decoded it.
    pub(crate) fn object(&self, reader: Reader) -> Result<Shared, Error> {
        let Some(decoded) = &self.decoded else { return (reader.read)(&self.bytes) };
        if let Some(object) = decoded.get(reader.type_).and_then(reader.known) {
            return Ok(object);
        }
        let object = (reader.read)(&self.bytes)?;
        decoded.keep(object.clone());
        Ok(object)
    }
}

/// Sends a request as [`send`], and reads one object from the response.
pub(crate) async fn object(
    context: &Context,
    method: Method,
    path: String,
    body: Option<(&'static str, Vec<u8>)>,
) -> Result<Answer, Error> {
    let mut response = open(context, method, path, body).await?;
    let status = response.status();
    let decoded = response.extensions_mut().remove();
    let bytes = collect(response).await?;
    if status.is_success() { Ok(Answer { bytes, decoded }) } else { Err(refusal(status, &bytes)) }
}

/// Sends a request as [`send`], and returns the body as a stream.
pub(crate) async fn stream(context: &Context, path: String) -> Result<Body, Error> {
    let response = open(context, Method::GET, path, None).await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response.into_body());
    }
    let bytes = collect(response).await?;
    Err(refusal(status, &bytes))
}

async fn open(
    context: &Context,
    method: Method,
    path: String,
    body: Option<(&'static str, Vec<u8>)>,
) -> Result<Response, Error> {
    let mut request = http::Request::new(Body::default());
    *request.method_mut() = method;
    *request.uri_mut() =
        path.parse().map_err(|error| Error::Decode(format!("`{path}` is not a path of an API server: {error}")))?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let agent = format!("{}/{}", context.identity.component, context.identity.version);
    if let Ok(agent) = HeaderValue::from_maybe_shared(Bytes::from(agent)) {
        headers.insert(USER_AGENT, agent);
    }
    if let Some((content_type, bytes)) = body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        *request.body_mut() = transport::full(bytes);
    }
    Ok(context.transport.send(request).await?)
}

async fn collect(response: Response) -> Result<Bytes, Error> {
    match response.into_body().collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(Error::Transport(TransportError::Broken(error.to_string()))),
    }
}

/// Returns the error of an unsuccessful response; for a body that is no `Status`, the error that client-go derives from
/// the code.
fn refusal(code: StatusCode, body: &[u8]) -> Error {
    if let Ok(status) = serde_json::from_slice::<Status>(body)
        && status.status == "Failure"
    {
        return Error::Api(Box::new(status));
    }
    let (reason, message) = match code {
        StatusCode::UNAUTHORIZED => {
            (reason::UNAUTHORIZED, "the server has asked for the client to provide credentials".to_owned())
        }
        StatusCode::FORBIDDEN => (reason::FORBIDDEN, String::from_utf8_lossy(body).into_owned()),
        StatusCode::NOT_FOUND => (reason::NOT_FOUND, "the server could not find the requested resource".to_owned()),
        StatusCode::METHOD_NOT_ALLOWED => {
            (reason::METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource".to_owned())
        }
        StatusCode::CONFLICT => (reason::CONFLICT, "the server reported a conflict".to_owned()),
        StatusCode::GONE => (reason::GONE, "the server reported that the version is gone".to_owned()),
        StatusCode::TOO_MANY_REQUESTS => (
            reason::TOO_MANY_REQUESTS,
            "the server has received too many requests and has asked us to try again later".to_owned(),
        ),
        StatusCode::SERVICE_UNAVAILABLE => {
            (reason::SERVICE_UNAVAILABLE, "the server is currently unable to handle the request".to_owned())
        }
        StatusCode::GATEWAY_TIMEOUT => {
            (reason::TIMEOUT, "the server was unable to return a response in the time allotted".to_owned())
        }
        _ => (
            reason::INTERNAL_ERROR,
            format!(
                "an error on the server ({:?}) has prevented the request from succeeding",
                String::from_utf8_lossy(body)
            ),
        ),
    };
    Error::Api(Box::new(Status {
        status: "Failure".to_owned(),
        message,
        reason: reason.to_owned(),
        details: Some(StatusDetails::default()),
        code: code.as_u16(),
    }))
}

/// Appends `name=value` to a path, the value percent-encoded.
pub fn push_query(path: &mut String, name: &str, value: &str) {
    path.push(if path.contains('?') { '&' } else { '?' });
    let _ = write!(path, "{name}={}", utf8_percent_encode(value, UNRESERVED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u16, body: &str, reason: &str, message: &str) {
        let error = refusal(StatusCode::from_u16(code).expect("a code"), body.as_bytes());
        let status = error.status().expect("a refusal");
        assert_eq!((status.reason.as_str(), status.message.as_str(), status.code), (reason, message, code));
    }

    #[test]
    fn a_refusal_has_the_servers_status_or_the_codes() {
        let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"shoots.core.gardener.cloud \"a\" not found","reason":"NotFound","details":{"name":"a"},"code":404}"#;
        check(404, status, "NotFound", "shoots.core.gardener.cloud \"a\" not found");
        check(404, "404 page not found\n", "NotFound", "the server could not find the requested resource");
        check(503, "", "ServiceUnavailable", "the server is currently unable to handle the request");
        check(
            500,
            "boom",
            "InternalError",
            "an error on the server (\"boom\") has prevented the request from succeeding",
        );
    }

    #[test]
    fn values_of_a_query_are_encoded() {
        let mut path = "/clusters/garden/api/v1/secrets".to_owned();
        push_query(&mut path, "limit", "500");
        push_query(&mut path, "labelSelector", "a in (b,c),!d/e");
        assert_eq!(path, "/clusters/garden/api/v1/secrets?limit=500&labelSelector=a%20in%20%28b%2Cc%29%2C%21d%2Fe");
    }
}
