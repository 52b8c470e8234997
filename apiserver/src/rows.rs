// SPDX-License-Identifier: Apache-2.0
//! Kinds that are served or read here without their own rules.

use api::kubernetes::{coordination, core as kubernetes};
use api::{catalogue, operations, security, settings};
use apimachinery::{DynamicObject, Resource};
use generic_apiserver::views::Renamed;
use generic_apiserver::{Builder, Generic, webhooks};

/// ControllerDeployments of `v1beta1`, stored as those of `v1` (upstream: pkg/apis/core/v1beta1/conversions.go). A type
/// other than `helm` is refused here.
const CONTROLLER_DEPLOYMENTS: Renamed = Renamed {
    fields: &[("providerConfig", "helm")],
    inner: &[("providerConfig", &[("chart", "rawChart")])],
    fixed: &[("type", "helm")],
    required: &["type"],
    converted: None,
};

/// Serves a kind with the generic strategy.
fn plain<K: Resource>(builder: Builder) -> Builder {
    builder.resource::<K>(catalogue::of::<K>(), Generic)
}

/// Serves the kinds of Gardener that have no validation here yet.
pub(crate) fn others(builder: Builder) -> Builder {
    let builder = plain::<operations::Bastion>(builder);
    let builder = plain::<security::WorkloadIdentity>(builder);
    let builder = plain::<settings::OpenIDConnectPreset>(builder);
    plain::<settings::ClusterOpenIDConnectPreset>(builder)
}

/// Serves the older version of kinds with two versions.
pub(crate) fn views(builder: Builder) -> Builder {
    let stored = catalogue::of::<api::core_v1::ControllerDeployment>();
    builder.view(catalogue::controller_deployments_view(), stored, CONTROLLER_DEPLOYMENTS)
}

/// Folds the kinds of Kubernetes that admission reads.
pub(crate) fn known(builder: Builder) -> Builder {
    builder
        .known::<kubernetes::Namespace>(catalogue::of::<kubernetes::Namespace>())
        .known::<kubernetes::Secret>(catalogue::of::<kubernetes::Secret>())
        .known::<kubernetes::ConfigMap>(catalogue::of::<kubernetes::ConfigMap>())
        .known::<kubernetes::ResourceQuota>(catalogue::of::<kubernetes::ResourceQuota>())
}

/// Folds the kinds that configure webhooks, the kinds that resolve Services, and the Leases that locate processes.
pub(crate) fn webhooks(builder: Builder) -> Builder {
    let rows = catalogue::all().iter().filter(|row| webhooks::is_read(row.group, row.plural));
    rows.fold(builder, Builder::known::<DynamicObject>)
        .known::<coordination::Lease>(catalogue::of::<coordination::Lease>())
}
