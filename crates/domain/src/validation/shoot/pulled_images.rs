// SPDX-License-Identifier: Apache-2.0
//! Verification of credentials for images that exist on a node.
//!
//! Source: validateKubeletConfig in pkg/api/core/validation/shoot.go @ v1.149.0; references are parsed as by
//! github.com/distribution/reference.

use api::core::KubeletConfig;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::common::one_of;
use crate::versions::meets_constraint;

/// Policies, in the order in which a refusal lists them.
const POLICIES: [&str; 4] = ["AlwaysVerify", "NeverVerify", ALLOWLISTED, "NeverVerifyPreloadedImages"];

/// Policy with a list of images.
const ALLOWLISTED: &str = "NeverVerifyAllowlistedImages";

/// Feature gate of the kubelet that the policy requires.
const GATE: &str = "KubeletEnsureSecretPulledImages";

/// Maximum length of the path of an image.
const LONGEST_PATH: usize = 255;

/// Maximum length of a tag.
const LONGEST_TAG: usize = 128;

/// Minimum number of digits of a digest.
const SHORTEST_DIGEST: usize = 32;

/// Checks the policy and its list of images for a Kubernetes version.
pub(super) fn verification(errors: &mut Errors, config: &KubeletConfig, version: &str, path: &Path) {
    let policy = config.image_pull_credentials_verification_policy.as_deref();
    if let Some(policy) = policy {
        let path = path.child("imagePullCredentialsVerificationPolicy");
        if meets_constraint(version, "< 1.35").unwrap_or(false) {
            let text = "imagePullCredentialsVerificationPolicy is only available for Kubernetes versions >= 1.35";
            errors.push(FieldError::forbidden(&path, text));
        }
        if config.feature_gates.get(GATE) == Some(&false) {
            let text = format!(
                "imagePullCredentialsVerificationPolicy may not be set when the {GATE} feature gate is disabled"
            );
            errors.push(FieldError::forbidden(&path, &text));
        }
        one_of(errors, policy, &POLICIES, &path);
    }
    let images = &config.preloaded_images_verification_allowlist;
    let path = path.child("preloadedImagesVerificationAllowlist");
    if images.is_empty() {
        return;
    }
    if policy != Some(ALLOWLISTED) {
        let text = "preloadedImagesVerificationAllowlist may only be set when imagePullCredentialsVerificationPolicy is set \
                    to NeverVerifyAllowlistedImages";
        errors.push(FieldError::forbidden(&path, text));
        return;
    }
    for (index, pattern) in images.iter().enumerate() {
        if let Some(text) = refusal(pattern) {
            errors.push(FieldError::invalid(&path.index(index), pattern, &text));
        }
    }
}

/// Returns the reason for which a pattern is refused: it is neither an image without tag and digest nor such an image
/// with `/*` at the end.
fn refusal(pattern: &str) -> Option<String> {
    if pattern != pattern.trim() {
        return Some("leading/trailing spaces are not allowed".to_owned());
    }
    let wildcard = pattern.ends_with("/*");
    let image = if wildcard { &pattern[..pattern.len() - 1] } else { pattern };
    let text = match image {
        "" => "the supplied pattern is too short",
        _ if image.contains('*') => "not a valid wildcard pattern, only patterns ending with '/*' are allowed",
        "/" if wildcard => "at least registry hostname is required",
        _ if wildcard => return None,
        _ => match Reference::parse(image) {
            Ok(Reference::Name) => return None,
            Ok(Reference::Tagged) => "neither tag nor digest is accepted in an image reference",
            Err(error) => return Some(format!("failed to parse as an image name: {error}")),
        },
    };
    Some(text.to_owned())
}

/// Reference of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reference {
    /// A name alone.
    Name,
    /// A name with tag or digest.
    Tagged,
}

impl Reference {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match Self::read(text) {
            Some((_, path)) if path > LONGEST_PATH => Err("repository name must not be more than 255 characters"),
            Some((reference, _)) => Ok(reference),
            None if Self::read(&text.to_lowercase()).is_some() => Err("repository name must be lowercase"),
            None => Err("invalid reference format"),
        }
    }

    /// Parses `NAME[:TAG][@DIGEST]`; the number is the length of the name's path.
    fn read(text: &str) -> Option<(Self, usize)> {
        let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let colon = rest[last..].find(':').map(|colon| last + colon);
        let (name, tag) = colon.map_or((rest, None), |colon| (&rest[..colon], Some(&rest[colon + 1..])));
        let is_read = tag.is_none_or(is_tag) && digest.is_none_or(is_digest);
        let reference = if tag.is_some() || digest.is_some() { Self::Tagged } else { Self::Name };
        let is_path = |path: &str| path.split('/').all(is_path_component);
        let path = match name.split_once('/') {
            Some((domain, path)) if is_domain(domain) && is_path(path) => path.len(),
            _ if is_path(name) => name.len(),
            _ => return None,
        };
        is_read.then_some((reference, path))
    }
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= LONGEST_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || b".-".contains(&byte))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, digits)) = digest.split_once(':') else { return false };
    let is_part = |part: &str| {
        part.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_part)
        && digits.len() >= SHORTEST_DIGEST
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_domain(domain: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((address, port)) = domain.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_address = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        return is_address && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (host, port) = domain.split_once(':').map_or((domain, None), |(host, port)| (host, Some(port)));
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(is_part) && port.is_none_or(is_port)
}

/// True for lower-case letters and digits with separators `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(component: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator = |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    let ends_well = component.bytes().next().is_some_and(is_letter) && component.bytes().last().is_some_and(is_letter);
    ends_well
        && component.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit()).all(is_separator)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(version: &str, config: Value, expected: &[&str]) {
        let config: KubeletConfig = serde_json::from_value(config).expect("a configuration");
        let mut errors = Errors::new();
        verification(&mut errors, &config, version, &Path::new("k"));
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected, "{version}");
    }

    #[test]
    fn policies_need_kubernetes_1_35_and_the_gate() {
        let policy = json!({ "imagePullCredentialsVerificationPolicy": "NeverVerify" });
        check("1.35.0", policy.clone(), &[]);
        check(
            "1.34.9",
            policy,
            &[
                "k.imagePullCredentialsVerificationPolicy: Forbidden: imagePullCredentialsVerificationPolicy is only available \
               for Kubernetes versions >= 1.35",
            ],
        );
        let gate = |on: bool, policy: &str| {
            json!({
                "imagePullCredentialsVerificationPolicy": policy,
                "featureGates": { "KubeletEnsureSecretPulledImages": on },
            })
        };
        check("1.36.0", gate(true, "AlwaysVerify"), &[]);
        check(
            "1.36.0",
            gate(false, "Sometimes"),
            &[
                "k.imagePullCredentialsVerificationPolicy: Forbidden: imagePullCredentialsVerificationPolicy may not be set \
                 when the KubeletEnsureSecretPulledImages feature gate is disabled",
                "k.imagePullCredentialsVerificationPolicy: Unsupported value: \"Sometimes\": supported values: \
                 \"AlwaysVerify\", \"NeverVerify\", \"NeverVerifyAllowlistedImages\", \"NeverVerifyPreloadedImages\"",
            ],
        );
    }

    #[test]
    fn images_are_listed_with_their_policy_only() {
        let listed = |policy: &str, image: &str| {
            json!({
                "imagePullCredentialsVerificationPolicy": policy,
                "preloadedImagesVerificationAllowlist": [image],
            })
        };
        check("1.35.0", listed("NeverVerifyAllowlistedImages", "registry.example/a"), &[]);
        check(
            "1.35.0",
            listed("NeverVerify", "a:1"),
            &[
                "k.preloadedImagesVerificationAllowlist: Forbidden: preloadedImagesVerificationAllowlist may only be set when \
               imagePullCredentialsVerificationPolicy is set to NeverVerifyAllowlistedImages",
            ],
        );
        check(
            "1.35.0",
            listed("NeverVerifyAllowlistedImages", "a:1"),
            &[
                "k.preloadedImagesVerificationAllowlist[0]: Invalid value: \"a:1\": neither tag nor digest is accepted in an \
               image reference",
            ],
        );
    }

    /// Pattern, and the reason for which it is refused.
    const PATTERNS: &str = "
registry.k8s.io/pause          =>
localhost:5000/a__b/c--d.e     =>
[fd00::1]:5000/a               =>
Registry.example/a             =>
registry.example/*             =>
a b/*                          =>
/*                             => at least registry hostname is required
*                              => not a valid wildcard pattern, only patterns ending with '/*' are allowed
a/*/b                          => not a valid wildcard pattern, only patterns ending with '/*' are allowed
a/*/*                          => not a valid wildcard pattern, only patterns ending with '/*' are allowed
a:latest                       => neither tag nor digest is accepted in an image reference
a@sha256:0123456789abcdef0123456789abcdef => neither tag nor digest is accepted in an image reference
registry.example/Pause         => failed to parse as an image name: repository name must be lowercase
a___b                          => failed to parse as an image name: invalid reference format
a/                             => failed to parse as an image name: invalid reference format
a@sha256:01                    => failed to parse as an image name: invalid reference format
";

    #[test]
    fn patterns_are_names_of_images_or_end_with_a_wildcard() {
        for row in PATTERNS.lines().filter(|row| !row.is_empty()) {
            let (pattern, expected) = row.split_once("=>").expect("row has an arrow");
            assert_eq!(refusal(pattern.trim()).unwrap_or_default(), expected.trim(), "row: {row}");
        }
        assert_eq!(refusal("").as_deref(), Some("the supplied pattern is too short"));
        assert_eq!(refusal(" a").as_deref(), Some("leading/trailing spaces are not allowed"));
        let long =
            format!("failed to parse as an image name: {}", "repository name must not be more than 255 characters");
        assert_eq!(refusal(&"a".repeat(256)), Some(long));
        assert_eq!(refusal(&"a".repeat(255)), None);
    }
}
