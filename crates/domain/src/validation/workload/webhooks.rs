// SPDX-License-Identifier: Apache-2.0
//! Validation of ValidatingWebhookConfigurations and MutatingWebhookConfigurations.
//!
//! Source: k8s.io/kubernetes pkg/apis/admissionregistration/validation/validation.go @ v1.32.

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{items, one_of, text};
use crate::validation::Errors;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Parts of a URL; those that it does not have are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// Scheme, `https`.
    pub scheme: String,
    /// Host without its port.
    pub host: String,
    /// Query without its `?`; `None`: there is no `?`.
    pub query: Option<String>,
}

/// Parser of URLs; `None`: the text is not a URL.
type Reader<'a> = &'a dyn Fn(&str) -> Option<Url>;

/// Returns all violations of a configuration, in upstream's order. `read`: parser of URLs.
pub fn webhooks(fields: &Map<String, Value>, is_mutating: bool, read: Reader<'_>) -> Errors {
    let mut errors = Errors::new();
    let mut names = BTreeSet::new();
    let webhooks = fields.get("webhooks").and_then(Value::as_array);
    for (index, webhook) in webhooks.into_iter().flatten().enumerate() {
        let path = Path::new("webhooks").index(index);
        check(&mut errors, webhook, is_mutating, read, &path);
        let name = text(webhook, "name");
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
    }
    errors
}

fn check(errors: &mut Errors, webhook: &Value, is_mutating: bool, read: Reader<'_>, path: &Path) {
    let versions: Vec<&str> = words(webhook, "admissionReviewVersions");
    let (field, known) = (path.child("admissionReviewVersions"), REVIEW_VERSIONS.join(", "));
    if versions.is_empty() {
        errors.push(FieldError::required(&field, &format!("must specify one of {known}")));
    } else if !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        errors.push(FieldError::invalid(&field, &versions, &format!("must include at least one of {known}")));
    }
    check_name(errors, text(webhook, "name"), &path.child("name"));
    for (index, rule) in webhook["rules"].as_array().into_iter().flatten().enumerate() {
        let path = path.child("rules").index(index);
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            if words(rule, field).is_empty() {
                errors.push(FieldError::required(&path.child(field), ""));
            }
        }
        one_of(errors, rule, "scope", &["*", "Cluster", "Namespaced"], &path);
    }
    one_of(errors, webhook, "failurePolicy", &["Fail", "Ignore"], path);
    one_of(errors, webhook, "matchPolicy", &["Equivalent", "Exact"], path);
    if text(webhook, "sideEffects").is_empty() {
        let detail = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(&path.child("sideEffects"), detail));
    } else {
        one_of(errors, webhook, "sideEffects", &["None", "NoneOnDryRun"], path);
    }
    if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&path.child("timeoutSeconds"), seconds, detail));
    }
    if is_mutating {
        one_of(errors, webhook, "reinvocationPolicy", &["IfNeeded", "Never"], path);
    }
    let (path, client) = (path.child("clientConfig"), &webhook["clientConfig"]);
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(url), false) => check_url(errors, url, read, &path.child("url")),
        (None, true) => {
            for field in ["name", "namespace"] {
                if text(&client["service"], field).is_empty() {
                    let detail = format!("service {field} is required");
                    errors.push(FieldError::required(&path.child("service").child(field), &detail));
                }
            }
        }
        _ => errors.push(FieldError::required(&path, "exactly one of url or service is required")),
    }
}

fn words<'a>(tree: &'a Value, field: &str) -> Vec<&'a str> {
    items(tree, field).iter().filter_map(Value::as_str).collect()
}

fn check_name(errors: &mut Errors, name: &str, path: &Path) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if !name.split('.').all(label) {
        let detail = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                      must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                      is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        errors.push(FieldError::invalid(path, name, detail));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn check_url(errors: &mut Errors, url: &str, read: Reader<'_>, path: &Path) {
    const FORM: &str = "desired format: https://host[/path]";
    let Some(read) = read(url) else {
        errors.push(FieldError::required(path, &format!("url must be a valid URL: {url:?}; {FORM}")));
        return;
    };
    if read.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme; {FORM}");
        errors.push(FieldError::invalid(path, &read.scheme, &detail));
    }
    if read.host.is_empty() {
        errors.push(FieldError::invalid(path, "", &format!("host must be specified; {FORM}")));
    }
    if let Some(query) = &read.query {
        let detail = "query parameters are not permitted in the URL";
        errors.push(FieldError::invalid(path, query, detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads URLs of the form `SCHEME://HOST?QUERY`.
    fn read(url: &str) -> Option<Url> {
        let (scheme, rest) = url.split_once("://")?;
        let (host, query) = rest.split_once('?').map_or((rest, None), |(host, query)| (host, Some(query.to_owned())));
        Some(Url { scheme: scheme.to_owned(), host: host.to_owned(), query })
    }

    #[test]
    fn all_violations_are_reported_together() {
        let rule = json!({ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] });
        let right = json!({
            "name": "a.example.com", "clientConfig": { "url": "https://a" }, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [rule],
        });
        let violations =
            |webhook: Value| webhooks(&Map::from_iter([("webhooks".to_owned(), json!([webhook]))]), false, &read);
        assert_eq!(violations(right.clone()), []);
        for (field, value, expected) in [
            ("name", json!(""), "webhooks[0].name: Required value"),
            (
                "name",
                json!("a.b"),
                "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by \
                 dots",
            ),
            (
                "sideEffects",
                json!(null),
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
            ),
            (
                "sideEffects",
                json!("Some"),
                "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            ),
            (
                "timeoutSeconds",
                json!(31),
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ),
            (
                "admissionReviewVersions",
                json!([]),
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ),
            (
                "clientConfig",
                json!({}),
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
            ),
            (
                "clientConfig",
                json!({ "url": "http://a" }),
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired \
                 format: https://host[/path]",
            ),
            (
                "clientConfig",
                json!({ "url": "" }),
                "webhooks[0].clientConfig.url: Required value: url must be a valid URL: \"\"; desired format: \
                 https://host[/path]",
            ),
            (
                "clientConfig",
                json!({ "url": "https://a?b" }),
                "webhooks[0].clientConfig.url: Invalid value: \"b\": query parameters are not permitted in the URL",
            ),
            ("rules", json!([{ "operations": ["*"] }]), "webhooks[0].rules[0].apiGroups: Required value"),
        ] {
            let mut wrong = right.clone();
            wrong[field] = value;
            let errors = violations(wrong);
            assert_eq!(errors.first().map(ToString::to_string).as_deref(), Some(expected), "{field}");
        }
    }
}
