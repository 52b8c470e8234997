// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerRegistration` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A registered extension controller, and the kinds and types it is responsible for.
#[api_type]
pub struct ControllerRegistration {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the ControllerRegistration.
    pub spec: ControllerRegistrationSpec,
}

/// Deployment of an extension.
#[api_type]
pub struct ControllerRegistrationDeployment {
    /// OnDemand: in Seeds that need it; Always: in every Seed; AlwaysExceptNoShoots: in every Seed with Shoots. Default:
    /// OnDemand.
    pub policy: Option<String>,
    /// Labels that Seeds must have to get the extension.
    pub seed_selector: Option<LabelSelector>,
    /// ControllerDeployments with the chart; at most one.
    pub deployment_refs: Vec<DeploymentRef>,
}

/// Specification of a ControllerRegistration.
#[api_type]
pub struct ControllerRegistrationSpec {
    /// Kinds and types that the extension is responsible for.
    pub resources: Vec<ControllerResource>,
    /// Deployment of the extension.
    pub deployment: Option<ControllerRegistrationDeployment>,
}

/// A kind and type of resources that an extension is responsible for.
#[api_type]
pub struct ControllerResource {
    /// Kind: Infrastructure, Worker, Extension and so on.
    #[schema(required)]
    pub kind: String,
    /// Type, as in `spec.type` of the resources.
    #[schema(required)]
    pub r#type: String,
    /// Duration after which waiting for a resource to become ready times out. Default: 3m, for kind Extension.
    pub reconcile_timeout: Option<Duration>,
    /// True if this extension manages the lifecycle of the kind and type; further extensions only watch. Default: true.
    pub primary: Option<bool>,
    /// Order of reconciliation, deletion and migration of resources, relative to the API server.
    pub lifecycle: Option<ControllerResourceLifecycle>,
    /// True if Shoots without workers can use the extension.
    pub workerless_supported: Option<bool>,
    /// Clusters for which an Extension is enabled unless disabled explicitly: shoot, seed.
    pub auto_enable: Vec<String>,
    /// Clusters for which the extension can be used: shoot, seed.
    pub cluster_compatibility: Vec<String>,
    /// Enables updates of the endpoints of a SelfHostedShootExposure for the life of the Shoot. Served; not emulated.
    pub continuous_endpoint_update: Option<bool>,
    /// Enables the extension for every Shoot that does not disable it. Older form of autoEnable.
    #[schema(deprecated)]
    pub globally_enabled: Option<bool>,
}

/// Order in which resources of an extension are processed, relative to the API server.
#[api_type]
pub struct ControllerResourceLifecycle {
    /// BeforeKubeAPIServer, AfterKubeAPIServer or AfterWorker. Default: AfterKubeAPIServer.
    pub reconcile: Option<String>,
    /// BeforeKubeAPIServer or AfterKubeAPIServer. Default: BeforeKubeAPIServer.
    pub delete: Option<String>,
    /// BeforeKubeAPIServer or AfterKubeAPIServer. Default: BeforeKubeAPIServer.
    pub migrate: Option<String>,
}

/// Reference to a ControllerDeployment.
#[api_type]
pub struct DeploymentRef {
    /// Name of the ControllerDeployment.
    #[schema(required)]
    pub name: String,
}

impl_resource!(
    ControllerRegistration,
    "core.gardener.cloud",
    "v1beta1",
    "ControllerRegistration",
    "controllerregistrations",
    false
);
