// SPDX-License-Identifier: Apache-2.0
//! Configurations of webhooks, and the rules that select webhooks for requests.

use apimachinery::meta::TextMap;

use apimachinery::meta::LabelSelector;
use apimachinery::selector::Labels;
use chrono::TimeDelta;
use serde::Deserialize;

/// A ValidatingWebhookConfiguration or a MutatingWebhookConfiguration; fields without effect are left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Configuration {
    pub(crate) webhooks: Vec<Webhook>,
}

/// One webhook, defaulted.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) client_config: ClientConfig,
    rules: Vec<Rule>,
    failure_policy: String,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
    side_effects: String,
    timeout_seconds: Option<u8>,
    reinvocation_policy: String,
}

/// Address of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientConfig {
    /// A URL; excludes the service.
    pub url: String,
    /// A Service of the cluster.
    pub service: Option<ServiceReference>,
    /// Authorities of the server's certificate: PEM in base64.
    pub ca_bundle: String,
}

/// A reference to a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServiceReference {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub name: String,
    /// Path of requests.
    pub path: String,
    /// Port; `None`: 443.
    pub port: Option<u16>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Rule {
    operations: Vec<String>,
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    scope: String,
}

/// Attributes of a request that rules and selectors match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestAttributes<'a> {
    pub(crate) operation: &'a str,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    /// Labels of the namespace; `None` for cluster-scoped objects.
    pub(crate) namespace_labels: Option<&'a TextMap>,
    /// Labels of the new and of the stored object.
    pub(crate) labels: [Option<&'a TextMap>; 2],
}

impl Webhook {
    /// True if rules and selectors of the webhook match the request.
    pub(crate) fn concerns(&self, asked: &RequestAttributes<'_>) -> bool {
        if !self.rules.iter().any(|rule| rule.matches(asked)) {
            return false;
        }
        // A selector that cannot be read selects everything: an unnecessary call is preferred to a missing one.
        let selects = |selector: &LabelSelector, labels: &TextMap| {
            Labels::from_selector(selector).map_or(true, |selector| selector.matches(labels))
        };
        if asked.namespace_labels.is_some_and(|labels| !selects(&self.namespace_selector, labels)) {
            return false;
        }
        let mut objects = asked.labels.iter().flatten();
        objects.any(|labels| selects(&self.object_selector, labels))
    }

    /// True if a webhook that cannot be called counts as one that allows.
    pub(crate) fn fails_open(&self) -> bool {
        self.failure_policy == "Ignore"
    }

    /// True if the webhook may be called in a dry run.
    pub(crate) fn knows_dry_run(&self) -> bool {
        matches!(self.side_effects.as_str(), "None" | "NoneOnDryRun")
    }

    /// True if the webhook is called again when later webhooks have changed the object.
    pub(crate) fn is_reinvoked(&self) -> bool {
        self.reinvocation_policy == "IfNeeded"
    }

    pub(crate) fn timeout(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.timeout_seconds.unwrap_or(10)))
    }

    /// URL of the webhook in messages.
    pub(crate) fn url(&self) -> String {
        let timeout = format!("timeout={}s", self.timeout().num_seconds());
        match &self.client_config.service {
            Some(ServiceReference { namespace, name, path, port }) => {
                let path = path.trim_start_matches('/');
                format!("https://{name}.{namespace}.svc:{}/{path}?{timeout}", port.unwrap_or(443))
            }
            None => format!("{}?{timeout}", self.client_config.url),
        }
    }
}

impl Rule {
    fn matches(&self, asked: &RequestAttributes<'_>) -> bool {
        let one_of = |list: &[String], value: &str| list.iter().any(|entry| entry == "*" || entry == value);
        let is_namespace = asked.group.is_empty() && asked.resource == "namespaces";
        let namespaced = !is_namespace && !asked.namespace.is_empty();
        let scope = match self.scope.as_str() {
            "Namespaced" => namespaced,
            "Cluster" => !namespaced,
            _ => true,
        };
        let resource = |entry: &String| {
            let (resource, subresource) = entry.split_once('/').unwrap_or((entry, ""));
            (resource == "*" || resource == asked.resource) && (subresource == "*" || subresource == asked.subresource)
        };
        scope
            && one_of(&self.operations, asked.operation)
            && one_of(&self.api_groups, asked.group)
            && one_of(&self.api_versions, asked.version)
            && self.resources.iter().any(resource)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> TextMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn webhook(tree: Value) -> Webhook {
        serde_json::from_value(tree).expect("a webhook")
    }

    /// A creation of a gizmo.
    const GIZMO: RequestAttributes<'static> = RequestAttributes {
        operation: "CREATE",
        group: "things.example.com",
        version: "v1",
        resource: "gizmos",
        subresource: "",
        namespace: "team",
        namespace_labels: None,
        labels: [None, None],
    };

    #[test]
    fn a_rule_names_operations_and_resources() {
        let gizmos = json!({
            "operations": ["CREATE"], "apiGroups": ["things.example.com"], "apiVersions": ["v1"],
            "resources": ["gizmos"],
        });
        for (change, expected) in [
            (json!({}), true),
            (json!({ "operations": ["UPDATE", "DELETE"] }), false),
            (json!({ "operations": ["*"] }), true),
            (json!({ "apiGroups": [""] }), false),
            (json!({ "apiGroups": ["*"] }), true),
            (json!({ "apiVersions": ["v2"] }), false),
            (json!({ "resources": ["gizmos/status"] }), false),
            (json!({ "resources": ["*"] }), true),
            (json!({ "resources": ["*/*"] }), true),
            (json!({ "resources": ["*/status"] }), false),
            (json!({ "resources": ["secrets", "gizmos"] }), true),
            (json!({ "scope": "Namespaced" }), true),
            (json!({ "scope": "Cluster" }), false),
            (json!({ "scope": "*" }), true),
        ] {
            let mut rule = gizmos.clone();
            for (key, value) in change.as_object().expect("a map") {
                rule[key] = value.clone();
            }
            let empty = TextMap::new();
            let asked = RequestAttributes { labels: [Some(&empty), None], ..GIZMO };
            assert_eq!(webhook(json!({ "rules": [rule] })).concerns(&asked), expected, "{change}");
        }
        assert!(!webhook(json!({})).concerns(&GIZMO));
    }

    #[test]
    fn subresources_and_namespaces_have_their_own_rules() {
        let rule = |resources: &str, scope: &str| {
            let rule = json!({
                "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resources], "scope": scope,
            });
            webhook(json!({ "rules": [rule] }))
        };
        let empty = TextMap::new();
        let status = RequestAttributes { subresource: "status", labels: [Some(&empty), None], ..GIZMO };
        for (resources, expected) in
            [("gizmos", false), ("*", false), ("gizmos/*", true), ("*/status", true), ("*/*", true)]
        {
            assert_eq!(rule(resources, "*").concerns(&status), expected, "{resources}");
        }
        let namespace = RequestAttributes {
            group: "",
            version: "v1",
            resource: "namespaces",
            labels: [None, Some(&empty)],
            ..GIZMO
        };
        assert!(rule("namespaces", "Cluster").concerns(&namespace));
        assert!(!rule("namespaces", "Namespaced").concerns(&namespace));
    }

    #[test]
    fn selectors_look_at_the_namespace_and_at_either_object() {
        let all = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] }]);
        let selects = json!({ "matchLabels": { "a": "b" } });
        let (with, without) = (labels(&[("a", "b")]), labels(&[("a", "c")]));
        let by_namespace = webhook(json!({ "rules": all, "namespaceSelector": selects }));
        for (namespace, expected) in [(Some(&with), true), (Some(&without), false), (None, true)] {
            let asked = RequestAttributes { namespace_labels: namespace, labels: [Some(&without), None], ..GIZMO };
            assert_eq!(by_namespace.concerns(&asked), expected);
        }
        let by_object = webhook(json!({ "rules": all, "objectSelector": selects }));
        for (labels, expected) in [
            ([Some(&with), Some(&without)], true),
            ([Some(&without), Some(&with)], true),
            ([Some(&without), Some(&without)], false),
            ([None, Some(&with)], true),
            ([None, Some(&without)], false),
        ] {
            assert_eq!(by_object.concerns(&RequestAttributes { labels, ..GIZMO }), expected);
        }
    }

    #[test]
    fn urls_show_the_time_out() {
        let url = |client: Value| webhook(json!({ "clientConfig": client, "timeoutSeconds": 5 })).url();
        assert_eq!(url(json!({ "url": "https://a.example/x" })), "https://a.example/x?timeout=5s");
        let service = json!({ "service": { "namespace": "n", "name": "s", "path": "/p" } });
        assert_eq!(url(service), "https://s.n.svc:443/p?timeout=5s");
        let service = json!({ "service": { "namespace": "n", "name": "s", "port": 8443 } });
        assert_eq!(url(service), "https://s.n.svc:8443/?timeout=5s");
    }
}
