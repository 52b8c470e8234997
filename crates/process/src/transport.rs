// SPDX-License-Identifier: Apache-2.0
//! Requests to API servers: HTTPS in a landscape, the server's router in a simulation.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;

/// A body of requests and responses.
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BodyError>;
/// A request; its URI is a path with `/clusters/NAME` in front.
pub type Request = http::Request<Body>;
/// A response.
pub type Response = http::Response<Body>;

/// A body that broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body broke off: {0}")]
pub struct BodyError(pub String);

/// A body from bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    http_body_util::Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An authenticated user, as a request extension in a simulation, from certificate or token in a landscape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: Arc<str>,
    /// Groups.
    pub groups: Vec<Arc<str>>,
    /// Component and version, where the user is one of ours.
    pub component: Option<(Arc<str>, Arc<str>)>,
}

/// Why a request got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Nobody answers under the name.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// The future of a response.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, TransportError>> + Send>>;

/// Sends requests with one component's identity. Cheap to clone.
#[derive(Clone)]
pub struct Transport(Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>);

impl Transport {
    /// A transport that hands every request to `send`.
    pub fn new(send: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends a request.
    pub fn send(&self, request: Request) -> ResponseFuture {
        (self.0)(request)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}
