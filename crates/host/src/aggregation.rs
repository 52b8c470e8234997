// SPDX-License-Identifier: Apache-2.0
//! Which requests are handed on, and discovery as if one server served everything.

use api::catalogue::AGGREGATED_GROUPS;
use generic_apiserver::{Server, discovery};
use http::Method;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH};
use process::transport::full;
use process::{Request, Response, TransportError, User};

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
        *again.headers_mut() = parts.headers.clone();
        // What the client knows is the whole, not a part.
        again.headers_mut().remove(IF_NONE_MATCH);
        again.headers_mut().remove(ACCEPT_ENCODING);
        if let Some(user) = parts.extensions.get::<User>() {
            again.extensions_mut().insert(user.clone());
        }
        server.call(again)
    };
    let mut answers = vec![ask(own).await?];
    if let Some(aggregated) = aggregated {
        answers.push(ask(aggregated).await?);
    }
    Ok(discovery::merge(&parts.headers, answers, &[]).await)
}
