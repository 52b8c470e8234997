// SPDX-License-Identifier: Apache-2.0
//! Checks of gardener-admission-controller's webhooks.
//!
//! Source: pkg/admissioncontroller/webhook/admission, pkg/client/kubernetes/client.go (ValidateConfig) @ v1.120.0.

use std::collections::BTreeMap;

use api::core::{Project, Shoot};
use apimachinery::decode::json_type;
use apimachinery::field::Path;
use apimachinery::meta::{ByteString, Quantity};
use apimachinery::{GroupKind, GroupResource, Status};
use serde::Deserialize;
use serde_json::Value;

use crate::validation::meta::invalid_unquoted;

/// Fields of a kubeconfig's user that are allowed.
const VALID_FIELDS: &str = "[client-certificate-data client-key-data token username password]";

/// Checks the deletion of a Project's namespace: only with the Project, and not before its Shoots.
///
/// # Errors
/// 403.
pub fn namespace_deletion(namespace: &str, project: &Project, has_shoots: bool) -> Result<(), Status> {
    let reason = if !project.metadata.is_being_deleted() {
        let project = &project.metadata.name;
        format!(
            "direct deletion of namespace {namespace:?} is not permitted (you must delete the corresponding project \
             {project:?})"
        )
    } else if has_shoots {
        format!("deletion of namespace {namespace:?} is not permitted (it still contains Shoots)")
    } else {
        return Ok(());
    };
    Err(forbidden("Namespace", namespace, &reason))
}

/// Checks a Secret's `kubeconfig`, parsed by `yaml`: it must contain its credentials itself.
///
/// # Errors
/// 400 for an invalid kubeconfig, 422 for one that refers to files or programs.
pub fn kubeconfig_secret(
    name: &str,
    data: &BTreeMap<String, ByteString>,
    yaml: impl FnOnce(&str) -> Result<Value, String>,
) -> Result<(), Status> {
    let Some(kubeconfig) = data.get("kubeconfig") else { return Ok(()) };
    let tree = yaml(&String::from_utf8_lossy(&kubeconfig.0)).map_err(Status::bad_request)?;
    if !tree.is_object() && !tree.is_null() {
        let kind = json_type(&tree);
        return Err(Status::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )));
    }
    let Err(reason) = kubeconfig_users(&tree) else { return Ok(()) };
    let bytes: Vec<String> = kubeconfig.0.iter().map(|byte| format!("{byte:#x}")).collect();
    let dump = format!("[]byte{{{}}}", bytes.join(", "));
    let detail = format!("secret contains invalid kubeconfig: {reason}");
    let error = invalid_unquoted(&Path::new("data").child("kubeconfig"), &dump, &detail);
    let kind = GroupKind { group: String::new(), kind: "Secret".to_owned() };
    Err(Status::invalid(&kind, name, &[error]))
}

/// Checks that the users of a kubeconfig contain their credentials themselves; the first by name that does not is reported.
fn kubeconfig_users(tree: &Value) -> Result<(), String> {
    let users = tree["users"].as_array().into_iter().flatten();
    let users: BTreeMap<&str, &Value> =
        users.map(|entry| (entry["name"].as_str().unwrap_or_default(), &entry["user"])).collect();
    for (name, user) in users {
        let is_set = |field: &str| match &user[field] {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
        let has_provider = user["auth-provider"]["config"].as_object().is_some_and(|config| !config.is_empty());
        let what = if is_set("client-certificate") {
            "client certificate files are"
        } else if is_set("client-key") {
            "client key files are"
        } else if is_set("tokenFile") {
            "token files are"
        } else if is_set("as") || is_set("as-groups") {
            return Err(format!("impersonation is not supported, these are the valid fields: {VALID_FIELDS}"));
        } else if has_provider {
            "auth provider configurations are"
        } else if is_set("exec") {
            "exec configurations are"
        } else {
            continue;
        };
        return Err(format!("{what} not supported (user {name:?}), these are the valid fields: {VALID_FIELDS}"));
    }
    Ok(())
}

/// Checks that no Shoot refers to a Secret that lost its `kubeconfig`.
///
/// # Errors
/// 403.
pub fn kubeconfig_in_use<'a>(secret: &str, shoots: impl Iterator<Item = &'a Shoot>) -> Result<(), Status> {
    let refers = |shoot: &&Shoot| {
        let Some(server) = &shoot.spec.kubernetes.kube_api_server else { return false };
        let authorization = server.structured_authorization.as_ref();
        server.admission_plugins.iter().any(|plugin| plugin.kubeconfig_secret_name.as_deref() == Some(secret))
            || authorization.is_some_and(|it| it.kubeconfigs.iter().any(|kubeconfig| kubeconfig.secret_name == secret))
    };
    let names: Vec<&str> = shoots.filter(refers).map(|shoot| shoot.metadata.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let reason = format!(
        "data kubeconfig can't be removed from secret or set to empty because secret is in use by shoots: [{}]",
        names.join(", ")
    );
    Err(forbidden("Secret", secret, &reason))
}

/// Limits of the size of objects (`server.resourceAdmissionConfiguration`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceAdmission {
    /// Limits; the first that matches a resource applies.
    pub limits: Vec<ResourceLimit>,
    /// Subjects without limits.
    pub unrestricted_subjects: Vec<Subject>,
    /// `block`; or `log`, which refuses no request.
    pub operation_mode: Option<String>,
}

/// Limit for some resources.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceLimit {
    /// Groups; `*` for all.
    pub api_groups: Vec<String>,
    /// Versions; `*` for all.
    pub api_versions: Vec<String>,
    /// Plural names; `*` for all.
    pub resources: Vec<String>,
    /// Maximum size in bytes of the object as JSON, without status and managed fields.
    pub size: Quantity,
}

/// A subject without limits, as it is compared with the user of a request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    /// Name; `*` for all.
    pub name: String,
    /// Namespace of a ServiceAccount.
    pub namespace: String,
}

/// The user of a request.
#[derive(Clone, Copy, Debug)]
pub struct User<'a> {
    /// Name of the user.
    pub name: &'a str,
    /// Groups of the user.
    pub groups: &'a [String],
}

impl ResourceAdmission {
    /// Checks that a user may write an object of this size.
    ///
    /// # Errors
    /// 403.
    pub fn check(
        &self,
        user: User<'_>,
        resource: &GroupResource,
        version: &str,
        name: &str,
        object: &Value,
    ) -> Result<(), Status> {
        if self.unrestricted_subjects.iter().any(|subject| subject.is(user)) {
            return Ok(());
        }
        let names = |list: &[String], value: &str| list.iter().any(|entry| entry == "*" || entry == value);
        let limit = self.limits.iter().find(|limit| {
            names(&limit.api_groups, &resource.group)
                && names(&limit.api_versions, version)
                && names(&limit.resources, &resource.resource)
        });
        let Some(limit) = limit else { return Ok(()) };
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let size = object.to_string().len();
        let is_larger = i64::try_from(size).is_ok_and(|size| limit.size.value() < size);
        if !is_larger || self.operation_mode.as_deref() == Some("log") {
            return Ok(());
        }
        let reason =
            format!("maximum resource size exceeded! Size in request: {size} bytes, max allowed: {}", limit.size);
        Err(Status::forbidden(resource, name, &reason))
    }
}

impl Subject {
    fn is(&self, user: User<'_>) -> bool {
        const ACCOUNT: &str = "system:serviceaccount:";
        let account = user.name.strip_prefix(ACCOUNT).and_then(|rest| rest.split_once(':'));
        match (self.kind.as_str(), account) {
            ("ServiceAccount", Some((namespace, name))) => {
                namespace == self.namespace && (self.name == "*" || name == self.name)
            }
            ("User", None) => self.name == "*" || self.name == user.name,
            ("Group", None) => self.name == "*" || user.groups.contains(&self.name),
            _ => false,
        }
    }
}

fn forbidden(kind: &str, name: &str, reason: &str) -> Status {
    // Like upstream, the message names the kind in place of the resource.
    let resource = GroupResource { group: String::new(), resource: kind.to_owned() };
    Status::forbidden(&resource, name, reason)
}

#[cfg(test)]
mod tests {
    use api::core::AdmissionPlugin;
    use apimachinery::meta::Time;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(result: Result<(), Status>, code: u16, message: &str) {
        let status = result.expect_err("a refusal");
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }

    #[test]
    fn namespaces_are_deleted_with_their_project_after_its_shoots() {
        let mut project = Project::default();
        project.metadata.name = "dev".to_owned();
        refused(
            namespace_deletion("garden-dev", &project, false),
            403,
            "Namespace \"garden-dev\" is forbidden: direct deletion of namespace \"garden-dev\" is not permitted (you \
             must delete the corresponding project \"dev\")",
        );
        project.metadata.deletion_timestamp = Some(Time::default());
        refused(
            namespace_deletion("garden-dev", &project, true),
            403,
            "Namespace \"garden-dev\" is forbidden: deletion of namespace \"garden-dev\" is not permitted (it still \
             contains Shoots)",
        );
        assert_eq!(namespace_deletion("garden-dev", &project, false), Ok(()));
    }

    fn kubeconfig(user: &Value) -> Result<(), String> {
        kubeconfig_users(&json!({ "users": [{ "name": "u", "user": user }] }))
    }

    /// Fields of a user, and the expected error.
    #[test]
    fn kubeconfigs_hold_their_credentials_themselves() {
        let fine = json!({ "token": "t", "client-certificate-data": "c", "client-key-data": "k", "username": "u" });
        assert_eq!(kubeconfig(&fine), Ok(()));
        assert_eq!(kubeconfig(&json!({ "exec": null, "auth-provider": { "name": "x" }, "as-groups": [] })), Ok(()));
        let end = "these are the valid fields: [client-certificate-data client-key-data token username password]";
        for (user, expected) in [
            (json!({ "client-certificate": "/x" }), "client certificate files are not supported (user \"u\"), "),
            (json!({ "client-key": "/x" }), "client key files are not supported (user \"u\"), "),
            (json!({ "tokenFile": "/x" }), "token files are not supported (user \"u\"), "),
            (json!({ "as": "x" }), "impersonation is not supported, "),
            (json!({ "as-groups": ["x"] }), "impersonation is not supported, "),
            (
                json!({ "auth-provider": { "config": { "a": "b" } } }),
                "auth provider configurations are not supported (user \"u\"), ",
            ),
            (json!({ "exec": { "command": "sh" } }), "exec configurations are not supported (user \"u\"), "),
        ] {
            assert_eq!(kubeconfig(&user), Err(format!("{expected}{end}")), "{user}");
        }
    }

    #[test]
    fn a_secret_with_a_wrong_kubeconfig_is_invalid() {
        let secret = |text: &str| [("kubeconfig".to_owned(), ByteString(text.as_bytes().to_vec()))].into();
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        assert_eq!(kubeconfig_secret("s", &BTreeMap::new(), read), Ok(()));
        assert_eq!(kubeconfig_secret("s", &secret("{}"), read), Ok(()));
        let text = "{\"users\":[{\"user\":{\"as\":\"x\"}}]}";
        let status = kubeconfig_secret("s", &secret(text), read).expect_err("a refusal");
        assert_eq!(status.code, 422);
        let start = "Secret \"s\" is invalid: data.kubeconfig: Invalid value: []byte{0x7b, 0x22, ";
        assert!(status.message.starts_with(start), "{}", status.message);
        let end = "0x7d}: secret contains invalid kubeconfig: impersonation is not supported, these are the valid fields: \
                   [client-certificate-data client-key-data token username password]";
        assert!(status.message.ends_with(end), "{}", status.message);
        assert_eq!(kubeconfig_secret("s", &secret("\"x\""), read).expect_err("a refusal").code, 400);
        assert_eq!(kubeconfig_secret("s", &secret("{"), read).expect_err("a refusal").code, 400);
    }

    #[test]
    fn a_kubeconfig_that_shoots_refer_to_stays() {
        let shoot = |name: &str, secret: &str| {
            let mut shoot = Shoot::default();
            shoot.metadata.name = name.to_owned();
            let plugin =
                AdmissionPlugin { kubeconfig_secret_name: Some(secret.to_owned()), ..AdmissionPlugin::default() };
            shoot.spec.kubernetes.kube_api_server.get_or_insert_default().admission_plugins.push(plugin);
            shoot
        };
        let shoots: Vec<Shoot> =
            [("a", "s"), ("b", "t"), ("c", "s")].into_iter().map(|(name, secret)| shoot(name, secret)).collect();
        refused(
            kubeconfig_in_use("s", shoots.iter()),
            403,
            "Secret \"s\" is forbidden: data kubeconfig can't be removed from secret or set to empty because secret is in \
             use by shoots: [a, c]",
        );
        assert_eq!(kubeconfig_in_use("u", shoots.iter()), Ok(()));
    }

    #[test]
    fn objects_have_at_most_the_configured_size() {
        let limits: ResourceAdmission = serde_json::from_value(json!({
            "limits": [{
                "apiGroups": ["core.gardener.cloud"], "apiVersions": ["*"], "resources": ["shoots"], "size": "20",
            }],
            "unrestrictedSubjects": [
                { "kind": "Group", "name": "admins" }, { "kind": "ServiceAccount", "name": "*", "namespace": "n" },
            ],
        }))
        .expect("a configuration");
        let check = |limits: &ResourceAdmission, user: &str, resource: &str, object: Value| {
            let groups = ["users".to_owned(), user.to_owned()];
            let user = User { name: user, groups: &groups };
            let resource = GroupResource { group: "core.gardener.cloud".to_owned(), resource: resource.to_owned() };
            limits.check(user, &resource, "v1beta1", "x", &object)
        };
        // Twenty bytes: {"a":"0123456789ab"}; status and managed fields are not counted.
        let fits = json!({ "a": "0123456789ab", "status": { "long": "long" } });
        assert_eq!(check(&limits, "jane", "shoots", fits), Ok(()));
        let large = json!({ "a": "0123456789abc" });
        refused(
            check(&limits, "jane", "shoots", large.clone()),
            403,
            "shoots.core.gardener.cloud \"x\" is forbidden: maximum resource size exceeded! Size in request: 21 bytes, max \
             allowed: 20",
        );
        for (user, resource) in
            [("jane", "projects"), ("admins", "shoots"), ("system:serviceaccount:n:robot", "shoots")]
        {
            assert_eq!(check(&limits, user, resource, large.clone()), Ok(()), "{user} {resource}");
        }
        assert!(check(&limits, "system:serviceaccount:m:robot", "shoots", large.clone()).is_err());
        let logs = ResourceAdmission { operation_mode: Some("log".to_owned()), ..limits };
        assert_eq!(check(&logs, "jane", "shoots", large), Ok(()));
    }
}
