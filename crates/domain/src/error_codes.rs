// SPDX-License-Identifier: Apache-2.0
//! Error codes that the extension of a provider finds in the text of an error of its infrastructure.
//!
//! Only errors of extensions are searched: an error of gardenlet itself has no code. A provider without a published
//! extension, such as `local`, has the expressions common to all providers, and those of the documents.
//!
//! Source: pkg/apis/*/helper/error_codes.go of gardener-extension-provider-{alicloud,aws,azure,gcp,openstack}.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// Providers with a table of their own.
const PROVIDERS: [&str; 5] = ["alicloud", "aws", "azure", "gcp", "openstack"];
/// Providers without a table of their own.
const OTHER: &str = "";

const ALL: &[&str] = &["alicloud", "aws", "azure", "gcp", "openstack", OTHER];
const ALL_BUT_AWS: &[&str] = &["alicloud", "azure", "gcp", "openstack", OTHER];
const ALL_BUT_OPENSTACK: &[&str] = &["alicloud", "aws", "azure", "gcp", OTHER];

/// A code and the expressions that yield it.
struct Row {
    code: &'static str,
    /// Expressions, compared without regard to case, and the providers that have them.
    words: &'static [(&'static [&'static str], &'static [&'static str])],
}

const TABLE: [Row; 9] = [
    Row {
        code: "ERR_INFRA_UNAUTHENTICATED",
        words: &[
            (ALL, &["InvalidSecretAccessKey"]),
            (ALL_BUT_AWS, &["Authentication failed", "invalid character", "invalid_client", "cannot fetch token"]),
            (&["alicloud", "aws", "azure"], &["InvalidAccessKeyId"]),
            (&["aws"], &["AuthFailure"]),
            (&["azure", OTHER], &["InvalidAuthenticationTokenTenant"]),
            (&["azure"], &["InvalidSubscriptionId"]),
            (&["openstack"], &["Could not find Application Credential"]),
        ],
    },
    Row {
        code: "ERR_INFRA_UNAUTHORIZED",
        words: &[
            (ALL, &["Unauthorized", "SignatureDoesNotMatch", "AccessDenied"]),
            (
                ALL_BUT_AWS,
                &["invalid_grant", "Authorization Profile was not found", "no active subscriptions", "not authorized"],
            ),
            (&["aws"], &["InvalidClientTokenId"]),
            (&["azure", OTHER], &["AuthorizationFailed", "OperationNotAllowed"]),
            (&["gcp"], &["Error 403", "SERVICE_ACCOUNT_ACCESS_DENIED"]),
            (&["openstack"], &["PolicyNotAuthorized"]),
        ],
    },
    Row {
        code: "ERR_INFRA_QUOTA_EXCEEDED",
        words: &[
            (
                ALL,
                // A rate limit is not a quota, although the longer expression contains the shorter one.
                &[
                    "(?:^|[^t]|(?:^|[^s])t|(?:^|[^e])st|(?:^|[^u])est|(?:^|[^q])uest|(?:^|[^e])quest|(?:^|[^r])equest)\
                     LimitExceeded",
                    "Quotas",
                    "Quota.*exceeded",
                    "exceeded quota",
                    "Quota has been met",
                    "QUOTA_EXCEEDED",
                ],
            ),
            (&["azure"], &["exceeding approved .{0,60}quota"]),
            (&["gcp"], &["ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"]),
            (&["openstack"], &["Maximum number of ports exceeded", "VolumeSizeExceedsAvailableQuota"]),
        ],
    },
    Row {
        code: "ERR_INFRA_RATE_LIMITS_EXCEEDED",
        words: &[(ALL, &["RequestLimitExceeded", "Throttling", "Too many requests"])],
    },
    Row {
        code: "ERR_INFRA_DEPENDENCIES",
        words: &[
            (
                ALL,
                &[
                    "PendingVerification",
                    "Access Not Configured",
                    "accessNotConfigured",
                    "DependencyViolation",
                    "OptInRequired",
                    "Conflict",
                    "inactive billing state",
                    "timeout while waiting for state to become",
                    "InvalidCidrBlock",
                    "already busy for",
                    "A resource with the ID",
                ],
            ),
            (ALL_BUT_OPENSTACK, &["internal server error"]),
            (&["aws"], &["InsufficientFreeAddressesInSubnet", "currently associated with another service"]),
            (&["azure", "gcp"], &["is already being used"]),
            (
                &["azure"],
                &[
                    "ReadOnlyDisabledSubscription",
                    "InUseSubnetCannotBeDeleted",
                    "VnetInUse",
                    "InUseRouteTableCannotBeDeleted",
                    "InternalServerError",
                    "VnetAddressSpaceCannotChangeDueToPeerings",
                    "InternalBillingError",
                    "NetcfgSubnetRangesOverlap",
                    "CannotDeleteLoadBalancerWithPrivateLinkService",
                ],
            ),
            (&["gcp"], &["internalerror"]),
            (
                &["openstack"],
                &[
                    "There are not enough hosts available",
                    "No Router found",
                    "There are one or more ports still in use on the network",
                ],
            ),
        ],
    },
    Row {
        code: "ERR_INFRA_RESOURCES_DEPLETED",
        words: &[
            (ALL, &["not available in the current hardware cluster", "out of stock"]),
            (&["alicloud"], &["Zone.NotOnSale"]),
            (&["aws"], &["InsufficientInstanceCapacity"]),
            (&["azure"], &["SkuNotAvailable", "ZonalAllocationFailed"]),
            (&["openstack"], &["ResourceExhausted"]),
        ],
    },
    Row {
        code: "ERR_CONFIGURATION_PROBLEM",
        words: &[
            (
                ALL,
                &[
                    "not supported in your requested Availability Zone",
                    "notFound",
                    "Invalid value",
                    "violates constraint",
                    "no attached internet gateway found",
                    "invalid VPC attributes",
                    "unrecognized feature gate",
                    "runtime-config invalid key",
                    "strict decoder error",
                    "not allowed to configure an unsupported",
                    "error during apply of object .* is invalid:",
                    "duplicate zones",
                    "overlapping zones",
                    // Text of rule E1, which upstream does not have.
                    "depends on extensions library",
                ],
            ),
            (&["aws"], &["InvalidParameterValue", "InvalidSubnet"]),
            (&["azure", OTHER], &["InvalidParameter"]),
            (&["azure", "openstack"], &["Your query returned no results"]),
            (
                &["azure"],
                &[
                    "AzureBastionSubnet",
                    "NetcfgInvalidSubnet",
                    "PrivateEndpointNetworkPoliciesCannotBeEnabledOnPrivateEndpointSubnet",
                    "PrivateLinkServiceNetworkPoliciesCannotBeEnabledOnPrivateLinkServiceSubnet",
                    "LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule",
                    r"The selected VM size '([^']+)' cannot boot Hypervisor Generation '(\d+)'",
                ],
            ),
            (&["gcp"], &["locate user-managed"]),
            (
                &["openstack"],
                &["missing expected router", "Policy doesn't allow .* to be performed", "overlaps with cidr"],
            ),
        ],
    },
    Row {
        code: "ERR_RETRYABLE_INFRA_DEPENDENCIES",
        words: &[(ALL, &["RetryableError"]), (&["openstack"], &["internal server error"])],
    },
    Row {
        code: "ERR_RETRYABLE_CONFIGURATION_PROBLEM",
        words: &[
            (
                ALL,
                &[
                    "is misconfigured and requires zero voluntary evictions",
                    "SDK.CanNotResolveEndpoint",
                    "The requested configuration is currently not supported",
                ],
            ),
            (&["azure"], &["OverconstrainedZonalAllocationRequest"]),
        ],
    },
];

static EXPRESSIONS: LazyLock<BTreeMap<&'static str, RegexSet>> = LazyLock::new(|| {
    let of = |provider: &'static str| {
        let row = |row: &Row| {
            let own = row.words.iter().filter(|(providers, _)| providers.contains(&provider));
            own.flat_map(|(_, words)| *words).copied().collect::<Vec<_>>().join("|")
        };
        // Matches bytes, so that case folding is that of ASCII: all expressions are ASCII.
        let set = RegexSetBuilder::new(TABLE.iter().map(row)).case_insensitive(true).unicode(false).build();
        (provider, set.expect("the table has valid expressions"))
    };
    PROVIDERS.into_iter().chain([OTHER]).map(of).collect()
});

/// The codes that the extension of a provider finds in a text, in the order of the table, each once.
pub fn of_text(provider: &str, text: &str) -> Vec<&'static str> {
    let known = EXPRESSIONS.get(provider).unwrap_or_else(|| &EXPRESSIONS[OTHER]);
    known.matches(text.as_bytes()).into_iter().map(|index| TABLE[index].code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Error texts of providers, and the codes of their extensions, as in the extensions' own tests.
    #[test]
    fn each_provider_has_its_own_words() {
        #[track_caller]
        fn check(provider: &str, text: &str, expected: &[&str]) {
            assert_eq!(of_text(provider, text), expected, "{provider}: {text}");
        }
        for provider in ["aws", "azure", "gcp", "openstack", "alicloud", "local", "unknown"] {
            check(provider, "all is well", &[]);
            check(provider, "rpc: accessDENIED by policy", &["ERR_INFRA_UNAUTHORIZED"]);
            check(provider, "VcpuLimitExceeded", &["ERR_INFRA_QUOTA_EXCEEDED"]);
            check(provider, "LimitExceeded", &["ERR_INFRA_QUOTA_EXCEEDED"]);
            check(provider, "questLimitExceeded", &["ERR_INFRA_QUOTA_EXCEEDED"]);
            check(provider, "RequestLimitExceeded", &["ERR_INFRA_RATE_LIMITS_EXCEEDED"]);
            let both = ["ERR_INFRA_QUOTA_EXCEEDED", "ERR_INFRA_RATE_LIMITS_EXCEEDED"];
            check(provider, "RequestLimitExceeded, VcpuLimitExceeded", &both);
            check(provider, "Quota 'CPUS' exceeded. Limit: 24.0", &["ERR_INFRA_QUOTA_EXCEEDED"]);
            check(provider, "the machine type is out of stock", &["ERR_INFRA_RESOURCES_DEPLETED"]);
            let budget = "pod disruption budget a/b is misconfigured and requires zero voluntary evictions";
            check(provider, budget, &["ERR_RETRYABLE_CONFIGURATION_PROBLEM"]);
            check(provider, "gcp depends on extensions library v1.121.0", &["ERR_CONFIGURATION_PROBLEM"]);
        }
        check("aws", "AuthFailure: not able to validate", &["ERR_INFRA_UNAUTHENTICATED"]);
        check("local", "AuthFailure: not able to validate", &[]);
        check("aws", "Authentication failed", &[]);
        check("openstack", "Authentication failed", &["ERR_INFRA_UNAUTHENTICATED"]);
        check("aws", "InvalidParameterValue: x", &["ERR_CONFIGURATION_PROBLEM"]);
        check("aws", "InvalidParameter: x", &[]);
        check("azure", "InvalidParameter: x", &["ERR_CONFIGURATION_PROBLEM"]);
        check("aws", "InsufficientInstanceCapacity", &["ERR_INFRA_RESOURCES_DEPLETED"]);
        check("azure", "OverconstrainedZonalAllocationRequest", &["ERR_RETRYABLE_CONFIGURATION_PROBLEM"]);
        check("azure", "NetcfgSubnetRangesOverlap", &["ERR_INFRA_DEPENDENCIES"]);
        let size = "The selected VM size 'Standard_D4_v3' cannot boot Hypervisor Generation '2'";
        check("azure", size, &["ERR_CONFIGURATION_PROBLEM"]);
        check("azure", "code: SkuNotAvailable", &["ERR_INFRA_RESOURCES_DEPLETED"]);
        check("gcp", "googleapi: Error 403: forbidden", &["ERR_INFRA_UNAUTHORIZED"]);
        check("gcp", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", &["ERR_INFRA_QUOTA_EXCEEDED"]);
        check("openstack", "Internal Server Error", &["ERR_RETRYABLE_INFRA_DEPENDENCIES"]);
        check("gcp", "Internal Server Error", &["ERR_INFRA_DEPENDENCIES"]);
        check("alicloud", "Zone.NotOnSale", &["ERR_INFRA_RESOURCES_DEPLETED"]);
    }

    #[test]
    fn codes_are_codes_that_shoots_have() {
        for row in &TABLE {
            assert!(crate::last_operation::CODES.contains(&row.code), "{}", row.code);
        }
    }
}
