// SPDX-License-Identifier: Apache-2.0
//! Handshake state of an extension object: whether its extension has acted on the last request, and with which result.

use api::constants::{annotation, operation_state};
use api::core::{LastError, LastOperation};
use api::extensions::{
    ContainerRuntime, ControlPlane, DNSRecord, Extension, Infrastructure, Network, OperatingSystemConfig, Worker,
};
use apimachinery::Resource as Kind;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};

/// Common interface of the extension kinds.
pub(crate) trait ExtensionObject: Kind {
    /// Returns the type, `spec.type`.
    fn type_(&self) -> &str;
    /// True if both have the same specification.
    fn asks_the_same(&self, other: &Self) -> bool;
    /// Returns the last operation, `status.lastOperation`.
    fn last_operation(&self) -> Option<&LastOperation>;
    /// Returns the last error, `status.lastError`.
    fn last_error(&self) -> Option<&LastError>;
    /// Returns the observed generation, `status.observedGeneration`.
    fn observed_generation(&self) -> i64;
}

macro_rules! extension_object {
    ($($kind:ty),* $(,)?) => {$(
        impl ExtensionObject for $kind {
            fn type_(&self) -> &str {
                &self.spec.r#type
            }

            fn asks_the_same(&self, other: &Self) -> bool {
                self.spec == other.spec
            }

            fn last_operation(&self) -> Option<&LastOperation> {
                self.status.last_operation.as_ref()
            }

            fn last_error(&self) -> Option<&LastError> {
                self.status.last_error.as_ref()
            }

            fn observed_generation(&self) -> i64 {
                self.status.observed_generation
            }
        }
    )*};
}

extension_object!(
    ContainerRuntime,
    ControlPlane,
    DNSRecord,
    Extension,
    Infrastructure,
    Network,
    OperatingSystemConfig,
    Worker,
);

/// Readiness of an awaited object.
pub(super) enum Readiness {
    Ready,
    Waiting,
    Error(String),
}

/// True if the extension failed to act on the last request, judged by the object alone.
pub(super) fn needs_another_try<K: ExtensionObject>(object: &K) -> bool {
    let Some(operation) = object.last_operation() else { return false };
    if operation.state != operation_state::SUCCEEDED {
        return true;
    }
    let Some(timestamp) = object.metadata().annotation(annotation::TIMESTAMP) else { return false };
    match DateTime::parse_from_rfc3339(timestamp) {
        Ok(asked) => Time::from_instant(asked.with_timezone(&Utc)) > operation.last_update_time,
        Err(_) => true,
    }
}

/// Returns the readiness of an object; it is waiting until the extension has acted on the last write.
pub(super) fn readiness<K: ExtensionObject>(object: &K) -> Readiness {
    let metadata = object.metadata();
    if metadata.annotations.contains_key(annotation::OPERATION) {
        return Readiness::Waiting;
    }
    if let Some(error) = object.last_error() {
        return Readiness::Error(error.description.clone());
    }
    match object.last_operation() {
        Some(operation)
            if operation.state == operation_state::SUCCEEDED
                && object.observed_generation() == metadata.generation
                && !needs_another_try(object) =>
        {
            Readiness::Ready
        }
        _ => Readiness::Waiting,
    }
}
