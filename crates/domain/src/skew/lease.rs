// SPDX-License-Identifier: Apache-2.0
//! Running instances, read from their Leases: a landscape has a Lease for every process of a component.

use api::constants::{annotation, label, namespace};
use apimachinery::meta::ObjectMeta;

use super::{Component, Instance, Landscape, library};

/// Returns the instance of a component by its name. The only extensions known are those released with Gardener, whose
/// version is that of their library; they have the same name on each seed.
pub fn instance(component: &str, owner: &str, version: &str) -> Option<Instance> {
    if let Some(extension) = library::of_component(component) {
        return Some(Instance::owned(Component::Extension, extension, version));
    }
    let known = Component::ALL.into_iter().filter(|known| *known != Component::Extension);
    let component = known.into_iter().find(|known| known.name() == component)?;
    Some(Instance::owned(component, owner, version))
}

/// Returns the instance of a Lease; `None`: no rule applies to the Lease.
pub fn registered(meta: &ObjectMeta) -> Option<Instance> {
    let label = |key: &str| meta.labels.get(key).map(String::as_str);
    let version = meta.annotations.get(annotation::COMPONENT_VERSION)?;
    instance(label(label::COMPONENT)?, label(label::COMPONENT_SEED).unwrap_or_default(), version)
}

/// Returns the running instances by their Leases, except the one with this name.
pub fn landscape<'a>(leases: impl IntoIterator<Item = &'a ObjectMeta>, but: &str) -> Landscape {
    let others = leases.into_iter().filter(|meta| meta.namespace == namespace::INSTANCES && meta.name != but);
    Landscape { instances: others.filter_map(registered).collect(), ..Landscape::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_component_seed_and_version() {
        let lease = |name: &str, labels: &[(&str, &str)], version: Option<&str>| ObjectMeta {
            name: name.to_owned(),
            namespace: namespace::INSTANCES.to_owned(),
            labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            annotations: version
                .map(|v| (annotation::COMPONENT_VERSION.to_owned(), v.to_owned()))
                .into_iter()
                .collect(),
            ..ObjectMeta::default()
        };
        let own = [
            lease("s", &[(label::COMPONENT, "gardener-scheduler")], Some("v1.120.0")),
            lease("g", &[(label::COMPONENT, "gardenlet"), (label::COMPONENT_SEED, "a")], Some("v1.119.0")),
            lease("none", &[(label::COMPONENT, "gardenlet")], None),
            lease("other", &[(label::COMPONENT, "provider-aws")], Some("v1.1.0")),
            lease(
                "p",
                &[(label::COMPONENT, "gardener-extension-provider-local"), (label::COMPONENT_SEED, "a")],
                Some("v1.119.0"),
            ),
            lease("but", &[(label::COMPONENT, "gardener-scheduler")], Some("v1.1.0")),
            ObjectMeta {
                namespace: "kube-system".to_owned(),
                ..lease("s", &[(label::COMPONENT, "gardenlet")], Some("v1.1.0"))
            },
        ];
        assert_eq!(
            landscape(&own, "but").instances,
            [
                Instance::new(Component::Scheduler, "v1.120.0"),
                Instance::owned(Component::Gardenlet, "a", "v1.119.0"),
                Instance::owned(Component::Extension, "provider-local", "v1.119.0"),
            ]
        );
    }
}
