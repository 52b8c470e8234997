// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `settings.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

/// An OpenID Connect provider whose tokens API servers accept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeAPIServerOpenIDConnect {
    /// Certificates by which the provider's server is trusted, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// Client that the tokens must be for.
    #[serde(rename = "clientID")]
    #[schema(required)]
    pub client_id: String,
    /// Claim with the groups of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// Put before each group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    /// Address of the provider; must be HTTPS.
    #[serde(rename = "issuerURL")]
    #[schema(required)]
    pub issuer_url: String,
    /// Claims that a token must have, with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required_claims: BTreeMap<String, String>,
    /// Algorithms with which tokens may be signed. Default: RS256.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signing_algs: Vec<String>,
    /// Claim with the name of the user. Default: sub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    /// Put before the name of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
}

/// How a client identifies itself to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenIDConnectClientAuthentication {
    /// The client's secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// More settings for the client.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
}

/// What an OpenIDConnectPreset is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenIDConnectPresetSpec {
    /// What the API server is told.
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    /// What clients are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    /// Labels of the Shoots that get the settings. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_selector: Option<LabelSelector>,
    /// Which preset wins when several fit: the one with the highest weight; 1 to 100.
    #[schema(required)]
    pub weight: i32,
}
