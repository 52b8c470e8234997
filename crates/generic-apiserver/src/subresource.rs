// SPDX-License-Identifier: Apache-2.0
//! Subresources that are not a part of their object: `pods/log`, `pods/eviction`, tokens, kubeconfigs.

use apimachinery::Status;
use apimachinery::schema::Node;
use futures::future::BoxFuture;
use process::Response;
use serde_json::Value;

use crate::admission::Reads;
use crate::registry::RequestContext;
use crate::status::json_response;

/// Description of a subresource for discovery and OpenAPI.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Group of the kind in requests and responses; empty for the core group.
    pub group: &'static str,
    /// Version of the kind.
    pub version: &'static str,
    /// Kind of request and response bodies: `TokenRequest`.
    pub kind: &'static str,
    /// Verbs, sorted: `create`, `get`, `patch`, `update`.
    pub verbs: &'static [&'static str],
    /// Schema of the kind.
    pub schema: fn() -> Node,
}

/// A request for a subresource of an object that exists.
#[derive(Clone, Debug)]
pub struct SubresourceRequest {
    /// Cluster, time, user.
    pub context: RequestContext,
    /// Verb of the request: one of [`Facts::verbs`].
    pub verb: &'static str,
    /// Namespace of the object; empty for one without.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// The object as it is served.
    pub object: Value,
    /// Parameters after the question mark, decoded.
    pub query: Vec<(String, String)>,
    /// Tree of the body, pruned by [`Facts::schema`]; null without a body.
    pub body: Value,
}

/// Answers requests for a subresource.
pub trait Subresource: Send + Sync + 'static {
    /// Returns the description of the subresource.
    fn facts(&self) -> Facts;

    /// Returns the response: [`object`] or any other. `reads` is the server's state, at least as new as the request; a
    /// decision that takes time must have read from it before it begins.
    ///
    /// # Errors
    /// The `Status` for the client.
    fn answer<'a>(&'a self, request: SubresourceRequest, reads: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>>;
}

/// Returns a response with an object; 201 after `create`.
pub fn object(code: u16, tree: &Value) -> Response {
    json_response(code, format!("{tree}\n"))
}
