// SPDX-License-Identifier: Apache-2.0
//! Types of kind `DNSRecord` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// One name and its values at a DNS provider.
#[api_type]
pub struct DNSRecord {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the DNSRecord.
    #[schema(required)]
    pub spec: DNSRecordSpec,
    /// Observed state of the DNSRecord.
    pub status: DNSRecordStatus,
}

/// Specification of a DNSRecord.
#[api_type]
pub struct DNSRecordSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Secret with the credentials of the DNS provider.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Region of the infrastructure.
    pub region: Option<String>,
    /// Hosted zone of the record. Default: the one that fits the name best.
    pub zone: Option<String>,
    /// Full domain name of the record.
    #[schema(required)]
    pub name: String,
    /// A, AAAA, CNAME or TXT.
    #[schema(required)]
    pub record_type: String,
    /// Addresses, one name, or texts.
    #[schema(required)]
    pub values: Vec<String>,
    /// Time to live in seconds. Default: 120.
    pub ttl: Option<i64>,
}

/// Status of a DNSRecord.
#[api_type]
pub struct DNSRecordStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// Hosted zone that contains the record.
    pub zone: Option<String>,
}

impl_resource!(DNSRecord, "extensions.gardener.cloud", "v1alpha1", "DNSRecord", "dnsrecords", true);
