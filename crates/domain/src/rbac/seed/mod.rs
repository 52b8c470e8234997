// SPDX-License-Identifier: Apache-2.0
//! Rights of a gardenlet, or of an extension on a seed, in the garden: only for objects of its own seed.
//!
//! ```text
//! Secret ─▶ SecretBinding ─▶ Shoot ─▶ Seed        an object belongs to a seed if a way leads there
//!              Namespace, ConfigMap, … ─▶ Shoot
//! ```
//!
//! [`graph`] lists the edges that begin at an object, [`decide`] judges operations on objects of a seed, [`restrict`]
//! judges the creation of objects, for which no edge is known yet.
//!
//! Source: pkg/admissioncontroller/webhook/{auth/seed,admission/seedrestriction} and pkg/admissioncontroller/seedidentity @
//! v1.120.0; docs/deployment/gardenlet_api_access.md.

pub mod graph;

use api::constants::{namespace, user};

use self::graph::Vertex;
use super::{Attributes, subject};

/// Name of the webhook that restricts gardenlets.
const WEBHOOK: &str = "seed-restriction.gardener.cloud";
/// Prefix of the names of an extension's accounts.
const EXTENSION_ACCOUNT_PREFIX: &str = "extension-";
/// Prefix of the names of bindings with which a gardenlet of another seed bootstraps.
const BOOTSTRAPPER_BINDING_PREFIX: &str = "gardener.cloud:system:seed-bootstrapper:";
const BOOTSTRAPPER_ACCOUNT_PREFIX: &str = "gardenlet-bootstrap-";
/// Lease of the leader election of gardenlets in a garden that is also a seed.
const LEADER_ELECTION: &str = "gardenlet-leader-election";

/// Identity of a client on a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The seed.
    pub seed: &'a str,
    /// True for an extension; false for the gardenlet.
    pub is_extension: bool,
}

/// Returns the identity of a user on a seed; `None`: it is not a seed's client.
pub fn identity<'a>(name: &'a str, groups: &[&'a str]) -> Option<Identity<'a>> {
    if groups.contains(&user::SEEDS) {
        let seed = name.strip_prefix(user::SEED_PREFIX).filter(|seed| !seed.is_empty())?;
        return Some(Identity { seed, is_extension: false });
    }
    // The user is Terrarium's own; upstream's is an account.
    if let Some(seed) = name.strip_prefix(user::PROVIDER_LOCAL_PREFIX) {
        return Some(Identity { seed, is_extension: true });
    }
    let (namespace, account) = subject::account(name)?;
    let seed = namespace.strip_prefix(namespace::SEED_PREFIX).filter(|seed| !seed.is_empty())?;
    account.starts_with(EXTENSION_ACCOUNT_PREFIX).then_some(Identity { seed, is_extension: true })
}

/// Known relations between objects and seeds.
pub trait Relations {
    /// Returns true if an object is known.
    fn exists(&self, object: &Vertex) -> bool;
    /// Returns true if an object belongs to a seed.
    fn belongs(&self, object: &Vertex, seed: &str) -> bool;
}

/// Allowed verbs for a resource: for objects of the seed and for all objects; and its allowed subresources.
#[derive(Clone, Copy, Default)]
struct Access {
    own: &'static [&'static str],
    any: &'static [&'static str],
    subresources: &'static [&'static str],
}

const READ: &[&str] = &["get", "list", "watch"];

/// Returns the allowed verbs for a resource; `None`: seeds have no rules about it.
fn access(group: &str, plural: &str, is_extension: bool) -> Option<Access> {
    const CHANGE: &[&str] = &["update", "patch"];
    const REMOVE: &[&str] = &["update", "patch", "delete"];
    const MAKE: &[&str] = &["create", "get", "list", "watch"];
    const ALL: &[&str] = &["get", "update", "patch", "delete", "list", "watch"];
    const STATUS: &[&str] = &["status"];
    let access = |own, any, subresources| Some(Access { own, any, subresources });
    let read = access(READ, &[], &[]);
    match (group, plural) {
        ("core.gardener.cloud", "backupbuckets" | "backupentries" | "seeds") => access(REMOVE, MAKE, STATUS),
        ("operations.gardener.cloud", "bastions") => access(CHANGE, MAKE, STATUS),
        ("certificates.k8s.io", "certificatesigningrequests") if is_extension => read,
        ("certificates.k8s.io", "certificatesigningrequests") => access(READ, &["create"], &["seedclient"]),
        (
            "core.gardener.cloud",
            "cloudprofiles"
            | "namespacedcloudprofiles"
            | "controllerdeployments"
            | "exposureclasses"
            | "projects"
            | "secretbindings",
        )
        | ("security.gardener.cloud", "credentialsbindings")
        | ("", "namespaces") => read,
        ("rbac.authorization.k8s.io", "clusterrolebindings") | ("", "serviceaccounts") if is_extension => {
            access(&["get"], &[], &[])
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings") | ("", "serviceaccounts") => {
            access(&["get", "patch", "update"], &["create"], &[])
        }
        ("", "configmaps") => access(&["get", "patch", "update", "delete", "list", "watch"], &["create"], &[]),
        ("", "secrets") => access(&["get", "patch", "update", "delete"], &["create"], &[]),
        ("core.gardener.cloud", "controllerinstallations") | ("seedmanagement.gardener.cloud", "managedseeds") => {
            access(CHANGE, READ, STATUS)
        }
        ("seedmanagement.gardener.cloud", "gardenlets") => access(CHANGE, MAKE, STATUS),
        ("core.gardener.cloud", "controllerregistrations") => access(&[], READ, &[]),
        ("" | "events.k8s.io", "events") => access(&[], &["create", "patch"], &[]),
        ("core.gardener.cloud", "internalsecrets" | "shootstates") => access(ALL, &["create"], &[]),
        ("coordination.k8s.io", "leases") => access(&["get", "update", "patch", "list", "watch"], &["create"], &[]),
        ("security.gardener.cloud", "workloadidentities") => access(MAKE, &[], &["token"]),
        ("core.gardener.cloud", "shoots") => access(CHANGE, READ, STATUS),
        _ => None,
    }
}

/// Allows a request of a seed's client in the garden.
///
/// # Errors
/// The reason why these rules do not allow it; others may. Empty: they do not apply to the resource.
pub fn decide(who: Identity<'_>, asked: &Attributes<'_>, relations: &dyn Relations) -> Result<(), String> {
    let Identity { seed, is_extension } = who;
    let Some(access) = access(asked.group, asked.resource, is_extension) else { return Err(String::new()) };
    if let Some(decided) = special(who, asked) {
        return decided;
    }
    if !asked.subresource.is_empty() && !access.subresources.contains(&asked.subresource) {
        let known = access.subresources.join(" ");
        return Err(format!("only the following subresources are allowed for this resource type: [{known}]"));
    }
    if access.any.contains(&asked.verb) {
        return Ok(());
    }
    if !access.own.contains(&asked.verb) {
        let known: Vec<&str> = access.any.iter().chain(access.own).copied().collect();
        return Err(format!("only the following verbs are allowed for this resource type: [{}]", known.join(" ")));
    }
    if asked.name.is_empty() {
        return Err("No Object name found".to_owned());
    }
    let namespace = if asked.resource == "namespaces" { "" } else { asked.namespace };
    let object = Vertex::new(asked.resource, namespace, asked.name);
    if asked.verb == "delete" && !relations.exists(&object) {
        return Ok(());
    }
    if relations.belongs(&object, seed) {
        return Ok(());
    }
    Err(format!("no relationship found between seed '{seed}' and this object"))
}

/// Decides the requests that do not depend on relations to a seed; `None`: the relations decide.
fn special(who: Identity<'_>, asked: &Attributes<'_>) -> Option<Result<(), String>> {
    let is_own_namespace = asked.namespace.strip_prefix(namespace::SEED_PREFIX) == Some(who.seed);
    match (asked.group, asked.resource) {
        ("coordination.k8s.io", "leases") if who.is_extension => {
            Some(if is_own_namespace { Ok(()) } else { Err("lease object is not in seed namespace".to_owned()) })
        }
        ("coordination.k8s.io", "leases") => {
            let elects = matches!(asked.verb, "create" | "get" | "list" | "watch" | "update");
            (elects && asked.name == LEADER_ELECTION).then_some(Ok(()))
        }
        ("", "secrets") => (READ.contains(&asked.verb) && is_own_namespace).then_some(Ok(())),
        ("", "serviceaccounts") if !who.is_extension => {
            let bootstrapped = asked.name.strip_prefix(BOOTSTRAPPER_ACCOUNT_PREFIX) == Some(who.seed);
            let is_done = asked.verb == "delete" && asked.namespace == namespace::GARDEN && bootstrapped;
            (is_done || is_own_namespace).then_some(Ok(()))
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings") if !who.is_extension => {
            let of = asked.name.strip_prefix(BOOTSTRAPPER_BINDING_PREFIX);
            let own = of.and_then(|of| of.split_once(':')) == Some((namespace::GARDEN, who.seed));
            (asked.verb == "delete" && own).then_some(Ok(()))
        }
        _ => None,
    }
}

/// Properties of a created, changed or deleted object from which its seed follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenObject<'a> {
    /// True if the object is created.
    pub is_new: bool,
    /// True if the object is deleted.
    pub is_deletion: bool,
    /// API group.
    pub group: &'a str,
    /// Plural name.
    pub plural: &'a str,
    /// Namespace; empty for all namespaces, and for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object; empty for collections.
    pub name: &'a str,
    /// `spec.seedName`, of kinds that have one.
    pub seed_name: Option<&'a str>,
    /// `spec.bucketName`, of a BackupEntry.
    pub bucket_name: &'a str,
    /// Uid of the seed.
    pub seed_uid: &'a str,
}

/// Allows a seed's client to write an object.
///
/// # Errors
/// The text of upstream's webhook.
pub fn restrict(who: Identity<'_>, written: &WrittenObject<'_>, relations: &dyn Relations) -> Result<(), String> {
    restricted(who, written, relations)
        .map_err(|why| format!("admission webhook \"{WEBHOOK}\" denied the request: {why}"))
}

fn restricted(who: Identity<'_>, written: &WrittenObject<'_>, relations: &dyn Relations) -> Result<(), String> {
    let Identity { seed, is_extension } = who;
    let owned = |is_own: bool| if is_own { Ok(()) } else { Err(format!("object does not belong to seed {seed:?}")) };
    let belongs =
        |plural: &str, namespace: &str, name: &str| relations.belongs(&Vertex::new(plural, namespace, name), seed);
    let own = || belongs(written.plural, written.namespace, written.name);
    let is_own_namespace = written.namespace.strip_prefix(namespace::SEED_PREFIX) == Some(seed);
    match (written.group, written.plural) {
        ("core.gardener.cloud", "backupbuckets") if written.is_deletion => {
            let is_own = written.name == written.seed_uid;
            if is_own { Ok(()) } else { Err("cannot delete unrelated BackupBucket".to_owned()) }
        }
        ("core.gardener.cloud", "seeds") => owned(written.name == seed || (written.is_deletion && own())),
        _ if !written.is_new => Ok(()),
        ("core.gardener.cloud", "backupbuckets") | ("operations.gardener.cloud", "bastions") => {
            owned(written.seed_name == Some(seed))
        }
        ("core.gardener.cloud", "backupentries") => {
            owned(written.seed_name == Some(seed) && belongs("backupbuckets", "", written.bucket_name))
        }
        ("certificates.k8s.io", "certificatesigningrequests") if is_extension => {
            Err("extension client may not create CertificateSigningRequests".to_owned())
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings") if is_extension => {
            Err("extension client may not create ClusterRoleBindings".to_owned())
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings") => {
            let of = written.name.strip_prefix(BOOTSTRAPPER_BINDING_PREFIX).and_then(|of| of.split_once(':'));
            owned(of.is_some_and(|(namespace, name)| belongs("managedseeds", namespace, name)))
        }
        ("seedmanagement.gardener.cloud", "gardenlets") if written.namespace != namespace::GARDEN => {
            Err(format!("object must be in namespace: {:?}", namespace::GARDEN))
        }
        ("seedmanagement.gardener.cloud", "gardenlets") => owned(written.name == seed),
        ("coordination.k8s.io", "leases") if is_extension => {
            let refusal = || format!("extension client can only create leases in the namespace for seed {seed:?}");
            if is_own_namespace { Ok(()) } else { Err(refusal()) }
        }
        ("coordination.k8s.io", "leases") => {
            let is_heartbeat = written.namespace == namespace::SEED_LEASE && written.name == seed;
            owned(is_heartbeat || written.name == LEADER_ELECTION)
        }
        ("", "serviceaccounts") if is_extension => Err("extension client may not create ServiceAccounts".to_owned()),
        ("", "serviceaccounts") => {
            let of = written.name.strip_prefix(BOOTSTRAPPER_ACCOUNT_PREFIX);
            let bootstraps = of.is_some_and(|name| belongs("managedseeds", written.namespace, name));
            owned(is_own_namespace || bootstraps)
        }
        ("", "secrets" | "configmaps") | ("core.gardener.cloud", "internalsecrets" | "shootstates") => owned(own()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relations in which objects `own…` belong to seed `a`, and the object `missing` does not exist.
    struct OwnObjects;

    impl Relations for OwnObjects {
        fn exists(&self, object: &Vertex) -> bool {
            object.name != "missing"
        }

        fn belongs(&self, object: &Vertex, seed: &str) -> bool {
            seed == "a" && object.name.starts_with("own")
        }
    }

    #[test]
    fn clients_of_a_seed_are_identified_by_name_and_group() {
        let seeds = ["gardener.cloud:system:seeds", "system:authenticated"];
        let none: [&str; 1] = ["system:authenticated"];
        for (name, groups, expected) in [
            ("gardener.cloud:system:seed:a", &seeds[..], Some(("a", false))),
            ("gardener.cloud:system:seed:a", &none[..], None),
            ("gardener.cloud:system:seed:", &seeds[..], None),
            ("jane", &seeds[..], None),
            ("system:serviceaccount:seed-a:extension-x", &none[..], Some(("a", true))),
            ("system:serviceaccount:seed-a:other", &none[..], None),
            ("system:serviceaccount:garden:extension-x", &none[..], None),
            ("gardener.cloud:system:extension:provider-local:a", &none[..], Some(("a", true))),
        ] {
            let known = identity(name, groups).map(|known| (known.seed, known.is_extension));
            assert_eq!(known, expected, "{name}");
        }
    }

    /// `verb group resource/subresource namespace name`, by the gardenlet of seed `a`.
    const DECISIONS: &str = "
patch  core.gardener.cloud shoots/status   garden-dev own   => allowed
patch  core.gardener.cloud shoots/status   garden-dev other => no relationship found between seed 'a' and this object
update core.gardener.cloud shoots          garden-dev own   => allowed
get    core.gardener.cloud shoots          garden-dev other => allowed
delete core.gardener.cloud shoots          garden-dev own   => only the following verbs are allowed for this resource type: [get list watch update patch]
update core.gardener.cloud shoots/binding  garden-dev own   => only the following subresources are allowed for this resource type: [status]
get    -                   secrets         garden-dev own   => allowed
get    -                   secrets         garden-dev other => no relationship found between seed 'a' and this object
list   -                   secrets         garden-dev -     => only the following verbs are allowed for this resource type: [create get patch update delete]
list   -                   secrets         seed-a     -     => allowed
list   -                   secrets         seed-b     -     => only the following verbs are allowed for this resource type: [create get patch update delete]
delete -                   secrets         garden-dev missing => allowed
list   -                   configmaps      garden-dev -     => No Object name found
create -                   events          garden-dev -     => allowed
list   -                   events          garden-dev -     => only the following verbs are allowed for this resource type: [create patch]
get    -                   namespaces      own-ns     own   => allowed
delete core.gardener.cloud seeds           -          own   => allowed
delete core.gardener.cloud seeds           -          other => no relationship found between seed 'a' and this object
update coordination.k8s.io leases          garden     gardenlet-leader-election => allowed
get    apps                deployments     garden     own   => no matter of seeds
";

    #[test]
    fn a_gardenlet_acts_only_on_objects_of_its_seed() {
        for row in DECISIONS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("an arrow");
            let words: Vec<&str> = given.split_whitespace().map(|word| if word == "-" { "" } else { word }).collect();
            let [verb, group, resource, namespace, name] = words[..] else { panic!("five words: {row}") };
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let asked = Attributes { verb, group, resource, subresource, namespace, name, path: "" };
            let who = Identity { seed: "a", is_extension: false };
            let decided = match decide(who, &asked, &OwnObjects) {
                Ok(()) => "allowed".to_owned(),
                Err(why) if why.is_empty() => "no matter of seeds".to_owned(),
                Err(why) => why,
            };
            assert_eq!(decided, expected.trim(), "{row}");
        }
    }

    #[test]
    fn an_extension_may_less() {
        let who = Identity { seed: "a", is_extension: true };
        let asked = |verb, group, resource, namespace, name| {
            let asked = Attributes { verb, group, resource, namespace, name, ..Attributes::default() };
            decide(who, &asked, &OwnObjects)
        };
        assert_eq!(asked("create", "coordination.k8s.io", "leases", "seed-a", "x"), Ok(()));
        assert_eq!(
            asked("create", "coordination.k8s.io", "leases", "garden", "x"),
            Err("lease object is not in seed namespace".to_owned())
        );
        assert_eq!(asked("get", "", "serviceaccounts", "seed-a", "own"), Ok(()));
        assert!(asked("create", "", "serviceaccounts", "seed-a", "own").is_err());
        assert!(asked("create", "certificates.k8s.io", "certificatesigningrequests", "", "x").is_err());
    }

    #[test]
    fn a_gardenlet_creates_only_objects_of_its_seed() {
        let who = Identity { seed: "a", is_extension: false };
        let new = WrittenObject { is_new: true, ..WrittenObject::default() };
        let other = Err("admission webhook \"seed-restriction.gardener.cloud\" denied the request: object does not \
                         belong to seed \"a\""
            .to_owned());
        for (written, allowed) in [
            (WrittenObject { group: "core.gardener.cloud", plural: "seeds", name: "a", ..new }, true),
            (WrittenObject { group: "core.gardener.cloud", plural: "seeds", name: "b", ..new }, false),
            (
                WrittenObject {
                    group: "core.gardener.cloud",
                    plural: "seeds",
                    name: "own",
                    is_deletion: true,
                    ..WrittenObject::default()
                },
                true,
            ),
            (
                WrittenObject { group: "core.gardener.cloud", plural: "backupbuckets", seed_name: Some("a"), ..new },
                true,
            ),
            (
                WrittenObject { group: "core.gardener.cloud", plural: "backupbuckets", seed_name: Some("b"), ..new },
                false,
            ),
            (WrittenObject { plural: "secrets", namespace: "garden-dev", name: "own.ssh-keypair", ..new }, true),
            (WrittenObject { plural: "secrets", namespace: "garden-dev", name: "other.ssh-keypair", ..new }, false),
            (
                WrittenObject { plural: "secrets", namespace: "garden-dev", name: "other", ..WrittenObject::default() },
                true,
            ),
            (
                WrittenObject {
                    group: "coordination.k8s.io",
                    plural: "leases",
                    namespace: "gardener-system-seed-lease",
                    name: "a",
                    ..new
                },
                true,
            ),
            (
                WrittenObject {
                    group: "coordination.k8s.io",
                    plural: "leases",
                    namespace: "gardener-system-seed-lease",
                    name: "b",
                    ..new
                },
                false,
            ),
            (
                WrittenObject {
                    group: "seedmanagement.gardener.cloud",
                    plural: "gardenlets",
                    namespace: "garden",
                    name: "b",
                    ..new
                },
                false,
            ),
            (WrittenObject { plural: "serviceaccounts", namespace: "seed-a", name: "x", ..new }, true),
            (WrittenObject { group: "core.gardener.cloud", plural: "shoots", name: "x", ..new }, true),
        ] {
            assert_eq!(
                restrict(who, &written, &OwnObjects),
                if allowed { Ok(()) } else { other.clone() },
                "{written:?}"
            );
        }
    }
}
