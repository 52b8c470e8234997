// SPDX-License-Identifier: Apache-2.0
//! Negotiation of the form of responses, and media types of request bodies.

use apimachinery::status::reason;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE};

use crate::protobuf;
use crate::request::Call;
use crate::status::{Failure, Result};

const JSON: &str = "application/json";
/// Media types of watches that the router of typed kinds supports.
const STREAMS: [&str; 2] = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
/// Media types of patches of typed kinds.
pub(crate) const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
pub(crate) const YAML: &str = "application/yaml";

/// Form of objects in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object itself.
    Object,
    /// A table, in this version of `meta.k8s.io`.
    Table(&'static str),
    /// Metadata only, in this version of `meta.k8s.io`.
    Partial(&'static str),
}

/// Chooses by the header `Accept`; `None` when no clause can be satisfied, which is [`not_acceptable`].
pub(crate) fn form(accept: &str) -> Option<Form> {
    let mut clauses: Vec<(f32, &str)> = accept
        .split(',')
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
        .map(|clause| (weight(clause), clause))
        .collect();
    if clauses.is_empty() {
        return Some(Form::Object);
    }
    clauses.sort_by(|left, right| right.0.total_cmp(&left.0));
    clauses.iter().find_map(|(_, clause)| satisfy(clause))
}

/// True if the first clause that can be satisfied requests YAML.
pub(crate) fn prefers_yaml(accept: &str) -> bool {
    let mut clauses: Vec<(f32, &str)> = accept.split(',').map(|clause| (weight(clause), clause.trim())).collect();
    clauses.sort_by(|left, right| right.0.total_cmp(&left.0));
    let first = clauses.iter().find(|(_, clause)| is_yaml(clause) || satisfy(clause).is_some());
    first.is_some_and(|(_, clause)| is_yaml(clause))
}

fn is_yaml(clause: &str) -> bool {
    media(clause) == YAML && transform(clause).0.is_empty()
}

/// Requested version of `apidiscovery.k8s.io` for discovery; `None`: the classic form.
pub(crate) fn discovery_form(accept: &str) -> Option<&'static str> {
    let mut clauses: Vec<(f32, &str)> = accept.split(',').map(|clause| (weight(clause), clause.trim())).collect();
    clauses.sort_by(|left, right| right.0.total_cmp(&left.0));
    clauses.iter().find_map(|(_, clause)| {
        if !is_json(clause) {
            return None;
        }
        match transform(clause) {
            ("", ..) => Some(None),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Some("v2")),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(Some("v2beta1")),
            _ => None,
        }
    })?
}

fn weight(clause: &str) -> f32 {
    let value = parameters(clause).find(|(name, _)| *name == "q").map(|(_, value)| value);
    value.and_then(|value| value.parse().ok()).unwrap_or(1.0)
}

fn parameters(clause: &str) -> impl Iterator<Item = (&str, &str)> {
    clause.split(';').skip(1).filter_map(|pair| pair.trim().split_once('='))
}

fn is_json(clause: &str) -> bool {
    matches!(&*media(clause), JSON | "application/*" | "*/*")
}

/// The parameters `as`, `g` and `v`.
fn transform(clause: &str) -> (&str, &str, &str) {
    let (mut transform, mut group, mut version) = ("", "", "");
    for (name, value) in parameters(clause) {
        match name {
            "as" => transform = value,
            "g" => group = value,
            "v" => version = value,
            _ => {}
        }
    }
    (transform, group, version)
}

fn satisfy(clause: &str) -> Option<Form> {
    if !is_json(clause) {
        return None;
    }
    let (transform, group, version) = transform(clause);
    if transform.is_empty() {
        return Some(Form::Object);
    }
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => "v1",
        ("meta.k8s.io", "v1beta1") => "v1beta1",
        _ => return None,
    };
    match transform {
        "Table" => Some(Form::Table(version)),
        "PartialObjectMetadata" | "PartialObjectMetadataList" => Some(Form::Partial(version)),
        _ => None,
    }
}

/// Checks a request's media types as the router of typed kinds does before any handler: it supports neither
/// `application/*` nor weights.
///
/// Source: github.com/emicklei/go-restful jsr311.go, k8s.io/apiserver pkg/endpoints/installer.go.
pub(crate) fn route(call: &Call, verb: &str, body: usize) -> Result<()> {
    let is_among = |header: &str, types: &[&str], any: bool| {
        let mut named = header.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
        named.any(|media| any && media == "*/*" || types.contains(&media))
    };
    let lacks_body = body == 0 && matches!(call.method, Method::POST | Method::PUT | Method::PATCH);
    let unsupported = |available: &[&str]| {
        let text = format!("415: Unsupported Media Type\n\nAvailable representations: {}", available.join(", "));
        Failure::Routed(415, reason::UNSUPPORTED_MEDIA_TYPE, text)
    };
    if verb == "patch" && !is_among(call.header(CONTENT_TYPE), &PATCHES, false) {
        if body > 0 {
            return Err(Failure::Routed(415, reason::UNSUPPORTED_MEDIA_TYPE, "415: Unsupported Media Type".to_owned()));
        }
        return Err(unsupported(&[]));
    }
    let mut produced = served(true);
    if matches!(verb, "list" | "watch") {
        produced.extend(STREAMS);
    }
    let accept = call.header(ACCEPT);
    if accept.is_empty() || is_among(accept, &produced, true) {
        return Ok(());
    }
    if lacks_body {
        return Err(unsupported(&produced));
    }
    let text = format!("406: Not Acceptable\n\nAvailable representations: {}", produced.join(", "));
    Err(Failure::Routed(406, reason::NOT_ACCEPTABLE, text))
}

/// Media types of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Json,
    Other,
}

/// Reads the header `Content-Type` of a body that holds an object.
pub(crate) fn input(content_type: &str) -> Input {
    match &*media(content_type) {
        "" | JSON => Input::Json,
        _ => Input::Other,
    }
}

/// Returns the refusal of a body in an unsupported media type.
pub(crate) fn unsupported_body(has_messages: bool) -> Failure {
    Failure::UnsupportedMediaType(served(has_messages))
}

/// Returns the refusal of a request whose response cannot have an accepted media type.
pub(crate) fn not_acceptable(has_messages: bool) -> Failure {
    let text = format!("only the following media types are accepted: {}", served(has_messages).join(", "));
    Failure::NotAcceptable(text)
}

/// Returns the refusal of a watch in an unsupported media type.
pub(crate) fn no_such_stream(has_messages: bool) -> Failure {
    let streams = &STREAMS[..if has_messages { 2 } else { 1 }];
    Failure::NotAcceptable(format!("only the following media types are accepted: {}", streams.join(", ")))
}

/// Media types of objects; custom kinds have no protobuf messages.
fn served(has_messages: bool) -> Vec<&'static str> {
    let mut types = vec![JSON, YAML];
    if has_messages {
        types.push(protobuf::MEDIA_TYPE);
    }
    types
}

/// Returns the media type without its parameters, in lower case.
pub(crate) fn media(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Form, Input, discovery_form, form, input, prefers_yaml};

    #[track_caller]
    fn check(accept: &str, expected: Option<Form>) {
        assert_eq!(form(accept), expected, "{accept}");
    }

    #[test]
    fn media_types_are_written_in_any_letters() {
        assert_eq!(input("Application/JSON; charset=UTF-8"), Input::Json);
        check("APPLICATION/json", Some(Form::Object));
        assert!(prefers_yaml("application/YAML"));
    }

    #[test]
    fn the_first_clause_that_can_be_satisfied_counts() {
        check("", Some(Form::Object));
        check("*/*", Some(Form::Object));
        check("application/vnd.kubernetes.protobuf,application/json", Some(Form::Object));
        check("application/vnd.kubernetes.protobuf", None);
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Some(Form::Table("v1")),
        );
        check("application/json;q=0.1,application/json;as=Table;g=meta.k8s.io;v=v1beta1", Some(Form::Table("v1beta1")));
        check("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Some(Form::Partial("v1")));
        check("application/json;as=Other;g=meta.k8s.io;v=v1,application/json", Some(Form::Object));
    }

    #[test]
    fn aggregated_discovery_is_chosen_by_preference() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        for (accept, expected) in [
            (format!("{v2},{beta},application/json"), Some("v2")),
            (format!("{beta},application/json"), Some("v2beta1")),
            (format!("{v2};profile=nopeer,application/json"), Some("v2")),
            (format!("application/json,{v2}"), None),
            (format!("application/json;q=0.5,{v2}"), Some("v2")),
            ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,*/*".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(discovery_form(&accept), expected, "{accept}");
        }
    }
}
