// SPDX-License-Identifier: Apache-2.0
//! `terrarium status`: components and their consumption, the clock and its obstacles, numbers of objects.

use std::collections::BTreeMap;

use api::catalogue;
use api::cluster;
use api::constants::{annotation, namespace};
use api::core::Shoot;
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::{ContainerStateTerminated, Pod};
use api::machine::MachineDeployment;
use api::operator::Garden;
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Args;
use controller::{Api, ListOptions};
use domain::garden::rollout::last_words;
use domain::profile::Profile;
use domain::skew::start_up::violation_text;
use domain::skew::{Landscape, violations};
use futures::StreamExt;
use futures::stream;
use host::pods::kubelet::HEALTHY;
use host::registry;
use process::polls::Work;
use process::{Context, child};
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::live::ask::kinds;
use crate::live::ask::query::{Format, print_tree};
use crate::live::binaries::INSIDE;
use crate::live::client::Client;
use crate::live::consumption::{self, Consumption};
use crate::live::landscapes::{bytes_in, size};
use crate::live::{Which, ask, block_on, bootstrap, executable, up};
use crate::output::{Form, Output};
use ops::spelling;
use ops::upgrade::fleet::{first_hash_pools, gates, versions_of};
use ops::upgrade::silence::Silence;
use ops::upgrade::skew::unwise;

/// Maximum number of kinds whose objects are counted in the text.
const COUNTED: usize = 6;
/// Reason for which the container of a process that ends repeatedly waits: it was created, and the end has a reason.
const CRASH_LOOP: &str = "CrashLoopBackOff";
/// Maximum number of concurrent requests.
const AT_ONCE: usize = 16;

/// Show components, clock, log and numbers of objects of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Also roll-outs in progress: Deployments of components, and worker pools
    #[arg(long)]
    rollouts: bool,
    /// Form of the output: for people, or one object
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// A process of a component.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Process {
    name: String,
    cluster: String,
    version: String,
    /// Phase of the pod, or the reason for which its container waits; `Joined`: a process without a pod.
    state: String,
    /// Message about a container that cannot be created; None: it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    ready: bool,
    restarts: i32,
    /// Result of its last run; None: it has not ended yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Problem of a process that continues to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// Consumption; None: it is no process of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    consumption: Option<Consumption>,
    /// Work of the component inside the host's process; `None`: it is a process of its own, or does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<Work>,
}

/// A roll-out in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Rollout {
    cluster: String,
    namespace: String,
    /// `deployment/NAME`, `machinedeployment/NAME`.
    object: String,
    wanted: i32,
    updated: i32,
    available: i32,
    /// Number of replicas of all templates.
    total: i32,
}

/// Data of the report.
struct StatusReport {
    /// Emulated version: that of gardener-operator, otherwise that of the landscape's creation.
    gardener_version: String,
    processes: Vec<Process>,
    rollouts: Vec<Rollout>,
    head: u64,
    /// Number of objects by resource, for example `shoots.core.gardener.cloud`.
    objects: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let (clock, mut work, mut found) = block_on(async {
        let (clock, work) = (client.clock().await?, client.work().await?);
        let found = look(&client, arguments.rollouts, clock.now).await?;
        Ok((clock, work, found))
    })?;
    let (pid, components) = (client.host.pid, &client.host.components);
    let hint = |command: &str| arguments.which.hint(command);
    let program = executable::replaced(pid);
    found.warnings.extend(components.warnings(program.as_deref(), &hint("terrarium down"), &hint("terrarium up")));
    let host = Consumption::of(pid);
    let mut consumption = consumption::of_pods(pid);
    for process in &mut found.processes {
        let name = child::participant(&process.cluster, &process.name);
        (process.consumption, process.work) = (consumption.remove(&name), work.remove(&name));
    }
    let bytes = bytes_in(&directory.join("log"));
    if arguments.output != Form::Text {
        let mut object = up::object(&client, &clock);
        object["gardenerVersion"] = json!(found.gardener_version);
        object["head"] = json!(found.head);
        object["bytes"] = json!(bytes);
        object["consumption"] = json!(host);
        object["hostParts"] = json!(work);
        object["objects"] = json!(found.objects);
        object["processes"] = json!(found.processes);
        if arguments.rollouts {
            object["rollouts"] = json!(found.rollouts);
        }
        object["warnings"] = json!(found.warnings);
        return match arguments.output {
            Form::Yaml => print_tree(&object, Format::Yaml, output),
            _ => output.line(&object.to_string()),
        };
    }
    output.line(&format!(
        "landscape {} · Gardener {} (emulated) · https://{} · process {}",
        client.facts.name, found.gardener_version, client.host.address, client.host.pid
    ))?;
    if let Some(form) = components.line() {
        output.line(&format!("components {form}"))?;
    }
    if let Some(host) = host {
        let parts = if components.form == INSIDE { "host and components" } else { "host" };
        output.line(&format!("process {pid} ({parts}): {}", consumed(&host)))?;
    }
    output.line(&format!("clock {}", crate::live::clock::summary(&clock)))?;
    for line in crate::live::clock::waits(&clock) {
        output.line(&line)?;
    }
    let place = if client.facts.log == "memory" { "in memory".to_owned() } else { size(bytes) };
    output.line(&format!("log revision {} · {place}", found.head))?;
    output.line(&counted(&found.objects))?;
    for process in &found.processes {
        let Process { name, version, state, message, ready, restarts, ended, trouble, consumption, work, .. } = process;
        let process = consumption.map(|it| format!("  process {}: {}", it.pid, consumed(&it)));
        let process = process.or_else(|| work.map(|work| format!("  {}", worked(work)))).unwrap_or_default();
        output.line(&format!("  {name:<56} {version:<10} {state:<18} ready {ready}  restarts {restarts}{process}"))?;
        for line in message.iter().chain(ended).chain(trouble) {
            output.line(&format!("    {line}"))?;
        }
    }
    for (name, work) in work {
        output.line(&format!("  {name:<56} {}", worked(work)))?;
    }
    for (name, trouble) in &clock.troubles {
        output.line(&format!("  {name}, of the host: {trouble}"))?;
    }
    if arguments.rollouts && found.rollouts.is_empty() {
        output.line("nothing is being rolled out")?;
    }
    for Rollout { cluster, namespace, object, wanted, updated, available, total } in &found.rollouts {
        output.line(&format!(
            "rollout {cluster} {namespace} {object}: {updated} of {wanted} updated, {available} available, {total} in all"
        ))?;
    }
    found.warnings.iter().try_for_each(|warning| output.line(&format!("warning {warning}")))
}

async fn look(client: &Client, with_rollouts: bool, now: DateTime<Utc>) -> Result<StatusReport, Failure> {
    let context = client.context();
    let pods = Api::<Pod>::all(&context, "*").list(&ListOptions::labelled("app=gardener")).await;
    let (pods, _) = pods.map_err(|error| Failure::Failed(error.to_string()))?;
    // Without a gardener-apiserver no Shoots are served; everything else is printed.
    let shoots = Api::<Shoot>::all(&context, cluster::GARDEN).list(&ListOptions::default()).await;
    let silence = match &shoots {
        Ok(_) => None,
        Err(_) => Some(Silence::read(&context, now).await),
    };
    let shoots = shoots.map(|(shoots, _)| shoots).unwrap_or_default();
    let leases = Api::<Lease>::namespaced(&context, cluster::GARDEN, namespace::INSTANCES);
    let leases = leases.list(&ListOptions::default()).await;
    let (leases, _) = leases.map_err(|error| Failure::Failed(error.to_string()))?;
    let mut landscape = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
    let profile = bootstrap::profile(&client.facts)?;
    let gardens = Api::<Garden>::all(&context, cluster::RUNTIME).list(&ListOptions::default()).await;
    let (gardens, _) = gardens.map_err(|error| Failure::Failed(error.to_string()))?;
    landscape.garden = gardens.into_iter().find_map(|garden| Some(garden.status.gardener?.version));
    let gardener_version = landscape.gardener().unwrap_or_else(|| client.facts.gardener()).to_owned();
    let unread = silence.map(|silence| format!("{silence}; objects of its groups are not counted"));
    let mut warnings: Vec<String> = unread.into_iter().chain(skew(&landscape, profile)).collect();
    let gates = gates(&context).await;
    let versions: Vec<_> = shoots.iter().map(versions_of).collect();
    // Secrets are served without a gardener-apiserver as well.
    let first_forms = first_hash_pools(&context).await.map_err(|error| Failure::Failed(error.to_string()))?;
    warnings.extend(unwise(&landscape, &gardener_version, &versions, &gates, &first_forms, profile, now));
    Ok(StatusReport {
        gardener_version,
        processes: pods.iter().map(process).chain(joined(&leases, &pods)).collect(),
        rollouts: if with_rollouts { rollouts(&context).await? } else { Vec::new() },
        head: client.head().await?,
        objects: objects(client).await,
        warnings,
    })
}

fn process(pod: &Pod) -> Process {
    let container = pod.status.container_statuses.first();
    let waiting = container.and_then(|container| container.state.waiting.as_ref());
    let image = pod.spec.containers.first().map_or("", |container| container.image.as_str());
    Process {
        name: pod.metadata.name.clone(),
        cluster: pod.metadata.annotations.get(annotation::CLUSTER).cloned().unwrap_or_default(),
        version: image.rsplit_once(':').map_or("", |(_, tag)| tag).to_owned(),
        state: waiting.map_or(&pod.status.phase, |waiting| &waiting.reason).clone(),
        message: waiting.filter(|it| it.reason != CRASH_LOOP && !it.message.is_empty()).map(|it| it.message.clone()),
        ready: container.is_some_and(|container| container.ready),
        restarts: container.map_or(0, |container| container.restart_count),
        ended: container.and_then(|container| container.last_state.terminated.as_ref()).map(ended),
        trouble: pod.status.conditions.iter().find(|it| it.r#type == HEALTHY).map(|it| it.message.clone()),
        consumption: None,
        work: None,
    }
}

/// Processes that the host did not start: their Leases are held by no pod.
fn joined(leases: &[Lease], pods: &[Pod]) -> Vec<Process> {
    let held = leases.iter().filter_map(|lease| Some((lease.spec.holder_identity.as_ref()?, &lease.metadata)));
    let by_none = held.filter(|(holder, _)| pods.iter().all(|pod| pod.metadata.name != **holder));
    let process = |(_, metadata): (&String, &ObjectMeta)| Process {
        name: metadata.name.clone(),
        cluster: cluster::RUNTIME.to_owned(),
        version: metadata.annotation(annotation::COMPONENT_VERSION).unwrap_or_default().to_owned(),
        state: "Joined".to_owned(),
        message: None,
        ready: true,
        restarts: 0,
        ended: None,
        trouble: None,
        consumption: None,
        work: None,
    };
    by_none.map(process).collect()
}

/// Formats the work of a component.
fn worked(Work { passes, processor_seconds }: Work) -> String {
    format!("{passes} passes, {processor_seconds:.1} s of processor time")
}

/// Formats a consumption.
fn consumed(Consumption { processor_seconds, memory_bytes, .. }: &Consumption) -> String {
    format!("{processor_seconds:.1} s of processor time, {} in memory", size(*memory_bytes))
}

/// Formats the end of a process on one line, with its last line of output as the reason.
fn ended(end: &ContainerStateTerminated) -> String {
    let why = last_words(end);
    let at = end.finished_at.0.to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("ended at {at} with exit code {}: {why}", end.exit_code)
}

/// Deployments of components and worker pools whose replicas do not match their templates.
async fn rollouts(context: &Context) -> Result<Vec<Rollout>, Failure> {
    let failed = |error: controller::Error| Failure::Failed(error.to_string());
    let components = ListOptions::labelled("app=gardener");
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&components).await.map_err(failed)?;
    let pools = Api::<MachineDeployment>::all(context, "*").list(&ListOptions::default()).await;
    let (pools, _) = pools.map_err(failed)?;
    let rollout = |metadata: &ObjectMeta, kind: &str, [wanted, updated, available, total]: [i32; 4]| Rollout {
        cluster: metadata.annotations.get(annotation::CLUSTER).cloned().unwrap_or_default(),
        namespace: metadata.namespace.clone(),
        object: format!("{kind}/{}", metadata.name),
        wanted,
        updated,
        available,
        total,
    };
    let of_components = deployments.iter().map(|it| {
        let (wanted, status) = (it.spec.replicas.unwrap_or(1), &it.status);
        let numbers = [wanted, status.updated_replicas, status.available_replicas, status.replicas];
        rollout(&it.metadata, "deployment", numbers)
    });
    let of_pools = pools.iter().map(|it| {
        let status = &it.status;
        let numbers = [it.spec.replicas, status.updated_replicas, status.available_replicas, status.replicas];
        rollout(&it.metadata, "machinedeployment", numbers)
    });
    let is_under_way = |it: &Rollout| [it.updated, it.available, it.total] != [it.wanted; 3];
    Ok(of_components.chain(of_pools).filter(is_under_way).collect())
}

/// Number of objects of each resource, in all clusters; resources that cannot be read are left out.
async fn objects(client: &Client) -> BTreeMap<String, u64> {
    // One row per resource: its objects are the same in all versions.
    let rows: BTreeMap<String, _> = catalogue::all().iter().rev().map(|row| (row.log_resource(), row)).collect();
    let transport = client.transport();
    let counts = rows.into_values().map(|row| {
        let cluster = if catalogue::is_aggregated(row) { cluster::GARDEN } else { "*" };
        let path = format!("{}?limit=1", kinds::path(cluster, row, None, None));
        let transport = transport.clone();
        async move {
            const ACCEPT: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
            let list = ask::tree(&transport, &path, ACCEPT).await.ok()?;
            let here = list["items"].as_array().map_or(0, Vec::len) as u64;
            let group = if row.group.is_empty() { String::new() } else { format!(".{}", row.group) };
            let rest = list["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
            Some((format!("{}{group}", row.plural), here + rest))
        }
    });
    let counts: Vec<Option<(String, u64)>> = stream::iter(counts).buffered(AT_ONCE).collect().await;
    counts.into_iter().flatten().filter(|(_, count)| *count > 0).collect()
}

/// Formats the counts: `412 objects: 96 secrets, 41 pods, …`.
fn counted(objects: &BTreeMap<String, u64>) -> String {
    let mut most: Vec<(&str, u64)> = objects.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total: u64 = objects.values().sum();
    let named = most.iter().take(COUNTED);
    let count_of = |(name, count): &(&str, u64)| {
        let row =
            catalogue::all().iter().find(|row| name.split_once('.').unwrap_or((name, "")) == (row.plural, row.group));
        let plural = name.split('.').next().unwrap_or_default();
        spelling::counted(*count, row.map_or(plural, |row| row.singular), plural)
    };
    let mut parts: Vec<String> = named.map(count_of).collect();
    let rest: u64 = most.iter().skip(COUNTED).map(|(_, count)| count).sum();
    if rest > 0 {
        parts.push(spelling::plural(rest, "other"));
    }
    format!("{}: {}", spelling::plural(total, "object"), parts.join(", "))
}

/// Version rules that the running instances violate.
fn skew(landscape: &Landscape, profile: Profile) -> Vec<String> {
    let found = violations(landscape, profile);
    let text = |violation| violation_text(landscape, violation, profile);
    found.iter().map(|violation| format!("{}: {}", violation.rule, text(violation))).collect()
}

#[cfg(test)]
mod tests {
    use domain::skew::Component;
    use domain::skew::notes::GateSetting;

    use super::*;

    #[test]
    fn the_most_numerous_kinds_are_named() {
        let of = |all: &[(&str, u64)]| all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(counted(&of(&[("pods", 2), ("shoots.core.gardener.cloud", 3)])), "5 objects: 3 shoots, 2 pods");
        let many = of(&[("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 6), ("g", 7), ("h", 8)]);
        assert_eq!(counted(&many), "36 objects: 8 h, 7 g, 6 f, 5 e, 4 d, 3 c, 3 others");
    }

    #[test]
    fn a_container_that_cannot_be_created_is_shown_with_reason_and_message() {
        let of = |state: serde_json::Value| {
            let tree = json!({
                "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "a", "image": "a:v1" }] },
                "status": { "phase": "Pending", "containerStatuses": [{ "name": "a", "state": state }] },
            });
            let Process { state, message, .. } = process(&serde_json::from_value(tree).expect("a pod"));
            (state, message)
        };
        let waiting = |reason: &str, message: &str| of(json!({ "waiting": { "reason": reason, "message": message } }));
        for reason in ["CreateContainerConfigError", "ErrImagePull", "ImagePullBackOff"] {
            assert_eq!(waiting(reason, "why"), (reason.to_owned(), Some("why".to_owned())));
        }
        assert_eq!(waiting("ContainerCreating", ""), ("ContainerCreating".to_owned(), None));
        assert_eq!(waiting("CrashLoopBackOff", "back-off 10s"), ("CrashLoopBackOff".to_owned(), None));
        assert_eq!(of(json!({ "running": {} })), ("Pending".to_owned(), None));
    }

    const NOW: &str = "2023-07-27T20:00:00Z";

    fn landscape(all: &[(&str, &str)]) -> Landscape {
        let now = NOW.parse().expect("an instant");
        let lease = |(component, version): &(&str, &str)| {
            registry::Registered { cluster: "runtime", pod: component, component, version, address: "" }.lease(now)
        };
        let leases: Vec<Lease> = all.iter().map(lease).collect();
        registry::landscape(leases.iter().map(|lease| &lease.metadata), "")
    }

    #[test]
    fn violations_of_skew_rules_are_listed() {
        let fits = landscape(&[("gardener-apiserver", "v1.120.0"), ("gardener-scheduler", "v1.119.2")]);
        assert_eq!(skew(&fits, Profile::Documents), Vec::<String>::new());
        let newer = landscape(&[("gardener-apiserver", "v1.120.0"), ("gardener-scheduler", "v1.121.0")]);
        assert_eq!(
            skew(&newer, Profile::Documents),
            ["C1: gardener-scheduler version must not be newer than gardener-apiserver version (gardener-apiserver \
              version: 1.120.0, gardener-scheduler version: 1.121.0)"]
        );
    }

    /// Notes of a landscape of v1.120.0 at some instant, with some Shoots.
    fn noted(all: &[(&str, &str)], now: &str, shoots: &[Shoot]) -> Vec<String> {
        unwise(
            &landscape(all),
            "v1.120.0",
            &shoots.iter().map(versions_of).collect::<Vec<_>>(),
            &[],
            &[],
            Profile::Documents,
            now.parse().expect("an instant"),
        )
    }

    #[test]
    fn shoots_on_versions_outside_of_the_list_are_named() {
        let shoot = |name: &str, version: &str| {
            let mut shoot = Shoot::default();
            shoot.metadata.namespace = "garden-demo".to_owned();
            shoot.metadata.name = name.to_owned();
            shoot.spec.kubernetes.version = version.to_owned();
            shoot
        };
        assert_eq!(noted(&[], NOW, &[shoot("a", "1.27.1"), shoot("b", "1.32.9")]), Vec::<String>::new());
        let some = ["a", "b", "c", "d", "e"].map(|name| shoot(name, "1.26.4"));
        assert_eq!(
            noted(&[], NOW, &some),
            ["W3 KubernetesVersionDropped: Gardener v1.120.0 supports Kubernetes 1.27 to 1.32; outside of it: \
              garden-demo/a (1.26.4), garden-demo/b (1.26.4), garden-demo/c (1.26.4), and 2 more"]
        );
    }

    #[test]
    fn obstacles_of_the_next_upgrade_are_printed() {
        let mut shoot = Shoot::default();
        shoot.metadata.namespace = "garden-demo".to_owned();
        shoot.metadata.name = "a".to_owned();
        shoot.spec.kubernetes.version = "1.31.1".to_owned();
        shoot.spec.seed_name = Some("local".to_owned());
        shoot.status.gardener.version = "v1.119.0".to_owned();
        let all = [("gardener-apiserver", "v1.120.0"), ("gardener-scheduler", "v1.119.2")];
        assert_eq!(
            noted(&all, "2025-07-01T00:00:00Z", &[shoot]),
            [
                "W1 ShootsNotReconciled: 1 Shoot is not reconciled by the running gardenlet, for which the next minor \
                 should wait: garden-demo/a (v1.119.0, gardenlet 1.120.0)",
                "W5 LaggardBlocksNext: gardener-scheduler 1.119.2 would be too old (C2) for gardener-apiserver 1.121",
                "W6 OutOfMaintenance: 1.119 gets no fixes any more, since 1.122 was released on 2025-06-27: \
                 gardener-scheduler",
            ]
        );
    }

    #[test]
    fn a_gate_that_blocks_the_next_minor_is_printed() {
        let all = [("gardener-apiserver", "v1.128.0")];
        let gate = |name: &str, on: bool| GateSetting {
            component: Component::Apiserver,
            owner: String::new(),
            name: name.to_owned(),
            on,
        };
        let gates = [gate("InPlaceNodeUpdates", true), gate("UseNamespacedCloudProfile", true)];
        let now = "2025-11-01T00:00:00Z".parse().expect("an instant");
        let found = unwise(&landscape(&all), "v1.128.0", &[], &gates, &[], Profile::Documents, now);
        let found: Vec<&String> = found.iter().filter(|note| note.starts_with("W4")).collect();
        assert_eq!(
            found,
            [
                "W4 FeatureGateGone: gardener-apiserver sets UseNamespacedCloudProfile=true, with which 1.129.0 does not \
              start: unrecognized feature gate: UseNamespacedCloudProfile"
            ]
        );
    }

    #[test]
    fn pools_that_the_next_minor_replaces_are_printed() {
        let pools = ["shoot--demo--a/old".to_owned()];
        let now = "2026-06-15T00:00:00Z".parse().expect("an instant");
        for (version, is_told) in [("v1.144.0", false), ("v1.145.0", true), ("v1.146.0", false)] {
            let all = landscape(&[("gardener-apiserver", version), ("gardenlet", version)]);
            let found = unwise(&all, version, &[], &[], &pools, Profile::Documents, now);
            let found: Vec<&String> = found.iter().filter(|note| note.starts_with("W7 NodesReplaced: ")).collect();
            assert_eq!(found.len(), usize::from(is_told), "{version}: {found:?}");
            assert!(found.iter().all(|note| note.ends_with("replaces the nodes: shoot--demo--a/old")), "{found:?}");
        }
    }
}
