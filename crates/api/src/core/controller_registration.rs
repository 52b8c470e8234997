// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerRegistration` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// An extension controller that is known, and the kinds and types it is responsible for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistration {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ControllerRegistrationSpec,
}

/// How an extension is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistrationDeployment {
    /// OnDemand: where it is needed; Always: in every Seed; AlwaysExceptNoShoots: in every Seed with Shoots. Default:
    /// OnDemand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Labels that Seeds must have to get the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<LabelSelector>,
    /// ControllerDeployments with the chart; at most one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deployment_refs: Vec<DeploymentRef>,
}

/// What a ControllerRegistration is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistrationSpec {
    /// Kinds and types that the extension is responsible for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ControllerResource>,
    /// How the extension is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ControllerRegistrationDeployment>,
}

/// A kind and type of resources that an extension is responsible for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerResource {
    /// Kind: Infrastructure, Worker, Extension and the like.
    #[schema(required)]
    pub kind: String,
    /// Type, as in `spec.type` of the resources.
    #[schema(required)]
    pub r#type: String,
    /// How long to wait for a resource to be ready. Default: 3m, for kind Extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconcile_timeout: Option<Duration>,
    /// Whether this extension is responsible for the life of the kind and type; others only watch. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<bool>,
    /// When resources are reconciled, deleted and migrated, relative to the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<ControllerResourceLifecycle>,
    /// Whether Shoots without workers can use the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workerless_supported: Option<bool>,
    /// Clusters for which an Extension is enabled unless they say otherwise: shoot, seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_enable: Vec<String>,
    /// Clusters for which the extension can be used: shoot, seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_compatibility: Vec<String>,
    /// Whether every Shoot uses the extension unless it says otherwise. Older form of autoEnable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub globally_enabled: Option<bool>,
}

/// When resources of an extension are worked on, relative to the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerResourceLifecycle {
    /// BeforeKubeAPIServer, AfterKubeAPIServer or AfterWorker. Default: AfterKubeAPIServer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconcile: Option<String>,
    /// BeforeKubeAPIServer or AfterKubeAPIServer. Default: BeforeKubeAPIServer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<String>,
    /// BeforeKubeAPIServer or AfterKubeAPIServer. Default: BeforeKubeAPIServer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrate: Option<String>,
}

/// Reference to a ControllerDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
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
