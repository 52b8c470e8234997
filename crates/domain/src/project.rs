// SPDX-License-Identifier: Apache-2.0
//! Projects and their namespaces: the namespace of a Project, its labels, annotations and quota.
//!
//! Source: pkg/controllermanager/controller/project/project/reconciler.go @ v1.120.0.

use std::fmt::Write as _;

use api::constants::{annotation, label, namespace, role};
use api::core::Project;
use api::kubernetes::core::{Namespace, ResourceQuota};
use api::operator::ProjectQuotaConfiguration;
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, OwnerReference, TextMap};
use apimachinery::selector::Labels;
use sha2::{Digest, Sha256};

/// Phase `Pending`: not reconciled yet.
pub const PENDING: &str = "Pending";
/// Phase `Ready`
pub const READY: &str = "Ready";
/// Phase `Failed`: the Project cannot have the namespace.
pub const FAILED: &str = "Failed";
/// Phase `Terminating`.
pub const TERMINATING: &str = "Terminating";

/// Reason why a namespace cannot be a Project's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceError {
    /// The namespace lacks a label of the Project.
    #[error(
        "namespace cannot be used as it needs the project labels map[string]string{{\"gardener.cloud/role\":\"project\", \
         \"project.gardener.cloud/name\":{project:?}}}"
    )]
    LabelsMissing {
        /// Name of the Project that it lacks the label of.
        project: String,
    },
    /// The namespace belongs to another Project.
    #[error("namespace is already in-use by another project")]
    InUse,
}

/// Returns the namespace of a Project: the one it names, else one with a name from the Project's name and uid.
pub fn namespace_name(project: &Project) -> String {
    if let Some(name) = project.spec.namespace.as_ref().filter(|name| !name.is_empty()) {
        return name.clone();
    }
    let mut name = format!("{}{}-", namespace::PROJECT_PREFIX, project.metadata.name);
    for byte in Sha256::digest(project.metadata.uid.as_bytes()).iter().take(3) {
        let _ = write!(name, "{byte:02x}");
    }
    // Three bytes are six digits; five are shown.
    name.pop();
    name
}

fn labels(project: &Project) -> [(String, String); 2] {
    [
        (label::ROLE.to_owned(), role::PROJECT.to_owned()),
        (label::PROJECT_NAME.to_owned(), project.metadata.name.clone()),
    ]
}

/// Returns true if a namespace has the labels of a Project.
pub fn belongs_to(namespace: &Namespace, project: &Project) -> bool {
    labels(project).iter().all(|(key, value)| namespace.metadata.labels.get(key) == Some(value))
}

fn owner_reference(project: &Project) -> OwnerReference {
    OwnerReference {
        api_version: Project::api_version(),
        kind: Project::KIND.to_owned(),
        name: project.metadata.name.clone(),
        uid: project.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns the new namespace of a Project.
pub fn new_namespace(project: &Project) -> Namespace {
    let metadata = ObjectMeta {
        labels: labels(project).into(),
        annotations: [
            (annotation::NAMESPACE_PROJECT.to_owned(), project.metadata.uid.clone()),
            (annotation::NAMESPACE_CREATED_BY_PROJECT_CONTROLLER.to_owned(), "true".to_owned()),
        ]
        .into(),
        owner_references: vec![owner_reference(project)],
        ..ObjectMeta::named("", &namespace_name(project))
    };
    Namespace { metadata, ..Namespace::default() }
}

/// Returns an existing namespace as the Project's. One that was not created for the Project outlives it.
///
/// # Errors
/// It lacks the labels that allow it, or belongs to another Project.
pub fn adopt(namespace: &Namespace, project: &Project) -> Result<Namespace, NamespaceError> {
    if !belongs_to(namespace, project) {
        return Err(NamespaceError::LabelsMissing { project: project.metadata.name.clone() });
    }
    if namespace.metadata.annotation(annotation::NAMESPACE_PROJECT).is_some_and(|uid| uid != project.metadata.uid) {
        return Err(NamespaceError::InUse);
    }
    let mut adopted = namespace.clone();
    let metadata = &mut adopted.metadata;
    metadata.annotations.insert(annotation::NAMESPACE_PROJECT.to_owned(), project.metadata.uid.clone());
    if !metadata.annotations.contains_key(annotation::NAMESPACE_CREATED_BY_PROJECT_CONTROLLER) {
        metadata.annotations.insert(annotation::NAMESPACE_KEEP.to_owned(), "true".to_owned());
    }
    let owner = owner_reference(project);
    if !metadata.owner_references.iter().any(|present| present.uid == owner.uid) {
        metadata.owner_references.push(owner);
    }
    Ok(adopted)
}

/// Returns true if the namespace outlives the Project.
pub fn is_kept(namespace: &Namespace) -> bool {
    crate::annotations::is_true(&namespace.metadata.annotations, annotation::NAMESPACE_KEEP)
}

/// Returns a namespace that outlives its Project, without the Project's labels and annotations.
pub fn released(namespace: &Namespace, project: &Project) -> Namespace {
    let mut released = namespace.clone();
    let metadata = &mut released.metadata;
    for annotation in
        [annotation::NAMESPACE_PROJECT, annotation::NAMESPACE_KEEP, annotation::NAMESPACE_CREATED_BY_PROJECT_CONTROLLER]
    {
        metadata.annotations.remove(annotation);
    }
    for label in [label::PROJECT_NAME, label::ROLE] {
        metadata.labels.remove(label);
    }
    metadata.owner_references.retain(|owner| owner.uid != project.metadata.uid);
    released
}

/// Name of the ResourceQuota of a Project's namespace.
pub const QUOTA: &str = "gardener";

/// Returns the quota for a Project's namespace: that of the first entry whose selector matches the Project's labels;
/// one without a selector matches all.
///
/// # Errors
/// A selector cannot be read.
pub fn quota_of<'a>(
    quotas: &'a [ProjectQuotaConfiguration],
    project: &Project,
) -> Result<Option<&'a ResourceQuota>, String> {
    for quota in quotas {
        let takes = match &quota.project_selector {
            Some(selector) => Labels::from_selector(selector)?.matches(&project.metadata.labels),
            None => true,
        };
        if takes {
            return Ok(Some(&quota.config));
        }
    }
    Ok(None)
}

/// Returns the ResourceQuota of a Project's namespace: the limits of the configuration, except that a limit that is
/// already stored keeps its value. Stored limits that the configuration does not name are removed.
pub fn quota(config: &ResourceQuota, stored: Option<&ResourceQuota>, project: &Project) -> ResourceQuota {
    let mut quota = stored.cloned().unwrap_or_default();
    let metadata = &mut quota.metadata;
    QUOTA.clone_into(&mut metadata.name);
    project.spec.namespace.clone().unwrap_or_default().clone_into(&mut metadata.namespace);
    let owner = owner_reference(project);
    match metadata.owner_references.iter_mut().find(|present| present.uid == owner.uid) {
        Some(present) => *present = owner,
        None => metadata.owner_references.push(owner),
    }
    let texts = |map: &TextMap| map.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<Vec<_>>();
    metadata.labels.extend(texts(&config.metadata.labels));
    metadata.annotations.extend(texts(&config.metadata.annotations));
    let kept = |name: &String| quota.spec.hard.get(name).copied();
    let hard = config.spec.hard.iter().map(|(name, most)| (name.clone(), kept(name).unwrap_or(*most))).collect();
    quota.spec.hard = hard;
    quota
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_gets_the_first_quota_that_takes_its_project() {
        let quotas: Vec<ProjectQuotaConfiguration> = serde_json::from_value(serde_json::json!([
            {"config": {"spec": {"hard": {"count/secrets": "1"}}}, "projectSelector": {"matchLabels": {"a": "b"}}},
            {"config": {"metadata": {"labels": {"l": "m"}}, "spec": {"hard": {"count/shoots.core.gardener.cloud": "5"}}}},
        ]))
        .expect("a configuration");
        let mut project = project();
        project.spec.namespace = Some("garden-demo".to_owned());
        let config = quota_of(&quotas, &project).expect("selectors").expect("a quota");
        let made = quota(config, None, &project);
        assert_eq!((made.metadata.name.as_str(), made.metadata.namespace.as_str()), ("gardener", "garden-demo"));
        assert_eq!((made.metadata.label("l"), made.metadata.owner_references.len()), (Some("m"), 1));
        let mut raised = made.clone();
        for (name, most) in [("count/shoots.core.gardener.cloud", 9), ("count/secrets", 3)] {
            raised.spec.hard.insert(name.to_owned(), apimachinery::meta::Quantity::from_integer(most));
        }
        let again = quota(config, Some(&raised), &project);
        let bounds: Vec<(&str, i64)> =
            again.spec.hard.iter().map(|(name, most)| (name.as_str(), most.value())).collect();
        assert_eq!(bounds, [("count/shoots.core.gardener.cloud", 9)]);
        assert_eq!(again.metadata.owner_references.len(), 1);
        project.metadata.labels.insert("a".to_owned(), "b".to_owned());
        assert_eq!(quota_of(&quotas, &project), Ok(Some(&quotas[0].config)));
    }

    fn project() -> Project {
        let mut project = Project::default();
        "demo".clone_into(&mut project.metadata.name);
        "4b0a3b8e-6ac5-4d3d-a9c4-0f6b2f3b6a52".clone_into(&mut project.metadata.uid);
        project
    }

    #[test]
    fn the_namespace_is_named_or_built_from_name_and_uid() {
        let mut project = project();
        assert_eq!(namespace_name(&project), "garden-demo-b92fb");
        project.spec.namespace = Some("garden-own".to_owned());
        assert_eq!(namespace_name(&project), "garden-own");
    }

    #[test]
    fn adopted_namespaces_need_the_labels_and_outlive_the_project() {
        let project = project();
        let mut namespace = Namespace::default();
        let error = adopt(&namespace, &project).unwrap_err().to_string();
        assert_eq!(
            error,
            "namespace cannot be used as it needs the project labels \
             map[string]string{\"gardener.cloud/role\":\"project\", \"project.gardener.cloud/name\":\"demo\"}"
        );
        namespace.metadata.labels = labels(&project).into();
        let adopted = adopt(&namespace, &project).expect("it has the labels");
        assert!(is_kept(&adopted));
        assert_eq!(adopted.metadata.owner_references.len(), 1);
        assert_eq!(adopt(&adopted, &project), Ok(adopted.clone()));
        let bare = released(&adopted, &project);
        assert_eq!(bare, Namespace::default());

        namespace.metadata.annotations.insert("namespace.gardener.cloud/project".to_owned(), "other".to_owned());
        assert_eq!(
            adopt(&namespace, &project).unwrap_err().to_string(),
            "namespace is already in-use by another project"
        );
    }

    #[test]
    fn created_namespaces_are_deleted_with_their_project() {
        let namespace = new_namespace(&project());
        assert!(!is_kept(&namespace));
        assert_eq!(adopt(&namespace, &project()), Ok(namespace.clone()));
        assert_eq!(namespace.metadata.annotations["namespace.gardener.cloud/created-by-project-controller"], "true");
    }
}
