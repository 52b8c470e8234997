// SPDX-License-Identifier: Apache-2.0
//! Names of MachineSets, and the comparison of templates on which they depend.

use api::constants::label;
use api::machine::{MachineDeployment, MachineSet, MachineTemplateSpec};
use apimachinery::fnv::fnv32;

/// Alphabet of Kubernetes' generated names.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns the hash of a MachineDeployment's template: FNV-32a of its text, in decimal, in the alphabet of generated names.
///
/// Unlike upstream the text is the template's JSON and not Go's dump of the struct, so the values differ; the changes of
/// a template that change the hash do not. `collisions` is `status.collisionCount`.
pub fn template_hash(template: &MachineTemplateSpec, collisions: i32) -> String {
    let count = (collisions > 0).then(|| collisions.to_le_bytes());
    let bytes = serde_json::to_vec(template).unwrap_or_default().into_iter().chain(count.into_iter().flatten());
    let decimal = fnv32(bytes).to_string();
    decimal.bytes().map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])).collect()
}

/// Returns the name of the MachineSet for a template hash.
pub fn machine_set_name(deployment: &str, template_hash: &str) -> String {
    let short: String = template_hash.chars().take(5).collect();
    format!("{deployment}-{short}")
}

/// Returns the MachineDeployment's name from the name of one of its Machines, which is also that of the Node.
pub fn deployment_of_machine(machine: &str) -> Option<&str> {
    deployment_of_class(deployment_of_class(machine)?)
}

/// Returns the MachineDeployment's name from the name of its MachineClass.
pub fn deployment_of_class(class: &str) -> Option<&str> {
    class.rsplit_once('-').map(|(deployment, _)| deployment)
}

/// True if two templates describe the same machines.
///
/// Labels of the hash, the node template, the settings of machine-controller-manager and the class's kind are not
/// compared: existing machines receive their changes.
pub fn same_machines(a: &MachineTemplateSpec, b: &MachineTemplateSpec) -> bool {
    let labels = |template: &MachineTemplateSpec| {
        let mut labels = template.metadata.labels.clone();
        labels.remove(label::MACHINE_TEMPLATE_HASH);
        labels
    };
    a.spec.class.name == b.spec.class.name
        && a.spec.class.api_group == b.spec.class.api_group
        && a.spec.provider_id == b.spec.provider_id
        && a.metadata.annotations == b.metadata.annotations
        && labels(a) == labels(b)
}

/// Returns the MachineSet of the MachineDeployment's present template: the oldest whose template describes the same machines.
pub fn newest_set<'a, S: AsRef<MachineSet>>(deployment: &MachineDeployment, sets: &'a [S]) -> Option<&'a S> {
    sets.iter()
        .filter(|set| same_machines(&set.as_ref().spec.template, &deployment.spec.template))
        .min_by_key(|set| (set.as_ref().metadata.creation_timestamp, set.as_ref().metadata.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_the_deployment() {
        assert_eq!(deployment_of_machine("shoot--p--s-w-z1-7kqzw-mlh5k"), Some("shoot--p--s-w-z1"));
        assert_eq!(deployment_of_class("shoot--p--s-w-z1-00f14"), Some("shoot--p--s-w-z1"));
        assert_eq!(deployment_of_machine("x"), None);
    }

    #[test]
    fn node_labels_do_not_make_another_set() {
        let mut template = MachineTemplateSpec::default();
        template.spec.class.name = "c-00f14".into();
        let mut labelled = template.clone();
        labelled.spec.node_template.metadata.labels.insert("a".into(), "b".into());
        assert!(same_machines(&template, &labelled));
        let mut other = template.clone();
        other.spec.class.name = "c-b19c5".into();
        assert!(!same_machines(&template, &other));
        assert_ne!(template_hash(&template, 0), template_hash(&other, 0));
        assert_ne!(template_hash(&template, 0), template_hash(&template, 1));
    }
}
