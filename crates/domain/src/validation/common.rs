// SPDX-License-Identifier: Apache-2.0
//! Rules that several kinds share.

use std::collections::BTreeSet;

use api::constants::api_version;
use api::core::{NamedResourceReference, Toleration};
use api::kubernetes::autoscaling::CrossVersionObjectReference;
use api::kubernetes::core::ObjectReference;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, IntOrString, LabelSelector, LabelSelectorRequirement, TextMap};

use super::shoot::Gates;
use super::{Errors, meta};
use crate::release::{DOCUMENTED, Release, Releases};

/// Names in a CloudProfile must be qualified names without a prefix.
const NAMES_ARE_QUALIFIED: Releases = Releases::since(125);

/// Types of extensions must be labels.
const TYPES_ARE_LABELS: Releases = Releases::since(130);

/// Name and namespace of a reference are checked.
const REFERRED_NAMES_ARE_JUDGED: Releases = Releases::since(132);

/// Version and kind of a reference are checked together.
const REFERENCES_HAVE_KINDS: Releases = Releases::since(135);

/// Versions and kinds of named references.
const REFERENCES: [&str; 3] =
    ["/v1, Kind=Secret", "/v1, Kind=ConfigMap", "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity"];

/// Returns the violations of a name that must be a qualified name without a prefix; none in releases without the rule.
///
/// Source: pkg/apis/core/validation/utils.go (`validateUnprefixedQualifiedName`) @ v1.125.0.
pub fn unprefixed_name_problems(name: &str, gates: Gates) -> Vec<String> {
    if !NAMES_ARE_QUALIFIED.contain(gates.release) {
        return Vec::new();
    }
    let problems = meta::qualified_name(name);
    if problems.is_empty() && name.contains('/') {
        return vec![format!("name '{name}' must not contain a prefix")];
    }
    problems
}

/// Checks a name in a CloudProfile; `what`: the named item in the message.
pub fn unprefixed_name(errors: &mut Errors, name: &str, what: &str, gates: Gates, path: &Path) {
    let problems = unprefixed_name_problems(name, gates);
    if !problems.is_empty() {
        let text = format!("{what} must be a qualified name: [{}]", problems.join(" "));
        errors.push(FieldError::invalid(path, name, &text));
    }
}

/// Checks that `metadata.name` does not contain two consecutive hyphens: they separate the parts of a technical ID.
pub fn consecutive_hyphens(errors: &mut Errors, name: &str) {
    if name.contains("--") {
        let path = Path::new("metadata").child("name");
        errors.push(FieldError::invalid(&path, name, "name may not contain two consecutive hyphens"));
    }
}

/// Checks the types of a list of extensions: none is empty, none is repeated.
pub fn extensions<'a>(errors: &mut Errors, types: impl IntoIterator<Item = &'a String>, path: &Path) {
    extensions_in(errors, types, DOCUMENTED, path);
}

/// Checks extensions as [`extensions`], by the rules of a release.
///
/// Source: pkg/apis/core/validation/utils.go (`validateExtensions`) @ v1.120.0 and v1.130.0.
pub fn extensions_in<'a>(
    errors: &mut Errors,
    types: impl IntoIterator<Item = &'a String>,
    release: Release,
    path: &Path,
) {
    let are_labels = TYPES_ARE_LABELS.contain(release);
    let mut seen = BTreeSet::new();
    for (index, extension) in types.into_iter().enumerate() {
        let path = path.index(index).child("type");
        if extension.is_empty() {
            errors.push(FieldError::required(&path, "field must not be empty"));
        } else if are_labels {
            meta::invalid_each(errors, &path, extension, meta::dns_label(extension));
        }
        if !seen.insert(extension) && (are_labels || !extension.is_empty()) {
            errors.push(FieldError::duplicate(&path, extension));
        }
    }
}

/// Checks named references to Secrets and ConfigMaps.
pub fn resources(errors: &mut Errors, resources: &[NamedResourceReference], path: &Path) {
    resources_in(errors, resources, DOCUMENTED, path);
}

/// Checks resources as [`resources`], by the rules of a release; since 1.135 a reference may be to a WorkloadIdentity.
pub fn resources_in(errors: &mut Errors, resources: &[NamedResourceReference], release: Release, path: &Path) {
    named_references(errors, resources, &REFERENCES, release, path);
}

/// Checks resources as [`resources_in`], without references to WorkloadIdentities.
pub fn secrets_and_config_maps(
    errors: &mut Errors,
    resources: &[NamedResourceReference],
    release: Release,
    path: &Path,
) {
    named_references(errors, resources, &REFERENCES[..2], release, path);
}

/// Checks named references; `allowed`: their versions and kinds, since 1.135.
fn named_references(
    errors: &mut Errors,
    resources: &[NamedResourceReference],
    allowed: &[&str],
    release: Release,
    path: &Path,
) {
    let mut names = BTreeSet::new();
    for (index, resource) in resources.iter().enumerate() {
        let path = path.index(index);
        if resource.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field must not be empty"));
        } else if !names.insert(&resource.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &resource.name));
        }
        let reference = &resource.resource_ref;
        let path = path.child("resourceRef");
        if REFERENCES_HAVE_KINDS.contain(release) {
            object_reference(errors, reference, allowed, &path);
        } else {
            cross_version_reference(errors, &reference.api_version, &reference.kind, &reference.name, &path);
        }
    }
}

/// Checks a reference whose version and kind are checked together.
///
/// Source: pkg/apis/core/validation/utils.go (`validateCrossVersionObjectReference`) @ v1.135.0.
fn object_reference(errors: &mut Errors, reference: &CrossVersionObjectReference, allowed: &[&str], path: &Path) {
    let CrossVersionObjectReference { api_version: version, kind, name } = reference;
    if version.is_empty() {
        errors.push(FieldError::required(&path.child("apiVersion"), "must provide an apiVersion"));
    }
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("kind"), "must provide a kind"));
    }
    if version.matches('/').count() > 1 {
        let text = format!(
            "cannot determine GroupVersionKind for specified reference: unexpected GroupVersion string: {version}"
        );
        errors.push(FieldError::invalid(path, reference, &text));
    } else {
        let kind = type_text(version, kind);
        if !allowed.contains(&kind.as_str()) {
            errors.push(FieldError::not_supported(path, &kind, allowed));
        }
    }
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "must provide a name"));
    }
}

/// Formats a type as Go's `GroupVersionKind` does: `core.gardener.cloud/v1beta1, Kind=Project`, `/v1, Kind=Secret`.
pub(super) fn type_text(version: &str, kind: &str) -> String {
    let separator = if version.contains('/') { "" } else { "/" };
    format!("{separator}{version}, Kind={kind}")
}

/// Checks a reference to a Secret or ConfigMap.
pub fn cross_version_reference(errors: &mut Errors, api_version: &str, kind: &str, name: &str, path: &Path) {
    if api_version.is_empty() {
        errors.push(FieldError::required(&path.child("apiVersion"), "must provide an apiVersion"));
    } else if api_version != "v1" {
        errors.push(FieldError::not_supported(&path.child("apiVersion"), api_version, &["v1"]));
    }
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("kind"), "must provide a kind"));
    } else if kind != "Secret" && kind != "ConfigMap" {
        errors.push(FieldError::not_supported(&path.child("kind"), kind, &["Secret", "ConfigMap"]));
    }
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "must provide a name"));
    }
}

/// Credentials may be an InternalSecret.
const INTERNAL_SECRETS: Releases = Releases::since(135);

/// Checks a reference to a Secret, InternalSecret or WorkloadIdentity by the rules of a release.
pub fn credentials_reference(errors: &mut Errors, reference: &ObjectReference, release: Release, path: &Path) {
    let ObjectReference { name, namespace, .. } = reference;
    let names = [("name", name, "must provide a name"), ("namespace", namespace, "must provide a namespace")];
    credentials(errors, reference, &names, release, path);
}

/// Checks a reference as [`credentials_reference`], to an object in the namespace of the referring one.
pub fn local_credentials_reference(
    errors: &mut Errors,
    reference: &CrossVersionObjectReference,
    release: Release,
    path: &Path,
) {
    let CrossVersionObjectReference { api_version, kind, name } = reference.clone();
    let reference = ObjectReference { api_version, kind, name, ..ObjectReference::default() };
    credentials(errors, &reference, &[("name", &reference.name, "must provide a name")], release, path);
}

/// Checks version and kind of a reference to credentials, and the named fields, each with its text if it is empty.
fn credentials(
    errors: &mut Errors,
    reference: &ObjectReference,
    names: &[(&'static str, &String, &str)],
    release: Release,
    path: &Path,
) {
    let (version, kind) = (&reference.api_version, &reference.kind);
    for (field, value, text) in
        [("apiVersion", version, "must provide an apiVersion"), ("kind", kind, "must provide a kind")]
    {
        if value.is_empty() {
            errors.push(FieldError::required(&path.child(field), text));
        }
    }
    for (field, value, text) in names {
        let path = path.child(field);
        if value.is_empty() {
            errors.push(FieldError::required(&path, text));
        }
        meta::invalid_each(errors, &path, value, meta::dns_subdomain(value));
    }
    let mut supported = vec![
        ("v1", "Secret", "/v1, Kind=Secret"),
        (api_version::CORE, "InternalSecret", "core.gardener.cloud/v1beta1, Kind=InternalSecret"),
        (api_version::SECURITY, "WorkloadIdentity", "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity"),
    ];
    supported.retain(|(_, kind, _)| *kind != "InternalSecret" || INTERNAL_SECRETS.contain(release));
    if !supported.iter().any(|known| (version.as_str(), kind.as_str()) == (known.0, known.1)) {
        let valid: Vec<&str> = supported.iter().map(|known| known.2).collect();
        errors.push(FieldError::not_supported(path, printed(reference), &valid));
    }
}

/// Returns the form in which upstream's generated code prints a reference.
fn printed(reference: &ObjectReference) -> String {
    let ObjectReference { kind, namespace, name, uid, api_version, resource_version, field_path } = reference;
    format!(
        "&ObjectReference{{Kind:{kind},Namespace:{namespace},Name:{name},UID:{uid},APIVersion:{api_version},\
         ResourceVersion:{resource_version},FieldPath:{field_path},}}"
    )
}

/// Checks a reference by name.
pub fn named_reference(errors: &mut Errors, reference: &ObjectReference, path: &Path) {
    named_reference_in(errors, reference, DOCUMENTED, path);
}

/// Checks a reference as [`named_reference`], by the rules of a release.
///
/// Source: pkg/apis/core/validation/utils.go (`ValidateObjectReferenceNameAndNamespace`) @ v1.120.0 and v1.132.0.
pub fn named_reference_in(errors: &mut Errors, reference: &ObjectReference, release: Release, path: &Path) {
    let (name, namespace) = (path.child("name"), path.child("namespace"));
    if reference.name.is_empty() {
        errors.push(FieldError::required(&name, "must provide a name"));
    } else if REFERRED_NAMES_ARE_JUDGED.contain(release) {
        meta::invalid_each(errors, &name, &reference.name, meta::dns_subdomain(&reference.name));
    }
    if !reference.namespace.is_empty() && REFERRED_NAMES_ARE_JUDGED.contain(release) {
        meta::invalid_each(errors, &namespace, &reference.namespace, meta::dns_label(&reference.namespace));
    }
}

/// Returns `key` or `key=value`, the identity of a taint or toleration.
pub fn key_and_value(key: &str, value: Option<&str>) -> String {
    value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
}

/// Invalid values in the expressions of a selector are refused.
const SELECTED_VALUES_ARE_LABELS: Releases = Releases::since(127);

/// Checks the parts of a selector of Seeds by the rules of a release.
pub fn seed_selector(
    errors: &mut Errors,
    match_labels: &TextMap,
    match_expressions: &[LabelSelectorRequirement],
    release: Release,
    path: &Path,
) {
    if !SELECTED_VALUES_ARE_LABELS.contain(release) {
        meta::label_selector_parts(errors, match_labels, match_expressions, path);
        return;
    }
    let selector = LabelSelector { match_labels: match_labels.clone(), match_expressions: match_expressions.to_vec() };
    meta::label_selector_with_values(errors, &selector, path);
}

/// Keys and values of tolerations must be those of labels.
const TOLERATIONS_ARE_LABELS: Releases = Releases::since(130);

/// Checks tolerations by the rules of a release: keys are unique; a key without value covers all of its values.
pub fn tolerations_in(errors: &mut Errors, tolerations: &[Toleration], release: Release, path: &Path) {
    let are_labels = TOLERATIONS_ARE_LABELS.contain(release);
    let mut seen = BTreeSet::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        if toleration.key.is_empty() {
            errors.push(FieldError::required(&path.child("key"), "cannot be empty"));
        } else if are_labels {
            meta::invalid_each(errors, &path.child("key"), &toleration.key, meta::qualified_name(&toleration.key));
        }
        if let Some(value) = toleration.value.as_ref().filter(|_| are_labels) {
            meta::invalid_each(errors, &path.child("value"), value, meta::label_value(value));
        }
        let id = key_and_value(&toleration.key, toleration.value.as_deref());
        if seen.contains(&id) || seen.contains(&toleration.key) {
            errors.push(FieldError::duplicate(&path, &id));
        }
        seen.insert(id);
    }
}

/// Checks that tolerations are on the list of allowed ones.
pub fn tolerations_against(errors: &mut Errors, tolerations: &[Toleration], allowed: &[Toleration], path: &Path) {
    let allowed: BTreeSet<String> = allowed.iter().map(|one| key_and_value(&one.key, one.value.as_deref())).collect();
    for (index, toleration) in tolerations.iter().enumerate() {
        let id = key_and_value(&toleration.key, toleration.value.as_deref());
        if !allowed.contains(&toleration.key) && !allowed.contains(&id) {
            let list: Vec<&str> = allowed.iter().map(String::as_str).collect();
            let text = format!("only the following tolerations are allowed: [{}]", list.join(" "));
            errors.push(FieldError::forbidden(&path.index(index), &text));
        }
    }
}

/// Adds an error if the value is not a PEM certificate.
pub fn ca_bundle(errors: &mut Errors, bundle: Option<&str>, path: &Path) {
    if let Some(bundle) = bundle
        && !is_certificate(bundle)
    {
        errors.push(FieldError::invalid(path, bundle, "caBundle is not a valid PEM-encoded certificate"));
    }
}

fn is_certificate(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("-----BEGIN CERTIFICATE-----") else { return false };
    let Some((body, _)) = rest.split_once("-----END CERTIFICATE-----") else { return false };
    let body: String = body.split_whitespace().collect();
    !body.is_empty()
        && body.len().is_multiple_of(4)
        && body.trim_end_matches('=').bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// Adds an error if a duration is negative; `text`: message of the error.
pub fn not_negative_duration(errors: &mut Errors, duration: Option<Duration>, path: &Path, text: &str) {
    if let Some(duration) = duration
        && duration.nanoseconds < 0
    {
        errors.push(invalid_duration(path, duration, text));
    }
}

/// Returns `path: Invalid value: 7h0m0s: detail`.
pub fn invalid_duration(path: &Path, duration: Duration, detail: &str) -> FieldError {
    let text = serde_json::to_value(duration).ok().and_then(|value| value.as_str().map(str::to_owned));
    meta::invalid_unquoted(path, &text.unwrap_or_default(), detail)
}

/// Returns the number of an integer or percentage; the digits of a text that is not a percentage, or 0.
pub fn int_or_percent(value: &IntOrString) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or(0),
    }
}

/// Returns the percentage; `None` for other values.
pub fn percentage(value: &IntOrString) -> Option<i64> {
    let IntOrString::String(text) = value else { return None };
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Returns an Invalid error with the value as upstream dumps it.
pub fn invalid_int_or_percent(path: &Path, value: Option<&IntOrString>, detail: &str) -> FieldError {
    let text = match value {
        None => "null".to_owned(),
        Some(IntOrString::Int(number)) => {
            format!("intstr.IntOrString{{Type:0, IntVal:{number}, StrVal:\"\"}}")
        }
        Some(IntOrString::String(text)) => format!("intstr.IntOrString{{Type:1, IntVal:0, StrVal:{text:?}}}"),
    };
    meta::invalid_unquoted(path, &text, detail)
}

/// Adds a NotSupported error unless the value is among `supported`, which is sorted.
pub fn one_of(errors: &mut Errors, value: &str, supported: &[&str], path: &Path) {
    if !supported.contains(&value) {
        errors.push(FieldError::not_supported(path, value, supported));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_not_negative() {
        let said = |nanoseconds: Option<i64>| {
            let mut errors = Errors::new();
            let duration = nanoseconds.map(|nanoseconds| Duration { nanoseconds });
            not_negative_duration(&mut errors, duration, &Path::new("ttl"), "can not be negative");
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!((said(None), said(Some(0)), said(Some(1))), (Vec::new(), Vec::new(), Vec::new()));
        assert_eq!(said(Some(-1_000_000_000)), ["ttl: Invalid value: -1s: can not be negative"]);
    }

    fn shown(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    /// Release, types of extensions, and their errors.
    #[test]
    fn types_of_extensions_are_labels_since_130() {
        let required = "e[0].type: Required value: field must not be empty";
        for (release, types, expected) in [
            (129, ["A.b", "A.b"], vec!["e[1].type: Duplicate value: \"A.b\""]),
            (129, ["", ""], vec![required, "e[1].type: Required value: field must not be empty"]),
            (
                130,
                ["", ""],
                vec![
                    required,
                    "e[1].type: Required value: field must not be empty",
                    "e[1].type: Duplicate value: \"\"",
                ],
            ),
            (130, ["a", "a.b"], vec!["e[1].type: Invalid value: \"a.b\": must not contain dots"]),
            (149, ["a", "b-c"], vec![]),
        ] {
            let types = types.map(str::to_owned);
            let mut errors = Errors::new();
            extensions_in(&mut errors, &types, Release(release), &Path::new("e"));
            assert_eq!(shown(&errors), expected, "1.{release} {types:?}");
        }
    }

    /// Release, version and kind of a reference to credentials, and its errors.
    #[test]
    fn credentials_may_be_internal_secrets_since_135() {
        let (own, foreign) = ("core.gardener.cloud/v1beta1", "security.gardener.cloud/v1alpha1");
        let unsupported = |version: &str, kind: &str, supported: &str| {
            vec![format!(
                "c: Unsupported value: \"&ObjectReference{{Kind:{kind},Namespace:ns,Name:n,UID:,APIVersion:{version},\
                 ResourceVersion:,FieldPath:,}}\": supported values: {supported}"
            )]
        };
        let (first, last) = ("\"/v1, Kind=Secret\"", "\"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"");
        let (two, three) = (
            format!("{first}, {last}"),
            format!("{first}, \"core.gardener.cloud/v1beta1, Kind=InternalSecret\", {last}"),
        );
        for (release, version, kind, expected) in [
            (120, "v1", "Secret", vec![]),
            (120, foreign, "WorkloadIdentity", vec![]),
            (134, own, "InternalSecret", unsupported(own, "InternalSecret", &two)),
            (135, own, "InternalSecret", vec![]),
            (149, own, "InternalSecret", vec![]),
            (149, "v1", "InternalSecret", unsupported("v1", "InternalSecret", &three)),
            (149, own, "Secret", unsupported(own, "Secret", &three)),
        ] {
            let text = str::to_owned;
            let reference = ObjectReference {
                api_version: text(version),
                kind: text(kind),
                name: text("n"),
                namespace: text("ns"),
                ..ObjectReference::default()
            };
            let mut errors = Errors::new();
            credentials_reference(&mut errors, &reference, Release(release), &Path::new("c"));
            assert_eq!(shown(&errors), expected, "1.{release} {version} {kind}");
            let reference =
                CrossVersionObjectReference { api_version: text(version), kind: text(kind), name: text("n") };
            let mut errors = Errors::new();
            local_credentials_reference(&mut errors, &reference, Release(release), &Path::new("c"));
            let expected: Vec<String> =
                expected.iter().map(|error| error.replace("Namespace:ns", "Namespace:")).collect();
            assert_eq!(shown(&errors), expected, "1.{release} {version} {kind}");
        }
    }

    /// Release, version and kind of a reference, and its errors.
    #[test]
    fn references_are_checked_by_kind_since_135() {
        let identity = "security.gardener.cloud/v1alpha1";
        for (release, version, kind, expected) in [
            (134, "v1", "Secret", vec![]),
            (
                134,
                identity,
                "WorkloadIdentity",
                vec![
                    "r[0].resourceRef.apiVersion: Unsupported value: \"security.gardener.cloud/v1alpha1\": supported values: \
                     \"v1\"",
                    "r[0].resourceRef.kind: Unsupported value: \"WorkloadIdentity\": supported values: \"Secret\", \
                     \"ConfigMap\"",
                ],
            ),
            (135, identity, "WorkloadIdentity", vec![]),
            (135, "v1", "ConfigMap", vec![]),
            (
                135,
                "apps/v1",
                "Secret",
                vec![
                    "r[0].resourceRef: Unsupported value: \"apps/v1, Kind=Secret\": supported values: \"/v1, Kind=Secret\", \
                     \"/v1, Kind=ConfigMap\", \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"",
                ],
            ),
            (
                149,
                "",
                "Secret",
                vec![
                    "r[0].resourceRef.apiVersion: Required value: must provide an apiVersion",
                    "r[0].resourceRef: Unsupported value: \"/, Kind=Secret\": supported values: \"/v1, Kind=Secret\", \
                     \"/v1, Kind=ConfigMap\", \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"",
                ],
            ),
            (
                149,
                "a/b/c",
                "Secret",
                vec![
                    "r[0].resourceRef: Invalid value: {\"kind\":\"Secret\",\"name\":\"n\",\"apiVersion\":\"a/b/c\"}: cannot \
                     determine GroupVersionKind for specified reference: unexpected GroupVersion string: a/b/c",
                ],
            ),
        ] {
            let reference =
                CrossVersionObjectReference { api_version: version.into(), kind: kind.into(), name: "n".into() };
            let resource = NamedResourceReference { name: "r".to_owned(), resource_ref: reference };
            let mut errors = Errors::new();
            resources_in(&mut errors, &[resource], Release(release), &Path::new("r"));
            assert_eq!(shown(&errors), expected, "1.{release} {version} {kind}");
        }
    }
}
