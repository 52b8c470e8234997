// SPDX-License-Identifier: Apache-2.0
//! Defaults of ValidatingWebhookConfigurations and MutatingWebhookConfigurations.
//!
//! Source: k8s.io/kubernetes pkg/apis/admissionregistration/v1/defaults.go @ v1.32.

use serde_json::{Map, Value, json};

/// Fills in the missing fields of the webhooks of a configuration.
pub fn webhooks(fields: &mut Map<String, Value>, is_mutating: bool) {
    let Some(Value::Array(webhooks)) = fields.get_mut("webhooks") else { return };
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
        if is_mutating {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_webhooks_are_set() {
        let webhook = json!({
            "name": "a.example.com", "clientConfig": { "service": { "name": "s", "namespace": "n" } },
            "rules": [{ "operations": ["*"] }],
        });
        let mut fields = Map::from_iter([("webhooks".to_owned(), json!([webhook]))]);
        let mut of_others = fields.clone();
        webhooks(&mut fields, true);
        let webhook = &fields["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["service"]["port"], 443);
        assert_eq!(webhook["rules"][0]["scope"], "*");
        assert_eq!((&webhook["timeoutSeconds"], &webhook["failurePolicy"]), (&json!(10), &json!("Fail")));
        assert_eq!(webhook["reinvocationPolicy"], "Never");
        assert_eq!(webhook["objectSelector"], json!({}));
        webhooks(&mut of_others, false);
        assert_eq!(of_others["webhooks"][0].get("reinvocationPolicy"), None);
    }
}
