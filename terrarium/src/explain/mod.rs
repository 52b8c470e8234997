// SPDX-License-Identifier: Apache-2.0
//! `terrarium explain`: meaning and origin of a word that a landscape uses, and advice.
//!
//! It works without a landscape. Words of Gardener are in [`ops::explain::words`], [`fields`] and [`releases`], one row each; other
//! feature gates are in [`gates`], and tasks are those of the flows.

mod fields;
mod gates;
mod releases;

use clap::Args;
use gardenlet_sim::gardenlet;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Form, Output};
use fields::{COMPONENT, FIELDS};
use gates::Gate;
use ops::explain::words::{WORDS, Word};
use ops::names::components::is_meant;
use ops::spelling::distance;
use releases::RELEASES;

/// Number of words that are offered for an unknown one.
const OFFERED: usize = 3;

/// Say what a condition, reason, annotation, field, rule, phase, error code or task means
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The word as shown by a landscape: `EveryNodeReady`, `ERR_INFRA_QUOTA_EXCEEDED`, `C2`, `"Deploying Network"`
    #[arg(value_name = "WORD", required = true, num_args = 1..)]
    word: Vec<String>,
    /// Form of the output; a record for each meaning
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let wanted = arguments.word.join(" ");
    let is_it = |name: &str| name.eq_ignore_ascii_case(&wanted);
    // `gardener.cloud/operation=reconcile` is a value of an annotation.
    let found = found(&wanted);
    let is_task = |task: &gardenlet::TaskInfo| is_it(task.name) || task.while_hibernating.is_some_and(is_it);
    let tasks: Vec<gardenlet::TaskInfo> = gardenlet::tasks().filter(is_task).collect();
    let gate = Gate::named(&wanted).filter(|_| found.is_empty());
    if found.is_empty() && tasks.is_empty() && gate.is_none() {
        return Err(unknown(&wanted));
    }
    if let Some(gate) = gate {
        return match arguments.output {
            Form::Text => gate.lines().iter().try_for_each(|line| output.line(line)),
            form => output.item(form, &gate.record()),
        };
    }
    if arguments.output != Form::Text {
        return records(&found, &tasks, arguments.output, output);
    }
    for (number, word) in found.iter().enumerate() {
        if number > 0 {
            output.line("")?;
        }
        output.line(&format!("{} ({})", word.names[0], word.kind))?;
        output.line(&format!("  means  {}", word.means))?;
        output.line(&format!("  set    {}", word.set))?;
        output.line(&format!("  to do  {}", word.to_do))?;
    }
    for task in tasks {
        output.line(&format!("{} (task {} of {} when a Shoot is {})", task.name, task.number, task.of, task.flow))?;
        let after = if task.after.is_empty() { "at the beginning".to_owned() } else { task.after.join(", ") };
        output.line(&format!("  after  {after}"))?;
        output.line("  set    by gardenlet, in .status.lastOperation.description while it runs")?;
        output.line(
            "  to do  nothing while it moves on; `terrarium events shoot/PROJECT/NAME` shows what it waits for",
        )?;
    }
    Ok(())
}

fn records(words: &[&Word], tasks: &[gardenlet::TaskInfo], form: Form, output: &mut Output) -> Result<(), Failure> {
    for Word { names, kind, means, set, to_do, .. } in words {
        output.item(form, &json!({ "names": names, "kind": kind, "means": means, "set": set, "toDo": to_do }))?;
    }
    for task in tasks {
        let gardenlet::TaskInfo { name, number, of, flow, after, .. } = task;
        let record =
            json!({ "names": [name], "kind": "task", "number": number, "of": of, "flow": flow, "after": after });
        output.item(form, &record)?;
    }
    Ok(())
}

fn words() -> impl Iterator<Item = &'static Word> {
    WORDS.iter().chain(FIELDS).chain(RELEASES)
}

/// Returns the words with a name, ignoring case. A field is also found by the end of its path, and by a path that ends with
/// its name; a component by its abbreviation.
fn found(wanted: &str) -> Vec<&'static Word> {
    let plain = |name: &str| name.trim_start_matches('.').to_ascii_lowercase();
    let path = indices_left_out(&plain(wanted));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('.'));
    let by = |is_it: &dyn Fn(&str) -> bool| -> Vec<&'static Word> {
        words().filter(|word| word.names.iter().any(|name| is_it(&plain(name)))).collect()
    };
    let is_there = |found: &Vec<&Word>| !found.is_empty();
    let whole = Some(by(&|name| name == path || name == plain(wanted))).filter(is_there);
    let whole = whole.or_else(|| Some(by(&|name| ends(name, &path))).filter(is_there));
    let component = || {
        let is_meant = |word: &&Word| word.kind == COMPONENT && word.names.iter().any(|name| is_meant(&path, name));
        words().filter(is_meant).collect()
    };
    let whole = whole.or_else(|| Some(component()).filter(is_there));
    whole.unwrap_or_else(|| by(&|name| name.contains('.') && !name.contains('/') && ends(&path, name)))
}

/// Removes the indices of a path: `workers[0].name` becomes `workers[].name`.
fn indices_left_out(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut is_inside = false;
    for letter in path.chars() {
        is_inside = match letter {
            '[' => true,
            ']' => false,
            _ => is_inside,
        };
        if letter == '[' || !is_inside {
            plain.push(letter);
        }
    }
    plain
}

fn unknown(wanted: &str) -> Failure {
    let lower = wanted.to_ascii_lowercase();
    let names = words().flat_map(|word| word.names).copied().chain(gardenlet::tasks().map(|task| task.name));
    let mut near: Vec<(usize, &str)> = names
        .map(|name| {
            let other = name.to_ascii_lowercase();
            let is_part = lower.len() > 2 && other.contains(&lower);
            (if is_part { 1 } else { distance(&lower, &other) }, name)
        })
        .filter(|(far, name)| *far <= 1 + name.len() / 4)
        .collect();
    near.sort_unstable();
    near.dedup();
    let names: Vec<String> = near.iter().take(OFFERED).map(|(_, name)| format!("`{name}`")).collect();
    let hint = if names.is_empty() {
        "names of Kubernetes' own are in `kubectl explain`".to_owned()
    } else {
        format!("near it are {}", names.join(", "))
    };
    Failure::input(format!("`{wanted}` is not known"), hint)
}

#[cfg(test)]
mod tests {
    use domain::garden::components::Program;

    use super::*;

    #[test]
    fn every_word_is_complete_and_unique() {
        let mut names: Vec<String> =
            words().flat_map(|word| word.names).map(|name| name.to_ascii_lowercase()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands for two things");
        for word in words() {
            for text in [word.kind, word.means, word.set, word.to_do] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", word.names[0]);
            }
        }
    }

    #[test]
    fn words_that_a_landscape_shows_are_explained() {
        let is_known = |name: &str| !found(name).is_empty();
        for code in ["ERR_INFRA_UNAUTHENTICATED", "ERR_CONFIGURATION_PROBLEM", "ERR_RETRYABLE_INFRA_DEPENDENCIES"] {
            assert!(is_known(code), "{code}");
        }
        for rule in ["V0", "A1", "C1", "C2", "G1", "G2", "O1", "O2", "E1", "T1", "T2", "O3a", "O3b", "P1"] {
            assert!(is_known(rule), "{rule}");
        }
        for note in ["W1", "W2", "W3", "W4", "W5", "W6", "W7"] {
            assert!(is_known(note), "{note}");
        }
        assert_eq!(
            unknown("EveryNodReady"),
            Failure::input("`EveryNodReady` is not known", "near it are `EveryNodeReady`")
        );
    }

    /// Each component of the table and each name that commands take for it.
    #[test]
    fn every_component_is_explained_where_it_runs() {
        for program in Program::ALL {
            let words = found(program.name());
            assert_eq!(words.len(), 1, "{}", program.name());
            let place = if program.is_of_seed() { "in cluster seed/NAME" } else { "in cluster runtime" };
            assert_eq!(words[0].kind, COMPONENT, "{}", program.name());
            assert!(words[0].set.starts_with(place), "{}: {}", program.name(), words[0].set);
            assert!(words[0].to_do.contains(program.name()), "{}: {}", program.name(), words[0].to_do);
        }
        for (short, name) in [
            ("provider-local", "gardener-extension-provider-local"),
            ("gcm", "gardener-controller-manager"),
            ("scheduler", "gardener-scheduler"),
            ("gop", "gardener-operator"),
            ("mcm", "machine-controller-manager"),
        ] {
            let names: Vec<&str> = found(short).iter().map(|word| word.names[0]).collect();
            assert_eq!(names, [name], "{short}");
        }
    }

    /// Words of the requirements documents: fields as they are written there, annotations, strategies, components.
    #[test]
    fn words_of_the_requirements_documents_are_explained() {
        for word in [
            "forced",
            "skew",
            "hibernated",
            "confineSpecUpdateRollout",
            "lastMaintenance",
            "restartCoreAddons",
            "updateStrategy",
            ".spec.maintenance.timeWindow",
            "timeWindow",
            "autoUpdate",
            "kubernetesVersion",
            "machineImageVersion",
            ".spec.maintenance.autoUpdate.kubernetesVersion",
            "FailureReason",
            ".status.lastOperation.state",
            "UpdateStrategy",
            "AutoRollingUpdate",
            "AutoInPlaceUpdate",
            "ManualInPlaceUpdate",
            "patch",
            "minor",
            "major",
            "CloudProfile",
            ".spec.provider.workers[].updateStrategy",
            ".spec.provider.workers[3].updateStrategy",
            "maxSurge",
            "maxUnavailable",
            ".spec.provider.worker[].machineControllerManager",
            "machineDrainTimeout",
            "machineHealthTimeout",
            "machineCreationTimeout",
            "maxEvictRetries",
            "nodeConditions",
            "KernelDeadlock",
            "MachineInPlaceUpdateTimeout",
            "DisableHealthTimeout",
            ".spec.kubernetes.version",
            ".spec.provider.workers[].kubernetes.version",
            ".spec.provider.workers[].machine.image.name",
            ".spec.provider.workers[].machine.type",
            ".spec.provider.workers[].volume.size",
            ".spec.provider.workers[].cri.name",
            "providerConfig",
            ".spec.systemComponents.nodeLocalDNS.enabled",
            "NewWorkerPoolHash",
            "InPlaceNodeUpdates",
            "pendingWorkersRollouts",
            ".status.credentials.rotation.certificateAuthorities.lastInitiationTime",
            "lastInitiationTime",
            ".spec.kubernetes.kubelet.kubeReserved",
            ".spec.provider.workers[].kubernetes.kubelet.cpuManagerPolicy",
            "inPlaceUpdates",
            "inPlaceUpdates.supported",
            "minVersionForUpdate",
            "pendingWorkerUpdates",
            "inPlaceUpdates.pendingWorkerUpdates.autoInPlaceUpdate",
            "manualInPlaceUpdate",
            "expirationDate",
            "classification",
            "preview",
            "supported",
            "deprecated",
            "expired",
            "gardener.cloud/operation",
            "maintenance.gardener.cloud/operation",
            "gardener.cloud/operation=force-in-place-update",
            "node.machine.sapcloud.io/candidate-for-update",
            "ManualInPlaceWorkersUpdated",
            "KubernetesVersionMaintenance",
            "MachineImageVersionMaintenance",
            "spec.machineImages[].versions[].inPlaceUpdates",
            "gardener-admission-controller",
            "machine-controller-manager",
            "reconcileInMaintenanceOnly",
            "PodDisruptionBudget",
            "CoreDNS",
            "unavailable",
            "lifecycle",
            "spec.kubernetes.versions[].lifecycle",
            "autoRotation",
            "machineCapabilities",
            "capabilityFlavors",
            "CloudProfileCapabilities",
            "shoot.gardener.cloud/emergency-stop-reconciliations",
            "EmergencyStopShootReconciliations",
            "manualWorkerPoolRollout",
            "rollout-workers",
            "gardener.cloud/operation=rollout-workers",
            "encryptionAtRest",
            "encryptionConfig.provider",
            ".spec.kubernetes.kubeAPIServer.encryptionConfig.provider",
            "credentialsRef",
            "node.machine.sapcloud.io/preserve",
            "AutomaticCredentialsRotationPossible",
            "SelfHostedShootExposure",
            "VersionClassificationLifecycle",
            "DisableNginxIngressInShoot",
            "rotate-etcd-encryption-key",
            "DNSServiceMigrationReady",
            "UsesUnifiedHTTPProxyPort",
            "HasIgnoredManagedResources",
            "PreservedFailedMachinesAbsent",
            "verticalPodAutoscaler",
            "liveMigration",
            "zoneSelection",
        ] {
            assert!(!found(word).is_empty(), "{word}");
        }
        let names = |word: &str| found(word).iter().map(|word| word.names[0]).collect::<Vec<_>>();
        assert_eq!(
            names("updatestrategy"),
            ["spec.provider.workers[].updateStrategy", "spec.machineImages[].updateStrategy"]
        );
        assert_eq!(names("AutoInPlaceUpdate"), ["AutoInPlaceUpdate"]);
        assert!(found("Strategy").is_empty() && found("").is_empty(), "the end of a name is none");
    }

    #[test]
    fn unemulated_fields_are_marked() {
        for row in api::catalogue::UNEMULATED {
            let paths = row.paths.iter().filter(|path| !path.ends_with('*') && path.contains('.'));
            for path in
                paths.map(|path| path.replace(".[]", "[]")).chain(row.paths[0].is_empty().then(|| row.kind.into()))
            {
                let words = found(&path);
                assert!(!words.is_empty(), "{} {path}", row.kind);
                assert!(words.iter().all(|word| word.set.starts_with("served; not emulated")), "{} {path}", row.kind);
            }
        }
    }

    /// Words of releases name the first or last release; entries that are only served say so.
    #[test]
    fn words_of_releases_name_them() {
        let is_of_release = |text: &str| {
            let numbers = text.split("1.").skip(1).filter_map(|rest| rest.get(..3)?.parse::<u16>().ok());
            numbers.into_iter().any(|minor| (118..=149).contains(&minor))
        };
        for word in releases::RELEASES.iter().filter(|word| !word.kind.starts_with("setting")) {
            let texts = [word.means, word.set, word.to_do];
            let inherits = word.names[0].starts_with("lifecycle[]");
            assert!(inherits || texts.iter().any(|text| is_of_release(text)), "{}", word.names[0]);
        }
        for name in ["DNSServiceMigrationReady", "liveMigration", "zoneSelection", "verticalPodAutoscaler"] {
            assert!(found(name).iter().all(|word| word.set == "served; not emulated"), "{name}");
        }
    }
}
