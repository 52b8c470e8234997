// SPDX-License-Identifier: Apache-2.0
//! Subjects of bindings, compared with the requesting user.

use api::kubernetes::rbac::Subject;

/// Kind of a subject that is an account of the cluster.
pub const SERVICE_ACCOUNT: &str = "ServiceAccount";
/// Kind of a subject that is a group.
pub const GROUP: &str = "Group";
/// Kind of a subject that is a user.
pub const USER: &str = "User";
/// Prefix of the names of users that are accounts; `NAMESPACE:NAME` follows.
pub const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// User or group that a subject names, in the form in which names of users and groups are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectName {
    /// The user of this name.
    User(String),
    /// The members of this group.
    Group(String),
}

/// Returns the user or group that a subject of a binding names; `namespace` is the binding's, the default of an
/// account without a namespace. `None`: it names neither.
pub fn subject_name(subject: &Subject, namespace: &str) -> Option<SubjectName> {
    match subject.kind.as_str() {
        USER => Some(SubjectName::User(subject.name.clone())),
        GROUP => Some(SubjectName::Group(subject.name.clone())),
        SERVICE_ACCOUNT => {
            let namespace = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
            (!namespace.is_empty()).then(|| SubjectName::User(format!("{ACCOUNT_PREFIX}{namespace}:{}", subject.name)))
        }
        _ => None,
    }
}

/// Returns namespace and name of the account that a user's name denotes.
pub fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Returns true if a subject names the requesting user or one of its groups.
pub fn is(subject: &Subject, user: &str, groups: &[&str]) -> bool {
    match subject_name(subject, "") {
        Some(SubjectName::User(name)) => name == user,
        Some(SubjectName::Group(name)) => groups.contains(&name.as_str()),
        None => false,
    }
}

/// A subject of the group of RBAC: `User` or `Group`.
pub fn of(kind: &str, name: &str) -> Subject {
    Subject {
        kind: kind.to_owned(),
        api_group: api::kubernetes::rbac::GROUP.to_owned(),
        name: name.to_owned(),
        namespace: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_users_of_a_long_name() {
        let subject = |kind: &str, namespace: &str| Subject {
            kind: kind.to_owned(),
            name: "x".to_owned(),
            namespace: namespace.to_owned(),
            ..Subject::default()
        };
        let user = |name: &str| Some(SubjectName::User(name.to_owned()));
        assert_eq!(subject_name(&subject("User", ""), "n"), user("x"));
        assert_eq!(subject_name(&subject("Group", ""), "n"), Some(SubjectName::Group("x".to_owned())));
        assert_eq!(subject_name(&subject("ServiceAccount", "m"), "n"), user("system:serviceaccount:m:x"));
        assert_eq!(subject_name(&subject("ServiceAccount", ""), "n"), user("system:serviceaccount:n:x"));
        assert_eq!(subject_name(&subject("ServiceAccount", ""), ""), None);
        assert_eq!(subject_name(&subject("Robot", ""), "n"), None);
        assert_eq!(account("system:serviceaccount:m:x"), Some(("m", "x")));
        assert_eq!(account("system:serviceaccount:m"), None);
        assert_eq!(account("jane"), None);
        assert!(is(&subject("ServiceAccount", "m"), "system:serviceaccount:m:x", &[]));
        assert!(is(&subject("Group", ""), "jane", &["x"]));
        assert!(!is(&subject("User", ""), "jane", &["x"]));
    }
}
