// SPDX-License-Identifier: Apache-2.0
//! References, taints and other small parts that several kinds share.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

/// An address of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerIngress {
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ip: String,
    /// The host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// How traffic to the address arrives: VIP or Proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_mode: Option<String>,
    /// State of the ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub ports: Vec<PortStatus>,
}

/// Reference to an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LocalObjectReference {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Reference to an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectReference {
    /// Kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Version of the object's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Part of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

/// State of a load balancer's port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortStatus {
    /// Number of the port.
    #[schema(required)]
    pub port: i32,
    /// Protocol of the port.
    #[schema(required)]
    pub protocol: String,
    /// Why the port does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Reference to a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretReference {
    /// Name of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// Keeps pods away that do not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// Key of the taint.
    #[schema(required)]
    pub key: String,
    /// Value of the taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// NoSchedule, PreferNoSchedule or NoExecute.
    #[schema(required)]
    pub effect: String,
    /// When the taint was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// A taint that is tolerated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    /// Key of the taint; none: any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Exists or Equal. Default: Equal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// Value of the taint, for Equal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Effect of the taint; none: any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// Seconds for which NoExecute is tolerated. Default: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}
