// SPDX-License-Identifier: Apache-2.0
//! Resources of the host, and their strategies.

use std::sync::Arc;

use api::kubernetes::rbac;
use api::{catalogue, extensions, operator, terrarium};
use apimachinery::DynamicObject;
use apimachinery::catalogue::ResourceInfo;
use domain::autoscaling;
use domain::validation::garden;
use generic_apiserver::views::{self, Converted, Renamed};
use generic_apiserver::{Builder, Generic};

use crate::clock_object::ClockStrategy;
use crate::copies::CopiesStrategy;
use crate::core_kinds::CoreStrategy;
use crate::custom_resources::DefinitionStrategy;
use crate::evictions::Evictions;
use crate::fault_object::FaultStrategy;
use crate::garden_object::GardenStrategy;
use crate::kubelet::{LogHook, Logs};
use crate::namespaces::NamespaceStrategy;
use crate::rbac_kinds::RbacStrategy;
use crate::timing_object::TimingStrategy;
use crate::tokens::Tokens;
use crate::webhook_kinds::WebhookStrategy;

/// Registers every row.
///
/// Objects are stored as trees pruned by their schema, because nothing in the host reads their fields. Exceptions are
/// decoded: Cluster objects, which define the existing clusters; the Clock, which sets the mode of time; Faults; the
/// Timing; roles and their bindings; the kinds of gardener-operator, which its webhooks validate upstream; and the
/// Cluster objects of extensions: three long texts, of which mostly a few words change.
pub(crate) fn register<'a>(
    mut builder: Builder,
    rows: impl IntoIterator<Item = &'a ResourceInfo>,
    gardens: &garden::Rules,
) -> Builder {
    for row in rows {
        builder = if row.describes::<terrarium::Cluster>() {
            builder.resource::<terrarium::Cluster>(row, Generic)
        } else if row.describes::<terrarium::Clock>() {
            builder.resource::<terrarium::Clock>(row, ClockStrategy)
        } else if row.describes::<terrarium::Fault>() {
            builder.resource::<terrarium::Fault>(row, FaultStrategy)
        } else if row.describes::<terrarium::Timing>() {
            builder.resource::<terrarium::Timing>(row, TimingStrategy)
        } else if row.describes::<extensions::Cluster>() {
            builder.resource::<extensions::Cluster>(row, CopiesStrategy)
        } else if row.describes::<operator::Garden>() {
            builder.resource::<operator::Garden>(row, GardenStrategy(gardens.clone()))
        } else if row.describes::<operator::Extension>() {
            builder.resource::<operator::Extension>(row, Generic)
        } else if row.group.is_empty() && row.plural == "namespaces" {
            builder.resource::<DynamicObject>(row, NamespaceStrategy)
        } else if row.group == rbac::GROUP {
            match row.kind {
                "Role" => builder.resource::<rbac::Role>(row, RbacStrategy),
                "ClusterRole" => builder.resource::<rbac::ClusterRole>(row, RbacStrategy),
                "RoleBinding" => builder.resource::<rbac::RoleBinding>(row, RbacStrategy),
                _ => builder.resource::<rbac::ClusterRoleBinding>(row, RbacStrategy),
            }
        } else if row.group == "apiextensions.k8s.io" {
            builder.resource::<DynamicObject>(row, DefinitionStrategy)
        } else if row.custom {
            builder.resource::<DynamicObject>(row, Generic)
        } else if row.group == "admissionregistration.k8s.io" {
            let mutating = row.kind == "MutatingWebhookConfiguration";
            builder.resource::<DynamicObject>(row, WebhookStrategy { mutating })
        } else {
            builder.resource::<DynamicObject>(row, CoreStrategy::of(row.group, row.plural))
        };
    }
    builder
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
