// SPDX-License-Identifier: Apache-2.0
//! References, taints and other small parts that several kinds share.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// An address of a load balancer.
#[api_type]
pub struct LoadBalancerIngress {
    /// The address.
    pub ip: String,
    /// The host name.
    pub hostname: String,
    /// Delivery of traffic to the address: VIP or Proxy.
    pub ip_mode: Option<String>,
    /// State of the ports.
    #[schema(list_type = "atomic")]
    pub ports: Vec<PortStatus>,
}

/// Reference to an object in the same namespace.
#[api_type]
pub struct LocalObjectReference {
    /// Name of the object.
    pub name: String,
}

/// Reference to an object.
#[api_type]
pub struct ObjectReference {
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    pub uid: String,
    /// Version of the object's kind.
    pub api_version: String,
    /// Version of the object.
    pub resource_version: String,
    /// Part of the object.
    pub field_path: String,
}

/// State of a load balancer's port.
#[api_type]
pub struct PortStatus {
    /// Number of the port.
    #[schema(required)]
    pub port: i32,
    /// Protocol of the port.
    #[schema(required)]
    pub protocol: String,
    /// Reason for which the port does not work.
    pub error: Option<String>,
}

/// Reference to a Secret.
#[api_type]
pub struct SecretReference {
    /// Name of the Secret.
    pub name: String,
    /// Namespace of the Secret.
    pub namespace: String,
}

/// Keeps pods away that do not tolerate it.
#[api_type]
pub struct Taint {
    /// Key of the taint.
    #[schema(required)]
    pub key: String,
    /// Value of the taint.
    pub value: String,
    /// NoSchedule, PreferNoSchedule or NoExecute.
    #[schema(required)]
    pub effect: String,
    /// Time at which the taint was added.
    pub time_added: Option<Time>,
}

/// A taint that is tolerated.
#[api_type]
pub struct Toleration {
    /// Key of the taint; empty: any.
    pub key: String,
    /// Exists or Equal. Default: Equal.
    pub operator: String,
    /// Value of the taint, for Equal.
    pub value: String,
    /// Effect of the taint; empty: any.
    pub effect: String,
    /// Seconds for which NoExecute is tolerated. Default: no limit.
    pub toleration_seconds: Option<i64>,
}
