// SPDX-License-Identifier: Apache-2.0
//! Rules of Kubernetes for metadata, names, labels and quantities (k8s.io/apimachinery/pkg/util/validation,
//! k8s.io/apimachinery/pkg/api/validation @ v0.32).

use apimachinery::meta::TextMap;
use std::sync::LazyLock;

use apimachinery::field::{ErrorType, FieldError, Path};
use apimachinery::meta::{LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference, Quantity};
use regex::Regex;
use serde::Serialize;

use super::Errors;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_MAP_KEY: &str = "[-._a-zA-Z0-9]+";
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

static LABEL_REGEX: LazyLock<Regex> = LazyLock::new(|| whole(LABEL));
static SUBDOMAIN_REGEX: LazyLock<Regex> = LazyLock::new(|| whole(SUBDOMAIN));
static QUALIFIED_REGEX: LazyLock<Regex> = LazyLock::new(|| whole(QUALIFIED));
static LABEL_VALUE_REGEX: LazyLock<Regex> = LazyLock::new(|| whole(LABEL_VALUE));
static CONFIG_MAP_KEY_REGEX: LazyLock<Regex> = LazyLock::new(|| whole(CONFIG_MAP_KEY));

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^{pattern}$")).expect("the pattern is a literal of this file")
}

/// Rule for the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// An RFC 1123 label: at most 63 characters, no dots.
    Label,
    /// An RFC 1123 subdomain: at most 253 characters.
    Subdomain,
    /// A name that is a valid path segment.
    Any,
}

impl NameRule {
    /// Returns the violations of a name, as upstream's messages.
    pub fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::Label => dns_label(name),
            Self::Subdomain => dns_subdomain(name),
            Self::Any => Vec::new(),
        }
    }
}

/// Returns the violations of an RFC 1123 label.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut texts = longer_than(value, 63);
    if !LABEL_REGEX.is_match(value) {
        texts.push(if SUBDOMAIN_REGEX.is_match(value) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{LABEL}')"
            )
        });
    }
    texts
}

/// Returns the violations of an RFC 1123 subdomain.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    let mut texts = longer_than(value, 253);
    if !SUBDOMAIN_REGEX.is_match(value) {
        texts.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{SUBDOMAIN}')"
        ));
    }
    texts
}

/// Returns the violations of a key of labels, annotations or taints, or of a finalizer: `[prefix/]name`.
pub fn qualified_name(value: &str) -> Vec<String> {
    let general = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
    );
    let mut texts = Vec::new();
    let name = match value.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                texts.push("prefix part must be non-empty".to_owned());
            } else {
                texts.extend(dns_subdomain(prefix).into_iter().map(|text| format!("prefix part {text}")));
            }
            name
        }
        _ => {
            let shape = general.strip_prefix("must ").unwrap_or(&general);
            let shape = shape.strip_suffix(')').unwrap_or(shape);
            return vec![format!(
                "a qualified name must {shape}) with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        texts.push("name part must be non-empty".to_owned());
    } else {
        texts.extend(longer_than(name, 63).into_iter().map(|text| format!("name part {text}")));
    }
    if !QUALIFIED_REGEX.is_match(name) {
        texts.push(format!("name part {general}"));
    }
    texts
}

/// Returns the violations of a label's value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut texts = longer_than(value, 63);
    if !LABEL_VALUE_REGEX.is_match(value) {
        texts.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '{LABEL_VALUE}')"
        ));
    }
    texts
}

/// Returns the violations of a key in a ConfigMap's or Secret's data.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut texts = longer_than(value, 253);
    if !CONFIG_MAP_KEY_REGEX.is_match(value) {
        texts.push(format!(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '{CONFIG_MAP_KEY}')"
        ));
    }
    match value {
        "." => texts.push("must not be '.'".to_owned()),
        ".." => texts.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => texts.push("must not start with '..'".to_owned()),
        _ => {}
    }
    texts
}

fn longer_than(value: &str, max: usize) -> Vec<String> {
    if value.len() > max { vec![format!("must be no more than {max} characters")] } else { Vec::new() }
}

/// Adds an Invalid error for each text.
pub fn invalid_each(errors: &mut Errors, path: &Path, value: &str, texts: Vec<String>) {
    errors.extend(texts.iter().map(|text| FieldError::invalid(path, value, text)));
}

/// Checks the metadata of any object; `path` is `metadata`.
pub fn object_meta(errors: &mut Errors, meta: &ObjectMeta, namespaced: bool, names: NameRule, path: &Path) {
    if !meta.generate_name.is_empty() {
        // A trailing dash is valid, since random characters follow.
        let mut prefix = meta.generate_name.clone();
        if prefix.len() > 1 && prefix.ends_with('-') {
            prefix.pop();
            prefix.push('a');
        }
        invalid_each(errors, &path.child("generateName"), &meta.generate_name, names.check(&prefix));
    }
    if meta.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        invalid_each(errors, &path.child("name"), &meta.name, names.check(&meta.name));
    }
    let namespace = path.child("namespace");
    if !namespaced && !meta.namespace.is_empty() {
        errors.push(FieldError::forbidden(&namespace, "not allowed on this type"));
    } else if namespaced && meta.namespace.is_empty() {
        errors.push(FieldError::required(&namespace, ""));
    } else if namespaced {
        invalid_each(errors, &namespace, &meta.namespace, dns_label(&meta.namespace));
    }
    non_negative(errors, meta.generation, &path.child("generation"));
    labels(errors, &meta.labels, &path.child("labels"));
    annotations(errors, &meta.annotations, &path.child("annotations"));
    owner_references(errors, &meta.owner_references, &path.child("ownerReferences"));
    finalizers(errors, &meta.finalizers, &path.child("finalizers"));
}

/// Checks a change of metadata, in addition to the fields that the server itself keeps immutable.
pub fn object_meta_update(errors: &mut Errors, meta: &ObjectMeta, old: &ObjectMeta, path: &Path) {
    if old.is_being_deleted() {
        let added: Vec<_> = meta.finalizers.iter().filter(|name| !old.finalizers.contains(name)).collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
            let text = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.push(FieldError::forbidden(&path.child("finalizers"), &text));
        }
    }
    if meta.generation < old.generation {
        let text = "must not be decremented";
        errors.push(FieldError::invalid(&path.child("generation"), meta.generation, text));
    }
}

/// Checks labels: qualified keys, values of at most 63 characters.
pub fn labels(errors: &mut Errors, labels: &TextMap, path: &Path) {
    for (key, value) in labels {
        invalid_each(errors, path, key, qualified_name(key));
        invalid_each(errors, path, value, label_value(value));
    }
}

/// Checks annotations: qualified keys in any case, 256 KiB in total.
pub fn annotations(errors: &mut Errors, annotations: &TextMap, path: &Path) {
    for key in annotations.keys() {
        invalid_each(errors, path, key, qualified_name(&key.to_lowercase()));
    }
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > MAX_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(path, MAX_ANNOTATION_BYTES));
    }
}

fn owner_references(errors: &mut Errors, references: &[OwnerReference], path: &Path) {
    for reference in references {
        let checks = [
            ("apiVersion", &reference.api_version, "version must not be empty"),
            ("kind", &reference.kind, "kind must not be empty"),
            ("name", &reference.name, "name must not be empty"),
            ("uid", &reference.uid, "uid must not be empty"),
        ];
        for (field, value, text) in checks {
            if value.is_empty() {
                errors.push(FieldError::invalid(&path.child(field), value, text));
            }
        }
    }
    let mut controllers = references.iter().filter(|reference| reference.controller == Some(true));
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let text = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            first.name, second.name
        );
        errors.push(FieldError::invalid(path, references, &text));
    }
}

fn finalizers(errors: &mut Errors, finalizers: &[String], path: &Path) {
    for finalizer in finalizers {
        invalid_each(errors, path, finalizer, qualified_name(finalizer));
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let text = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers, text));
    }
}

/// Checks a label selector; invalid label values are accepted, as upstream does for old objects.
pub fn label_selector(errors: &mut Errors, selector: &LabelSelector, path: &Path) {
    label_selector_parts(errors, &selector.match_labels, &selector.match_expressions, path);
}

/// Checks the parts of a selector as [`label_selector`], for selectors with further fields.
pub fn label_selector_parts(
    errors: &mut Errors,
    match_labels: &TextMap,
    match_expressions: &[LabelSelectorRequirement],
    path: &Path,
) {
    labels(errors, match_labels, &path.child("matchLabels"));
    for (index, found) in match_expressions.iter().enumerate() {
        requirement(errors, found, &path.child("matchExpressions").index(index));
    }
}

/// Checks a selector as [`label_selector`], and the values of its expressions.
pub fn label_selector_with_values(errors: &mut Errors, selector: &LabelSelector, path: &Path) {
    labels(errors, &selector.match_labels, &path.child("matchLabels"));
    for (index, found) in selector.match_expressions.iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        requirement(errors, found, &path);
        for (index, value) in found.values.iter().enumerate() {
            invalid_each(errors, &path.child("values").index(index), value, label_value(value));
        }
    }
}

fn requirement(errors: &mut Errors, requirement: &LabelSelectorRequirement, path: &Path) {
    match requirement.operator.as_str() {
        "In" | "NotIn" if requirement.values.is_empty() => {
            let text = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(&path.child("values"), text));
        }
        "Exists" | "DoesNotExist" if !requirement.values.is_empty() => {
            let text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&path.child("values"), text));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            errors.push(FieldError::invalid(&path.child("operator"), other, "not a valid selector operator"));
        }
    }
    invalid_each(errors, &path.child("key"), &requirement.key, qualified_name(&requirement.key));
}

/// Checks that a number is not negative.
pub fn non_negative(errors: &mut Errors, value: i64, path: &Path) {
    if value < 0 {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
}

/// Checks that an amount of a resource is not negative.
pub fn quantity(errors: &mut Errors, value: &Quantity, path: &Path) {
    if value.sign() < 0 {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
}

/// Adds an error if an immutable field has changed.
pub fn immutable<T: PartialEq + Serialize>(errors: &mut Errors, new: &T, old: &T, path: &Path) {
    if new != old {
        errors.push(FieldError::invalid(path, new, "field is immutable"));
    }
}

/// Returns `path: Invalid value: TEXT: detail` for values that upstream prints without quotes.
pub fn invalid_unquoted(path: &Path, text: &str, detail: &str) -> FieldError {
    FieldError {
        error_type: ErrorType::Invalid,
        field: path.to_string(),
        body: format!("Invalid value: {text}: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: fn(&str) -> Vec<String>, value: &str, expected: &[&str]) {
        assert_eq!(rule(value), expected, "{value}");
    }

    #[test]
    fn names_are_labels_or_subdomains() {
        check(dns_label, "a-1", &[]);
        check(dns_label, &"a".repeat(63), &[]);
        check(dns_label, &"a".repeat(64), &["must be no more than 63 characters"]);
        check(dns_label, "a.b", &["must not contain dots"]);
        let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                     validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        check(dns_label, "A", &[label]);
        check(dns_label, "-a", &[label]);
        check(dns_label, "", &[label]);
        check(dns_subdomain, "a.b-c.d", &[]);
        check(
            dns_subdomain,
            "a..b",
            &["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
               must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"],
        );
    }

    #[test]
    fn keys_have_an_optional_prefix() {
        check(qualified_name, "gardener.cloud/role", &[]);
        check(qualified_name, "Role_1", &[]);
        check(qualified_name, "/role", &["prefix part must be non-empty"]);
        assert_eq!(qualified_name("a/b/c").len(), 1);
        assert_eq!(qualified_name("a/")[0], "name part must be non-empty");
    }

    #[test]
    fn metadata_needs_a_name_and_the_right_namespace() {
        let check = |meta: ObjectMeta, namespaced: bool, expected: &[&str]| {
            let mut errors = Vec::new();
            object_meta(&mut errors, &meta, namespaced, NameRule::Label, &Path::new("metadata"));
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected);
        };
        check(ObjectMeta::named("garden", "a"), true, &[]);
        check(ObjectMeta::named("", "a"), false, &[]);
        check(ObjectMeta::named("garden", "a"), false, &["metadata.namespace: Forbidden: not allowed on this type"]);
        check(ObjectMeta::named("", "a"), true, &["metadata.namespace: Required value"]);
        check(ObjectMeta::named("", ""), false, &["metadata.name: Required value: name or generateName is required"]);
        let generated = ObjectMeta { generate_name: "a-".to_owned(), ..ObjectMeta::named("", "a-x") };
        check(generated, false, &[]);
    }

    #[test]
    fn annotations_are_256_kibibytes_at_most_keys_included() {
        let said = |length: usize| {
            let mut errors = Vec::new();
            let all = TextMap::from_iter([("a".to_owned(), "x".repeat(length))]);
            annotations(&mut errors, &all, &Path::new("metadata").child("annotations"));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(MAX_ANNOTATION_BYTES - 1), Vec::<String>::new());
        assert_eq!(said(MAX_ANNOTATION_BYTES), ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
    }
}
