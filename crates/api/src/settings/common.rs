// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `settings.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeAPIServerOpenIDConnect {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[serde(rename = "clientID")]
    #[schema(required)]
    pub client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    #[serde(rename = "issuerURL")]
    #[schema(required)]
    pub issuer_url: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required_claims: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signing_algs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenIDConnectClientAuthentication {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
}

/// What an OpenIDConnectPreset is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenIDConnectPresetSpec {
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_selector: Option<LabelSelector>,
    #[schema(required)]
    pub weight: i32,
}
