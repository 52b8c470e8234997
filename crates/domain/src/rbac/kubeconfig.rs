// SPDX-License-Identifier: Apache-2.0
//! The user in the certificates of `shoots/adminkubeconfig` and `shoots/viewerkubeconfig`.
//!
//! | release | name | group |
//! | --- | --- | --- |
//! | until 1.124 | name of the requesting user | `system:masters`, viewers `gardener.cloud:system:viewers` |
//! | 1.125 to 1.128 | random prefix, `:`, name | the same |
//! | 1.129 to 1.138 | the same | of the system if the requesting user may read all objects, else of the project |
//! | since 1.139 | `gardener.cloud:admin:` or `gardener.cloud:viewer:`, name | the same |
//!
//! Source: pkg/apiserver/registry/core/shoot/storage/{admin_,viewer_,}kubeconfig.go @ v1.120.0, v1.125.0, v1.129.0, v1.139.0.

use api::constants::{api_version, user};

use super::{Attributes, MASTERS};
use crate::release::{Release, Releases};

/// Releases in which the group depends on the rights of the requesting user.
const GROUP_IS_JUDGED: Releases = Releases::since(129);
/// Releases in which a random prefix is in front of the name.
const PREFIX_IS_RANDOM: Releases = Releases::between(125, 139);
/// Releases in which a prefix that names the access is in front of the name.
const PREFIX_IS_FIXED: Releases = Releases::since(139);

/// Kind of a kubeconfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Administrator.
    Admin,
    /// User with read access only.
    Viewer,
}

impl Access {
    /// Returns the permission in the garden by which a user belongs to the system, not to a project; `None` if the
    /// release does not check it.
    ///
    /// The names are those that upstream checks, which only a role for all groups and resources has.
    pub fn asked(self, release: Release) -> Option<Attributes<'static>> {
        let (group, resource) = match self {
            Self::Admin => ("v1", "Secret"),
            Self::Viewer => (api_version::CORE, "Project"),
        };
        let asked = Attributes { verb: "list", group, resource, ..Attributes::default() };
        GROUP_IS_JUDGED.contain(release).then_some(asked)
    }

    /// Returns the group of the certificate. `is_of_system`: result of the check; `None` if there was none.
    pub const fn group(self, is_of_system: Option<bool>) -> &'static str {
        match (self, is_of_system) {
            (Self::Admin, None) => MASTERS,
            (Self::Admin, Some(true)) => user::SYSTEM_ADMINS,
            (Self::Admin, Some(false)) => user::PROJECT_ADMINS,
            (Self::Viewer, None | Some(true)) => user::VIEWERS,
            (Self::Viewer, Some(false)) => user::PROJECT_VIEWERS,
        }
    }

    /// Name of the certificate's user. `random`: ten random characters.
    pub fn name(self, release: Release, user: &str, random: &str) -> String {
        let fixed = match self {
            Self::Admin => "gardener.cloud:admin:",
            Self::Viewer => "gardener.cloud:viewer:",
        };
        if PREFIX_IS_FIXED.contain(release) {
            format!("{fixed}{user}")
        } else if PREFIX_IS_RANDOM.contain(release) {
            format!("{random}:{user}")
        } else {
            user.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_follow_the_release() {
        for (release, access, is_of_system, expected) in [
            (124, Access::Admin, true, "alice system:masters"),
            (124, Access::Viewer, false, "alice gardener.cloud:system:viewers"),
            (125, Access::Admin, false, "0123456789:alice system:masters"),
            (128, Access::Viewer, false, "0123456789:alice gardener.cloud:system:viewers"),
            (129, Access::Admin, true, "0123456789:alice gardener.cloud:system:admins"),
            (129, Access::Admin, false, "0123456789:alice gardener.cloud:project:admins"),
            (138, Access::Viewer, false, "0123456789:alice gardener.cloud:project:viewers"),
            (139, Access::Admin, false, "gardener.cloud:admin:alice gardener.cloud:project:admins"),
            (149, Access::Viewer, true, "gardener.cloud:viewer:alice gardener.cloud:system:viewers"),
        ] {
            let release = Release(release);
            let group = access.group(access.asked(release).map(|_| is_of_system));
            assert_eq!(format!("{} {group}", access.name(release, "alice", "0123456789")), expected, "{release}");
        }
    }

    /// A role that names Secrets is not enough, nor is that of Gardener's own viewers.
    #[test]
    fn only_an_unrestricted_role_makes_a_system_user() {
        let rule = |groups: &[&str], resources: &[&str]| api::kubernetes::rbac::PolicyRule {
            api_groups: groups.iter().map(ToString::to_string).collect(),
            resources: resources.iter().map(ToString::to_string).collect(),
            verbs: vec!["*".to_owned()],
            ..Default::default()
        };
        for access in [Access::Admin, Access::Viewer] {
            let asked = access.asked(Release(149)).expect("it asks");
            assert!(super::super::allows(&rule(&["*"], &["*"]), &asked), "{access:?}");
            for (groups, resources) in [(&[""][..], &["secrets"][..]), (&["core.gardener.cloud"], &["*"])] {
                assert!(!super::super::allows(&rule(groups, resources), &asked), "{access:?} {groups:?}");
            }
        }
    }
}
