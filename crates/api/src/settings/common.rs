// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `settings.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// An OpenID Connect provider whose tokens API servers accept.
#[api_type]
pub struct KubeAPIServerOpenIDConnect {
    /// Certificates by which the provider's server is trusted, in PEM.
    pub ca_bundle: Option<String>,
    /// Client that the tokens must be for.
    #[schema(rename = "clientID", required)]
    pub client_id: String,
    /// Claim with the groups of the user.
    pub groups_claim: Option<String>,
    /// Put before each group.
    pub groups_prefix: Option<String>,
    /// Address of the provider; must be HTTPS.
    #[schema(rename = "issuerURL", required)]
    pub issuer_url: String,
    /// Claims that a token must have, with their values.
    pub required_claims: TextMap,
    /// Algorithms with which tokens may be signed. Default: RS256.
    pub signing_algs: Vec<String>,
    /// Claim with the name of the user. Default: sub.
    pub username_claim: Option<String>,
    /// Put before the name of the user.
    pub username_prefix: Option<String>,
}

/// How a client identifies itself to the provider.
#[api_type]
pub struct OpenIDConnectClientAuthentication {
    /// The client's secret.
    pub secret: Option<String>,
    /// More settings for the client.
    pub extra_config: TextMap,
}

/// Specification of an OpenIDConnectPreset.
#[api_type]
pub struct OpenIDConnectPresetSpec {
    /// What the API server is told.
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    /// What clients are told.
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    /// Labels of the Shoots that get the settings. Default: all.
    pub shoot_selector: Option<LabelSelector>,
    /// Which preset wins when several fit: the one with the highest weight; 1 to 100.
    #[schema(required)]
    pub weight: i32,
}
