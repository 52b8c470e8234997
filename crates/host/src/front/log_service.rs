// SPDX-License-Identifier: Apache-2.0
//! Serves the log of a landscape to processes that fold it themselves.
//!
//! | client | allowed |
//! | --- | --- |
//! | a component in group `system:masters`: gardener-apiserver | read and append |
//! | administrators | read, and forget history |
//! | other components | read |
//!
//! A component is authenticated by its certificate ([`crate::identity`]), so a process of an earlier start of the host
//! is rejected.

use std::sync::Arc;

use eventlog::EventLog;
use eventlog_remote::{Refusal, Server};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::transport::BodyError;
use process::{Request, Response, User};

/// Path for the compaction of history.
const COMPACT: &str = "/log/v1/compact";

/// Serves a log.
pub(crate) fn server(log: Arc<dyn EventLog>) -> Server {
    Server::new(log, authorize)
}

/// Answers a request.
pub(crate) async fn answer(server: &Server, request: Request) -> Response {
    server.serve(request).await.map(|body| body.map_err(|error| BodyError(error.0)).boxed_unsync())
}

fn authorize(parts: &Parts) -> Result<(), Refusal> {
    let refuse = |message: &str| Refusal { status: StatusCode::FORBIDDEN, message: message.to_owned() };
    let user = parts.extensions.get::<User>().cloned().unwrap_or_default();
    let is_administrator = user.groups.iter().any(|group| **group == *"system:masters");
    match (user.component.is_some(), is_administrator) {
        (false, false) => Err(refuse("the log is for components and administrators")),
        (true, true) => Ok(()),
        _ if parts.method == Method::GET => Ok(()),
        (false, true) if parts.uri.path() == COMPACT => Ok(()),
        _ => Err(refuse("only an API server of the landscape may write to the log")),
    }
}
