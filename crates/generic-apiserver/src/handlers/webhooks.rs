// SPDX-License-Identifier: Apache-2.0
//! Webhook calls of a write.

use apimachinery::meta::TextMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use clock::TimerClass;
use futures::future::{Either, join_all, select};
use serde_json::{Value, json};

use super::Scope;
use crate::admission::Operation;
use crate::kind::AnyObject;
use crate::request::FieldValidation;
use crate::reviews::user_info;
use crate::status::{Failure, Result};
use crate::storage::stored;
use crate::webhooks::configuration::{Configuration, RequestAttributes, Webhook};
use crate::webhooks::review::{Decision, decision, question};
use crate::webhooks::{GROUP, Webhooks};

/// Counter for the uids of reviews.
static REVIEWS: AtomicU64 = AtomicU64::new(0);

/// Change that admission reviews.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) operation: Operation,
    /// Name; empty while the server has not generated one.
    pub(super) name: &'a str,
    pub(super) old: Option<&'a AnyObject>,
}

impl Scope {
    /// Calls the mutating webhooks in their order, each of which may change the object; webhooks with reinvocation are
    /// called again if later ones changed the object.
    pub(super) async fn mutate(
        &self,
        change: Change<'_>,
        object: &mut Box<AnyObject>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Some(webhooks) = self.webhooks() else { return Ok(()) };
        let configurations = webhooks.mutating(&self.server.store, &self.call.route.cluster);
        let all: Vec<&Webhook> = configurations.iter().flat_map(|configuration| &configuration.webhooks).collect();
        let (mut asked, mut overtaken) = (Vec::new(), 0);
        for webhook in all {
            let Some(decision) = self.ask(webhooks, webhook, change, &**object).await? else { continue };
            let patch = decision.taken(warnings)?;
            if let Some(patch) = patch {
                self.take_patch(webhook, change, object, &patch)?;
                overtaken = asked.len();
            }
            asked.push(webhook);
        }
        for webhook in asked.into_iter().take(overtaken).filter(|webhook| webhook.is_reinvoked()) {
            let Some(decision) = self.ask(webhooks, webhook, change, &**object).await? else { continue };
            let patch = decision.taken(warnings)?;
            if let Some(patch) = patch {
                self.take_patch(webhook, change, object, &patch)?;
            }
        }
        Ok(())
    }

    /// Calls the validating webhooks concurrently; the first refusal in their order counts.
    pub(super) async fn review(
        &self,
        change: Change<'_>,
        object: &AnyObject,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Some(webhooks) = self.webhooks() else { return Ok(()) };
        let configurations: Vec<Arc<Configuration>> = webhooks.validating(&self.server.store, &self.call.route.cluster);
        let all = configurations.iter().flat_map(|configuration| &configuration.webhooks);
        let decisions = join_all(all.map(|webhook| self.ask(webhooks, webhook, change, object))).await;
        let mut reviewed = Ok(());
        for decision in decisions {
            // Warnings of all webhooks are returned, since all were called.
            let taken = match decision {
                Ok(Some(decision)) => decision.taken(warnings).map(|_| ()).map_err(Failure::from),
                Ok(None) => Ok(()),
                Err(failure) => Err(failure),
            };
            if reviewed.is_ok() {
                reviewed = taken;
            }
        }
        reviewed
    }

    /// Returns the webhooks, unless the request is for webhook configurations.
    fn webhooks(&self) -> Option<&Webhooks> {
        self.server.webhooks.as_ref().filter(|_| self.names().info.group != GROUP)
    }

    /// Returns the decision of a webhook; `None`: its rules do not match, or it cannot be called and fails open.
    async fn ask(
        &self,
        webhooks: &Webhooks,
        webhook: &Webhook,
        change: Change<'_>,
        object: &AnyObject,
    ) -> Result<Option<Decision>> {
        let info = &self.names().info;
        let operation = match change.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        };
        let new = (change.operation != Operation::Delete).then_some(object);
        let is_namespace = info.group.is_empty() && info.plural == "namespaces";
        let namespace = if is_namespace { change.name } else { self.path.namespace.as_str() };
        let labels = [new, change.old].map(|object| object.map(|object| &self.kind.metadata(object).labels));
        let of_namespace;
        let namespace_labels = if is_namespace {
            labels.iter().flatten().next().copied()
        } else {
            of_namespace = self.namespace_labels(namespace);
            of_namespace.as_ref()
        };
        let asked = RequestAttributes {
            operation,
            group: info.group,
            version: info.version,
            resource: info.plural,
            subresource: &self.path.subresource,
            namespace,
            namespace_labels,
            labels,
        };
        if !webhook.concerns(&asked) {
            return Ok(None);
        }
        let name = &webhook.name;
        if self.context.dry_run && !webhook.knows_dry_run() {
            return Err(Failure::BadRequest(format!("admission webhook {name:?} does not support dry run")));
        }
        let number = REVIEWS.fetch_add(1, Ordering::Relaxed);
        let uid = self.server.foundation.random.uid(&format!("review by {name}"), number);
        let review = question(self.request(&asked, &uid, change, new));
        let url = webhook.url();
        let cluster = &self.call.route.cluster;
        let endpoint = webhooks.endpoint(&self.server.store, cluster, &webhook.client_config);
        let call = webhooks.caller.call(
            cluster,
            &webhook.client_config,
            endpoint.as_ref(),
            &url,
            Bytes::from(review.to_string()),
            webhook.timeout(),
        );
        let patience = self.server.foundation.wall.sleep(webhook.timeout(), TimerClass::Calendar);
        let answer = match select(call, patience).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(format!("Post {url:?}: context deadline exceeded")),
        };
        let decided = answer
            .map_err(|reason| format!("failed to call webhook: {reason}"))
            .and_then(|body| decision(name, &uid, &body));
        match decided {
            Ok(decision) => Ok(Some(decision)),
            Err(reason) if webhook.fails_open() => {
                tracing::warn!(webhook = name, reason, "failing open");
                Ok(None)
            }
            Err(reason) => Err(Failure::Internal(format!("failed calling webhook {name:?}: {reason}"))),
        }
    }

    /// Returns the request of a review.
    fn request(&self, asked: &RequestAttributes<'_>, uid: &str, change: Change<'_>, new: Option<&AnyObject>) -> Value {
        let info = &self.names().info;
        let tree = |object: Option<&AnyObject>| object.map_or(Value::Null, |object| self.kind.to_tree(object));
        let kind = json!({ "group": info.group, "version": info.version, "kind": info.kind });
        let resource = json!({ "group": info.group, "version": info.version, "resource": info.plural });
        let options = match change.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        let mut options = json!({ "apiVersion": "meta.k8s.io/v1", "kind": options });
        if self.context.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        let mut request = json!({
            "uid": uid,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "operation": asked.operation,
            "userInfo": user_info(&self.call.user, &self.call.details),
            "object": tree(new),
            "oldObject": tree(change.old),
            "dryRun": self.context.dry_run,
            "options": options,
        });
        for (field, text) in [
            ("name", change.name),
            ("namespace", asked.namespace),
            ("subResource", asked.subresource),
            ("requestSubResource", asked.subresource),
        ] {
            if !text.is_empty() {
                request[field] = json!(text);
            }
        }
        request
    }

    /// Returns labels of a namespace; `None` without a namespace.
    fn namespace_labels(&self, namespace: &str) -> Option<TextMap> {
        let id = self.server.namespaces.filter(|_| !namespace.is_empty())?;
        let path = stored::path(&self.call.route.cluster, "", namespace);
        Some(self.server.store.get(id, &path).map(|stored| stored.labels()).unwrap_or_default())
    }

    /// Applies the patch of a webhook to the object.
    fn take_patch(
        &self,
        webhook: &Webhook,
        change: Change<'_>,
        object: &mut Box<AnyObject>,
        patch: &[u8],
    ) -> Result<()> {
        if change.operation == Operation::Delete {
            return Ok(());
        }
        let failed = |reason: &dyn std::fmt::Display| {
            Failure::Internal(format!(
                "admission webhook {:?} answered a patch that cannot be used: {reason}",
                webhook.name
            ))
        };
        let make = || {
            let encoded = self.kind.encode(&**object);
            let mut tree = self.opaque_tree(&**object, &encoded, true)?;
            self.json_patch(&mut tree, patch)?;
            Ok(tree)
        };
        let draft = self.pruned(make, None, FieldValidation::Ignore);
        let draft = draft.map_err(|error| failed(&error.status().message))?;
        let mut patched = self.object(draft.tree).map_err(|error| failed(&error.status().message))?;
        self.kind.default(&mut *patched);
        let (before, after) = (self.kind.metadata(&**object), self.kind.metadata(&*patched));
        if (&before.name, &before.namespace) != (&after.name, &after.namespace) {
            return Err(failed(&"it renames the object"));
        }
        *object = patched;
        Ok(())
    }
}
