// SPDX-License-Identifier: Apache-2.0
//! A CustomResourceDefinition: names, versions, and validation.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/{types,defaults}.go,
//! pkg/apis/apiextensions/validation, pkg/controller/{status,establish}.

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use apimachinery::validation;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::schema::Schema;
use crate::structural::ALL_PATTERNS;

/// Finalizer that keeps a definition until its objects are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
/// Groups of Kubernetes, in which only approved resources may be defined.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];
const APPROVED: &str = "api-approved.kubernetes.io";
const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];

/// The specification of a CustomResourceDefinition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Definition {
    /// Group of the resource; suffix of the definition's name.
    pub group: String,
    /// Plural, singular and short names, kind and list kind.
    pub names: Names,
    /// `Cluster` or `Namespaced`.
    pub scope: String,
    /// Versions, in the order of the definition; one of them is stored.
    pub versions: Vec<Version>,
    /// Must be false.
    pub preserve_unknown_fields: bool,
}

/// Names of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// Plural name, as in URLs.
    pub plural: String,
    /// Singular name.
    pub singular: String,
    /// Names for the command line.
    pub short_names: Vec<String>,
    /// Kind of the objects.
    pub kind: String,
    /// Kind of lists of them.
    pub list_kind: String,
    /// Names for several resources at once: `all`.
    pub categories: Vec<String>,
}

/// A version of a resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Version {
    /// Name of the version: `v1alpha1`.
    pub name: String,
    /// True if the version is served.
    pub served: bool,
    /// True if objects are stored in the version.
    pub storage: bool,
    /// True if the use of the version causes a warning.
    pub deprecated: bool,
    /// Text of the warning.
    pub deprecation_warning: Option<String>,
    /// Schema of objects.
    pub schema: Option<Validation>,
    /// Subresources of objects.
    pub subresources: Subresources,
    /// Columns of tables in addition to the name.
    pub additional_printer_columns: Vec<PrinterColumn>,
    /// Fields that field selectors support.
    pub selectable_fields: Vec<SelectableField>,
}

/// The schema of a version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Validation {
    /// OpenAPI v3.
    #[serde(rename = "openAPIV3Schema")]
    pub schema: Option<Schema>,
}

/// Subresources of a version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Subresources {
    /// Enables subresource `status`.
    pub status: Option<Map<String, Value>>,
    /// Paths of subresource `scale`; `None`: there is none.
    pub scale: Option<Scale>,
}

/// Paths of a subresource `scale`, `.spec.replicas`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Scale {
    /// Path of the desired number of replicas.
    pub spec_replicas_path: String,
    /// Path of the actual number of replicas.
    pub status_replicas_path: String,
    /// Path of the selector as a text; empty: there is none.
    pub label_selector_path: String,
}

/// A column of a table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PrinterColumn {
    /// Header of the column, as kubectl prints it.
    pub name: String,
    /// `boolean`, `date`, `integer`, `number`, `string`.
    pub r#type: String,
    /// `name`, `int32`, …
    pub format: String,
    /// Description for clients.
    pub description: String,
    /// JSONPath of the value.
    pub json_path: String,
    /// 0: always shown; above: with `-o wide`.
    pub priority: i64,
}

/// A field that field selectors support.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SelectableField {
    /// Path, `.spec.color`.
    pub json_path: String,
}

/// A name that another resource of the cluster and group uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Reason of condition `NamesAccepted`.
    pub reason: &'static str,
    /// Message of condition `NamesAccepted`.
    pub message: String,
}

/// Sets the defaults of a definition.
pub fn fill(fields: &mut Map<String, Value>) {
    let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_missing = |names: &Map<String, Value>, name: &str| {
            !kind.is_empty() && names.get(name).and_then(Value::as_str).unwrap_or_default().is_empty()
        };
        if is_missing(names, "singular") {
            names.insert("singular".to_owned(), json!(kind.to_lowercase()));
        }
        if is_missing(names, "listKind") {
            names.insert("listKind".to_owned(), json!(format!("{kind}List")));
        }
    }
    spec.entry("conversion").or_insert_with(|| json!({ "strategy": "None" }));
}

impl Definition {
    /// Reads the definition from an object's fields.
    ///
    /// # Errors
    /// It has fields of wrong types.
    pub fn of(fields: &Map<String, Value>) -> Result<Self, String> {
        let spec = fields.get("spec").unwrap_or(&Value::Null);
        if spec.is_null() {
            return Ok(Self::default());
        }
        Self::deserialize(spec).map_err(|error| error.to_string())
    }

    /// True if objects have a namespace.
    pub fn is_namespaced(&self) -> bool {
        self.scope == "Namespaced"
    }

    /// Returns the version in which objects are stored.
    pub fn storage(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }

    /// Returns all violations; `name` is the object's, `annotation` finds its annotation by key. Each expression of a
    /// version has its own cost limit unless the schema `is_kept`.
    pub fn violations(
        &self,
        name: &str,
        annotation: impl Fn(&str) -> Option<String>,
        is_kept: impl Fn(&str) -> bool,
    ) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let spec = Path::new("spec");
        let metadata = Path::new("metadata");
        if name != format!("{}.{}", self.names.plural, self.group) {
            let text = r#"must be spec.names.plural+"."+spec.group"#;
            errors.push(FieldError::invalid(&metadata.child("name"), name, text));
        }
        let is_protected = |root: &str| self.group == root || self.group.ends_with(&format!(".{root}"));
        if PROTECTED.into_iter().any(is_protected) && annotation(APPROVED).unwrap_or_default().is_empty() {
            let text = format!(
                "protected groups must have approval annotation {APPROVED:?}, see \
                 https://github.com/kubernetes/enhancements/pull/1111"
            );
            errors.push(FieldError::required(&metadata.child("annotations").key(APPROVED), &text));
        }
        if self.group.is_empty() {
            errors.push(FieldError::required(&spec.child("group"), ""));
        } else {
            for reason in validation::dns1123_subdomain(&self.group) {
                errors.push(FieldError::invalid(&spec.child("group"), &self.group, &reason));
            }
            if !self.group.contains('.') {
                let text = "should be a domain with at least one dot";
                errors.push(FieldError::invalid(&spec.child("group"), &self.group, text));
            }
        }
        match self.scope.as_str() {
            "" => errors.push(FieldError::required(&spec.child("scope"), "")),
            other if !SCOPES.contains(&other) => {
                errors.push(FieldError::not_supported(&spec.child("scope"), other, &SCOPES));
            }
            _ => {}
        }
        if self.preserve_unknown_fields {
            let text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                        spec.versions[*].schema instead";
            errors.push(FieldError::invalid(&spec.child("preserveUnknownFields"), true, text));
        }
        self.names.look(&spec.child("names"), &mut errors);
        self.look_at_versions(&spec.child("versions"), is_kept, &mut errors);
        errors
    }

    fn look_at_versions(&self, path: &Path, is_kept: impl Fn(&str) -> bool, errors: &mut Vec<FieldError>) {
        let names: Vec<&str> = self.versions.iter().map(|version| version.name.as_str()).collect();
        if self.versions.iter().filter(|version| version.storage).count() != 1 {
            let text = "must have exactly one version marked as storage version";
            errors.push(FieldError::invalid(path, &names, text));
        }
        if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
            errors.push(FieldError::invalid(path, &names, "must contain unique version names"));
        }
        let mut patterns = ALL_PATTERNS;
        for (index, version) in self.versions.iter().enumerate() {
            version.look(&path.index(index), is_kept(&version.name), &mut patterns, errors);
        }
    }

    /// Returns all violations of a change; `is_established`: objects may exist.
    pub fn changes(&self, old: &Self, is_established: bool) -> Vec<FieldError> {
        let spec = Path::new("spec");
        let mut errors = Vec::new();
        let mut fixed = |path: Path, new: &str, old: &str| {
            if new != old {
                errors.push(FieldError::invalid(&path, new, "field is immutable"));
            }
        };
        fixed(spec.child("group"), &self.group, &old.group);
        fixed(spec.child("names").child("plural"), &self.names.plural, &old.names.plural);
        if is_established {
            fixed(spec.child("scope"), &self.scope, &old.scope);
            fixed(spec.child("names").child("kind"), &self.names.kind, &old.names.kind);
        }
        errors
    }

    /// Returns the first name that another definition of the cluster uses.
    pub fn conflict<'a>(&self, others: impl Iterator<Item = &'a Self>) -> Option<Conflict> {
        let others: Vec<&Names> = others.filter(|other| other.group == self.group).map(|other| &other.names).collect();
        let resources = |names: &'a Names| {
            let texts = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
            texts.map(String::as_str).filter(|text| !text.is_empty()).collect::<Vec<_>>()
        };
        let kinds = |names: &'a Names| [names.kind.as_str(), names.list_kind.as_str()];
        let taken = |name: &str| others.iter().any(|other| resources(other).contains(&name));
        let taken_kind = |kind: &str| others.iter().any(|other| kinds(other).contains(&kind));
        let conflict = |reason, name: &str| Conflict { reason, message: format!("{name:?} is already in use") };
        let Names { plural, singular, short_names, kind, list_kind, .. } = &self.names;
        if taken(plural) {
            return Some(conflict("PluralConflict", plural));
        }
        if taken(singular) {
            return Some(conflict("SingularConflict", singular));
        }
        if let Some(name) = short_names.iter().find(|name| taken(name)) {
            return Some(conflict("ShortNamesConflict", name));
        }
        if taken_kind(kind) {
            return Some(conflict("KindConflict", kind));
        }
        taken_kind(list_kind).then(|| conflict("ListKindConflict", list_kind))
    }
}

impl Names {
    fn look(&self, path: &Path, errors: &mut Vec<FieldError>) {
        let mut label = |name: &str, text: &str, is_required: bool| {
            let path = path.child(name);
            if text.is_empty() {
                if is_required {
                    errors.push(FieldError::required(&path, ""));
                }
                return;
            }
            let is_kind = matches!(name, "kind" | "listKind");
            let lower = if is_kind { text.to_lowercase() } else { text.to_owned() };
            for reason in validation::dns1035_label(&lower) {
                let head = if is_kind { "may have mixed case, but should otherwise match: " } else { "" };
                errors.push(FieldError::invalid(&path, text, &format!("{head}{reason}")));
            }
        };
        label("plural", &self.plural, true);
        label("singular", &self.singular, false);
        label("kind", &self.kind, true);
        label("listKind", &self.list_kind, true);
        for (index, name) in self.short_names.iter().enumerate() {
            for reason in validation::dns1035_label(name) {
                errors.push(FieldError::invalid(&path.child("shortNames").index(index), name, &reason));
            }
        }
        if self.kind == self.list_kind && !self.kind.is_empty() {
            let text = "kind and listKind may not be the same";
            errors.push(FieldError::invalid(&path.child("listKind"), &self.list_kind, text));
        }
    }
}

impl Version {
    /// Returns the schema.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()?.schema.as_ref()
    }

    /// Returns the warning for clients of the version.
    pub fn warning(&self, group: &str, kind: &str) -> Option<String> {
        let usual = || format!("{group}/{} {kind} is deprecated", self.name);
        self.deprecated.then(|| self.deprecation_warning.clone().unwrap_or_else(usual))
    }

    /// Validates the version; compiled patterns of a schema that is not kept may take `patterns` bytes, which are
    /// reduced by their sizes.
    fn look(&self, path: &Path, is_schema_kept: bool, patterns: &mut usize, errors: &mut Vec<FieldError>) {
        for reason in validation::dns1035_label(&self.name) {
            errors.push(FieldError::invalid(&path.child("name"), &self.name, &reason));
        }
        let schema = path.child("schema").child("openAPIV3Schema");
        match self.schema() {
            Some(given) => {
                let mut unlimited = usize::MAX;
                let flaws = given.flaws(&schema, if is_schema_kept { &mut unlimited } else { patterns });
                // Costs are estimated by the types of a schema, which must be valid for that.
                let is_valid = flaws.is_empty();
                let costs = if is_valid { given.excessive_costs(&schema, !is_schema_kept) } else { Vec::new() };
                errors.extend(flaws.into_iter().chain(costs));
            }
            None => errors.push(FieldError::required(&schema, "schemas are required")),
        }
        if let Some(scale) = &self.subresources.scale {
            let path = path.child("subresources").child("scale");
            let paths = [
                ("specReplicasPath", &scale.spec_replicas_path, ".spec."),
                ("statusReplicasPath", &scale.status_replicas_path, ".status."),
            ];
            for (name, text, root) in paths {
                if text.is_empty() {
                    errors.push(FieldError::required(&path.child(name), ""));
                } else if !text.starts_with(root) {
                    let text_of = format!("should be a json path under {}", root.trim_end_matches('.'));
                    errors.push(FieldError::invalid(&path.child(name), text, &text_of));
                }
            }
        }
        for (index, column) in self.additional_printer_columns.iter().enumerate() {
            let path = path.child("additionalPrinterColumns").index(index);
            const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
            if column.name.is_empty() {
                errors.push(FieldError::required(&path.child("name"), ""));
            }
            if column.r#type.is_empty() {
                let text = format!("must be one of {}", TYPES.join(","));
                errors.push(FieldError::required(&path.child("type"), &text));
            } else if !TYPES.contains(&column.r#type.as_str()) {
                let text = format!("must be one of {}", TYPES.join(","));
                errors.push(FieldError::invalid(&path.child("type"), &column.r#type, &text));
            }
            if column.json_path.is_empty() {
                errors.push(FieldError::required(&path.child("jsonPath"), ""));
            }
        }
    }
}

/// Returns the new status of a definition; `conflict` is a name that another one uses, `old` the previous status.
pub fn status(definition: &Definition, conflict: Option<&Conflict>, old: &Value, now: Time) -> Value {
    let mut conditions = old["conditions"].as_array().cloned().unwrap_or_default();
    let is_established = is_true(old, "Established");
    let mut set = |type_: &str, status: bool, reason: &str, message: &str| {
        set_condition(&mut conditions, type_, status, reason, message, &now);
    };
    match conflict {
        None => {
            set("NamesAccepted", true, "NoConflicts", "no conflicts found");
            set("Established", true, "InitialNamesAccepted", "the initial names have been accepted");
        }
        Some(Conflict { reason, message }) => {
            set("NamesAccepted", false, reason, message);
            // An established definition stays established.
            if !is_established {
                set("Established", false, "NotAccepted", "not all names are accepted");
            }
        }
    }
    let mut stored: Vec<Value> = old["storedVersions"].as_array().cloned().unwrap_or_default();
    if let Some(version) = definition.storage().filter(|version| !stored.contains(&json!(version.name))) {
        stored.push(json!(version.name));
    }
    let names = &definition.names;
    let mut accepted = match conflict {
        None => {
            json!({ "plural": names.plural, "singular": names.singular, "kind": names.kind, "listKind": names.list_kind })
        }
        Some(_) => old["acceptedNames"].clone(),
    };
    if conflict.is_none() {
        for (name, texts) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
            if !texts.is_empty() {
                accepted[name] = json!(texts);
            }
        }
    }
    if accepted.is_null() {
        accepted = json!({ "plural": "", "kind": "" });
    }
    json!({ "acceptedNames": accepted, "conditions": conditions, "storedVersions": stored })
}

/// Sets a condition; keeps the time of the last transition if the status does not change.
pub fn set_condition(conditions: &mut Vec<Value>, type_: &str, status: bool, reason: &str, message: &str, now: &Time) {
    let status = if status { "True" } else { "False" };
    let old = conditions.iter().position(|condition| condition["type"] == type_);
    let since = old.map(|index| &conditions[index]).filter(|old| old["status"] == status);
    let since = since.map_or_else(|| json!(now), |old| old["lastTransitionTime"].clone());
    let new = json!({
        "type": type_, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
    });
    match old {
        Some(index) => conditions[index] = new,
        None => conditions.push(new),
    }
}

/// True if a condition of a status is true.
pub fn is_true(status: &Value, type_: &str) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == type_ && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crontabs() -> Value {
        json!({ "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": { "plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"] },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        } })
    }

    fn definition(change: impl FnOnce(&mut Value)) -> Definition {
        let mut tree = crontabs();
        change(&mut tree["spec"]);
        let mut fields = tree.as_object().expect("fields").clone();
        fill(&mut fields);
        Definition::of(&fields).expect("a definition")
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
        let definition = definition(change);
        let errors = definition.violations("crontabs.stable.example.com", |_| None, |_| false);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_follow_from_the_kind() {
        let names = definition(|_| {}).names;
        assert_eq!((names.singular.as_str(), names.list_kind.as_str()), ("crontab", "CronTabList"));
    }

    #[test]
    fn violations_name_their_fields() {
        check(|_| {}, &[]);
        check(
            |spec| spec["group"] = json!("example"),
            &[
                r#"metadata.name: Invalid value: "crontabs.stable.example.com": must be spec.names.plural+"."+spec.group"#,
                r#"spec.group: Invalid value: "example": should be a domain with at least one dot"#,
            ],
        );
        check(
            |spec| spec["scope"] = json!("World"),
            &[r#"spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced""#],
        );
        check(
            |spec| spec["versions"][0]["storage"] = json!(false),
            &[r#"spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version"#],
        );
        check(
            |spec| spec["versions"][0]["schema"] = json!(null),
            &["spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"],
        );
        check(
            |spec| spec["names"]["listKind"] = json!("CronTab"),
            &[r#"spec.names.listKind: Invalid value: "CronTab": kind and listKind may not be the same"#],
        );
        check(
            |spec| spec["versions"][0]["subresources"] = json!({ "scale": { "specReplicasPath": ".replicas" } }),
            &[
                r#"spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".replicas": should be a json path under .spec"#,
                "spec.versions[0].subresources.scale.statusReplicasPath: Required value",
            ],
        );
        let protected = definition(|spec| spec["group"] = json!("x.k8s.io"));
        let told = protected.violations("crontabs.x.k8s.io", |_| None, |_| false);
        assert!(told[0].to_string().contains("protected groups must have approval annotation"), "{told:?}");
        assert_eq!(protected.violations("crontabs.x.k8s.io", |_| Some("unapproved".to_owned()), |_| false), []);
    }

    #[test]
    fn fields_that_objects_depend_on_cannot_be_changed() {
        let (old, new) = (definition(|_| {}), definition(|spec| spec["scope"] = json!("Cluster")));
        assert_eq!(new.changes(&old, false), []);
        let told = new.changes(&old, true);
        assert_eq!(told[0].to_string(), r#"spec.scope: Invalid value: "Cluster": field is immutable"#);
    }

    #[test]
    fn a_name_belongs_to_one_definition_of_a_group() {
        let first = definition(|_| {});
        let conflict = |change: fn(&mut Value)| definition(change).conflict([&first].into_iter());
        assert_eq!(conflict(|spec| spec["group"] = json!("other.example.com")), None);
        let taken = |reason, name: &str| Some(Conflict { reason, message: format!("{name:?} is already in use") });
        assert_eq!(conflict(|_| {}), taken("PluralConflict", "crontabs"));
        let other: fn(&mut Value) =
            |spec| spec["names"] = json!({ "plural": "cats", "kind": "Cat", "shortNames": ["ct"] });
        assert_eq!(conflict(other), taken("ShortNamesConflict", "ct"));
        let other: fn(&mut Value) =
            |spec| spec["names"] = json!({ "plural": "cats", "singular": "cat", "kind": "CronTab" });
        assert_eq!(conflict(other), taken("KindConflict", "CronTab"));
    }

    #[test]
    fn an_established_definition_stays_established() {
        let now = Time::from_instant("2025-01-01T00:00:00Z".parse().expect("an instant"));
        let definition = definition(|_| {});
        let first = status(&definition, None, &Value::Null, now);
        assert!(is_true(&first, "Established") && is_true(&first, "NamesAccepted"));
        assert_eq!((&first["storedVersions"], &first["acceptedNames"]["shortNames"]), (&json!(["v1"]), &json!(["ct"])));
        let conflict = Conflict { reason: "PluralConflict", message: String::new() };
        let later = status(&definition, Some(&conflict), &first, now);
        assert!(is_true(&later, "Established") && !is_true(&later, "NamesAccepted"));
        assert_eq!(later["acceptedNames"], first["acceptedNames"]);
        assert!(!is_true(&status(&definition, Some(&conflict), &Value::Null, now), "Established"));
    }
}
