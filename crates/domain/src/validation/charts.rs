// SPDX-License-Identifier: Apache-2.0
//! Charts of ControllerDeployments, Gardenlets and operator Extensions: their registry, and the templates in their values.
//!
//! Source: pkg/api/core/validation/{controllerdeployment,utils}.go (pkg/apis/core/validation until v1.136), v1.120.0 to v1.149.0.

use std::sync::LazyLock;

use api::core::NamedResourceReference;
use api::core_v1;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::RawExtension;
use regex::{Captures, Regex};
use serde_json::Value;

use super::{Errors, common};
use crate::release::{Release, Releases};

/// Values of a chart may have templates, which use named objects.
const TEMPLATES: Releases = Releases::since(147);

/// Pattern of a template.
static TEMPLATE: LazyLock<Regex> = LazyLock::new(|| literal(r"\{\{[^{}]*\}\}"));
/// A template that stands for a key of a named object.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| literal(r"^\{\{\s*\.resources\.([a-zA-Z0-9]+)\.data\.[a-zA-Z0-9]+\s*\}\}$"));

fn literal(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a literal of this file")
}

/// Checks the registry of a chart.
pub(super) fn repository(errors: &mut Errors, repository: &core_v1::OCIRepository, path: &Path) {
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    if !is_set(&repository.r#ref) && !is_set(&repository.repository) {
        errors.push(FieldError::required(path, "must provide either ref or repository"));
        return;
    }
    if repository.r#ref.is_some() {
        let others = [("repository", &repository.repository), ("tag", &repository.tag), ("digest", &repository.digest)];
        for (field, _) in others.into_iter().filter(|(_, value)| is_set(value)) {
            let text = format!("cannot provide {field} when ref is set");
            errors.push(FieldError::forbidden(&path.child(field), &text));
        }
        return;
    }
    if !is_set(&repository.tag) && !is_set(&repository.digest) {
        errors.push(FieldError::required(path, "must provide either tag or digest"));
    }
    if let Some(digest) = &repository.digest
        && !digest.starts_with("sha256:")
    {
        errors.push(FieldError::invalid(&path.child("digest"), digest, "must start with 'sha256:'"));
    }
}

/// Checks the named objects that values of charts may use.
pub(super) fn resources(
    errors: &mut Errors,
    resources: &[core_v1::NamedResourceReference],
    release: Release,
    path: &Path,
) {
    if !TEMPLATES.contain(release) {
        return;
    }
    let references: Vec<NamedResourceReference> = resources
        .iter()
        .map(|one| NamedResourceReference { name: one.name.clone(), resource_ref: one.resource_ref.clone() })
        .collect();
    common::secrets_and_config_maps(errors, &references, release, path);
    let is_alphanumeric = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for (index, one) in resources.iter().enumerate().filter(|(_, one)| !is_alphanumeric(&one.name)) {
        errors.push(FieldError::invalid(&path.index(index).child("name"), &one.name, "name must be alphanumeric"));
    }
}

/// Checks the templates in the values of a chart: each stands for a key of one of `resources`.
pub(super) fn values(
    errors: &mut Errors,
    values: Option<&RawExtension>,
    resources: &[core_v1::NamedResourceReference],
    release: Release,
    path: &Path,
) {
    if let Some(values) = values.filter(|_| TEMPLATES.contain(release)) {
        walk(errors, &values.value(), resources, path);
    }
}

/// Checks all texts of a tree, keys among them.
fn walk(errors: &mut Errors, tree: &Value, resources: &[core_v1::NamedResourceReference], path: &Path) {
    match tree {
        Value::Object(fields) => {
            for (key, value) in fields {
                templates(errors, key, resources, path);
                walk(errors, value, resources, path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(errors, item, resources, path)),
        Value::String(text) => templates(errors, text, resources, path),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn templates(errors: &mut Errors, text: &str, resources: &[core_v1::NamedResourceReference], path: &Path) {
    let rest = TEMPLATE.replace_all(text, |found: &Captures<'_>| {
        let found = &found[0];
        match REFERENCE.captures(found) {
            None => {
                let detail = "template must match pattern \"{{ .resources.<name>.data.<key> }}\" with alphanumeric <name> \
                              and <key>";
                errors.push(FieldError::invalid(path, found, detail));
            }
            Some(reference) if !resources.iter().any(|one| one.name == reference[1]) => {
                let name = &reference[1];
                let detail =
                    format!("template references resource {name:?} which is not declared in the resources list");
                errors.push(FieldError::invalid(path, found, &detail));
            }
            Some(_) => {}
        }
        ""
    });
    for (mark, what) in [("{{", "start"), ("}}", "end")] {
        if rest.contains(mark) {
            let detail = format!("stray {mark:?} that does not {what} a valid template expression");
            errors.push(FieldError::invalid(path, mark, &detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows: values, errors joined by ` | `, with one named object `db`.
    #[test]
    fn templates_stand_for_keys_of_named_objects() {
        let resources: Vec<core_v1::NamedResourceReference> =
            serde_json::from_value(json!([{ "name": "db" }])).expect("one");
        let pattern =
            "template must match pattern \"{{ .resources.<name>.data.<key> }}\" with alphanumeric <name> and <key>";
        let undeclared = "template references resource \"other\" which is not declared in the resources list";
        let (start, end) = (
            "v: Invalid value: \"{{\": stray \"{{\" that does not start a valid template expression",
            "v: Invalid value: \"}}\": stray \"}}\" that does not end a valid template expression",
        );
        for (tree, expected) in [
            (
                json!({ "a": ["x", 1, null, "{{ .resources.db.data.user }}:{{.resources.db.data.password}}"] }),
                String::new(),
            ),
            (json!({ "{{ .resources.db.data.key }}": true }), String::new()),
            (json!({ "a": "{{ .Values.x }}" }), format!("v: Invalid value: \"{{{{ .Values.x }}}}\": {pattern}")),
            (
                json!({ "a": "{{ .resources.db.data.tls.crt }}" }),
                format!("v: Invalid value: \"{{{{ .resources.db.data.tls.crt }}}}\": {pattern}"),
            ),
            (
                json!({ "a": "{{ .resources.other.data.user }}" }),
                format!("v: Invalid value: \"{{{{ .resources.other.data.user }}}}\": {undeclared}"),
            ),
            (json!({ "a": "{{ .resources.db.data.user" }), start.to_owned()),
            (json!({ "a": "{{ .resources.db.data.user }} }}" }), end.to_owned()),
            (json!({ "a": "{{ {{ .resources.db.data.user }} }}" }), format!("{start} | {end}")),
        ] {
            let raw = RawExtension::from(tree.clone());
            let found = |minor: u16| {
                let mut errors = Errors::new();
                values(&mut errors, Some(&raw), &resources, Release(minor), &Path::new("v"));
                errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
            };
            assert_eq!(found(147), expected, "{tree}");
            assert_eq!(found(146), "", "{tree}");
        }
    }

    #[test]
    fn names_of_objects_in_templates_are_alphanumeric() {
        let found = |minor: u16, name: &str| {
            let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "n" });
            let one = serde_json::from_value(json!({ "name": name, "resourceRef": reference })).expect("one");
            let mut errors = Errors::new();
            resources(&mut errors, &[one], Release(minor), &Path::new("resources"));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(147, "db1"), [""; 0]);
        let text = "resources[0].name: Invalid value: \"my-db\": name must be alphanumeric";
        assert_eq!(found(147, "my-db"), [text]);
        assert_eq!(found(146, "my-db"), [""; 0]);
        let identity =
            json!({ "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "WorkloadIdentity", "name": "n" });
        let one = serde_json::from_value(json!({ "name": "db", "resourceRef": identity })).expect("one");
        let mut errors = Errors::new();
        resources(&mut errors, &[one], Release(149), &Path::new("resources"));
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "resources[0].resourceRef: Unsupported value: \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\": \
              supported values: \"/v1, Kind=Secret\", \"/v1, Kind=ConfigMap\""
            ]
        );
        assert_eq!(
            found(149, ""),
            [
                "resources[0].name: Required value: field must not be empty",
                "resources[0].name: Invalid value: \"\": name must be alphanumeric",
            ]
        );
    }
}
