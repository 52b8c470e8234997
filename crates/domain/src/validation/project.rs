// SPDX-License-Identifier: Apache-2.0
//! Validation of Projects.
//!
//! Source: pkg/apis/core/validation/project.go and pkg/api/core/validation/project.go, v1.120.0 to v1.149.0.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use api::constants::namespace;
use api::core::{Project, ProjectMember};
use apimachinery::field::{FieldError, Path};
use apimachinery::go::quote;
use regex::Regex;

use super::common::{self, consecutive_hyphens};
use super::meta::{self, NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, common::one_of};
use crate::release::{Release, Releases};

const MAX_NAME_LENGTH: usize = 10;
const MAX_EXTENSION_ROLE_LENGTH: usize = 20;
const RESERVED_NAMESPACES: [&str; 3] = [namespace::SEED_LEASE, namespace::SHOOT_ISSUER, namespace::PUBLIC];

/// The prefix of namespaces is checked here; before, the admission plugin checks it.
const PREFIXED_NAMESPACE: Releases = Releases::since(127);
/// Names of namespaces, characters of texts, and the absence of a namespace of users are checked.
const STRICT: Releases = Releases::since(128);

/// Digits, spaces and punctuation that a text may have next to letters.
static NO_LETTERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\d\s.,:_/\\-]$").expect("the pattern is a literal of this file"));

/// Checks a new Project by the rules of a release.
pub fn project(project: &Project, release: Release) -> Errors {
    judged(project, None, release)
}

/// Checks a Project; `old`: the stored one, whose unchanged texts may have any characters.
fn judged(project: &Project, old: Option<&Project>, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &project.metadata, false, NameRule::Subdomain, &Path::new("metadata"));
    if project.metadata.name.len() > MAX_NAME_LENGTH {
        errors.push(FieldError::too_long(&Path::new("metadata").child("name"), MAX_NAME_LENGTH));
    }
    consecutive_hyphens(&mut errors, &project.metadata.name);
    let (spec, path) = (&project.spec, Path::new("spec"));
    if let Some(namespace) = &spec.namespace
        && is_reserved(&mut errors, namespace, release, &path.child("namespace"))
    {
        return errors;
    }
    members(&mut errors, &spec.members, release, &path.child("members"));
    for (field, subject_) in [("createdBy", &spec.created_by), ("owner", &spec.owner)] {
        if let Some(one) = subject_ {
            let names = [&*one.kind, &*one.api_group, &*one.namespace, &*one.name];
            subject(&mut errors, names, release, &path.child(field));
        }
    }
    let old = old.map(|old| &old.spec);
    for (field, text, before) in [
        ("description", &spec.description, old.map(|old| &old.description)),
        ("purpose", &spec.purpose, old.map(|old| &old.purpose)),
    ] {
        let Some(given) = text else { continue };
        let path = path.child(field);
        if given.is_empty() {
            errors.push(FieldError::required(&path, &format!("must provide a {field} when key is present")));
        }
        if STRICT.contain(release) && before != Some(text) {
            free_form(&mut errors, given, &path);
        }
    }
    if let Some(tolerations) = &spec.tolerations {
        let path = path.child("tolerations");
        common::tolerations_in(&mut errors, &tolerations.defaults, release, &path.child("defaults"));
        common::tolerations_in(&mut errors, &tolerations.whitelist, release, &path.child("whitelist"));
        common::tolerations_against(
            &mut errors,
            &tolerations.defaults,
            &tolerations.whitelist,
            &path.child("defaults"),
        );
    }
    let mut resources = BTreeSet::new();
    for (index, approval) in spec.dual_approval_for_deletion.iter().enumerate() {
        let path = path.child("dualApprovalForDeletion").index(index);
        let resource = path.child("resource");
        if approval.resource.is_empty() {
            errors.push(FieldError::required(&resource, "cannot be empty"));
        } else {
            one_of(&mut errors, &approval.resource, &["shoots"], &resource);
            if !resources.insert(&approval.resource) {
                errors.push(FieldError::duplicate(&resource, &approval.resource));
            }
        }
        meta::label_selector_with_values(&mut errors, &approval.selector, &path.child("selector"));
    }
    errors
}

/// Checks the name of a namespace; true if it is reserved, and upstream does not check the rest of the specification.
fn is_reserved(errors: &mut Errors, name: &str, release: Release, path: &Path) -> bool {
    let is_reserved = RESERVED_NAMESPACES.contains(&name);
    if !PREFIXED_NAMESPACE.contain(release) {
        if is_reserved {
            let list: Vec<String> = RESERVED_NAMESPACES.iter().map(|name| format!("{name:?}")).collect();
            let text = format!("Project namespaces [{}] are reserved by Gardener", list.join(" "));
            errors.push(FieldError::invalid(path, name, &text));
        }
        return false;
    }
    if is_reserved {
        let text = format!("Project namespaces [{}] are reserved by Gardener", RESERVED_NAMESPACES.join(", "));
        errors.push(FieldError::invalid(path, name, &text));
        return true;
    }
    if name != namespace::GARDEN && !name.starts_with(namespace::PROJECT_PREFIX) {
        errors.push(FieldError::invalid(path, name, "must start with garden-"));
    }
    if STRICT.contain(release) {
        meta::invalid_each(errors, path, name, meta::dns_label(name));
    }
    false
}

/// Checks that a text consists of letters, digits, spaces and punctuation.
///
/// Unlike upstream: marks that belong to letters count as letters.
///
/// Source: pkg/utils/validation/validation.go (`ValidateFreeFormText`) @ v1.128.0.
fn free_form(errors: &mut Errors, text: &str, path: &Path) {
    let is_letter = |character: char| character.is_alphabetic() && !character.is_numeric();
    let is_allowed =
        |character: &char| is_letter(*character) || NO_LETTERS.is_match(character.encode_utf8(&mut [0; 4]));
    let others: Vec<String> = text.chars().filter(|character| !is_allowed(character)).map(quote_character).collect();
    if !others.is_empty() {
        let text = format!("must not contain invalid character: [{}]", others.join(" "));
        errors.push(FieldError::forbidden(path, &text));
    }
}

/// Quotes a character as Go does.
fn quote_character(character: char) -> String {
    match character {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        other => format!("'{}'", quote(&other.to_string()).trim_matches('"')),
    }
}

/// Checks a changed Project by the rules of a release.
pub fn project_update(new: &Project, old: &Project, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    errors.extend(judged(new, Some(old), release));
    let path = Path::new("spec");
    if old.spec.created_by.is_some() {
        immutable(&mut errors, &new.spec.created_by, &old.spec.created_by, &path.child("createdBy"));
    }
    if old.spec.namespace.is_some() {
        immutable(&mut errors, &new.spec.namespace, &old.spec.namespace, &path.child("namespace"));
    }
    if old.spec.owner.is_some() && new.spec.owner.is_none() {
        errors.push(FieldError::invalid(&path.child("owner"), &new.spec.owner, "owner cannot be reset"));
    }
    errors
}

/// Checks a changed status of a Project.
pub fn project_status_update(new: &Project, old: &Project) -> Errors {
    let mut errors = Errors::new();
    if !old.status.phase.is_empty() && new.status.phase.is_empty() {
        let path = Path::new("status").child("phase");
        errors.push(FieldError::invalid(&path, "", "phase cannot be updated to an empty string"));
    }
    errors
}

/// Returns the roles of a member in upstream's internal form: the first one, then the others, without repetition.
fn roles(member: &ProjectMember) -> Vec<&str> {
    let mut roles: Vec<&str> = Vec::new();
    if !member.role.is_empty() {
        roles.push(&member.role);
    }
    roles.extend(member.roles.iter().map(String::as_str).filter(|role| *role != member.role));
    roles
}

fn members(errors: &mut Errors, members: &[ProjectMember], release: Release, path: &Path) {
    let mut seen = BTreeSet::new();
    let mut owner_found = false;
    for (index, member) in members.iter().enumerate() {
        let path = path.index(index);
        let mut id = (member.api_group.clone(), member.kind.clone(), member.namespace.clone(), member.name.clone());
        if member.kind == "User" && member.name.starts_with("system:serviceaccount:") {
            let [_, _, namespace, name, ..] = member.name.split(':').collect::<Vec<_>>()[..] else {
                let text = format!("unsupported service account user name: {:?}", member.name);
                errors.push(FieldError::invalid(&path.child("name"), &member.name, &text));
                continue;
            };
            id = (String::new(), "ServiceAccount".to_owned(), namespace.to_owned(), name.to_owned());
        }
        if !seen.insert(id) {
            errors.push(FieldError::duplicate(&path, member));
        }
        let names = [&*member.kind, &*member.api_group, &*member.namespace, &*member.name];
        subject(errors, names, release, &path);
        let roles = roles(member);
        for (index, role) in roles.iter().enumerate() {
            let path = path.child("roles").index(index);
            if roles[..index].contains(role) {
                errors.push(FieldError::duplicate(&path, role));
            }
            member_role(errors, role, &path);
        }
        for (index, _) in roles.iter().enumerate().filter(|(_, role)| **role == "owner") {
            if owner_found {
                let text = "cannot have more than one member having the owner role";
                errors.push(FieldError::forbidden(&path.child("roles").index(index), text));
            }
            owner_found = true;
        }
    }
}

fn member_role(errors: &mut Errors, role: &str, path: &Path) {
    const SUPPORTED: [&str; 6] = ["admin", "owner", "serviceaccountmanager", "uam", "viewer", "extension:*"];
    let Some(extension) = role.strip_prefix("extension:") else {
        if !SUPPORTED[..5].contains(&role) {
            errors.push(FieldError::not_supported(path, role, &SUPPORTED));
        }
        return;
    };
    if extension.len() > MAX_EXTENSION_ROLE_LENGTH {
        errors.push(FieldError::too_long(path, MAX_EXTENSION_ROLE_LENGTH));
    }
    let mut texts = Vec::new();
    if extension == "." || extension == ".." {
        texts.push(format!("may not be '{extension}'"));
    }
    texts.extend(
        ["/", "%"].iter().filter(|part| extension.contains(*part)).map(|part| format!("may not contain '{part}'")),
    );
    if !texts.is_empty() {
        errors.push(FieldError::invalid(path, role, &texts.join(", ")));
    }
}

/// Checks a subject, given by its kind, group, namespace and name.
fn subject(errors: &mut Errors, names: [&str; 4], release: Release, path: &Path) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let [kind, api_group, namespace, name] = names;
    let is_strict = STRICT.contain(release);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                meta::invalid_each(errors, &path.child("name"), name, meta::dns_subdomain(name));
            }
            if !api_group.is_empty() {
                errors.push(FieldError::not_supported(&path.child("apiGroup"), api_group, &[""]));
            }
            let path = path.child("namespace");
            if namespace.is_empty() {
                errors.push(FieldError::required(&path, ""));
            } else if is_strict {
                meta::invalid_each(errors, &path, namespace, meta::dns_label(namespace));
            }
        }
        "User" | "Group" => {
            one_of(errors, api_group, &[RBAC], &path.child("apiGroup"));
            if is_strict && !namespace.is_empty() {
                let text = "must not be set when kind is User or Group";
                errors.push(FieldError::forbidden(&path.child("namespace"), text));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(&path.child("kind"), other, &kinds));
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::ProjectTolerations;
    use api::core::Toleration;

    use super::*;
    use crate::release::DOCUMENTED;

    fn project(change: impl FnOnce(&mut Project)) -> Project {
        let mut project = Project::default();
        project.metadata.name = "dev".to_owned();
        change(&mut project);
        crate::defaulting::project(&mut project);
        project
    }

    #[track_caller]
    fn check(project: &Project, expected: &[&str]) {
        check_in(DOCUMENTED.0, project, expected);
    }

    #[track_caller]
    fn check_in(minor: u16, project: &Project, expected: &[&str]) {
        let errors = super::project(project, Release(minor));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn member(kind: &str, namespace: &str, name: &str, role: &str) -> ProjectMember {
        ProjectMember {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: role.to_owned(),
            ..ProjectMember::default()
        }
    }

    #[test]
    fn names_are_short() {
        check(&project(|project| project.metadata.name = "a".repeat(10)), &[]);
        check(
            &project(|project| project.metadata.name = "a".repeat(11)),
            &["metadata.name: Too long: may not be more than 10 bytes"],
        );
        check(
            &project(|project| project.metadata.name = "a--b".to_owned()),
            &["metadata.name: Invalid value: \"a--b\": name may not contain two consecutive hyphens"],
        );
    }

    #[test]
    fn reserved_namespaces_are_refused() {
        check(&project(|project| project.spec.namespace = Some("garden-dev".to_owned())), &[]);
        check(
            &project(|project| project.spec.namespace = Some("gardener-system-public".to_owned())),
            &["spec.namespace: Invalid value: \"gardener-system-public\": Project namespaces \
               [\"gardener-system-seed-lease\" \"gardener-system-shoot-issuer\" \"gardener-system-public\"] are reserved by \
               Gardener"],
        );
    }

    #[test]
    fn namespaces_are_judged_by_release() {
        let reserved = "spec.namespace: Invalid value: \"gardener-system-public\": Project namespaces \
                        [gardener-system-seed-lease, gardener-system-shoot-issuer, gardener-system-public] are reserved by \
                        Gardener";
        let prefix = |name: &str| format!("spec.namespace: Invalid value: {name:?}: must start with garden-");
        let dots = "spec.namespace: Invalid value: \"garden-a.b\": must not contain dots";
        for (minor, name, expected) in [
            (126, "dev", vec![]),
            (127, "dev", vec![prefix("dev")]),
            (127, "garden", vec![]),
            (128, "garden-dev", vec![]),
            (127, "garden-a.b", vec![]),
            (128, "garden-a.b", vec![dots.to_owned()]),
            (149, "a.b", vec![prefix("a.b"), dots.replace("garden-", "")]),
        ] {
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check_in(minor, &project(|project| project.spec.namespace = Some(name.to_owned())), &expected);
        }
        // The rest of the specification is not checked.
        let reserved_and_more = project(|project| {
            project.spec.namespace = Some("gardener-system-public".to_owned());
            project.spec.members = vec![member("User", "", "alice", "king")];
        });
        check_in(127, &reserved_and_more, &[reserved]);
    }

    #[test]
    fn namespaces_of_members_are_judged_since_1_128() {
        let of_user = "spec.members[0].namespace: Forbidden: must not be set when kind is User or Group";
        let of_group = "spec.members[1].namespace: Forbidden: must not be set when kind is User or Group";
        let of_account = "spec.members[2].namespace: Invalid value: \"a.b\": must not contain dots";
        let of_owner = "spec.owner.namespace: Forbidden: must not be set when kind is User or Group";
        let with = project(|project| {
            project.spec.members = vec![
                member("User", "a", "alice", "admin"),
                member("Group", "a", "all", "viewer"),
                member("ServiceAccount", "a.b", "robot", "viewer"),
            ];
            project.spec.owner = Some(api::kubernetes::rbac::Subject {
                kind: "User".to_owned(),
                namespace: "a".to_owned(),
                name: "bob".to_owned(),
                ..Default::default()
            });
        });
        check_in(127, &with, &[]);
        check_in(128, &with, &[of_user, of_group, of_account, of_owner]);
    }

    #[test]
    fn texts_have_letters_digits_spaces_and_punctuation_since_1_128() {
        let with = |description: &str, purpose: &str| {
            project(|project| {
                project.spec.description = Some(description.to_owned());
                project.spec.purpose = Some(purpose.to_owned());
            })
        };
        let good = with("Größe 7,\n٣ a/b\\c: d-e_f.", "試験");
        check_in(149, &good, &[]);
        let bad = with("it's 50% \"done\"\u{1}", "½ ²");
        let texts = [
            r#"spec.description: Forbidden: must not contain invalid character: ['\'' '%' '"' '"' '\x01']"#,
            "spec.purpose: Forbidden: must not contain invalid character: ['½' '²']",
        ];
        check_in(127, &bad, &[]);
        check_in(128, &bad, &texts);
        assert_eq!(project_update(&bad, &bad, Release(128)), []);
        let errors = project_update(&bad, &good, Release(128));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn tolerations_are_labels_since_1_130() {
        let with = project(|project| {
            let toleration = Toleration { key: "a b".to_owned(), value: Some("-".to_owned()) };
            project.spec.tolerations =
                Some(ProjectTolerations { defaults: Vec::new(), whitelist: vec![toleration.clone(), toleration] });
        });
        let fields = |minor| {
            let errors = super::project(&with, Release(minor));
            errors.iter().map(|error| error.field.clone()).collect::<Vec<_>>()
        };
        let path = |index: usize, field: &str| format!("spec.tolerations.whitelist[{index}]{field}");
        assert_eq!(fields(129), [path(1, "")]);
        let expected = [path(0, ".key"), path(0, ".value"), path(1, ".key"), path(1, ".value"), path(1, "")];
        assert_eq!(fields(130), expected);
    }

    #[test]
    fn members_are_listed_once_and_one_is_owner() {
        let with = |members: Vec<ProjectMember>| project(|project| project.spec.members = members);
        check(&with(vec![member("User", "", "alice", "owner"), member("User", "", "bob", "extension:dns")]), &[]);
        check(
            &with(vec![member("User", "", "alice", "owner"), member("User", "", "bob", "owner")]),
            &["spec.members[1].roles[0]: Forbidden: cannot have more than one member having the owner role"],
        );
        check(
            &with(vec![member("User", "", "alice", "king")]),
            &["spec.members[0].roles[0]: Unsupported value: \"king\": supported values: \"admin\", \"owner\", \
               \"serviceaccountmanager\", \"uam\", \"viewer\", \"extension:*\""],
        );
        let same = with(vec![
            member("User", "", "system:serviceaccount:garden-dev:robot", "admin"),
            member("ServiceAccount", "garden-dev", "robot", "viewer"),
        ]);
        let errors = super::project(&same, DOCUMENTED);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().starts_with("spec.members[1]: Duplicate value: "), "{errors:?}");
    }

    #[test]
    fn default_tolerations_are_among_the_allowed_ones() {
        let toleration = |key: &str| Toleration { key: key.to_owned(), value: None };
        let with = |defaults: &[&str]| {
            project(|project| {
                let defaults = defaults.iter().map(|key| toleration(key)).collect();
                project.spec.tolerations = Some(ProjectTolerations { defaults, whitelist: vec![toleration("a")] });
            })
        };
        check(&with(&["a"]), &[]);
        check(
            &with(&["b"]),
            &["spec.tolerations.defaults[0]: Forbidden: only the following tolerations are allowed: [a]"],
        );
    }

    #[test]
    fn owners_stay() {
        let mut old = project(|_| {});
        old.spec.owner = Some(api::kubernetes::rbac::Subject {
            kind: "User".to_owned(),
            api_group: "rbac.authorization.k8s.io".to_owned(),
            name: "alice".to_owned(),
            namespace: String::new(),
        });
        let mut new = old.clone();
        new.spec.owner = None;
        let errors = project_update(&new, &old, DOCUMENTED);
        assert_eq!(errors[0].to_string(), "spec.owner: Invalid value: null: owner cannot be reset");
        assert_eq!(project_update(&old, &old, DOCUMENTED), []);
    }
}
