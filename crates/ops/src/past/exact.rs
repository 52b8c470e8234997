// SPDX-License-Identifier: Apache-2.0
//! A transport to the API on which every read returns the state at one revision.
//!
//! | GET | is replaced by |
//! | --- | --- |
//! | of a collection | an exact list at the revision |
//! | of an object | an exact list of objects with its name: the only one, or 404 |
//!
//! Other requests are passed on unchanged: a reader of the past sends no writes.

use apimachinery::Status;
use eventlog::Revision;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode, Uri};
use http_body_util::BodyExt;
use process::transport::{Request, Response, full};
use process::{Transport, TransportError};
use serde_json::Value;

/// Target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Collection,
    /// Path of the collection, name of the object.
    Object(String, String),
    Other,
}

fn named(path: &str) -> Named {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let begin = match parts[..] {
        ["clusters", _, "api", _, ..] => 4,
        ["clusters", _, "apis", _, _, ..] => 5,
        _ => return Named::Other,
    };
    let rest = match parts[begin..] {
        ["namespaces", _, ..] if parts.len() > begin + 2 => begin + 2,
        _ => begin,
    };
    match parts[rest..] {
        [_] => Named::Collection,
        [_, name] => Named::Object(format!("/{}", parts[..=rest].join("/")), name.to_owned()),
        _ => Named::Other,
    }
}

/// Returns a transport on which every read returns the state at a revision.
pub fn transport(inner: &Transport, revision: Revision) -> Transport {
    let inner = inner.clone();
    Transport::new(move |request| {
        let inner = inner.clone();
        Box::pin(async move { send(&inner, request, revision).await })
    })
}

async fn send(inner: &Transport, mut request: Request, revision: Revision) -> Result<Response, TransportError> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let is_read = *request.method() == Method::GET;
    // The token of a continued list contains its revision.
    let is_next = query.split('&').any(|pair| pair.starts_with("continue=") && pair != "continue=");
    let asked = |path: &str, query: &str| {
        let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("resourceVersion"));
        let mut query: Vec<&str> = kept.collect();
        let exact = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
        query.push(&exact);
        format!("{path}?{}", query.join("&")).parse::<Uri>().map_err(|error| TransportError::Broken(error.to_string()))
    };
    match named(&path) {
        Named::Collection if is_read && !is_next => {
            *request.uri_mut() = asked(&path, &query)?;
            inner.send(request).await
        }
        Named::Object(collection, name) if is_read => {
            *request.uri_mut() = asked(&collection, &format!("fieldSelector=metadata.name%3D{name}"))?;
            only(inner.send(request).await?, &collection, &name).await
        }
        _ => inner.send(request).await,
    }
}

/// Returns the only object of a list.
async fn only(response: Response, collection: &str, name: &str) -> Result<Response, TransportError> {
    let code = response.status();
    if code != StatusCode::OK {
        return Ok(response);
    }
    let body = response.into_body().collect().await.map_err(|error| TransportError::Broken(error.to_string()))?;
    let tree: Value =
        serde_json::from_slice(&body.to_bytes()).map_err(|error| TransportError::Broken(error.to_string()))?;
    let (code, text) = match tree["items"].get(0) {
        Some(object) => {
            let mut object = object.clone();
            // Items of a list lack kind and version.
            object["apiVersion"] = tree["apiVersion"].clone();
            object["kind"] = tree["kind"].as_str().map(|kind| kind.trim_end_matches("List")).into();
            (StatusCode::OK, object.to_string())
        }
        None => {
            let plural = collection.rsplit('/').next().unwrap_or_default();
            let status = Status::failure(404, "NotFound", format!("{plural} {name:?} not found"));
            (StatusCode::NOT_FOUND, serde_json::to_string(&status).unwrap_or_default())
        }
    };
    let response = http::Response::builder().status(code).header(CONTENT_TYPE, "application/json").body(full(text));
    response.map_err(|error| TransportError::Broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_and_objects_are_told_apart() {
        let object = |collection: &str, name: &str| Named::Object(collection.to_owned(), name.to_owned());
        let core = "/clusters/garden/apis/core.gardener.cloud/v1beta1";
        for (path, expected) in [
            (format!("{core}/shoots"), Named::Collection),
            (format!("{core}/namespaces/a/shoots"), Named::Collection),
            (format!("{core}/namespaces/a/shoots/b"), object(&format!("{core}/namespaces/a/shoots"), "b")),
            (format!("{core}/namespaces/a/shoots/b/status"), Named::Other),
            (format!("{core}/seeds/local"), object(&format!("{core}/seeds"), "local")),
            ("/clusters/x/api/v1/namespaces".to_owned(), Named::Collection),
            ("/clusters/x/api/v1/namespaces/a".to_owned(), object("/clusters/x/api/v1/namespaces", "a")),
            ("/clusters/x/api/v1/namespaces/a/pods".to_owned(), Named::Collection),
            ("/terrarium/clock/".to_owned(), Named::Other),
            ("/clusters/x/version".to_owned(), Named::Other),
        ] {
            assert_eq!(named(&path), expected, "{path}");
        }
    }
}
