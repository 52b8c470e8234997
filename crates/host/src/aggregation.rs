// SPDX-License-Identifier: Apache-2.0
//! Which requests are handed on, and discovery as if one server served everything.

use api::catalogue::AGGREGATED_GROUPS;
use generic_apiserver::Server;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use process::transport::full;
use process::{Request, Response, TransportError, User};
use serde_json::Value;

use crate::GARDEN_CLUSTER;

/// Who answers a path.
pub(crate) enum Place {
    /// The host.
    Own,
    /// The aggregated server.
    Aggregated,
    /// Both: the list of groups.
    Groups,
}

/// Who answers a path. Across all clusters, too, Gardener's groups are those of cluster `garden`.
pub(crate) fn place(path: &str) -> Place {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (Some("clusters"), Some(cluster)) = (segments.next(), segments.next()) else { return Place::Own };
    if cluster != GARDEN_CLUSTER && cluster != "*" {
        return Place::Own;
    }
    match (segments.next(), segments.next()) {
        (Some("apis"), None) => Place::Groups,
        (Some("apis"), Some(group)) if AGGREGATED_GROUPS.contains(&group) => Place::Aggregated,
        _ => Place::Own,
    }
}

/// The answer while nobody serves the group.
pub(crate) fn unavailable() -> Response {
    let mut response = Response::new(full("service unavailable"));
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// `/apis`: the groups of both servers.
pub(crate) async fn groups(
    own: &Server,
    aggregated: Option<&Server>,
    request: Request,
) -> Result<Response, TransportError> {
    let (parts, _) = request.into_parts();
    let ask = |server: &Server| {
        let mut again = http::Request::new(full(""));
        *again.method_mut() = Method::GET;
        *again.uri_mut() = parts.uri.clone();
        if let Some(user) = parts.extensions.get::<User>() {
            again.extensions_mut().insert(user.clone());
        }
        server.call(again)
    };
    let response = ask(own).await?;
    let Some(aggregated) = aggregated else { return Ok(response) };
    if !response.status().is_success() {
        return Ok(response);
    }
    let (parts, mut tree) = read(response).await?;
    let (_, mut theirs) = read(ask(aggregated).await?).await?;
    if let (Some(groups), Some(more)) = (tree["groups"].as_array_mut(), theirs["groups"].as_array_mut()) {
        groups.append(more);
        groups.sort_by(|left, right| left["name"].as_str().cmp(&right["name"].as_str()));
    }
    Ok(Response::from_parts(parts, full(format!("{tree}\n"))))
}

async fn read(response: Response) -> Result<(http::response::Parts, Value), TransportError> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| TransportError::Broken(error.to_string()))?;
    Ok((parts, serde_json::from_slice(&body.to_bytes()).unwrap_or_default()))
}
