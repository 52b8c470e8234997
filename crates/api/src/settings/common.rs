// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `settings.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// An OpenID Connect provider whose tokens API servers accept.
#[api_type]
pub struct KubeAPIServerOpenIDConnect {
    /// CA certificates that the provider's server certificate is verified with, in PEM.
    pub ca_bundle: Option<String>,
    /// Client ID that the tokens must be issued for.
    #[schema(rename = "clientID", required)]
    pub client_id: String,
    /// Claim with the groups of the user.
    pub groups_claim: Option<String>,
    /// Prefix of each group.
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
    /// Prefix of the user name.
    pub username_prefix: Option<String>,
}

/// Credentials of clients at the provider.
#[api_type]
pub struct OpenIDConnectClientAuthentication {
    /// The client's secret.
    pub secret: Option<String>,
    /// Additional settings of the client.
    pub extra_config: TextMap,
}

/// Specification of an OpenIDConnectPreset.
#[api_type]
pub struct OpenIDConnectPresetSpec {
    /// Settings of the API server.
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    /// Settings of clients.
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    /// Labels of the Shoots that get the settings. Default: all.
    pub shoot_selector: Option<LabelSelector>,
    /// Weight of the preset; of several that match, the one with the highest weight applies; 1 to 100.
    #[schema(required)]
    pub weight: i32,
}
