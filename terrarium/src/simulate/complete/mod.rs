// SPDX-License-Identifier: Apache-2.0
//! Additions to manifests: objects that exist in a landscape but not in a file, namely projects, credentials, seeds and
//! extensions.
//!
//! Pure: manifests in, a plan out. Every addition is named in a note, so that users can tell it from their own objects.

mod cloud_profile;
mod extension_types;

use std::collections::{BTreeMap, BTreeSet};

use api::constants::{api_version, namespace};
use domain::admission::shoot::TWO_CLOUD_PROFILES;
use domain::cloud_profile::{NO_PROFILE_NAME, counts_by_name};
use domain::release::Release;
use domain::versions::Version;
use serde_json::{Value, json};

use self::extension_types::{EXTENSION_KINDS, extension_types};
use ops::inventory::subject_of;
use ops::manifests::{Manifest, Origin};

/// Objects to create, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Objects without a project: cluster-scoped ones, and those of existing namespaces.
    pub(crate) first: Vec<Manifest>,
    /// Objects of project namespaces, without Shoots.
    pub(crate) second: Vec<Manifest>,
    /// Simulated Shoots.
    pub(crate) shoots: Vec<Manifest>,
    /// Objects that refer to Shoots.
    pub(crate) last: Vec<Manifest>,
    /// Seeds, given or added; each gets a gardenlet.
    pub(crate) seeds: Vec<Manifest>,
    /// True if the manifests contain Seeds, so that the landscape's default Seed is not used.
    pub(crate) seeds_are_given: bool,
    /// Notes on the additions, for users.
    pub(crate) notes: Vec<String>,
}

/// Kinds in the order of their dependencies; other kinds are last.
const ORDER: &[&str] = &[
    "Namespace",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "InternalSecret",
    "ControllerDeployment",
    "ControllerRegistration",
    "ExposureClass",
    "CloudProfile",
    "Project",
    "NamespacedCloudProfile",
    "Quota",
    "WorkloadIdentity",
    "SecretBinding",
    "CredentialsBinding",
];

/// Kinds whose objects refer to a Shoot and are refused without it.
const OF_SHOOTS: &[&str] = &["ManagedSeed", "ManagedSeedSet", "Bastion", "ShootState"];

/// Default Seed, unless others are given; its provider and region have the same name.
const DEFAULT_SEED: &str = "local";

/// Namespaces of cluster `garden` that exist from the start.
const EXISTING_NAMESPACES: &[&str] = &["", "default", "garden", "kube-system", "kube-public", "kube-node-lease"];

/// Extension kind and type.
pub(crate) type ExtensionType = (&'static str, String);

/// File in the origin of an added object.
const ADDED: &str = "(added)";

impl Plan {
    /// True if the object is not in the manifests.
    pub(crate) fn is_addition(manifest: &Manifest) -> bool {
        manifest.origin.file == ADDED
    }

    /// Note on an added object.
    pub(crate) fn note_on(&self, addition: &Manifest) -> Option<&str> {
        let beginning = addition_text(addition);
        self.notes.iter().map(String::as_str).find(|note| note.starts_with(&beginning))
    }

    /// Notes on changes of the manifests' own objects.
    pub(crate) fn notes_on_changes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str).filter(|note| !note.contains(ADDITION))
    }
}

/// Text of a note that an object was added.
const ADDITION: &str = " is not in the manifests and was added: ";

/// Returns the beginning of the note on an added object.
fn addition_text(addition: &Manifest) -> String {
    subject_of(addition) + ADDITION
}

/// Plans the manifests for a release, for a new landscape; `registered`: extensions that the landscape has in any case.
pub(crate) fn plan(manifests: Vec<Manifest>, registered: &BTreeSet<ExtensionType>, release: Release) -> Plan {
    plan_for(manifests, registered, Vec::new(), release)
}

/// Plans the manifests like [`plan`], for a landscape with objects; `known`: its Projects, CloudProfiles,
/// NamespacedCloudProfiles, bindings, Seeds and ControllerRegistrations, which are not added. Other additions may exist.
pub(crate) fn plan_for(
    manifests: Vec<Manifest>,
    registered: &BTreeSet<ExtensionType>,
    known: Vec<Manifest>,
    release: Release,
) -> Plan {
    let mut completion = Completion { given: manifests, known, added: Vec::new(), notes: Vec::new() };
    completion.unreadable_image_versions(release);
    completion.doubled_references(release);
    completion.projects();
    completion.cloud_profiles();
    completion.credentials();
    completion.references();
    completion.seeds();
    completion.extensions(registered);
    let Completion { given, added, notes, known: _ } = completion;
    let seeds_are_given = given.iter().any(|manifest| manifest.kind() == "Seed");
    let mut plan = Plan { seeds_are_given, notes, ..Plan::default() };
    let mut all: Vec<Manifest> = added.into_iter().chain(given).collect();
    all.sort_by_key(|manifest| ORDER.iter().position(|kind| *kind == manifest.kind()).unwrap_or(ORDER.len()));
    for manifest in all {
        match manifest.kind() {
            "Shoot" => plan.shoots.push(manifest),
            "Seed" => plan.seeds.push(manifest),
            kind if OF_SHOOTS.contains(&kind) => plan.last.push(manifest),
            _ if EXISTING_NAMESPACES.contains(&manifest.namespace()) => plan.first.push(manifest),
            _ => plan.second.push(manifest),
        }
    }
    plan
}

/// Correction of a Shoot that was refused because it refers to two CloudProfiles, or by a field that the release ignores;
/// None: refused for another reason.
pub(crate) fn correction(manifest: &Manifest, refusal: &str) -> Option<String> {
    let spec = &manifest.object["spec"];
    let (old, new) = (string(&spec["cloudProfileName"]), &spec["cloudProfile"]);
    if refusal.ends_with(NO_PROFILE_NAME) && old.is_empty() {
        let name = new["name"].as_str().unwrap_or("NAME");
        return Some(format!(
            "write `cloudProfileName: {name}` in its spec; `cloudProfile` counts since Gardener v1.101"
        ));
    }
    if !refusal.contains(TWO_CLOUD_PROFILES) {
        return None;
    }
    let kind = new["kind"].as_str().unwrap_or("CloudProfile");
    Some(format!(
        "delete the line `cloudProfileName: {old}` of its spec, which is deprecated, and run again: then {kind} {} is used; or \
         delete `cloudProfile` if CloudProfile {old} is meant",
        string(&new["name"])
    ))
}

struct Completion {
    given: Vec<Manifest>,
    /// Objects of the landscape.
    known: Vec<Manifest>,
    added: Vec<Manifest>,
    notes: Vec<String>,
}

impl Completion {
    /// Removes one of `cloudProfile` and `cloudProfileName` from Shoots that have both with the same name, as printed by a
    /// server: a new Shoot may have only one of them, in older releases the name.
    fn doubled_references(&mut self, release: Release) {
        let (left, other, why) = if counts_by_name(release) {
            ("cloudProfile", "cloudProfileName", "what counts in this release")
        } else {
            ("cloudProfileName", "cloudProfile", "and a new Shoot may have one of both")
        };
        for shoot in self.given.iter_mut().filter(|manifest| manifest.kind() == "Shoot") {
            let (namespace, name) = (shoot.namespace().to_owned(), shoot.name().to_owned());
            let Some(spec) = shoot.object["spec"].as_object_mut() else { continue };
            let reference = spec.get("cloudProfile").map(|reference| &reference["name"]);
            if reference.is_some_and(|reference| spec.get("cloudProfileName") == Some(reference)) {
                spec.remove(left);
                self.notes.push(format!(
                    "spec.{left} of Shoot {namespace}/{name} was left out: spec.{other} says the same, {why}"
                ));
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Manifest> {
        self.given.iter().chain(&self.added)
    }

    /// Returns all objects, with those of the landscape.
    fn with_known(&self) -> impl Iterator<Item = &Manifest> {
        self.all().chain(&self.known)
    }

    fn of_kind(&self, kind: &str) -> Vec<Manifest> {
        self.all().filter(|manifest| manifest.kind() == kind).cloned().collect()
    }

    fn has(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.with_known().any(|m| m.kind() == kind && m.namespace() == namespace && m.name() == name)
    }

    fn add(&mut self, needed_by: &Manifest, object: Value) {
        let manifest = Manifest {
            origin: Origin { file: ADDED.to_owned(), line: needed_by.origin.line },
            object,
            is_being_deleted: false,
            is_served: false,
        };
        let text = addition_text(&manifest);
        self.notes.push(format!("{text}{} `{}` needs it", needed_by.kind(), needed_by.name()));
        self.added.push(manifest);
    }

    fn projects(&mut self) {
        for manifest in self.given.clone() {
            let namespace = manifest.namespace();
            let Some(project) = namespace.strip_prefix(namespace::PROJECT_PREFIX) else { continue };
            let is_there = self.with_known().any(|other| match other.kind() {
                "Namespace" => other.name() == namespace,
                "Project" => other.text(&["spec", "namespace"]).unwrap_or_default() == namespace,
                _ => false,
            });
            if !is_there {
                let object = json!({
                    "apiVersion": api_version::CORE,
                    "kind": "Project",
                    "metadata": {"name": project},
                    "spec": {"namespace": namespace},
                });
                self.add(&manifest, object);
            }
        }
    }

    /// Adds missing CloudProfiles for Shoots and NamespacedCloudProfiles if none is given: if one is given, a different name
    /// is more likely a typing error.
    fn cloud_profiles(&mut self) {
        if !self.of_kind("CloudProfile").is_empty() {
            return;
        }
        let profiles: Vec<Manifest> =
            self.with_known().filter(|manifest| manifest.kind() == "NamespacedCloudProfile").cloned().collect();
        let parent = |shoot: &Manifest| {
            let (kind, name) = cloud_profile::reference(shoot)?;
            if kind == "CloudProfile" {
                return Some(name);
            }
            let is_it = |profile: &&Manifest| profile.namespace() == shoot.namespace() && profile.name() == name;
            Some(cloud_profile::reference(profiles.iter().find(is_it)?)?.1)
        };
        let mut missing: BTreeMap<String, (cloud_profile::Requirements, Manifest)> = BTreeMap::new();
        for manifest in
            self.given.iter().filter(|manifest| matches!(manifest.kind(), "Shoot" | "NamespacedCloudProfile"))
        {
            let Some(name) = parent(manifest) else { continue };
            let (wanted, _) = missing.entry(name).or_insert_with(|| (Default::default(), manifest.clone()));
            if manifest.kind() == "Shoot" { wanted.shoot(manifest) } else { wanted.namespaced(manifest) }
        }
        for (name, (wanted, needed_by)) in missing {
            if !self.has("CloudProfile", "", &name) {
                self.add(&needed_by, wanted.object(&name));
            }
        }
    }

    fn credentials(&mut self) {
        for shoot in self.of_kind("Shoot") {
            let provider = shoot.text(&["spec", "provider", "type"]).unwrap_or_default().to_owned();
            for (field, kind) in
                [("secretBindingName", "SecretBinding"), ("credentialsBindingName", "CredentialsBinding")]
            {
                let Some(name) = shoot.text(&["spec", field]).map(str::to_owned) else { continue };
                if self.has(kind, shoot.namespace(), &name) {
                    continue;
                }
                let metadata = json!({"name": name, "namespace": shoot.namespace()});
                let object = if kind == "SecretBinding" {
                    json!({
                        "apiVersion": api_version::CORE,
                        "kind": kind,
                        "metadata": metadata,
                        "provider": {"type": provider},
                        "secretRef": {"name": name, "namespace": shoot.namespace()},
                    })
                } else {
                    json!({
                        "apiVersion": api_version::SECURITY,
                        "kind": kind,
                        "metadata": metadata,
                        "provider": {"type": provider},
                        "credentialsRef": {
                            "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": shoot.namespace(),
                        },
                    })
                };
                self.add(&shoot, object);
            }
        }
        for (kind, reference) in [("SecretBinding", "secretRef"), ("CredentialsBinding", "credentialsRef")] {
            for binding in self.of_kind(kind) {
                self.referenced(&binding, &binding.object[reference], binding.namespace(), &binding.object["provider"]);
            }
        }
    }

    /// Removes image versions whose numbers have leading zeros (`18.04.1`) if the release refuses them: published manifests
    /// contain them.
    fn unreadable_image_versions(&mut self, release: Release) {
        for manifest in self.given.iter_mut().filter(|manifest| manifest.kind() == "CloudProfile") {
            let profile = manifest.name().to_owned();
            let Some(images) = manifest.object["spec"]["machineImages"].as_array_mut() else { continue };
            images.retain_mut(|image| {
                let name = string(&image["name"]).to_owned();
                let Some(versions) = image["versions"].as_array_mut() else { return true };
                let count = versions.len();
                versions.retain(|version| {
                    let version = string(&version["version"]);
                    // Other invalid versions are refused by the server.
                    let is_read = Version::parse(version).is_err() || Version::parse_in(version, release).is_ok();
                    if !is_read {
                        self.notes.push(format!(
                            "machine image {name} {version} of CloudProfile {profile} was left out: the emulated \
                             Gardener refuses numbers with leading zeros"
                        ));
                    }
                    is_read
                });
                versions.len() == count || !versions.is_empty()
            });
        }
    }

    /// Adds the Secrets, ConfigMaps and WorkloadIdentities that Shoots, Seeds and BackupBuckets refer to.
    fn references(&mut self) {
        for shoot in self.of_kind("Shoot") {
            let (namespace, spec) = (shoot.namespace(), &shoot.object["spec"]);
            for resource in list(&spec["resources"]) {
                self.referenced(&shoot, &resource["resourceRef"], namespace, &spec["provider"]);
            }
            for provider in list(&spec["dns"]["providers"]) {
                self.secret(&shoot, namespace, &provider["secretName"]);
                self.referenced(&shoot, &provider["credentialsRef"], namespace, provider);
            }
            let api_server = &spec["kubernetes"]["kubeAPIServer"];
            self.config_map(&shoot, namespace, &api_server["auditConfig"]["auditPolicy"]["configMapRef"]["name"]);
            self.config_map(&shoot, namespace, &api_server["structuredAuthentication"]["configMapName"]);
            self.config_map(&shoot, namespace, &api_server["structuredAuthorization"]["configMapName"]);
            for kubeconfig in list(&api_server["structuredAuthorization"]["kubeconfigs"]) {
                self.secret(&shoot, namespace, &kubeconfig["secretName"]);
            }
        }
        for seed in self.of_kind("Seed") {
            let spec = &seed.object["spec"];
            let (backup, dns) = (&spec["backup"], &spec["dns"]);
            for (user, field) in [
                (backup, "secretRef"),
                (backup, "credentialsRef"),
                (&dns["provider"], "secretRef"),
                (&dns["provider"], "credentialsRef"),
                (&dns["internal"], "credentialsRef"),
            ] {
                let provider =
                    if user["provider"].is_string() { json!({"type": user["provider"]}) } else { user.clone() };
                self.referenced(&seed, &user[field], namespace::GARDEN, &provider);
            }
            for resource in list(&spec["resources"]) {
                self.referenced(&seed, &resource["resourceRef"], namespace::GARDEN, &spec["provider"]);
            }
        }
        for bucket in self.of_kind("BackupBucket") {
            for field in ["secretRef", "credentialsRef"] {
                let spec = &bucket.object["spec"];
                self.referenced(&bucket, &spec[field], namespace::GARDEN, &spec["provider"]);
            }
        }
    }

    /// Adds the object of a reference, by default a Secret; `provider`: the provider whose credentials it has, with its
    /// `type`.
    fn referenced(&mut self, needed_by: &Manifest, reference: &Value, namespace: &str, provider: &Value) {
        let (namespace, name) = (reference["namespace"].as_str().unwrap_or(namespace), &reference["name"]);
        match reference["kind"].as_str().unwrap_or("Secret") {
            "Secret" => self.secret(needed_by, namespace, name),
            "ConfigMap" => self.config_map(needed_by, namespace, name),
            "WorkloadIdentity" => self.workload_identity(needed_by, namespace, name, &provider["type"]),
            _ => {}
        }
    }

    fn secret(&mut self, needed_by: &Manifest, namespace: &str, name: &Value) {
        self.missing(needed_by, "Secret", namespace, name, json!({"apiVersion": "v1", "type": "Opaque"}));
    }

    fn config_map(&mut self, needed_by: &Manifest, namespace: &str, name: &Value) {
        self.missing(needed_by, "ConfigMap", namespace, name, json!({"apiVersion": "v1"}));
    }

    fn workload_identity(&mut self, needed_by: &Manifest, namespace: &str, name: &Value, provider: &Value) {
        let spec = json!({"audiences": ["simulated"], "targetSystem": {"type": string(provider)}});
        let object = json!({"apiVersion": api_version::SECURITY, "spec": spec});
        self.missing(needed_by, "WorkloadIdentity", namespace, name, object);
    }

    /// Adds an object with this content unless it exists, or the reference has no name.
    fn missing(&mut self, needed_by: &Manifest, kind: &str, namespace: &str, name: &Value, mut object: Value) {
        let Some(name) = name.as_str() else { return };
        if !self.has(kind, namespace, name) {
            object["kind"] = kind.into();
            object["metadata"] = json!({"name": name, "namespace": namespace});
            self.add(needed_by, object);
        }
    }

    /// Adds a Seed for every Shoot that names a missing one, and one for each provider type and region without a known Seed
    /// if no Seed is given at all.
    fn seeds(&mut self) {
        let none_given = self.of_kind("Seed").is_empty();
        let mut labels: BTreeMap<String, Value> = BTreeMap::new();
        for source in self.with_known().filter(|m| matches!(m.kind(), "Shoot" | "CloudProfile" | "ExposureClass")) {
            let spec = &source.object["spec"];
            for selector in [&spec["seedSelector"], &source.object["scheduling"]["seedSelector"]] {
                for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
                    labels.insert(key.clone(), value.clone());
                }
            }
        }
        for shoot in self.of_kind("Shoot") {
            let provider = shoot.text(&["spec", "provider", "type"]).unwrap_or_default().to_owned();
            let region = shoot.text(&["spec", "region"]).unwrap_or_default().to_owned();
            let name = match shoot.text(&["spec", "seedName"]) {
                Some(name) => name.to_owned(),
                None if none_given && !self.knows_seed(&provider, &region) => seed_name(&provider, &region),
                None => continue,
            };
            let is_default = none_given && name == DEFAULT_SEED;
            if provider.is_empty() || region.is_empty() || is_default || self.has("Seed", "", &name) {
                continue;
            }
            let zones = zones_of(&shoot);
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret", "name": "internal-domain", "namespace": namespace::GARDEN,
            });
            let object = json!({
                "apiVersion": api_version::CORE,
                "kind": "Seed",
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "provider": {"type": provider, "region": region, "zones": zones},
                    "networks": {
                        "nodes": "192.168.128.0/18",
                        "pods": "192.168.192.0/19",
                        "services": "192.168.224.0/20",
                        "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
                    },
                    "ingress": {"domain": format!("ingress.{name}.example.org"), "controller": {"kind": "nginx"}},
                    "dns": {
                        "provider": {
                            "type": "local",
                            // Each release reads the form of reference that it knows.
                            "secretRef": {"name": "internal-domain", "namespace": namespace::GARDEN},
                            "credentialsRef": secret,
                        },
                        "internal": {
                            "type": "local", "domain": landscape::INTERNAL_DOMAIN, "credentialsRef": secret,
                        },
                    },
                },
            });
            self.add(&shoot, object);
        }
    }

    /// True if the landscape has a Seed for Shoots of a provider type and region.
    fn knows_seed(&self, provider: &str, region: &str) -> bool {
        let mut seeds = self.known.iter().filter(|manifest| manifest.kind() == "Seed");
        seeds.any(|seed| {
            let of = &seed.object["spec"]["provider"];
            string(&of["type"]) == provider && string(&of["region"]) == region
        })
    }

    /// Adds registrations for extension types without a registration in the manifests.
    fn extensions(&mut self, registered: &BTreeSet<ExtensionType>) {
        let mut used: BTreeMap<ExtensionType, Manifest> = BTreeMap::new();
        for manifest in self.all() {
            for extension in extension_types(manifest) {
                used.entry(extension).or_insert_with(|| manifest.clone());
            }
        }
        let mut known = registered.clone();
        for registration in self.with_known().filter(|manifest| manifest.kind() == "ControllerRegistration") {
            for resource in list(&registration.object["spec"]["resources"]) {
                let kind = EXTENSION_KINDS.iter().find(|kind| **kind == string(&resource["kind"]));
                known.extend(kind.map(|kind| (*kind, string(&resource["type"]).to_owned())));
            }
        }
        let mut missing: BTreeMap<String, (Vec<Value>, Manifest)> = BTreeMap::new();
        for ((kind, type_), needed_by) in used {
            if !type_.is_empty() && !known.contains(&(kind, type_.clone())) {
                let resource = json!({"kind": kind, "type": type_});
                missing.entry(type_).or_insert_with(|| (Vec::new(), needed_by)).0.push(resource);
            }
        }
        for (type_, (resources, needed_by)) in missing {
            let object = json!({
                "apiVersion": api_version::CORE,
                "kind": "ControllerRegistration",
                "metadata": {"name": format!("simulated-{}", type_.to_lowercase())},
                "spec": {"resources": resources},
            });
            self.add(&needed_by, object);
        }
    }
}

fn zones_of(shoot: &Manifest) -> BTreeSet<String> {
    let workers = list(&shoot.object["spec"]["provider"]["workers"]);
    let mut zones: BTreeSet<String> =
        workers.iter().flat_map(|worker| list(&worker["zones"])).map(|zone| string(zone).to_owned()).collect();
    let region = shoot.text(&["spec", "region"]).unwrap_or_default();
    for letter in ["a", "b", "c"] {
        // A highly available control plane needs three zones.
        if zones.len() < 3 {
            zones.insert(format!("{region}-{letter}"));
        }
    }
    zones
}

fn seed_name(provider: &str, region: &str) -> String {
    if provider == region {
        return provider.to_owned();
    }
    let name: String = format!("{provider}-{region}").to_lowercase();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
