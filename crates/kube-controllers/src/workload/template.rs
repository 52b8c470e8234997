// SPDX-License-Identifier: Apache-2.0
//! Comparison of pod templates, and the hash that distinguishes the ReplicaSets of one Deployment.
//!
//! Source: k8s.io/kubernetes pkg/controller/controller_utils.go (ComputeHash), deployment/util (EqualIgnoreHash).

use apimachinery::fnv::fnv32;
use apimachinery::meta::TextMap;

use api::constants::label;
use serde_json::{Value, json};

/// Characters of a hash: no vowels and no digits that resemble them.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns the hash of a template: FNV-1a of 32 bits over its canonical JSON and the collision count (8 bytes, little
/// endian), in decimal, each digit replaced by a safe character. At most 10 characters.
///
/// Unlike upstream the bytes that are hashed are JSON, so the values differ.
pub(crate) fn hash(template: &Value, collisions: Option<i32>) -> String {
    let text = without_hash(template).to_string();
    let count = collisions.map(|count| u64::from(count.unsigned_abs()).to_le_bytes());
    let bytes = text.bytes().chain(count.into_iter().flatten());
    safe_encode(&fnv32(bytes).to_string())
}

/// Replaces each byte by one of the 27 safe characters.
fn safe_encode(text: &str) -> String {
    text.bytes().map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])).collect()
}

/// True if two templates make the same pods, apart from [`label::POD_TEMPLATE_HASH`].
pub(crate) fn is_equal(a: &Value, b: &Value) -> bool {
    without_hash(a) == without_hash(b)
}

/// Returns the template without the label, and without values that equal the default of an absent field.
fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    // A template that was stored before servers applied defaults makes the same pods.
    domain::defaulting::workload::template(&mut template);
    if let Some(Value::Object(metadata)) = template.get_mut("metadata") {
        metadata.remove("creationTimestamp");
        if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
            labels.remove(label::POD_TEMPLATE_HASH);
            if labels.is_empty() {
                metadata.remove("labels");
            }
        }
        if metadata.is_empty()
            && let Value::Object(fields) = &mut template
        {
            fields.remove("metadata");
        }
    }
    template
}

/// Returns the template with the label.
pub(crate) fn with_hash(template: &Value, hash: &str) -> Value {
    let mut template = template.clone();
    if !template.is_object() {
        template = json!({});
    }
    for path in ["metadata", "labels"] {
        let parent = if path == "labels" { &mut template["metadata"] } else { &mut template };
        if !parent[path].is_object() {
            parent[path] = json!({});
        }
    }
    template["metadata"]["labels"][label::POD_TEMPLATE_HASH] = json!(hash);
    template
}

/// Returns the texts of `metadata.<field>` of a template.
pub(crate) fn texts(template: &Value, field: &str) -> TextMap {
    let map = template["metadata"][field].as_object();
    let texts = map.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(image: &str) -> Value {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
    }

    #[test]
    fn a_hash_of_safe_characters_depends_on_template_and_collisions() {
        assert_eq!(safe_encode("0123456789"), "456789bcdf");
        let all = [hash(&template("a"), None), hash(&template("b"), None), hash(&template("a"), Some(1))];
        assert_ne!(all[0], all[1]);
        assert_ne!(all[0], all[2]);
        for hash in &all {
            assert!(hash.len() <= 10 && hash.bytes().all(|byte| b"456789bcdf".contains(&byte)), "{hash}");
        }
        assert_eq!(all[0], hash(&template("a"), None));
    }

    #[test]
    fn the_hash_label_makes_no_difference() {
        let labelled = with_hash(&template("a"), "x");
        assert_eq!(labelled["metadata"]["labels"], json!({"app": "web", "pod-template-hash": "x"}));
        assert!(is_equal(&labelled, &template("a")));
        assert!(!is_equal(&labelled, &template("b")));
        assert_eq!(hash(&labelled, None), hash(&template("a"), None));
        assert!(is_equal(&with_hash(&json!({"spec": {}}), "x"), &json!({"spec": {}})));
    }
}
