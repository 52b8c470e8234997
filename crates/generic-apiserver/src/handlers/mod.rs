// SPDX-License-Identifier: Apache-2.0
//! Handlers of the verbs.

mod apply;
mod create;
mod delete;
mod draft;
mod ownership;
mod patch;
mod read;
mod scale;
mod update;
mod watch;
mod webhooks;
mod write;

use std::sync::Arc;

use apimachinery::{Status, validation};
use bytes::Bytes;
use eventlog::Actor;
use futures::future::BoxFuture;
use http::header::{ACCEPT, USER_AGENT};
use process::Response;

use self::draft::{Draft, Expected};
use crate::admission::Reads;
use crate::backend::Backend;
use crate::kind::Names;
use crate::negotiation::{self, Form};
use crate::output;
use crate::registry::RequestContext;
use crate::request::{Call, ResourcePath};
use crate::routes::Row;
use crate::scope::Scope;
use crate::snapshot::View;
use crate::status::{Failure, Result, json_response, warn};
use crate::storage::stored::Stored;
use crate::subresource::{Facts, Subresource, SubresourceRequest};
use crate::table::Include;

/// Answers a request for a resource; `hook` answers for the subresource, if the server has one for it.
pub(crate) async fn handle(
    server: &Arc<Backend>,
    call: Call,
    path: ResourcePath,
    row: Row,
    hook: Option<Arc<dyn Subresource>>,
    body: Bytes,
) -> Result<Response> {
    let names = row.kind.names();
    let is_custom = names.info.custom;
    if !path.subresource.is_empty() && hook.is_none() && !names.has_part(&path.subresource) {
        // The handler of custom resources has found the kind before this point.
        let resource = names.group_resource.clone();
        return Err(if is_custom { Failure::NotFound(resource, path.name) } else { Failure::NoSuchResource });
    }
    let missing = if is_custom { Failure::NoSuchPath } else { Failure::NoSuchResource };
    if !names.info.namespaced && !path.namespace.is_empty() {
        return Err(missing);
    }
    let single = !path.name.is_empty();
    if names.info.namespaced && path.namespace.is_empty() && single {
        return Err(missing);
    }
    if single {
        let reasons = validation::path_segment_name(&path.name);
        if !reasons.is_empty() {
            let reasons = reasons.join(";");
            return Err(Failure::BadRequest(format!("Name parameter invalid: {:?}: {reasons}", path.name)));
        }
    }
    let verb = call.verb(&path);
    let no_such_method = |names: &Names| {
        if is_custom { Status::method_not_supported(&names.group_resource, verb).into() } else { Failure::NoSuchMethod }
    };
    let across = call.route.cluster == "*";
    if across && !matches!(verb, "list" | "watch") {
        return Err(no_such_method(names));
    }
    // Resources that are read-only for clients are written by the server itself.
    let is_ours = call.user.component.is_some() || &*call.user.name == "system:apiserver";
    if names.info.read_only && !matches!(verb, "get" | "list") && !is_ours {
        return Err(no_such_method(names));
    }
    let nowhere = names.info.namespaced && path.namespace.is_empty();
    let is_served = match verb {
        "get" | "list" | "watch" => true,
        "create" => !single && !nowhere,
        "update" | "patch" => single,
        "delete" => path.subresource.is_empty(),
        "deletecollection" => !nowhere,
        _ => false,
    };
    if !is_custom && hook.is_none() {
        // The router judges the method before the media types.
        if !is_served {
            return Err(no_such_method(names));
        }
        negotiation::route(&call, verb, body.len())?;
    }
    let form = negotiation::form(call.header(ACCEPT));
    let form = form.ok_or_else(|| negotiation::not_acceptable(!is_custom))?;
    if matches!(form, Form::Table(_)) {
        Include::parse(call.query.text("includeObject"))?;
    }
    let context = RequestContext {
        cluster: call.route.cluster.as_str().into(),
        now: call.now,
        user: call.user.clone(),
        details: call.details.clone(),
        subresource: path.subresource.as_str().into(),
        dry_run: false,
        collection: false,
    };
    let Row { id, kind, views, via } = row;
    let scope = Scope { server: server.clone(), call, path, id, kind, views, via, context, form };
    if let Some(hook) = hook {
        return scope.hooked(hook, verb, &body).await;
    }
    if !is_served {
        return Err(no_such_method(scope.names()));
    }
    // Boxed: otherwise a future that waits for a response would hold, and move, the state of the largest of these futures.
    let answer: BoxFuture<'_, Result<Response>> = match verb {
        "get" if scope.path.subresource == "scale" => return scope.get_scale(),
        "get" => Box::pin(scope.get()),
        "list" => Box::pin(scope.list()),
        "watch" => Box::pin(scope.watch()),
        "create" => Box::pin(scope.create(body)),
        "update" if scope.path.subresource == "scale" => Box::pin(scope.update_scale(&body)),
        "update" => Box::pin(scope.update(&body)),
        "patch" if scope.path.subresource == "scale" => Box::pin(scope.patch_scale(&body)),
        "patch" => Box::pin(scope.patch(&body)),
        "delete" => Box::pin(scope.delete(&body)),
        "deletecollection" => Box::pin(scope.delete_collection(&body)),
        _ => return Err(no_such_method(scope.names())),
    };
    answer.await
}

/// Longest time in seconds that a client can request, some 136 years; longer times count as this.
const LONGEST: i64 = 1 << 32;

impl Scope {
    /// Passes the request to the handler of the subresource.
    async fn hooked(mut self, hook: Arc<dyn Subresource>, verb: &'static str, body: &[u8]) -> Result<Response> {
        if !hook.facts().verbs.contains(&verb) {
            return Err(Failure::NoSuchMethod);
        }
        self.context.dry_run = self.call.query.dry_run("CreateOptions")?;
        let object = self.tree(&*self.stored(&self.path.name)?);
        let Draft { tree: body, warnings } = if body.iter().all(u8::is_ascii_whitespace) {
            Draft { tree: serde_json::Value::Null, warnings: Vec::new() }
        } else {
            let Facts { group, version, kind, schema, .. } = hook.facts();
            let expected = Expected { group, version, kind, node: &schema() };
            self.draft_of(&expected, body, self.call.query.field_validation("CreateOptions")?)?
        };
        let request = SubresourceRequest {
            verb,
            object,
            body,
            query: self.call.query.pairs().to_vec(),
            namespace: self.path.namespace,
            name: self.path.name,
            context: self.context,
        };
        let answer = hook.answer(request, &Reads(&mut View::new(&self.server.store, &self.call.route.cluster)));
        let mut response = answer.await?;
        warn(&mut response, &warnings);
        Ok(response)
    }

    fn actor(&self) -> Arc<Actor> {
        let user = &self.call.user;
        let (component, version) = match &user.component {
            Some((component, version)) => (component.clone(), version.clone()),
            None => {
                let agent = self.call.header(USER_AGENT);
                (agent.split('/').next().unwrap_or_default().into(), "".into())
            }
        };
        Arc::new(Actor { user: user.name.clone(), component, version })
    }

    /// Returns a response with one object.
    fn answer(&self, code: u16, stored: &Stored) -> Response {
        let shown = self.shown(stored);
        let stored = shown.as_ref().unwrap_or(stored);
        match self.form {
            Form::Object => {
                let mut response = json_response(code, stored.bytes());
                response.extensions_mut().insert(stored.shared().clone());
                response
            }
            Form::Table(_) | Form::Partial(_) => json_response(code, output::object(self, stored)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size in bytes of the future of a pending request.
    fn size_of_future<F>(
        _: impl Fn(&'static Arc<Backend>, Call, ResourcePath, Row, Option<Arc<dyn Subresource>>, Bytes) -> F,
    ) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_pending_request_is_smaller_than_the_longest_verb() {
        let size = size_of_future(handle);
        assert!(size <= 4096, "{size} bytes are moved with each request");
    }
}
