// SPDX-License-Identifier: Apache-2.0
//! Protobuf responses for clients that accept no other media type.
//!
//! ```text
//! Accept: …protobuf alone ──► Accept: …json ──► the server ──► JSON ──► message of the same object
//! ```
//!
//! The translation is independent of the server: the host, a server behind it, gardener-apiserver. A request for a kind
//! without a message is rejected before it has any effect (406). Tables stay JSON: upstream has no message for them
//! either.
//!
//! **Deliberately absent**: protobuf for clients that accept JSON as well, even if they prefer protobuf. OpenAPI, which
//! has media types of its own.

use api::catalogue;
use apimachinery::Status;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::Node;
use bytes::Bytes;
use generic_apiserver::is_watch;
use generic_apiserver::protobuf::{MEDIA_TYPE, answer, is_known};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::transport::{Decoded, full};
use process::{Request, Response, TransportError};

use crate::Host;
use crate::aggregation::{refused, whole_lines};
use crate::clusters::first_objects::{DEPRECATED, is_component_status};

/// Protobuf request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProtobufRequest {
    watches: bool,
    /// True for a transform (partial metadata) that has a message for every kind.
    partial: bool,
    /// True if the kind at the path has messages; `None`: only the response shows the kind.
    known: Option<bool>,
}

/// Answers a request, in protobuf if the client accepts nothing else.
pub(crate) async fn answer(host: &Host, request: Request) -> Result<Response, TransportError> {
    let is_deprecated = is_component_status(request.uri().path());
    let mut response = negotiated(host, request).await?;
    if is_deprecated && response.status().is_success() {
        response.headers_mut().append(http::header::WARNING, HeaderValue::from_static(DEPRECATED));
    }
    Ok(response)
}

async fn negotiated(host: &Host, mut request: Request) -> Result<Response, TransportError> {
    let Some(accept) = as_json(request.headers()) else { return host.answer(request).await };
    let Some(place) = Place::of(request.uri().path()) else { return host.answer(request).await };
    let asked = ProtobufRequest {
        watches: is_watch(request.method(), request.uri()),
        partial: accept.contains("as=PartialObjectMetadata"),
        known: place.has_messages(),
    };
    if accept.contains("as=Table") {
        request.headers_mut().insert(ACCEPT, HeaderValue::from_str(&accept).unwrap_or(JSON));
        return host.answer(request).await;
    }
    let reads = *request.method() == Method::GET;
    if !asked.partial && (asked.known == Some(false) || asked.known.is_none() && !reads) {
        // A user without permission gets the 403 rather than the 406.
        return Ok(host.server().allow(&request).await.err().unwrap_or_else(not_acceptable));
    }
    request.headers_mut().insert(ACCEPT, HeaderValue::from_str(&accept).unwrap_or(JSON));
    let response = host.answer(request).await?;
    Ok(in_protobuf(response, asked).await)
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn not_acceptable() -> Response {
    let text = "only the following media types are accepted: application/json, application/yaml";
    refused(&Status::not_acceptable(text.to_owned()))
}

/// Converts the clauses of `Accept` for protobuf to the same clauses for JSON; `None`: there is no such clause, or
/// another clause accepts JSON or YAML.
fn as_json(headers: &HeaderMap) -> Option<String> {
    let accept = headers.get(ACCEPT)?.to_str().ok()?;
    if !accept.contains(MEDIA_TYPE) {
        return None;
    }
    let mut asked = Vec::new();
    for clause in accept.split(',').map(str::trim) {
        let (media, parameters) = clause.split_once(';').unwrap_or((clause, ""));
        match media.trim() {
            "application/json" | "application/yaml" | "application/*" | "*/*" => return None,
            MEDIA_TYPE => {
                let kept = parameters.split(';').map(str::trim).filter(|parameter| !parameter.starts_with("stream="));
                let parameters: Vec<&str> = kept.filter(|parameter| !parameter.is_empty()).collect();
                asked.push([&["application/json"], &parameters[..]].concat().join(";"));
            }
            _ => {}
        }
    }
    (!asked.is_empty()).then(|| asked.join(","))
}

/// Kind of resource that a path addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'a> {
    Discovery,
    Resource { group: &'a str, version: &'a str, plural: &'a str },
}

impl<'a> Place<'a> {
    /// Parses a path; `None` if it addresses neither discovery nor a resource.
    fn of(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix("/clusters/")?.split_once('/')?.1;
        let segments: Vec<&str> = rest.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, version, rest) = match *segments.as_slice() {
            ["api" | "apis"] | ["api" | "apis", _] | ["apis", _, _] => return Some(Self::Discovery),
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => return None,
        };
        let plural = match *rest {
            ["namespaces", _, "status" | "finalize"] => "namespaces",
            ["namespaces", _, plural, ..] | [plural, ..] => plural,
            [] => return None,
        };
        Some(Self::Resource { group, version, plural })
    }

    fn has_messages(&self) -> Option<bool> {
        let Self::Resource { group, version, plural } = *self else { return Some(true) };
        let row = rows().find(|row| row.group == group && row.version == version && row.plural == plural);
        row.map(|row| !row.custom && is_known(&row.node()))
    }
}

fn rows() -> impl Iterator<Item = &'static ResourceInfo> {
    let views = [catalogue::events_view(), catalogue::autoscalers_view(), catalogue::controller_deployments_view()];
    catalogue::all().iter().chain(catalogue::reviews()).chain(views)
}

fn schema(api_version: &str, kind: &str) -> Option<Node> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let row = rows().find(|row| row.group == group && row.version == version && row.kind == kind)?;
    Some(row.node()).filter(|node| !row.custom && is_known(node))
}

async fn in_protobuf(response: Response, asked: ProtobufRequest) -> Response {
    let (mut parts, body) = response.into_parts();
    if parts.headers.get(CONTENT_TYPE).is_none_or(|value| value != JSON) {
        return Response::from_parts(parts, body);
    }
    parts.extensions.remove::<Decoded>();
    parts.headers.remove(CONTENT_LENGTH);
    if asked.watches && parts.status.is_success() {
        if asked.known.is_none() && !asked.partial {
            return not_acceptable();
        }
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer::WATCH_MEDIA_TYPE));
        let frames = whole_lines(body).map_frame(|frame| frame.map_data(|lines| frames(&lines)));
        return Response::from_parts(parts, frames.boxed_unsync());
    }
    let Ok(body) = body.collect().await else {
        let mut broken = Response::new(full(""));
        *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        return broken;
    };
    let body = body.to_bytes();
    match answer::body(&body, &schema) {
        Some(message) => {
            parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
            Response::from_parts(parts, full(message))
        }
        // The kind was not known before the response.
        None if asked.known.is_none() => not_acceptable(),
        None => Response::from_parts(parts, full(body)),
    }
}

fn frames(lines: &Bytes) -> Bytes {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let frames: Vec<Vec<u8>> = lines.filter_map(|line| answer::frame(line, &schema)).collect();
    frames.concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protobuf_is_used_for_clients_that_accept_nothing_else() {
        for (accept, expected) in [
            ("application/vnd.kubernetes.protobuf", Some("application/json")),
            ("application/vnd.kubernetes.protobuf;stream=watch", Some("application/json")),
            ("application/vnd.kubernetes.protobuf, application/cbor", Some("application/json")),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            ),
            ("application/vnd.kubernetes.protobuf,application/json", None),
            ("application/vnd.kubernetes.protobuf, */*", None),
            ("application/json", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(as_json(&headers).as_deref(), expected, "{accept}");
        }
        assert_eq!(as_json(&HeaderMap::new()), None);
    }

    #[test]
    fn the_kind_of_messages_is_that_of_the_path() {
        let known = |path: &str| Place::of(path).map(|place| place.has_messages());
        for (path, expected) in [
            ("/clusters/a/api/v1/pods", Some(Some(true))),
            ("/clusters/a/api/v1/namespaces/n", Some(Some(true))),
            ("/clusters/a/api/v1/namespaces/n/finalize", Some(Some(true))),
            ("/clusters/a/api/v1/namespaces/n/pods/p/status", Some(Some(true))),
            ("/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/n/shoots", Some(Some(true))),
            ("/clusters/garden/apis/events.k8s.io/v1/events", Some(Some(true))),
            ("/clusters/a/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Some(Some(false))),
            ("/clusters/a/apis/operator.gardener.cloud/v1alpha1/gardens", Some(Some(false))),
            ("/clusters/a/apis/example.com/v1/things", Some(None)),
            ("/clusters/a/apis/", Some(Some(true))),
            ("/clusters/a/version", None),
            ("/clusters/a/openapi/v3", None),
            ("/dial", None),
        ] {
            assert_eq!(known(path), expected, "{path}");
        }
    }
}
