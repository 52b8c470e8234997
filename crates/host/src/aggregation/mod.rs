// SPDX-License-Identifier: Apache-2.0
//! Aggregation: forwards requests of aggregated groups, and merges discovery as if one server served everything.
//!
//! In a simulation the groups are served in the same process. In a landscape they are served by [`Instances`]:
//! processes, any of which answers any request, because the host specifies up to which revision the server must have
//! read the log. The condition of the APIService shows whether an instance runs.
//!
//! **Tour.** [`Backend`] the server; [`Instances`] the processes; `instance` one process; `lines` watches that end at a
//! line boundary; [`api_services`] the objects; `extensions` API servers of users.

pub mod api_services;
mod extensions;
mod instance;
mod instances;
mod lines;
mod news;

use api::catalogue::AGGREGATED_GROUPS;
use api::cluster;
use apimachinery::Status;
use apimachinery::release::Release;
use bytes::Bytes;
use generic_apiserver::discovery::ExtensionGroup;
use generic_apiserver::{Server, discovery};
use http::Method;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH};
use process::participant::LineCounts;
use process::transport::full;
use process::{Request, Response, TransportError, User};

pub(crate) use extensions::Extensions;
pub use instance::{AnswerLimit, Report};
pub use instances::Instances;
pub(crate) use lines::whole as whole_lines;
pub(crate) use news::News;

/// Server of the aggregated groups.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    /// A server of this process.
    Server(Server),
    /// Processes of gardener-apiserver.
    Instances(Instances),
}

impl Backend {
    /// Answers a request.
    pub(crate) async fn call(&self, request: Request) -> Result<Response, TransportError> {
        match self {
            Self::Server(server) => server.call(request).await,
            Self::Instances(instances) => instances.call(request).await,
        }
    }

    /// Release of the instances; `None` before the first instance.
    pub(crate) fn release(&self) -> Option<Release> {
        match self {
            Self::Server(server) => Some(server.release()),
            Self::Instances(instances) => instances.release(),
        }
    }

    /// Line counts of the watches of participants; `entries`: [`News::entries`] as of the log's head.
    pub(crate) async fn line_counts(&self, entries: u64) -> Watches {
        match self {
            Self::Server(server) => {
                let line_counts = server.line_counts().await.map(|(_, line_counts)| line_counts);
                Watches { line_counts, reached_others: server.take_reached_others() }
            }
            Self::Instances(instances) => instances.line_counts(entries).await,
        }
    }
}

/// Line counts of the watches of the aggregated groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watches {
    /// Line counts of the watches of participants; `None`: one of the API servers did not report.
    pub(crate) line_counts: Option<LineCounts>,
    /// True if a watch of a client without part in landscape time was sent a change since the last query.
    pub(crate) reached_others: bool,
}

/// Part of a path that is forwarded to the aggregated server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// The host answers.
    Nothing,
    /// The aggregated server answers.
    All,
    /// The list of groups of a cluster, to which several servers contribute.
    Groups,
}

/// True for clusters in which gardener-apiserver serves its groups.
pub(crate) fn is_aggregated(cluster: &str) -> bool {
    cluster == cluster::GARDEN || cluster == "*"
}

/// Classifies a path. Gardener's groups across all clusters are those of cluster `garden`.
pub(crate) fn handed(path: &str) -> Handed {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (Some("clusters"), Some(cluster)) = (segments.next(), segments.next()) else { return Handed::Nothing };
    let is_aggregated = is_aggregated(cluster);
    match (segments.next(), segments.next()) {
        (Some("apis"), None) => Handed::Groups,
        (Some("apis"), Some(group)) if is_aggregated && AGGREGATED_GROUPS.contains(&group) => Handed::All,
        (Some("gardener"), Some("version")) if is_aggregated => Handed::All,
        _ => Handed::Nothing,
    }
}

/// Response while no server has the group.
pub(crate) fn unavailable() -> Response {
    unavailable_because("service unavailable".to_owned())
}

/// Response while a server cannot be reached, with the reason.
pub(crate) fn unavailable_because(reason: String) -> Response {
    let mut response = Response::new(full(reason));
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Response to a request that cannot be forwarded.
pub(crate) fn refused(status: &Status) -> Response {
    json(http::StatusCode::from_u16(status.code).unwrap_or(http::StatusCode::BAD_REQUEST), status.to_bytes())
}

/// Builds a JSON response.
pub(crate) fn json(status: http::StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Answers `/apis`: the groups of both servers and of extension API servers.
pub(crate) async fn groups(
    own: &Server,
    aggregated: Option<&Backend>,
    extensions: &[ExtensionGroup],
    request: Request,
) -> Result<Response, TransportError> {
    let (parts, _) = request.into_parts();
    let again = || {
        let mut again = http::Request::new(full(""));
        *again.method_mut() = Method::GET;
        *again.uri_mut() = parts.uri.clone();
        *again.headers_mut() = parts.headers.clone();
        // The client's ETag is that of the merged list, not of one server's part.
        again.headers_mut().remove(IF_NONE_MATCH);
        again.headers_mut().remove(ACCEPT_ENCODING);
        if let Some(user) = parts.extensions.get::<User>() {
            again.extensions_mut().insert(user.clone());
        }
        again
    };
    let mut answers = vec![own.call(again()).await?];
    if let Some(aggregated) = aggregated {
        // If the aggregated server cannot be reached, the response has the groups of the host alone.
        answers.extend(aggregated.call(again()).await);
    }
    Ok(discovery::merge(&parts.headers, answers, extensions).await)
}
