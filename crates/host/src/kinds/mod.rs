// SPDX-License-Identifier: Apache-2.0
//! Resources of the host, and their strategies.

pub mod clock_object;
pub mod copies;
pub(crate) mod custom_resources;
pub(crate) mod evictions;
mod fault;
pub(crate) mod gardens;
pub(crate) mod installed;
mod kubernetes;
pub(crate) mod namespaces;
mod roles;
pub(crate) mod timing;
mod webhooks;

use std::sync::Arc;

use api::kubernetes::rbac;
use api::{catalogue, extensions, operator, terrarium};
use apimachinery::DynamicObject;
use apimachinery::catalogue::ResourceInfo;
use domain::autoscaling;
use domain::validation::garden;
use generic_apiserver::views::{self, Converted, Renamed};
use generic_apiserver::{Builder, Generic};

use crate::identity::tokens::Tokens;
use crate::kinds::clock_object::ClockStrategy;
use crate::kinds::copies::CopiesStrategy;
use crate::kinds::custom_resources::DefinitionStrategy;
use crate::kinds::evictions::Evictions;
use crate::kinds::fault::FaultStrategy;
use crate::kinds::gardens::GardenStrategy;
use crate::kinds::kubernetes::CoreStrategy;
use crate::kinds::namespaces::NamespaceStrategy;
use crate::kinds::roles::RbacStrategy;
use crate::kinds::timing::TimingStrategy;
use crate::kinds::webhooks::WebhookStrategy;
use crate::pods::kubelet::{LogHook, Logs};

/// Returns true for the rows that a [`Register`] is for.
type Condition = fn(&ResourceInfo) -> bool;

/// Registers the resource of a row.
type Register = fn(Builder, &ResourceInfo, &garden::Rules) -> Builder;

/// Rows, by a condition, whose objects are decoded or whose strategy is their own; the first condition that holds counts.
///
/// All other objects are stored as trees pruned by their schema, because nothing in the host reads their fields. Decoded
/// are: Cluster objects, which define the existing clusters; the Clock, which sets the mode of time; Faults; the Timing;
/// roles and their bindings; the kinds of gardener-operator, which its webhooks validate upstream; and the Cluster
/// objects of extensions: three long texts, of which mostly a few words change.
const OWN: &[(Condition, Register)] = &[
    (ResourceInfo::describes::<terrarium::Cluster>, |to, row, _| to.resource::<terrarium::Cluster>(row, Generic)),
    (ResourceInfo::describes::<terrarium::Clock>, |to, row, _| to.resource::<terrarium::Clock>(row, ClockStrategy)),
    (ResourceInfo::describes::<terrarium::Fault>, |to, row, _| to.resource::<terrarium::Fault>(row, FaultStrategy)),
    (ResourceInfo::describes::<terrarium::Timing>, |to, row, _| to.resource::<terrarium::Timing>(row, TimingStrategy)),
    (ResourceInfo::describes::<extensions::Cluster>, |to, row, _| {
        to.resource::<extensions::Cluster>(row, CopiesStrategy)
    }),
    (ResourceInfo::describes::<operator::Garden>, |to, row, gardens| {
        to.resource::<operator::Garden>(row, GardenStrategy(gardens.clone()))
    }),
    (ResourceInfo::describes::<operator::Extension>, |to, row, _| to.resource::<operator::Extension>(row, Generic)),
    (ResourceInfo::describes::<rbac::Role>, |to, row, _| to.resource::<rbac::Role>(row, RbacStrategy)),
    (ResourceInfo::describes::<rbac::ClusterRole>, |to, row, _| to.resource::<rbac::ClusterRole>(row, RbacStrategy)),
    (ResourceInfo::describes::<rbac::RoleBinding>, |to, row, _| to.resource::<rbac::RoleBinding>(row, RbacStrategy)),
    (ResourceInfo::describes::<rbac::ClusterRoleBinding>, |to, row, _| {
        to.resource::<rbac::ClusterRoleBinding>(row, RbacStrategy)
    }),
    (
        |row| row.group.is_empty() && row.plural == "namespaces",
        |to, row, _| to.resource::<DynamicObject>(row, NamespaceStrategy),
    ),
    (|row| row.group == "apiextensions.k8s.io", |to, row, _| to.resource::<DynamicObject>(row, DefinitionStrategy)),
    (|row| row.custom, |to, row, _| to.resource::<DynamicObject>(row, Generic)),
    (
        |row| row.group == "admissionregistration.k8s.io",
        |to, row, _| {
            let mutating = row.kind == "MutatingWebhookConfiguration";
            to.resource::<DynamicObject>(row, WebhookStrategy { mutating })
        },
    ),
];

/// Registers every row; those that are not in [`OWN`] are kinds of Kubernetes.
pub(crate) fn register<'a>(
    builder: Builder,
    rows: impl IntoIterator<Item = &'a ResourceInfo>,
    gardens: &garden::Rules,
) -> Builder {
    rows.into_iter().fold(builder, |builder, row| match OWN.iter().find(|(is_it, _)| is_it(row)) {
        Some((_, register)) => register(builder, row, gardens),
        None => builder.resource::<DynamicObject>(row, CoreStrategy::of(row.group, row.plural)),
    })
}

/// Serves the output of processes.
pub(crate) fn logs(builder: Builder, logs: Option<Logs>) -> Builder {
    let pods = catalogue::find("", "v1", "pods").expect("Pods have a row");
    match logs {
        Some(logs) => builder.subresource(pods, "log", LogHook(logs)),
        None => builder,
    }
}

/// Serves and accepts tokens of ServiceAccounts.
pub(crate) fn tokens(builder: Builder, tokens: Option<&Tokens>) -> Builder {
    let accounts = catalogue::find("", "v1", "serviceaccounts").expect("ServiceAccounts have a row");
    match tokens {
        Some(tokens) => builder.subresource(accounts, "token", tokens.clone()).authenticator(Arc::new(tokens.clone())),
        None => builder,
    }
}

/// Serves evictions of pods.
pub(crate) fn evictions(builder: Builder, evictions: &Evictions) -> Builder {
    let pods = catalogue::find("", "v1", "pods").expect("Pods have a row");
    builder.subresource(pods, "eviction", evictions.clone())
}

/// Serves resources that every cluster has and that are not stored.
pub(crate) fn unstored(mut builder: Builder) -> Builder {
    for review in catalogue::reviews() {
        builder = builder.review(review);
    }
    let events = catalogue::find("", "v1", "events").expect("Events have a row");
    let autoscalers = catalogue::autoscalers_view();
    let stored = catalogue::find(autoscalers.group, "v2", autoscalers.plural).expect("autoscalers have a row");
    let older = Converted { inwards: autoscaling::to_v2, outwards: autoscaling::to_v1 };
    let builder = builder.view(autoscalers, stored, Renamed { converted: Some(older), ..Renamed::NOTHING });
    builder.view(catalogue::events_view(), events, views::EVENTS)
}
