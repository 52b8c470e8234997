// SPDX-License-Identifier: Apache-2.0
//! Objects that belong to a store: the scope of its reflector, the selectors, and the type.

use std::sync::Arc;

use apimachinery::meta::ObjectMeta;
use apimachinery::selector::{Fields, Labels};
use serde_json::Value;

use crate::api::{Endpoint, ListOptions};
use crate::erased::Reader;

/// Objects that belong to a store.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// A logical cluster, or `*` for all of them.
    pub(crate) cluster: Arc<str>,
    namespace: Option<Arc<str>>,
    labels: Labels,
    fields: Fields,
    /// Decoder of the objects.
    pub(crate) reader: Reader,
}

impl Selection {
    /// Returns what a list through `endpoint` with `options` would return.
    pub(crate) fn new(endpoint: &Endpoint, options: &ListOptions) -> Self {
        Self {
            cluster: endpoint.cluster.clone(),
            namespace: endpoint.namespace.clone(),
            // A server refuses to list by selectors that cannot be parsed, so such a store stays empty.
            labels: Labels::parse(&options.label_selector).unwrap_or_default(),
            fields: Fields::parse(&options.field_selector).unwrap_or_default(),
            reader: endpoint.reader,
        }
    }

    /// Returns all objects of a cluster, decoded as [`crate::PartialObject`].
    #[cfg(test)]
    pub(crate) fn all(cluster: &str) -> Self {
        let reader = Reader::of::<crate::PartialObject>();
        Self { cluster: cluster.into(), namespace: None, labels: Labels::default(), fields: Fields::default(), reader }
    }

    pub(crate) fn is_wildcard(&self) -> bool {
        &*self.cluster == "*"
    }

    /// True if objects of a cluster and namespace may belong to the store.
    pub(crate) fn includes(&self, cluster: &str, namespace: &str) -> bool {
        (self.is_wildcard() || &*self.cluster == cluster)
            && self.namespace.as_deref().is_none_or(|own| own.is_empty() || own == namespace)
    }

    /// True if the selectors select an object. `bytes`: its encoded form.
    pub(crate) fn selects(&self, metadata: &ObjectMeta, bytes: &[u8]) -> bool {
        self.labels.matches(&metadata.labels)
            && (self.fields.is_empty() || {
                let tree: Value = serde_json::from_slice(bytes).unwrap_or_default();
                let field = |path: &str| tree.pointer(&format!("/{}", path.replace('.', "/"))).cloned();
                self.fields.matches(|path| match field(path) {
                    None | Some(Value::Null) => String::new(),
                    Some(Value::String(text)) => text,
                    Some(other) => other.to_string(),
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_selected_as_the_server_does() {
        let bytes = br#"{"metadata":{"name":"a","labels":{"l":"x"}},"spec":{"seedRef":{"name":"s"},"paused":true}}"#;
        let object: crate::PartialObject = crate::Readable::read(bytes).expect("an object");
        for (labels, fields, expected) in [
            ("", "", true),
            ("l=x", "metadata.name=a", true),
            ("l=y", "metadata.name=a", false),
            ("l in (x,y)", "spec.seedRef.name=s,spec.paused=true", true),
            ("", "spec.seedRef.name=t", false),
            ("", "spec.missing=", true),
            ("!l", "", false),
        ] {
            let selection = Selection {
                labels: Labels::parse(labels).expect("parses"),
                fields: Fields::parse(fields).expect("parses"),
                ..Selection::all("garden")
            };
            assert_eq!(selection.selects(&object.metadata, bytes), expected, "{labels} {fields}");
        }
    }

    #[test]
    fn a_scope_has_one_or_all_clusters_and_namespaces() {
        let in_namespace = Selection { namespace: Some("n".into()), ..Selection::all("c") };
        for (selection, cluster, namespace, expected) in [
            (&Selection::all("*"), "c", "n", true),
            (&Selection::all("c"), "c", "n", true),
            (&Selection::all("c"), "d", "n", false),
            (&in_namespace, "c", "n", true),
            (&in_namespace, "c", "m", false),
        ] {
            assert_eq!(selection.includes(cluster, namespace), expected, "{selection:?} {cluster} {namespace}");
        }
    }
}
