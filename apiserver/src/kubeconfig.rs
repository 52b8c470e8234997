// SPDX-License-Identifier: Apache-2.0
//! `shoots/adminkubeconfig` and `shoots/viewerkubeconfig`: issue a client certificate for the cluster of a Shoot to
//! authorized users.
//!
//! ```text
//! InternalSecret NAME.ca-client  signs   CN and O of domain::rbac::kubeconfig
//! ConfigMap      NAME.ca-cluster is      certificate-authority-data
//! status.advertisedAddresses     name    clusters and contexts, the first is the current one
//! ```
//!
//! All times are landscape time, since the cluster's API server uses it. The key is the landscape's, not random: a user
//! that sends two requests at one instant gets the same certificate.
//!
//! Unlike upstream: if the landscape has its own address ([`ShootAccess`]), every cluster of the kubeconfig uses it
//! instead of a name that no resolver knows, and the landscape's authority follows the cluster's bundle.
//!
//! **Invariants.** Nothing is stored; the same request may be answered by any instance.
//!
//! Source: pkg/apiserver/registry/core/shoot/storage/kubeconfig.go, pkg/utils/secrets/control_plane.go @ v1.120.0.

use std::sync::Arc;

use api::authentication::{AdminKubeconfigRequest, ViewerKubeconfigRequest};
use api::catalogue;
use api::core::{InternalSecret, Shoot, ShootAdvertisedAddress};
use api::kubernetes::core::{ConfigMap, Secret};
use apimachinery::meta::{ByteString, Time};
use apimachinery::{GroupKind, Resource, Status};
use chrono::TimeDelta;
use clock::Random;
use domain::rbac::Attributes;
use domain::rbac::kubeconfig::Access;
use domain::release::Release;
use domain::validation::kubeconfig as rules;
use futures::future::BoxFuture;
use generic_apiserver::admission::Reads;
use generic_apiserver::authorization::Question;
use generic_apiserver::subresource::{self, Facts, Subresource, SubresourceRequest};
use generic_apiserver::{Authorizer, RequestContext};
use process::Response;
use process::pki::{Authority, Key, Leaf, Validity};
use serde_json::{Value, json};

use crate::Options;

/// Address at which the clusters of Shoots are actually reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShootAccess {
    /// `host:port` of the landscape.
    pub server: String,
    /// Certificates of its authorities, as PEM.
    pub authorities: String,
}

/// Period by which a certificate is valid earlier than its issue, since clocks differ.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

/// Handler of one of the two subresources.
pub(crate) struct KubeconfigHook {
    facts: Facts,
    kind: Access,
    maximum: TimeDelta,
    access: Option<ShootAccess>,
    release: Release,
    random: Random,
    authorizer: Arc<dyn Authorizer>,
}

impl KubeconfigHook {
    pub(crate) fn new(kind: Access, options: &Options, random: Random, authorizer: Arc<dyn Authorizer>) -> Self {
        let (facts, maximum) = match kind {
            Access::Admin => (facts::<AdminKubeconfigRequest>(), options.admin_kubeconfig_max_expiration),
            Access::Viewer => (facts::<ViewerKubeconfigRequest>(), options.viewer_kubeconfig_max_expiration),
        };
        let release = options.version.served_release();
        Self { facts, kind, maximum, access: options.shoot_access.clone(), release, random, authorizer }
    }

    /// Returns name and group of the certificate for a user. `key`: identity and time of the request.
    fn subject(&self, context: &RequestContext, (object, ordinal): (&str, u64)) -> (String, &'static str) {
        let user = &context.user;
        let is_of_system = self.kind.asked(self.release).map(|asked| {
            let Attributes { verb, group, resource, subresource, namespace, name, path } = asked;
            let cluster = &context.cluster;
            let question = Question { user, cluster, verb, group, resource, subresource, namespace, name, path };
            self.authorizer.authorize(&question).is_ok()
        });
        let random = self.random.suffix(10, "kubeconfig-user", object, ordinal);
        (self.kind.name(self.release, &user.name, &random), self.kind.group(is_of_system))
    }

    fn created(&self, request: &SubresourceRequest, reads: &Reads<'_>) -> Result<Response, Status> {
        let kind = GroupKind { group: self.facts.group.to_owned(), kind: self.facts.kind.to_owned() };
        let mut tree = request.body.clone();
        if tree.is_null() {
            tree = json!({ "apiVersion": format!("{}/{}", self.facts.group, self.facts.version), "kind": kind.kind });
        }
        let seconds = tree["spec"]["expirationSeconds"].as_i64().unwrap_or(rules::DEFAULT_SECONDS);
        let errors = rules::request(seconds);
        if !errors.is_empty() {
            return Err(Status::invalid(&kind, "", &errors));
        }
        let missing = || Status::not_found(&catalogue::of::<Shoot>().group_resource(), &request.name);
        let shoot = reads.get::<Shoot>(&request.namespace, &request.name).ok_or_else(missing)?;
        let addresses =
            rules::addresses(&shoot).map_err(|error| Status::invalid(&kind, &shoot.metadata.name, &[error]))?;
        let authority = client_authority(&shoot, reads)?;
        let bundle = cluster_bundle(&shoot, reads)?;

        let now = request.context.now;
        let not_after = now + rules::lasts(seconds, self.maximum);
        let user = &*request.context.user.name;
        let object = format!("{}/{}/{user}", request.namespace, request.name);
        let ordinal = u64::try_from(now.timestamp_millis()).unwrap_or_default();
        let key = Key::landscape(&self.random, self.facts.kind, &object, ordinal);
        let validity = Validity { not_before: now - CLOCK_SKEW, not_after };
        let (user, group) = self.subject(&request.context, (&object, ordinal));
        let pair = authority
            .issue(Leaf::Client(&user, &[group]), &key, validity)
            .map_err(|error| Status::internal_error(&error.to_string()))?;

        let name = format!("{}--{}", request.namespace, request.name);
        let mut clusters = Vec::new();
        for address in addresses {
            clusters.push((format!("{name}-{}", address.name), self.cluster(&shoot, address, &bundle)));
        }
        let text = yaml::to_string(&kubeconfig(&clusters, &pair.certificate, &pair.key))
            .map_err(|error| Status::internal_error(&error.to_string()))?;
        tree["spec"]["expirationSeconds"] = json!(seconds);
        if !tree["metadata"].is_object() {
            tree["metadata"] = json!({});
        }
        tree["metadata"]["creationTimestamp"] = Value::Null;
        tree["status"] = json!({
            "kubeconfig": ByteString(text.into_bytes()).to_base64(),
            "expirationTimestamp": Time::from_instant(not_after),
        });
        Ok(subresource::object(201, &tree))
    }

    /// Returns one cluster of the kubeconfig.
    fn cluster(&self, shoot: &Shoot, address: &ShootAdvertisedAddress, bundle: &str) -> Value {
        let bundle = if address.name == rules::WILDCARD_ADDRESS { "" } else { bundle };
        let (server, bundle) = match &self.access {
            Some(access) => (
                format!("https://{}/clusters/{}", access.server, shoot.status.technical_id),
                format!("{bundle}{}", access.authorities),
            ),
            None => (address.url.clone(), bundle.to_owned()),
        };
        let mut cluster = json!({ "server": server });
        if !bundle.is_empty() {
            cluster["certificate-authority-data"] = json!(encode(&bundle));
        }
        cluster
    }
}

impl Subresource for KubeconfigHook {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, reads: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        let answer = self.created(&request, reads);
        Box::pin(async { answer })
    }
}

fn facts<K: Resource>() -> Facts {
    Facts { group: K::GROUP, version: K::VERSION, kind: K::KIND, verbs: &["create"], schema: K::node }
}

/// Returns the authority of the cluster's users.
fn client_authority(shoot: &Shoot, reads: &Reads<'_>) -> Result<Authority, Status> {
    let name = format!("{}.ca-client", shoot.metadata.name);
    let Some(secret) = reads.get::<InternalSecret>(&shoot.metadata.namespace, &name) else {
        let text = format!("could not get client CA secret: internalsecret.core.gardener.cloud {name:?} not found");
        return Err(Status::internal_error(&text));
    };
    let text = |key: &str| {
        let bytes = secret.data.get(key).map(|value| value.0.clone()).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    };
    Authority::from_pem(&text("ca.crt"), &text("ca.key"))
        .map_err(|error| Status::internal_error(&format!("could not load client CA certificate from secret: {error}")))
}

/// Returns the authorities of the cluster's API server, as PEM.
fn cluster_bundle(shoot: &Shoot, reads: &Reads<'_>) -> Result<String, Status> {
    let name = format!("{}.ca-cluster", shoot.metadata.name);
    let namespace = &shoot.metadata.namespace;
    let bundle = if let Some(map) = reads.get::<ConfigMap>(namespace, &name) {
        map.data.get("ca.crt").cloned().unwrap_or_default()
    } else if let Some(secret) = reads.get::<Secret>(namespace, &name) {
        let bytes = secret.data.get("ca.crt").map(|value| value.0.clone()).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    } else {
        let text = format!("could not get cluster CA secret: secret {name:?} not found");
        return Err(Status::internal_error(&text));
    };
    if bundle.is_empty() {
        return Err(Status::internal_error("could not load cluster CA bundle"));
    }
    Ok(bundle)
}

/// Returns a kubeconfig with one user for all clusters, as Go writes it.
fn kubeconfig(clusters: &[(String, Value)], certificate: &str, key: &str) -> Value {
    let user = clusters.first().map_or("", |(name, _)| name.as_str());
    let context = |(name, _): &(String, Value)| json!({ "name": name, "context": { "cluster": name, "user": user } });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": clusters.iter().map(|(name, it)| json!({ "name": name, "cluster": it })).collect::<Vec<_>>(),
        "contexts": clusters.iter().map(context).collect::<Vec<_>>(),
        "current-context": user,
        "preferences": {},
        "users": [{ "name": user, "user": {
            "client-certificate-data": encode(certificate),
            "client-key-data": encode(key),
        } }],
    })
}

fn encode(text: &str) -> String {
    ByteString(text.as_bytes().to_vec()).to_base64()
}
