// SPDX-License-Identifier: Apache-2.0
//! Edges between objects of the garden: an object from which a path leads to a Seed belongs to it.
//!
//! In addition to the edges of upstream there is an edge from each logical cluster to the object whose cluster it is.
//!
//! Source: pkg/admissioncontroller/webhook/auth/seed/graph/eventhandler_*.go @ v1.120.0.

use api::constants::namespace;
use api::{cluster, core};
use serde_json::Value;

/// An object, by the plural name of its kind; no two kinds of the graph have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vertex {
    /// Plural name.
    pub plural: String,
    /// Namespace of the object; empty if it has none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl Vertex {
    /// Creates the vertex of an object.
    pub fn new(plural: &str, namespace: &str, name: &str) -> Self {
        Self { plural: plural.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Creates the vertex of a Seed.
    pub fn seed(name: &str) -> Self {
        Self::new("seeds", "", name)
    }

    /// Creates the vertex of a logical cluster.
    pub fn cluster(name: &str) -> Self {
        Self::new("clusters", "", name)
    }
}

/// Edge from one object to another.
pub type Edge = (Vertex, Vertex);

/// Group and plural name of the kinds whose objects have [`edges`].
pub const KINDS: [(&str, &str); 11] = [
    ("core.gardener.cloud", "backupbuckets"),
    ("core.gardener.cloud", "backupentries"),
    ("core.gardener.cloud", "controllerinstallations"),
    ("core.gardener.cloud", "projects"),
    ("core.gardener.cloud", "secretbindings"),
    ("core.gardener.cloud", "seeds"),
    ("core.gardener.cloud", "shoots"),
    ("operations.gardener.cloud", "bastions"),
    ("security.gardener.cloud", "credentialsbindings"),
    ("seedmanagement.gardener.cloud", "gardenlets"),
    ("seedmanagement.gardener.cloud", "managedseeds"),
];

/// Suffixes of the objects that a gardenlet writes about a Shoot into the Project's namespace.
const SECRETS: [&str; 5] = ["kubeconfig", "ca-cluster", "ssh-keypair", "ssh-keypair.old", "monitoring"];
const INTERNAL_SECRETS: [&str; 1] = ["ca-client"];
const CONFIG_MAPS: [&str; 2] = ["ca-cluster", "ca-kubelet"];

/// Returns the edges of an object of one of [`KINDS`], given in its served form.
pub fn edges(plural: &str, namespace: &str, name: &str, object: &Value) -> Vec<Edge> {
    let mut found = Edges { me: Vertex::new(plural, namespace, name), all: Vec::new() };
    let spec = &object["spec"];
    match plural {
        "backupbuckets" => {
            found.credentials(&spec["credentialsRef"]);
            found.secret(&spec["secretRef"]);
            found.to("seeds", "", &spec["seedName"]);
            found.secret(&object["status"]["generatedSecretRef"]);
        }
        "backupentries" => {
            found.from("backupbuckets", "", &spec["bucketName"]);
            found.to("seeds", "", &spec["seedName"]);
            found.to("seeds", "", &object["status"]["seedName"]);
            for owner in list(&object["metadata"]["ownerReferences"]).filter(|owner| owner["kind"] == "Shoot") {
                found.to("shoots", namespace, &owner["name"]);
            }
        }
        "bastions" => found.to("seeds", "", &spec["seedName"]),
        "controllerinstallations" => {
            found.to("seeds", "", &spec["seedRef"]["name"]);
            found.from("controllerregistrations", "", &spec["registrationRef"]["name"]);
            found.from("controllerdeployments", "", &spec["deploymentRef"]["name"]);
        }
        "projects" => found.to("namespaces", "", &spec["namespace"]),
        "secretbindings" => found.secret(&object["secretRef"]),
        "credentialsbindings" => found.credentials(&object["credentialsRef"]),
        "gardenlets" => {
            found.all.push((found.me.clone(), Vertex::seed(name)));
            found.of_seed_template(&spec["config"]["seedConfig"]["spec"]);
        }
        "managedseeds" => {
            found.all.push((Vertex::seed(name), found.me.clone()));
            found.to("shoots", namespace, &spec["shoot"]["name"]);
            found.of_seed_template(&spec["gardenlet"]["config"]["seedConfig"]["spec"]);
        }
        "seeds" => found.of_seed(spec),
        "shoots" => found.of_shoot(object),
        _ => {}
    }
    found.all
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

struct Edges {
    me: Vertex,
    all: Vec<Edge>,
}

impl Edges {
    fn to(&mut self, plural: &str, namespace: &str, name: &Value) {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            self.all.push((self.me.clone(), Vertex::new(plural, namespace, name)));
        }
    }

    fn from(&mut self, plural: &str, namespace: &str, name: &Value) {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            self.all.push((Vertex::new(plural, namespace, name), self.me.clone()));
        }
    }

    fn secret(&mut self, reference: &Value) {
        self.from("secrets", reference["namespace"].as_str().unwrap_or_default(), &reference["name"]);
    }

    fn credentials(&mut self, reference: &Value) {
        let plural = if reference["kind"] == "WorkloadIdentity" { "workloadidentities" } else { "secrets" };
        self.from(plural, reference["namespace"].as_str().unwrap_or_default(), &reference["name"]);
    }

    /// Adds edges for the objects of the garden that a Seed's spec refers to.
    fn of_seed_template(&mut self, spec: &Value) {
        self.credentials(&spec["backup"]["credentialsRef"]);
        self.secret(&spec["backup"]["secretRef"]);
        self.secret(&spec["dns"]["provider"]["secretRef"]);
        for resource in list(&spec["resources"]) {
            self.resource(namespace::GARDEN, &resource["resourceRef"]);
        }
    }

    fn resource(&mut self, namespace: &str, reference: &Value) {
        match (reference["apiVersion"].as_str(), reference["kind"].as_str()) {
            (Some("v1"), Some("Secret")) => self.from("secrets", namespace, &reference["name"]),
            (Some("v1"), Some("ConfigMap")) => self.from("configmaps", namespace, &reference["name"]),
            _ => {}
        }
    }

    fn of_seed(&mut self, spec: &Value) {
        let name = self.me.name.clone();
        let own = [
            Vertex::new("namespaces", "", &format!("{}{name}", namespace::SEED_PREFIX)),
            Vertex::new("configmaps", "kube-system", "cluster-identity"),
            Vertex::new("leases", namespace::SEED_LEASE, &name),
            Vertex::cluster(&cluster::of_seed(&name)),
        ];
        let me = self.me.clone();
        self.all.extend(own.into_iter().map(|vertex| (vertex, me.clone())));
        self.of_seed_template(spec);
    }

    fn of_shoot(&mut self, object: &Value) {
        let (namespace, name) = (self.me.namespace.clone(), self.me.name.clone());
        let (spec, status) = (&object["spec"], &object["status"]);
        self.to("seeds", "", &spec["seedName"]);
        self.to("seeds", "", &status["seedName"]);
        self.from("clusters", "", &status["technicalID"]);
        self.from("namespaces", "", &Value::from(namespace.as_str()));
        self.from("secretbindings", &namespace, &spec["secretBindingName"]);
        self.from("credentialsbindings", &namespace, &spec["credentialsBindingName"]);
        self.from("cloudprofiles", "", &spec["cloudProfileName"]);
        match spec["cloudProfile"]["kind"].as_str() {
            Some(crate::cloud_profile::NAMESPACED_CLOUD_PROFILE) => {
                self.from("namespacedcloudprofiles", &namespace, &spec["cloudProfile"]["name"]);
            }
            _ => self.from("cloudprofiles", "", &spec["cloudProfile"]["name"]),
        }
        self.from("exposureclasses", "", &spec["exposureClassName"]);
        let server = &spec["kubernetes"]["kubeAPIServer"];
        self.from("configmaps", &namespace, &server["auditConfig"]["auditPolicy"]["configMapRef"]["name"]);
        self.from("configmaps", &namespace, &server["structuredAuthentication"]["configMapName"]);
        self.from("configmaps", &namespace, &server["structuredAuthorization"]["configMapName"]);
        for kubeconfig in list(&server["structuredAuthorization"]["kubeconfigs"]) {
            self.from("secrets", &namespace, &kubeconfig["secretName"]);
        }
        for provider in list(&spec["dns"]["providers"]) {
            self.from("secrets", &namespace, &provider["secretName"]);
        }
        for resource in list(&spec["resources"]) {
            self.resource(&namespace, &resource["resourceRef"]);
        }
        let written =
            [("secrets", &SECRETS[..]), ("internalsecrets", &INTERNAL_SECRETS[..]), ("configmaps", &CONFIG_MAPS[..])];
        for (plural, suffixes) in written {
            for suffix in suffixes {
                self.from(plural, &namespace, &Value::from(format!("{name}.{suffix}")));
            }
        }
        self.from(<core::ShootState as apimachinery::Resource>::PLURAL, &namespace, &Value::from(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(edges: &[Edge]) -> Vec<String> {
        let vertex = |vertex: &Vertex| format!("{}/{}/{}", vertex.plural, vertex.namespace, vertex.name);
        edges.iter().map(|(from, to)| format!("{} > {}", vertex(from), vertex(to))).collect()
    }

    #[test]
    fn a_shoot_is_connected_to_its_seeds_and_references() {
        let shoot = json!({
            "spec": {
                "seedName": "a",
                "secretBindingName": "b",
                "cloudProfile": { "kind": "NamespacedCloudProfile", "name": "mine" },
                "resources": [{ "resourceRef": { "apiVersion": "v1", "kind": "Secret", "name": "token" } }],
                "dns": { "providers": [{ "secretName": "dns" }] },
            },
            "status": { "seedName": "old", "technicalID": "shoot--dev--s" },
        });
        let found = shown(&edges("shoots", "garden-dev", "s", &shoot));
        for expected in [
            "shoots/garden-dev/s > seeds//a",
            "shoots/garden-dev/s > seeds//old",
            "clusters//shoot--dev--s > shoots/garden-dev/s",
            "namespaces//garden-dev > shoots/garden-dev/s",
            "secretbindings/garden-dev/b > shoots/garden-dev/s",
            "namespacedcloudprofiles/garden-dev/mine > shoots/garden-dev/s",
            "secrets/garden-dev/token > shoots/garden-dev/s",
            "secrets/garden-dev/dns > shoots/garden-dev/s",
            "secrets/garden-dev/s.ssh-keypair > shoots/garden-dev/s",
            "internalsecrets/garden-dev/s.ca-client > shoots/garden-dev/s",
            "configmaps/garden-dev/s.ca-cluster > shoots/garden-dev/s",
            "shootstates/garden-dev/s > shoots/garden-dev/s",
        ] {
            assert!(found.iter().any(|edge| edge == expected), "{expected} in {found:?}");
        }
        assert!(found.iter().all(|edge| !edge.contains("exposureclasses")));
    }

    #[test]
    fn a_managed_seed_leads_to_its_shoot() {
        let managed = json!({ "spec": { "shoot": { "name": "s" } } });
        assert_eq!(
            shown(&edges("managedseeds", "garden", "m", &managed)),
            ["seeds//m > managedseeds/garden/m", "managedseeds/garden/m > shoots/garden/s"]
        );
        let seed =
            json!({ "spec": { "dns": { "provider": { "secretRef": { "namespace": "garden", "name": "d" } } } } });
        assert_eq!(
            shown(&edges("seeds", "", "m", &seed)),
            [
                "namespaces//seed-m > seeds//m",
                "configmaps/kube-system/cluster-identity > seeds//m",
                "leases/gardener-system-seed-lease/m > seeds//m",
                "clusters//seed--m > seeds//m",
                "secrets/garden/d > seeds//m",
            ]
        );
    }

    #[test]
    fn bindings_and_backups_lead_on() {
        let binding = json!({ "secretRef": { "namespace": "garden-dev", "name": "cloud" } });
        assert_eq!(
            shown(&edges("secretbindings", "garden-dev", "b", &binding)),
            ["secrets/garden-dev/cloud > secretbindings/garden-dev/b"]
        );
        let binding = json!({ "credentialsRef": {
            "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "WorkloadIdentity",
            "namespace": "garden-dev", "name": "w",
        } });
        assert_eq!(
            shown(&edges("credentialsbindings", "garden-dev", "b", &binding)),
            ["workloadidentities/garden-dev/w > credentialsbindings/garden-dev/b"]
        );
        let entry = json!({ "spec": { "bucketName": "x", "seedName": "a" } });
        assert_eq!(
            shown(&edges("backupentries", "garden-dev", "e", &entry)),
            ["backupbuckets//x > backupentries/garden-dev/e", "backupentries/garden-dev/e > seeds//a"]
        );
        let project = json!({ "spec": { "namespace": "garden-dev" } });
        assert_eq!(shown(&edges("projects", "", "dev", &project)), ["projects//dev > namespaces//garden-dev"]);
    }
}
