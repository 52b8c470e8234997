// SPDX-License-Identifier: Apache-2.0
//! Steps of `up -f`: the plan of the manifests as a sequence of objects and waits.
//!
//! ```text
//! cluster-scoped objects, those of existing namespaces ──► Projects are Ready ──► objects of their namespaces
//!    ──► Seeds, Gardenlets ──► Seeds are ready ──► Shoots ──► what refers to Shoots
//!    ──► Seeds of ManagedSeeds are ready ──► Shoots on them ──► what refers to these
//! ```
//!
//! The last line exists only for Shoots that name a Seed which a ManagedSeed of the manifests creates.

use std::collections::BTreeSet;

use ops::inventory::subject_of;
use ops::manifests::Manifest;

use crate::simulate::complete::Plan;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Applies an object.
    Apply(Manifest),
    /// Registers a Seed, with a gardenlet.
    Seed(Manifest),
    /// Waits until a Project is Ready.
    AwaitProject(Manifest),
    /// Waits until the status of a NamespacedCloudProfile has its versions.
    AwaitProfile(Manifest),
    /// Waits until a Seed is ready; the manifest that creates it.
    AwaitSeed(Manifest),
}

/// Kinds that create a Seed of their own name.
const SEED_MAKERS: &[&str] = &["Gardenlet", "ManagedSeed"];

/// Returns the steps of a plan, and notes on Seeds that are left out.
pub(super) fn steps(plan: &Plan) -> (Vec<Step>, Vec<String>) {
    let all = || plan.first.iter().chain(&plan.second).chain(&plan.last);
    let of_kind = |kind: &'static str| all().filter(move |manifest| manifest.kind() == kind);
    let gardenlets: Vec<&Manifest> = of_kind("Gardenlet").collect();
    let managed: Vec<&Manifest> = of_kind("ManagedSeed").collect();
    let managed_names: BTreeSet<&str> = managed.iter().map(|seed| seed.name()).collect();
    let is_late =
        |shoot: &&Manifest| shoot.text(&["spec", "seedName"]).is_some_and(|name| managed_names.contains(name));
    let late: Vec<&Manifest> = plan.shoots.iter().filter(is_late).collect();
    // Objects that refer to a late Shoot.
    let refers_to_late = |manifest: &&Manifest| {
        let name = manifest.text(&["spec", "shoot", "name"]).or_else(|| manifest.text(&["spec", "shootRef", "name"]));
        let name = name.unwrap_or_else(|| manifest.name());
        late.iter().any(|shoot| shoot.namespace() == manifest.namespace() && shoot.name() == name)
    };
    let mut notes = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let apply = |manifest: &Manifest| Step::Apply(manifest.clone());
    let not_gardenlet = |manifest: &&Manifest| manifest.kind() != "Gardenlet";
    steps.extend(plan.first.iter().filter(not_gardenlet).map(apply));
    steps.extend(of_kind("Project").map(|project| Step::AwaitProject(project.clone())));
    steps.extend(plan.second.iter().filter(not_gardenlet).map(apply));
    steps.extend(of_kind("NamespacedCloudProfile").map(|profile| Step::AwaitProfile(profile.clone())));
    let mut awaited: Vec<&Manifest> = Vec::new();
    for seed in &plan.seeds {
        let maker = all().find(|maker| SEED_MAKERS.contains(&maker.kind()) && maker.name() == seed.name());
        match maker {
            None => {
                steps.push(Step::Seed(seed.clone()));
                awaited.push(seed);
            }
            Some(maker) if !Plan::is_addition(seed) => {
                notes.push(format!("Seed {}: left out, since {} creates it", seed.name(), subject_of(maker)));
            }
            Some(_) => {}
        }
    }
    steps.extend(gardenlets.iter().copied().map(apply));
    awaited.extend(gardenlets);
    steps.extend(awaited.into_iter().map(|seed| Step::AwaitSeed(seed.clone())));
    steps.extend(plan.shoots.iter().filter(|shoot| !is_late(shoot)).map(apply));
    steps.extend(plan.last.iter().filter(|manifest| !refers_to_late(manifest)).map(apply));
    let hosts: BTreeSet<&str> = late.iter().filter_map(|shoot| shoot.text(&["spec", "seedName"])).collect();
    let needed = managed.into_iter().filter(|seed| hosts.contains(seed.name()));
    steps.extend(needed.map(|seed| Step::AwaitSeed(seed.clone())));
    steps.extend(late.iter().copied().map(apply));
    steps.extend(plan.last.iter().filter(refers_to_late).map(apply));
    (steps, notes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::release::DOCUMENTED;
    use ops::manifests::parse;

    use super::*;
    use crate::simulate::complete;

    const CORE: &str = "core.gardener.cloud/v1beta1";
    const SEEDMANAGEMENT: &str = "seedmanagement.gardener.cloud/v1alpha1";

    fn object(api_version: &str, kind: &str, namespace: &str, name: &str, spec: &str) -> String {
        let namespace = if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}{namespace}}}\nspec: {{{spec}}}\n---\n"
        )
    }

    fn shoot(namespace: &str, name: &str, spec: &str) -> String {
        let provider = "cloudProfile: {name: p}, region: local, provider: {type: local}";
        object(CORE, "Shoot", namespace, name, &format!("{provider}{spec}"))
    }

    fn show(step: &Step) -> String {
        let (word, manifest) = match step {
            Step::Apply(manifest) => ("", manifest),
            Step::Seed(manifest) => ("gardenlet of ", manifest),
            Step::AwaitProject(manifest) | Step::AwaitProfile(manifest) | Step::AwaitSeed(manifest) => {
                ("wait: ", manifest)
            }
        };
        format!("{word}{}", subject_of(manifest))
    }

    #[track_caller]
    fn check(texts: &[String], expected: &[&str], notes: &[&str]) {
        let registered = [("ControlPlane", "local"), ("Infrastructure", "local"), ("Worker", "local")];
        let registered: BTreeSet<_> = registered.into_iter().map(|(kind, type_)| (kind, type_.to_owned())).collect();
        // Every rotation of the files results in the same kinds in the same order.
        for turn in 0..texts.len() {
            let (front, back) = texts.split_at(turn);
            let text = [back.concat(), front.concat()].concat();
            let known = parse("known", &object(CORE, "Seed", "", "local", "provider: {type: local, region: local}"));
            let given = parse("f.yaml", &text).expect("manifests");
            let plan = complete::plan_for(given, &registered, known.expect("a Seed"), DOCUMENTED);
            let (steps, mut left) = steps(&plan);
            let mut shown: Vec<String> = steps.iter().map(show).collect();
            // Objects of one kind keep the order of their files.
            let mut expected: Vec<String> = expected.iter().map(|&text| text.to_owned()).collect();
            if turn > 0 {
                shown.sort();
                expected.sort();
                left.sort();
            }
            assert_eq!(shown, expected, "turn {turn}");
            assert_eq!(left, notes, "turn {turn}");
            let place = |text: &str| steps.iter().position(|step| show(step) == text);
            for (before, after) in [
                ("Project dev", "wait: Project dev"),
                ("wait: Project dev", "Secret garden-dev/k"),
                ("Secret garden-dev/k", "SecretBinding garden-dev/b"),
                ("CloudProfile p", "NamespacedCloudProfile garden-dev/np"),
                ("wait: NamespacedCloudProfile garden-dev/np", "Shoot garden-dev/s"),
                ("gardenlet of Seed x", "wait: Seed x"),
                ("wait: Seed x", "Shoot garden-dev/s"),
                ("Shoot garden/host", "ManagedSeed garden/child"),
                ("ManagedSeed garden/child", "wait: ManagedSeed garden/child"),
                ("wait: ManagedSeed garden/child", "Shoot garden-dev/s"),
            ] {
                if let (Some(before), Some(after)) = (place(before), place(after)) {
                    assert!(before < after, "turn {turn}: {}", steps.iter().map(show).collect::<Vec<_>>().join(", "));
                }
            }
        }
    }

    #[test]
    fn every_order_of_the_files_gives_one_that_works() {
        check(
            &[
                shoot("garden-dev", "s", ", secretBindingName: b"),
                object(CORE, "NamespacedCloudProfile", "garden-dev", "np", "parent: {kind: CloudProfile, name: p}"),
                object(CORE, "SecretBinding", "garden-dev", "b", "").replace("spec: {}", "secretRef: {name: k}"),
                object(CORE, "Seed", "", "x", "provider: {type: local, region: other}"),
                object("v1", "Secret", "garden-dev", "k", ""),
                object(CORE, "CloudProfile", "", "p", "type: local"),
                object(CORE, "Project", "", "dev", "namespace: garden-dev"),
                object("v1", "Namespace", "", "more", ""),
            ],
            &[
                "Namespace more",
                "CloudProfile p",
                "Project dev",
                "wait: Project dev",
                "Secret garden-dev/k",
                "NamespacedCloudProfile garden-dev/np",
                "SecretBinding garden-dev/b",
                "wait: NamespacedCloudProfile garden-dev/np",
                "gardenlet of Seed x",
                "wait: Seed x",
                "Shoot garden-dev/s",
            ],
            &[],
        );
    }

    #[test]
    fn shoots_on_managed_seeds_wait_for_them() {
        check(
            &[
                shoot("garden-dev", "s", ", seedName: child"),
                object(CORE, "Project", "", "dev", "namespace: garden-dev"),
                object(SEEDMANAGEMENT, "ManagedSeed", "garden", "child", "shoot: {name: host}"),
                object(SEEDMANAGEMENT, "Gardenlet", "garden", "own", ""),
                object(CORE, "Seed", "", "child", "provider: {type: local, region: local}"),
                object(CORE, "Seed", "", "own", "provider: {type: local, region: local}"),
                object(CORE, "CloudProfile", "", "p", "type: local"),
                shoot("garden", "host", ""),
            ],
            &[
                "CloudProfile p",
                "Project dev",
                "wait: Project dev",
                "Gardenlet garden/own",
                "wait: Gardenlet garden/own",
                "Shoot garden/host",
                "ManagedSeed garden/child",
                "wait: ManagedSeed garden/child",
                "Shoot garden-dev/s",
            ],
            &[
                "Seed child: left out, since ManagedSeed garden/child creates it",
                "Seed own: left out, since Gardenlet garden/own creates it",
            ],
        );
    }

    #[test]
    fn a_managed_seed_without_shoots_is_not_awaited() {
        check(
            &[
                object(SEEDMANAGEMENT, "ManagedSeed", "garden", "child", "shoot: {name: host}"),
                object(CORE, "CloudProfile", "", "p", "type: local"),
                shoot("garden", "host", ""),
            ],
            &["CloudProfile p", "Shoot garden/host", "ManagedSeed garden/child"],
            &[],
        );
    }
}
