// SPDX-License-Identifier: Apache-2.0
//! Subresources that are more than a part of their object: `pods/log`, `pods/eviction`, tokens, kubeconfigs.

use apimachinery::Status;
use apimachinery::schema::Node;
use futures::future::BoxFuture;
use process::Response;
use serde_json::Value;

use crate::admission::Reads;
use crate::registry::RequestContext;
use crate::status::json_response;

/// What clients are told of a subresource.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Group of the kind that it takes and answers; empty for the core group.
    pub group: &'static str,
    /// Version of the kind.
    pub version: &'static str,
    /// Kind of the body and of the answer: `TokenRequest`.
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
    /// One of [`Facts::verbs`].
    pub verb: &'static str,
    /// Namespace of the object; empty for one without.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// The object, as it is served.
    pub object: Value,
    /// Parameters behind the question mark, decoded.
    pub query: Vec<(String, String)>,
    /// The body's tree, pruned by [`Facts::schema`]; null without a body.
    pub body: Value,
}

/// Answers requests for a subresource.
pub trait Subresource: Send + Sync + 'static {
    /// What clients are told of it.
    fn facts(&self) -> Facts;

    /// The answer: [`object`] or any other. `reads` is the server's state, at least as new as the request; a decision
    /// that takes time has read from it before it begins.
    ///
    /// # Errors
    /// What the client is told instead.
    fn answer<'a>(&'a self, request: SubresourceRequest, reads: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>>;
}

/// An answer that shows an object; 201 after `create`.
pub fn object(code: u16, tree: &Value) -> Response {
    json_response(code, format!("{tree}\n"))
}
