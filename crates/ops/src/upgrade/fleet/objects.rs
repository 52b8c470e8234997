// SPDX-License-Identifier: Apache-2.0
//! Versions of a landscape, read from its objects as kubectl prints them.
//!
//! | kind | content |
//! | --- | --- |
//! | Deployment of a component | its version (tag of its image) and number of instances; its feature gates |
//! | Deployment of an extension that is released with Gardener | its library: the tag of its image |
//! | Seed | the version of its gardenlet, `status.gardener.version`; its Kubernetes version |
//! | Gardenlet | the desired version of a gardenlet, for a Seed without one; its feature gates |
//! | Garden | the version that last operated it; its Kubernetes version; feature gates of the control plane |
//! | ControllerDeployment, Extension | the library of an extension, by annotation |
//! | Shoot | its Kubernetes version, and the gardenlet that reconciled it |
//! | Secret worker-pools-operatingsystemconfig-hashes | pools whose hash has the first form |
//!
//! Everything else is left out and counted.

use std::collections::BTreeMap;
use std::path::Path;

use api::constants::annotation;
use api::kubernetes::core::Secret;
use domain::skew::notes::{GateSetting, ShootVersions};
use domain::skew::{Component, Instance, library};
use domain::worker_pool::StoredKeys;
use serde_json::Value;

use super::{Fleet, Place, distinct, first_hash_forms};
use crate::Error;
use crate::manifests::{self, Manifest, ManifestError, Origin, Source, WantedKinds};
use crate::upgrade::components::gardenlets::Pin;

/// Annotation with the version of the library that an extension is built with.
const LIBRARY: &str = "terrarium.dev/extensions-library-version";
/// Kinds with information about versions.
const KINDS: &[&str] = &["Deployment", "Seed", "Gardenlet", "Garden", "ControllerDeployment", "Extension", "Shoot"];
/// Maximum number of replicas that are counted; a larger number is treated as this one.
const REPLICAS: u64 = 1000;

/// Version of a gardenlet according to one object.
#[derive(Clone, Debug)]
struct GardenletVersion {
    owner: String,
    version: Option<String>,
    origin: Origin,
}

/// Contents of the objects read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    instances: Vec<(Instance, Origin)>,
    garden: Option<(String, Origin)>,
    /// Gardenlets by Seed, with the reported version.
    seeds: Vec<GardenletVersion>,
    /// Gardenlets by Gardenlet object, with the desired version.
    gardenlets: Vec<GardenletVersion>,
    /// Gardenlets by Deployment; most do not name their Seed.
    deployed: Vec<GardenletVersion>,
    shoots: Vec<ShootVersions>,
    clusters: Vec<(String, String)>,
    gates: Vec<GateSetting>,
    pins: Vec<Pin>,
    first_hash_forms: Vec<String>,
    /// Number of objects of each other kind.
    others: BTreeMap<String, usize>,
    notes: Vec<String>,
}

fn text(tree: &Value, path: &str) -> Option<String> {
    tree.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Tag of an image, for example `v1.120.0`.
fn tag(image: &str) -> Option<&str> {
    let name = image.split('@').next().unwrap_or_default();
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    last.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.is_empty())
}

/// Returns the feature gates of a map.
pub(super) fn gates_of(tree: &Value, component: Component, owner: &str) -> Vec<GateSetting> {
    let entries = tree.as_object().into_iter().flatten();
    let setting = |(name, on): (&String, &Value)| {
        let on = on.as_bool().or_else(|| on.as_str()?.parse().ok())?;
        Some(GateSetting { component, owner: owner.to_owned(), name: name.clone(), on })
    };
    entries.filter_map(setting).collect()
}

/// Returns the feature gates of a container's arguments, `--feature-gates=A=true,B=false`.
pub(super) fn gates_of_arguments(container: &Value, component: Component) -> Vec<GateSetting> {
    let words = ["args", "command"].into_iter().filter_map(|key| container[key].as_array()).flatten();
    let flags = words.filter_map(|word| word.as_str()?.strip_prefix("--feature-gates="));
    let settings = flags.flat_map(|flag| flag.split(',')).filter_map(|setting| {
        let (name, on) = setting.split_once('=')?;
        let on = on.trim().to_ascii_lowercase().parse().ok()?;
        Some(GateSetting { component, owner: String::new(), name: name.trim().to_owned(), on })
    });
    settings.collect()
}

impl Objects {
    pub(super) fn read_folder(&mut self, path: &Path) -> Result<(), Error> {
        let mut wanted = WantedKinds::only(KINDS);
        manifests::read_each(&[path.to_owned()], &mut wanted, &mut |manifest, source| self.take(&manifest, source))?;
        self.notes.append(&mut wanted.notes);
        Ok(())
    }

    pub(super) fn read(&mut self, file: &str, text: &str) -> Result<(), Error> {
        let mut wanted = WantedKinds::only(KINDS);
        manifests::parse_each(file, text, &mut wanted, &mut |manifest, source| self.take(&manifest, source))?;
        self.notes.append(&mut wanted.notes);
        Ok(())
    }

    fn take(&mut self, manifest: &Manifest, source: &Source<'_>) -> Result<(), ManifestError> {
        let at = |field: &str| Origin {
            file: manifest.origin.file.clone(),
            line: source.line_of(field).unwrap_or(manifest.origin.line),
        };
        let (tree, name) = (&manifest.object, manifest.name().to_owned());
        let group = manifest.api_version().split_once('/').map_or("", |(group, _)| group);
        match manifest.kind() {
            "Deployment" => return self.take_deployment(manifest, &at),
            "Seed" if is_gardeners(group) => {
                let version = text(tree, "/status/gardener/version");
                if let Some(kubernetes) = text(tree, "/status/kubernetesVersion") {
                    self.clusters.push((format!("Seed {name}"), kubernetes));
                }
                self.seeds.push(GardenletVersion { owner: name, version, origin: manifest.origin.clone() });
            }
            "Gardenlet" if is_gardeners(group) => {
                let own = text(tree, "/spec/deployment/image/tag");
                let chart = |field: &str| text(tree, &format!("/spec/deployment/helm/ociRepository/{field}"));
                let tag = match chart("ref") {
                    Some(reference) => tag(&reference).map(str::to_owned),
                    None => chart("tag").filter(|_| chart("digest").is_none()),
                };
                let version = own.clone().or(tag).or_else(|| annotated(tree, annotation::COMPONENT_VERSION));
                if version.is_none() {
                    self.notes.push(format!("Gardenlet {name}: its chart has no tag that names a version"));
                }
                self.gates.extend(gates_of(&tree["spec"]["config"]["featureGates"], Component::Gardenlet, &name));
                self.pins.extend(own.map(|tag| Pin { name: name.clone(), tag }));
                self.gardenlets.push(GardenletVersion { owner: name, version, origin: manifest.origin.clone() });
            }
            "Garden" if is_gardeners(group) => {
                if let Some(kubernetes) = text(tree, "/spec/virtualCluster/kubernetes/version") {
                    self.clusters.push(("the Garden".to_owned(), kubernetes));
                }
                let gardener = &tree["spec"]["virtualCluster"]["gardener"];
                for (key, component) in [
                    ("gardenerAPIServer", Component::Apiserver),
                    ("gardenerControllerManager", Component::ControllerManager),
                    ("gardenerScheduler", Component::Scheduler),
                ] {
                    self.gates.extend(gates_of(&gardener[key]["featureGates"], component, ""));
                }
                if let Some(version) = text(tree, "/status/gardener/version") {
                    self.garden = Some((version, at("status.gardener.version")));
                }
            }
            "ControllerDeployment" | "Extension" if is_gardeners(group) => {
                if let Some(library) = declared(tree) {
                    let origin = manifest.origin.clone();
                    self.instances.push((Instance::owned(Component::Extension, &name, &library), origin));
                }
            }
            "Shoot" if is_gardeners(group) => self.shoots.push(ShootVersions {
                name: format!("{}/{name}", manifest.namespace()),
                seed: text(tree, "/status/seedName").or_else(|| text(tree, "/spec/seedName")),
                gardener: text(tree, "/status/gardener/version").unwrap_or_default(),
                kubernetes: text(tree, "/spec/kubernetes/version").unwrap_or_default(),
            }),
            "Secret" if name == StoredKeys::SECRET => {
                let secret: Option<Secret> = serde_json::from_value(tree.clone()).ok();
                self.first_hash_forms.extend(secret.iter().flat_map(first_hash_forms));
            }
            kind => *self.others.entry(kind.to_owned()).or_default() += 1,
        }
        Ok(())
    }

    fn take_deployment(&mut self, manifest: &Manifest, at: &dyn Fn(&str) -> Origin) -> Result<(), ManifestError> {
        let (tree, name) = (&manifest.object, manifest.name());
        let extension = library::of_component(name);
        let component = Component::named(name).filter(|component| *component != Component::Extension);
        let Some(component) = extension.map(|_| Component::Extension).or(component) else {
            *self.others.entry("Deployment".to_owned()).or_default() += 1;
            return Ok(());
        };
        let containers = tree["spec"]["template"]["spec"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
        let own = containers.iter().position(|container| container["name"] == name).unwrap_or(0);
        let container = containers.get(own).unwrap_or(&Value::Null);
        let image = container["image"].as_str().unwrap_or_default();
        let field = format!("spec.template.spec.containers[{own}].image");
        let version = tag(image).map(str::to_owned).or_else(|| annotated(tree, annotation::COMPONENT_VERSION));
        let Some(version) = version else {
            let what = format!("the image {image:?} of Deployment {name} has no tag, which is its version");
            return Err(ManifestError::at(&at(&field), what));
        };
        let replicas = tree["spec"]["replicas"].as_u64().unwrap_or(1);
        let updated = tree["status"]["updatedReplicas"].as_u64();
        if tree["status"].is_object() && updated.unwrap_or(0) < replicas {
            self.notes.push(format!(
                "Deployment {name} is being rolled out: its pods that have another version still are not in it"
            ));
        }
        if let Some(extension) = extension {
            if replicas > 0 {
                self.instances.push((Instance::owned(component, extension, &version), at(&field)));
            }
            return Ok(());
        }
        self.gates.extend(gates_of_arguments(container, component));
        if component == Component::Gardenlet {
            let seed = tree.pointer("/metadata/labels/terrarium.dev~1seed").and_then(Value::as_str);
            let owner = seed.map_or_else(|| format!("{}/{name}", manifest.namespace()), str::to_owned);
            self.deployed.push(GardenletVersion { owner, version: Some(version), origin: at(&field) });
            return Ok(());
        }
        for _ in 0..replicas.min(REPLICAS) {
            self.instances.push((Instance::new(component, &version), at(&field)));
        }
        Ok(())
    }

    /// Combines the objects: the version of a gardenlet is that of its Seed, otherwise that of its Gardenlet or Deployment.
    pub(super) fn complete(mut self, fleet: &mut Fleet) {
        self.find_gardenlets_of_runtime(fleet);
        for seed in &self.seeds {
            let wanted = self.gardenlets.iter().find(|gardenlet| gardenlet.owner == seed.owner);
            let wanted = wanted.and_then(|gardenlet| gardenlet.version.clone());
            match (&seed.version, wanted) {
                (None, _) => self.notes.push(format!(
                    "Seed {}: its gardenlet has not written status.gardener.version: it is left out",
                    seed.owner
                )),
                (Some(is), Some(wanted)) if is.trim_start_matches('v') != wanted.trim_start_matches('v') => {
                    self.notes.push(format!(
                        "Seed {}: its gardenlet is at {is}, its Gardenlet asks for {wanted}",
                        seed.owner
                    ));
                }
                _ => {}
            }
        }
        let is_seed = |said: &GardenletVersion| self.seeds.iter().any(|seed| seed.owner == said.owner);
        let unseen: Vec<GardenletVersion> = self.gardenlets.iter().filter(|said| !is_seed(said)).cloned().collect();
        let mut said: Vec<GardenletVersion> = self.seeds.iter().cloned().chain(unseen).collect();
        if said.is_empty() {
            said.append(&mut self.deployed);
        }
        for gardenlet in said {
            let Some(version) = gardenlet.version else { continue };
            self.instances.push((Instance::owned(Component::Gardenlet, &gardenlet.owner, &version), gardenlet.origin));
        }
        for (instance, origin) in self.instances {
            fleet.add(instance, Place::At(origin));
        }
        if let Some((version, origin)) = self.garden {
            fleet.landscape.garden = Some(version);
            fleet.garden_place = Some(Place::At(origin));
        }
        fleet.shoots.append(&mut self.shoots);
        fleet.clusters.append(&mut self.clusters);
        fleet.gates.append(&mut self.gates);
        fleet.pins.append(&mut self.pins);
        fleet.first_hash_forms.append(&mut self.first_hash_forms);
        fleet.notes.append(&mut self.notes);
        if !self.others.is_empty() {
            let kinds: Vec<String> = self.others.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            fleet.notes.push(format!("objects that say nothing about versions are left out: {}", kinds.join(", ")));
        }
        distinct(&mut fleet.shoots);
        distinct(&mut fleet.clusters);
        distinct(&mut fleet.gates);
        distinct(&mut fleet.first_hash_forms);
        distinct(&mut fleet.notes);
    }

    /// Finds the gardenlets that run in the cluster of gardener-operator: their Deployments are in the same output of
    /// kubectl.
    fn find_gardenlets_of_runtime(&self, fleet: &mut Fleet) {
        let is_operator = |(instance, _): &&(Instance, Origin)| instance.component == Component::Operator;
        let files: Vec<&str> =
            self.instances.iter().filter(is_operator).map(|(_, origin)| origin.file.as_str()).collect();
        for gardenlet in self.deployed.iter().filter(|said| files.contains(&said.origin.file.as_str())) {
            let version = gardenlet.version.clone().unwrap_or_default();
            fleet.gardenlets_of_runtime.push(Instance::new(Component::Gardenlet, &version));
        }
    }
}

/// Version of the library that an extension declares in its annotation.
pub(super) fn declared(tree: &Value) -> Option<String> {
    annotated(tree, LIBRARY)
}

fn annotated(tree: &Value, key: &str) -> Option<String> {
    tree["metadata"]["annotations"][key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// True if an API group belongs to Gardener.
fn is_gardeners(group: &str) -> bool {
    group.ends_with(".gardener.cloud")
}

#[cfg(test)]
mod tests {
    use domain::skew::GardenerVersion;

    use super::*;

    fn fleet(text: &str) -> Result<Fleet, Error> {
        let (mut objects, mut fleet) = (Objects::default(), Fleet::default());
        objects.read("f.yaml", text)?;
        objects.complete(&mut fleet);
        Ok(fleet)
    }

    /// `data` is a list with pool `old` in the first form and pool `new` in the second.
    #[test]
    fn first_hash_forms_are_read_from_the_secret() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME, namespace: shoot--p--a}\ndata: {pools: \
                    LSB7bmFtZTogb2xkLCBjdXJyZW50VmVyc2lvbjogMSwgaGFzaFZlcnNpb25Ub09TQ0tleTogezE6IGEsIDI6IGJ9fQotIHtuYW1lOiBuZXcsIGN1cnJlbnRWZXJzaW9uOiAyLCBoYXNoVmVyc2lvblRvT1NDS2V5OiB7MjogY319Cg==}\n";
        let found = fleet(&text.replace("NAME", StoredKeys::SECRET)).expect("a fleet");
        assert_eq!(found.first_hash_forms, ["shoot--p--a/old"]);
        assert!(found.notes.is_empty(), "{:?}", found.notes);
        let other = fleet(&text.replace("NAME", "other")).expect("a fleet");
        assert!(other.first_hash_forms.is_empty());
        assert_eq!(other.notes, ["objects that say nothing about versions are left out: Secret (1)"]);
    }

    fn deployment(name: &str, image: &str, rest: &str) -> String {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: garden}}\nspec:\n  replicas: 2\n  \
             template:\n    spec:\n      containers:\n      - name: {name}\n        image: {image}\n        args: \
             [--feature-gates=InPlaceNodeUpdates=true]\n{rest}---\n"
        )
    }

    #[test]
    fn a_landscape_is_what_its_objects_say() {
        let text = [
            deployment("gardener-apiserver", "registry:5000/gardener/apiserver:v1.120.0", ""),
            deployment("gardener-operator", "gardener/operator:v1.121.0@sha256:00", ""),
            deployment("gardenlet", "gardener/gardenlet:v1.120.0", ""),
            deployment("other", "nginx", ""),
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: a}\nstatus: {kubernetesVersion: v1.31.1, \
             gardener: {version: v1.119.0}}\n---\n"
                .to_owned(),
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: new}\n---\n".to_owned(),
            "apiVersion: seedmanagement.gardener.cloud/v1alpha1\nkind: Gardenlet\nmetadata: {name: a, namespace: garden}\n\
             spec: {deployment: {helm: {ociRepository: {ref: 'oci://x/gardenlet:v1.120.0'}}}, config: {featureGates: \
             {NewWorkerPoolHash: true}}}\n---\n"
                .to_owned(),
            "apiVersion: operator.gardener.cloud/v1alpha1\nkind: Garden\nmetadata: {name: g}\nspec: {virtualCluster: \
             {kubernetes: {version: 1.32.0}}}\nstatus: {gardener: {version: v1.120.0}}\n---\n"
                .to_owned(),
            "apiVersion: core.gardener.cloud/v1\nkind: ControllerDeployment\nmetadata:\n  name: local\n  annotations:\n    \
             terrarium.dev/extensions-library-version: v1.118.0\n---\n"
                .to_owned(),
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: s, namespace: garden-p}\nspec: {seedName: \
             a, kubernetes: {version: 1.30.1}}\nstatus: {gardener: {version: v1.118.0}}\n---\n"
                .to_owned(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n".to_owned(),
        ]
        .concat();
        let fleet = fleet(&text).expect("objects");
        let instances: Vec<String> = (0..fleet.landscape.instances.len())
            .map(|index| {
                let one = &fleet.landscape.instances[index];
                let name = fleet.name_of(index).unwrap_or_else(|| "-".to_owned());
                format!(
                    "{} {name} {} {}",
                    one.component.name(),
                    one.version,
                    fleet.origin(index).expect("it is written").line
                )
            })
            .collect();
        assert_eq!(
            instances,
            [
                "gardener-apiserver 0 v1.120.0 10",
                "gardener-apiserver 1 v1.120.0 10",
                "gardener-operator 0 v1.121.0 22",
                "gardener-operator 1 v1.121.0 22",
                "extension local v1.118.0 69",
                "gardenlet a v1.119.0 49",
            ]
        );
        assert_eq!(fleet.landscape.garden.as_deref(), Some("v1.120.0"));
        assert_eq!(fleet.gardenlets_of_runtime, [Instance::new(Component::Gardenlet, "v1.120.0")]);
        assert_eq!(
            fleet.all_clusters().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["Seed a", "the Garden", "garden-p/s"]
        );
        let gates: Vec<String> =
            fleet.gates.iter().map(|gate| format!("{} {} {}", gate.component.name(), gate.owner, gate.name)).collect();
        assert!(gates.contains(&"gardenlet a NewWorkerPoolHash".to_owned()), "{gates:?}");
        assert!(gates.contains(&"gardener-apiserver  InPlaceNodeUpdates".to_owned()), "{gates:?}");
        assert_eq!(
            fleet.notes,
            [
                "Seed a: its gardenlet is at v1.119.0, its Gardenlet asks for v1.120.0",
                "Seed new: its gardenlet has not written status.gardener.version: it is left out",
                "objects that say nothing about versions are left out: ConfigMap (1), Deployment (1)",
            ]
        );
    }

    /// gardener-operator creates the Deployments of the control plane from the Garden.
    #[test]
    fn a_fact_of_several_objects_counts_once() {
        let rolling = "status: {replicas: 3, updatedReplicas: 1}\n";
        let shoot = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: s, namespace: garden-p}\n\
                     spec: {kubernetes: {version: 1.30.1}}\n---\n";
        let text = [
            deployment("gardener-apiserver", "gardener/apiserver:v1.120.0", ""),
            deployment("gardenlet", "gardener/gardenlet:v1.120.0", rolling),
            deployment("gardenlet", "gardener/gardenlet:v1.120.0", rolling),
            shoot.to_owned(),
            shoot.to_owned(),
            "apiVersion: operator.gardener.cloud/v1alpha1\nkind: Garden\nmetadata: {name: g}\nspec: {virtualCluster: {gardener: \
             {gardenerAPIServer: {featureGates: {InPlaceNodeUpdates: true}}, gardenerScheduler: {featureGates: \
             {InPlaceNodeUpdates: true}}}}}\n"
                .to_owned(),
        ];
        let fleet = fleet(&text.concat()).expect("objects");
        let gates: Vec<&str> = fleet.gates.iter().map(|gate| gate.component.name()).collect();
        assert_eq!(gates, ["gardener-apiserver", "gardenlet", "gardener-scheduler"]);
        assert_eq!(fleet.shoots.len(), 1);
        assert_eq!(
            fleet.notes,
            ["Deployment gardenlet is being rolled out: its pods that have another version still are not in it"]
        );
    }

    #[test]
    fn an_image_tag_of_a_gardenlet_is_a_pin() {
        let text = |image: &str| {
            format!(
                "apiVersion: seedmanagement.gardener.cloud/v1alpha1\nkind: Gardenlet\nmetadata: {{name: a}}\nspec: \
                 {{deployment: {{image: {image}, helm: {{ociRepository: {{ref: 'r:v1.120.0'}}}}}}}}\n"
            )
        };
        for (image, expected) in [("{tag: v1.121.0}", Some("v1.121.0")), ("{tag: ''}", None), ("{repository: r}", None)]
        {
            let fleet = fleet(&text(image)).expect("a fleet");
            let pins: Vec<(&str, &str)> = fleet.pins.iter().map(|pin| (pin.name.as_str(), pin.tag.as_str())).collect();
            assert_eq!(pins, expected.map(|tag| ("a", tag)).into_iter().collect::<Vec<_>>(), "{image}");
        }
    }

    #[test]
    fn a_gardenlet_without_a_tag_is_named() {
        let text = |chart: &str| {
            let gardenlet =
                "apiVersion: seedmanagement.gardener.cloud/v1alpha1\nkind: Gardenlet\nmetadata: {name: a}\n";
            format!("{gardenlet}spec: {{deployment: {{helm: {{ociRepository: {{{chart}}}}}}}}}\n")
        };
        for (chart, version) in [
            ("repository: r, tag: v1.120.0", Some("v1.120.0")),
            ("repository: r, tag: v1.120.0, digest: 'sha256:0'", None),
            ("repository: r, digest: 'sha256:0'", None),
            ("ref: 'r:v1.120.0@sha256:0'", Some("v1.120.0")),
        ] {
            let fleet = fleet(&text(chart)).expect("a fleet");
            let versions: Vec<&str> = fleet.landscape.instances.iter().map(|one| one.version.as_str()).collect();
            let note = "Gardenlet a: its chart has no tag that names a version";
            let (expected, notes) = version.map_or_else(|| (vec![], vec![note]), |version| (vec![version], vec![]));
            assert_eq!((versions, fleet.notes), (expected, notes.into_iter().map(str::to_owned).collect()), "{chart}");
        }
    }

    #[test]
    fn an_extension_of_gardener_has_the_library_of_its_image() {
        let text = [
            deployment("gardener-extension-provider-local", "gardener/extensions/provider-local:v1.121.0", ""),
            deployment("gardener-extension-provider-aws", "gardener/extensions/provider-aws:v1.60.0", ""),
        ];
        let fleet = fleet(&text.concat()).expect("objects");
        assert_eq!(
            fleet.landscape.instances,
            [Instance::owned(Component::Extension, "provider-local", "v1.121.0")],
            "others have releases of their own"
        );
    }

    #[test]
    fn images_without_a_version_are_told_with_their_line() {
        let error =
            fleet(&deployment("gardener-apiserver", "registry:5000/gardener/apiserver", "")).expect_err("no tag");
        assert_eq!(
            error.to_string(),
            "f.yaml:10: the image \"registry:5000/gardener/apiserver\" of Deployment gardener-apiserver has no tag, which is \
             its version"
        );
        let rolling = "status: {replicas: 3, updatedReplicas: 1}\n";
        let fleet = fleet(&deployment("gardener-apiserver", "a:v1.1.0", rolling)).expect("objects");
        assert_eq!(
            fleet.notes,
            [
                "Deployment gardener-apiserver is being rolled out: its pods that have another version still are not in it"
            ]
        );
        assert!(GardenerVersion::parse(&fleet.landscape.instances[0].version).is_some());
    }
}
