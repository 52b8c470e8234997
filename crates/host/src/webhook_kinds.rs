// SPDX-License-Identifier: Apache-2.0
//! ValidatingWebhookConfigurations and MutatingWebhookConfigurations: defaults and validation.
//! `generic_apiserver::webhooks` calls the webhooks.
//!
//! Source: k8s.io/kubernetes pkg/apis/admissionregistration/{v1/defaults.go,validation/validation.go} @ v1.32.

use std::collections::BTreeSet;

use apimachinery::DynamicObject;
use apimachinery::field::{FieldError, Path};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use http::Uri;
use serde_json::{Value, json};

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Strategy of both kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookStrategy {
    /// True for MutatingWebhookConfigurations.
    pub(crate) mutating: bool,
}

impl Strategy<DynamicObject> for WebhookStrategy {
    fn default(&self, object: &mut DynamicObject) {
        let Some(Value::Array(webhooks)) = object.fields.get_mut("webhooks") else { return };
        for webhook in webhooks {
            let fill = |tree: &mut Value, field: &str, value: Value| {
                if tree[field].is_null() {
                    tree[field] = value;
                }
            };
            fill(webhook, "failurePolicy", json!("Fail"));
            fill(webhook, "matchPolicy", json!("Equivalent"));
            fill(webhook, "namespaceSelector", json!({}));
            fill(webhook, "objectSelector", json!({}));
            fill(webhook, "timeoutSeconds", json!(10));
            if self.mutating {
                fill(webhook, "reinvocationPolicy", json!("Never"));
            }
            if webhook["clientConfig"]["service"].is_object() {
                fill(&mut webhook["clientConfig"]["service"], "port", json!(443));
            }
            for rule in webhook.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
                fill(rule, "scope", json!("*"));
            }
        }
    }

    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        self.validate(object)
    }

    fn validate_update(&self, object: &DynamicObject, _: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        self.validate(object)
    }

    fn generation(&self) -> Generation {
        Generation::Standard
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

impl WebhookStrategy {
    fn validate(self, object: &DynamicObject) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut names = BTreeSet::new();
        let webhooks = object.fields.get("webhooks").and_then(Value::as_array);
        for (index, webhook) in webhooks.into_iter().flatten().enumerate() {
            let path = Path::new("webhooks").index(index);
            self.validate_one(&mut errors, webhook, &path);
            let name = text(webhook, "name");
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        errors
    }

    fn validate_one(self, errors: &mut Vec<FieldError>, webhook: &Value, path: &Path) {
        let versions: Vec<&str> = texts(webhook, "admissionReviewVersions");
        let (field, known) = (path.child("admissionReviewVersions"), REVIEW_VERSIONS.join(", "));
        if versions.is_empty() {
            errors.push(FieldError::required(&field, &format!("must specify one of {known}")));
        } else if !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
            errors.push(FieldError::invalid(&field, &versions, &format!("must include at least one of {known}")));
        }
        validate_name(errors, text(webhook, "name"), &path.child("name"));
        for (index, rule) in webhook["rules"].as_array().into_iter().flatten().enumerate() {
            let path = path.child("rules").index(index);
            for field in ["operations", "apiGroups", "apiVersions", "resources"] {
                if texts(rule, field).is_empty() {
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
        if self.mutating {
            one_of(errors, webhook, "reinvocationPolicy", &["IfNeeded", "Never"], path);
        }
        let (path, client) = (path.child("clientConfig"), &webhook["clientConfig"]);
        match (client["url"].as_str(), client["service"].is_object()) {
            (Some(url), false) => validate_url(errors, url, &path.child("url")),
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
}

fn text<'a>(tree: &'a Value, field: &str) -> &'a str {
    tree[field].as_str().unwrap_or_default()
}

fn texts<'a>(tree: &'a Value, field: &str) -> Vec<&'a str> {
    tree[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn one_of(errors: &mut Vec<FieldError>, tree: &Value, field: &str, supported: &[&str], path: &Path) {
    let value = text(tree, field);
    if !value.is_empty() && !supported.contains(&value) {
        errors.push(FieldError::not_supported(&path.child(field), value, supported));
    }
}

fn validate_name(errors: &mut Vec<FieldError>, name: &str, path: &Path) {
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

fn validate_url(errors: &mut Vec<FieldError>, url: &str, path: &Path) {
    const FORM: &str = "desired format: https://host[/path]";
    let Ok(read) = url.parse::<Uri>() else {
        errors.push(FieldError::required(path, &format!("url must be a valid URL: {url:?}; {FORM}")));
        return;
    };
    let scheme = read.scheme_str().unwrap_or_default();
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme; {FORM}");
        errors.push(FieldError::invalid(path, scheme, &detail));
    }
    if read.host().unwrap_or_default().is_empty() {
        errors.push(FieldError::invalid(path, "", &format!("host must be specified; {FORM}")));
    }
    if read.query().is_some() {
        let detail = "query parameters are not permitted in the URL";
        errors.push(FieldError::invalid(path, read.query().unwrap_or_default(), detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(webhook: Value) -> DynamicObject {
        let mut object = DynamicObject::default();
        object.fields.insert("webhooks".to_owned(), json!([webhook]));
        object
    }

    #[test]
    fn defaults_of_webhooks_are_set() {
        let mut object = object(json!({
            "name": "a.example.com", "clientConfig": { "service": { "name": "s", "namespace": "n" } },
            "rules": [{ "operations": ["*"] }],
        }));
        WebhookStrategy { mutating: true }.default(&mut object);
        let webhook = &object.fields["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["service"]["port"], 443);
        assert_eq!(webhook["rules"][0]["scope"], "*");
        assert_eq!((&webhook["timeoutSeconds"], &webhook["failurePolicy"]), (&json!(10), &json!("Fail")));
        assert_eq!(webhook["reinvocationPolicy"], "Never");
        assert_eq!(webhook["objectSelector"], json!({}));
    }

    #[test]
    fn all_violations_are_reported_together() {
        let rule = json!({ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] });
        let right = json!({
            "name": "a.example.com", "clientConfig": { "url": "https://a" }, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [rule],
        });
        let strategy = WebhookStrategy { mutating: false };
        assert_eq!(strategy.validate(&object(right.clone())), []);
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
            ("rules", json!([{ "operations": ["*"] }]), "webhooks[0].rules[0].apiGroups: Required value"),
        ] {
            let mut wrong = right.clone();
            wrong[field] = value;
            let errors = strategy.validate(&object(wrong));
            assert_eq!(errors.first().map(ToString::to_string).as_deref(), Some(expected), "{field}");
        }
    }
}
