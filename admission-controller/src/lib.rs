// SPDX-License-Identifier: Apache-2.0
//! gardener-admission-controller: webhooks that the garden's API servers call to validate requests.
//!
//! | path | validates | rejects |
//! | --- | --- | --- |
//! | `/webhooks/validate-namespace-deletion` | deletion of projects' namespaces | direct deletion, and deletion while there are Shoots |
//! | `/webhooks/validate-kubeconfig-secrets` | Secrets of projects | kubeconfigs that run programs or read files |
//! | `/webhooks/validate-shoot-kubeconfig-secret-ref` | changes of Secrets | removal of a kubeconfig that Shoots refer to |
//! | `/webhooks/validate-resource-size` | resources that the configuration names | objects that exceed the configured size |
//!
//! It is only a server: [`Webhooks::call`] answers requests, over HTTPS in a landscape. The inputs of a decision are
//! read per request, so a process without requests costs nothing.
//!
//! **Deliberately absent**: the other webhooks of upstream and the seed authorizer. Inputs are never read from a cache.
//!
//! **Invariants.** The rules are `domain::admission::webhooks`. No state, no timers, no reconcile loops.
//!
//! **Tour.** [`Webhooks`] dispatch by path; [`Options`] configuration; [`review`] request and response format.
//!
//! Source: pkg/admissioncontroller @ v1.120.0.

pub mod binary;
pub mod configurations;
mod review;

use std::sync::Arc;

use api::constants::label;
use api::core::{Project, Shoot};
use api::kubernetes::core::{Namespace, Secret};
use apimachinery::{GroupResource, Resource, Status};
use controller::{Api, Error, ListOptions};
use domain::admission::webhooks as rules;
use http::StatusCode;
use http_body_util::BodyExt;
use process::transport::{ResponseFuture, full};
use process::{Context, Request, Response};

use crate::review::Review;

/// Cluster of Gardener's API.
const CLUSTER: &str = "garden";

/// The fields of `admissioncontroller.config.gardener.cloud/v1alpha1` that have an effect here.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Setting `server.resourceAdmissionConfiguration`.
    pub resource_admission: Option<rules::ResourceAdmission>,
}

/// The webhooks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    context: Context,
    options: Arc<Options>,
}

/// A webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Webhook {
    NamespaceDeletion,
    KubeconfigSecrets,
    ShootKubeconfigSecretRef,
    ResourceSize,
}

impl Webhook {
    const ALL: [Self; 4] =
        [Self::NamespaceDeletion, Self::KubeconfigSecrets, Self::ShootKubeconfigSecretRef, Self::ResourceSize];

    const fn path(self) -> &'static str {
        match self {
            Self::NamespaceDeletion => "/webhooks/validate-namespace-deletion",
            Self::KubeconfigSecrets => "/webhooks/validate-kubeconfig-secrets",
            Self::ShootKubeconfigSecretRef => "/webhooks/validate-shoot-kubeconfig-secret-ref",
            Self::ResourceSize => "/webhooks/validate-resource-size",
        }
    }

    fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|webhook| webhook.path() == path)
    }
}

impl Webhooks {
    /// Creates the webhooks of a component, and logs their paths.
    pub fn new(context: Context, options: Options) -> Self {
        for webhook in Webhook::ALL {
            tracing::info!(path = webhook.path(), "Registering webhook");
        }
        Self { context, options: Arc::new(options) }
    }

    /// Answers a request: 404 for a path without a webhook, 400 for a body that is not an AdmissionReview.
    pub fn call(&self, request: Request) -> ResponseFuture {
        let webhooks = self.clone();
        Box::pin(async move { Ok(webhooks.answer(request).await) })
    }

    async fn answer(&self, request: Request) -> Response {
        let Some(webhook) = Webhook::at(request.uri().path()) else {
            return response(StatusCode::NOT_FOUND, "404 page not found\n");
        };
        let body = match request.into_body().collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return response(StatusCode::BAD_REQUEST, error.to_string()),
        };
        match Review::read(&body) {
            Ok(review) => {
                let decision = self.decide(webhook, &review).await;
                review.log(webhook.path(), &decision);
                response(StatusCode::OK, review.answer(decision))
            }
            Err(reason) => response(StatusCode::BAD_REQUEST, reason),
        }
    }

    async fn decide(&self, webhook: Webhook, review: &Review) -> Result<(), Status> {
        match webhook {
            Webhook::NamespaceDeletion => self.namespace_deletion(&review.name).await,
            Webhook::KubeconfigSecrets if review.is_written() => {
                rules::kubeconfig_secret(&review.name, &review.object::<Secret>()?.data, |text| {
                    yaml::value(text).map_err(|error| error.to_string())
                })
            }
            Webhook::ShootKubeconfigSecretRef if review.is_written() => self.kubeconfig_in_use(review).await,
            Webhook::ResourceSize if review.is_written() => match &self.options.resource_admission {
                Some(limits) => {
                    let resource = GroupResource { group: review.group.clone(), resource: review.resource.clone() };
                    let user = rules::User { name: &review.user, groups: &review.groups };
                    limits.check(user, &resource, &review.version, &review.name, &review.object)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn all<K: Resource>(&self) -> Api<K> {
        Api::all(&self.context, CLUSTER)
    }

    async fn namespace_deletion(&self, name: &str) -> Result<(), Status> {
        let Some(namespace) = self.all::<Namespace>().get_opt(name).await.map_err(internal)? else { return Ok(()) };
        let Some(project) = namespace.metadata.labels.get(label::PROJECT_NAME) else { return Ok(()) };
        let Some(project) = self.all::<Project>().get_opt(project).await.map_err(internal)? else { return Ok(()) };
        if namespace.metadata.is_being_deleted() {
            return Ok(());
        }
        let has_shoots = project.metadata.is_being_deleted() && !self.shoots(name).await?.is_empty();
        rules::namespace_deletion(name, &project, has_shoots)
    }

    async fn kubeconfig_in_use(&self, review: &Review) -> Result<(), Status> {
        let secret: Secret = review.object()?;
        if secret.data.get("kubeconfig").is_some_and(|kubeconfig| !kubeconfig.0.is_empty()) {
            return Ok(());
        }
        let shoots = self.shoots(&review.namespace).await?;
        rules::kubeconfig_in_use(&review.name, shoots.iter())
    }

    async fn shoots(&self, namespace: &str) -> Result<Vec<Shoot>, Status> {
        let api = Api::<Shoot>::namespaced(&self.context, CLUSTER, namespace);
        let (shoots, _) = api.list(&ListOptions::default()).await.map_err(internal)?;
        Ok(shoots)
    }
}

fn internal(error: Error) -> Status {
    Status::internal_error(&error.to_string())
}

fn response(code: StatusCode, body: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(full(body));
    *response.status_mut() = code;
    response
}
