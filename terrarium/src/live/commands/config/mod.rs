// SPDX-License-Identifier: Apache-2.0
//! `terrarium config`: configuration of a component, validated before it is written, followed by a rolling restart.
//!
//! | component | where | keys |
//! | --- | --- | --- |
//! | gardener-apiserver | arguments of its Deployment | `featureGates.NAME`, flags by name without leading dashes |
//! | all others | ConfigMap `NAME-config`, key `config.yaml`, in the namespace of the Deployment | paths of its kind |
//!
//! A landscape with gardener-operator has these settings in the Garden, in `NAME-overrides` and in Gardenlets ([`owned`]).

mod owned;

use std::path::PathBuf;
use std::process::Command;

use api::cluster;
use api::constants::{annotation, namespace};
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Pod};
use apimachinery::meta::RawExtension;
use apimachinery::release::Release;
use apimachinery::schema::Node;
use chrono::TimeDelta;
use clap::{Args, Subcommand};
use clock::{Clock, TimerClass};
use component::configuration;
use controller::{Api, ListOptions, Patch};
use domain::garden::components::Program;
use domain::garden::rollout::{is_end_of_landscape, last_words};
use domain::skew::GardenerVersion;
use domain::skew::releases::gate_names;
use domain::validation::gardenlet_configuration;
use process::Context;
use serde_json::{Map, Value, json};

use self::owned::Owner;
use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::write_private;
use crate::live::{Which, block_on, defaults};
use crate::output::{Form, Output};
use ops::names::clusters::NamedCluster;
use ops::names::components;
use ops::spelling::nearest;

/// Key of the ConfigMap.
const FILE: &str = "config.yaml";
/// Maximum wall time of a restart.
const TIMEOUT: TimeDelta = TimeDelta::seconds(60);
const LOOK: TimeDelta = TimeDelta::milliseconds(100);

/// Read and change the configuration of components
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a component's configuration, or single keys of it; what is not set is marked `# default`
    Get {
        #[command(flatten)]
        component: Component,
        /// Paths, as in controllers.shoot.syncPeriod [default: everything]
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
        /// Form of the output; a record for each key
        #[arg(short, long, value_enum, default_value_t)]
        output: Form,
    },
    /// Set keys, then restart the component; `KEY=` removes a key
    Set {
        #[command(flatten)]
        component: Component,
        /// Paths and values, as in controllers.shoot.syncPeriod=30m
        #[arg(value_name = "KEY=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Change the file in an editor, then restart the component
    Edit {
        #[command(flatten)]
        component: Component,
        #[arg(long, env = "EDITOR", hide_env = true, default_value = "vi", value_name = "PROGRAM")]
        /// Editor [default: that of EDITOR, else vi]
        editor: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Component {
    /// gardener-apiserver, gardener-controller-manager, gardener-scheduler, gardener-admission-controller or gardenlet
    #[arg(value_name = "COMPONENT")]
    name: String,
    /// Cluster of a gardenlet: seed/NAME [default: the only seed]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<NamedCluster>,
}

/// Components that have a configuration.
pub(crate) fn configured() -> impl Iterator<Item = Program> {
    Program::ALL.into_iter().filter(|program| !matches!(program, Program::Operator | Program::ProviderLocal))
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    block_on(async {
        match &arguments.verb {
            Verb::Get { component, keys, output: form } => {
                let target = Target::find(&client, component).await?;
                let set = target.tree().await?;
                let whole = defaults::complete(&set, &defaults::of(target.program, &target.version()));
                let mut print = |key: &str, tree: &Value, set: &Value| {
                    if *form != Form::Text {
                        return output.item(*form, &json!({ "key": key, "value": tree, "set": set }));
                    }
                    let text = defaults::marked(tree, set).map_err(|error| Failure::Failed(error.to_string()))?;
                    output.line(text.trim_end())
                };
                if keys.is_empty() {
                    return print("", &whole, &set);
                }
                for key in keys {
                    target.check_key(key)?;
                    print(key, at(&whole, key).unwrap_or(&Value::Null), at(&set, key).unwrap_or(&Value::Null))?;
                }
                Ok(())
            }
            Verb::Set { component, settings } => {
                let target = Target::find(&client, component).await?;
                let mut tree = target.tree().await?;
                for setting in settings {
                    target.set(&mut tree, setting)?;
                }
                target.apply(&tree, output).await
            }
            Verb::Edit { component, editor } => {
                let target = Target::find(&client, component).await?;
                let file = directory.join(&format!("{}.edit.yaml", target.program.name()));
                let before = yaml(&target.tree().await?)?;
                let failed = |what: &str, error: std::io::Error| Failure::Failed(format!("cannot {what}: {error}"));
                write_private(&file, &before).map_err(|error| failed("write the file", error))?;
                let status = Command::new(editor).arg(&file).status();
                let status = status.map_err(|error| {
                    Failure::input(format!("cannot run {}: {error}", editor.display()), "name another with --editor")
                })?;
                let after = std::fs::read_to_string(&file).map_err(|error| failed("read the file", error))?;
                let _ = std::fs::remove_file(&file);
                if !status.success() {
                    return Err(Failure::Failed("the editor failed: nothing was changed".to_owned()));
                }
                if before == after {
                    return output.line("nothing was changed");
                }
                let tree = yaml::from_str(&after)
                    .map_err(|error| Failure::input(format!("that is no YAML: {error}"), "nothing was changed"))?;
                target.apply(&tree, output).await
            }
        }
    })
}

/// Configuration of one component in one cluster.
struct Target {
    context: Context,
    program: Program,
    cluster: String,
    deployment: Deployment,
    owner: Owner,
}

impl Target {
    async fn find(client: &Client, component: &Component) -> Result<Self, Failure> {
        let is_it = |program: &Program| components::is_meant(&component.name, program.name());
        let program = configured().find(is_it).ok_or_else(|| {
            let hint = nearest(&component.name, configured().map(Program::name));
            Failure::input(format!("there is no component `{}`", component.name), hint)
        })?;
        let cluster = match (&component.cluster, program.is_of_seed()) {
            (None | Some(NamedCluster::Runtime), false) => cluster::RUNTIME.to_owned(),
            (Some(cluster @ NamedCluster::Seed(_)), true) => {
                cluster.must_exist(&client.transport()).await?;
                cluster.logical()
            }
            (None, true) if client.facts.seeds == 1 => cluster::of_seed("local"),
            (None, true) => {
                let hint = "say which with --cluster seed/NAME";
                return Err(Failure::input(format!("{} seeds have a {}", client.facts.seeds, program.name()), hint));
            }
            (Some(other), _) => {
                let hint = if program.is_of_seed() { "it is in seed/NAME" } else { "it is in runtime" };
                return Err(Failure::input(format!("{} is not in cluster {other}", program.name()), hint));
            }
        };
        let context = client.context();
        let deployment = Api::<Deployment>::namespaced(&context, &cluster, namespace::GARDEN).get(program.name()).await;
        let deployment = deployment.map_err(|error| failed(&error))?;
        let owner = Owner::find(&context, program, &cluster).await?;
        Ok(Self { context, program, cluster, deployment, owner })
    }

    fn args(&self) -> Vec<String> {
        let container = self.deployment.spec.template.spec.containers.first();
        container.map(|container| container.args.clone()).unwrap_or_default()
    }

    /// Emulated version of the component.
    fn version(&self) -> String {
        let container = self.deployment.spec.template.spec.containers.first();
        let image = container.map_or("", |container| container.image.as_str());
        image.rsplit_once(':').map(|(_, tag)| tag.to_owned()).unwrap_or_default()
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(&self.context, &self.cluster, namespace::GARDEN)
    }

    /// Name of the ConfigMap that its Deployment mounts.
    fn map_name(&self) -> String {
        let volumes = &self.deployment.spec.template.spec.volumes;
        let name = volumes.iter().find_map(|volume| Some(volume.config_map.as_ref()?.name.clone()));
        name.unwrap_or_else(|| format!("{}-config", self.program.name()))
    }

    /// Reads the current configuration.
    async fn tree(&self) -> Result<Value, Failure> {
        if self.program == Program::Apiserver {
            return Ok(flags_to_tree(&self.args()));
        }
        if let Owner::Gardenlet(gardenlet) = &self.owner {
            return serde_json::to_value(&gardenlet.spec.config).map_err(|error| Failure::Failed(error.to_string()));
        }
        let map = self.maps().get(&self.map_name()).await.map_err(|error| failed(&error))?;
        let text = map.data.get(FILE).cloned().unwrap_or_default();
        yaml::from_str(&text).map_err(|error| Failure::Failed(format!("{}: {error}", self.map_name())))
    }

    /// Sets a key in the tree.
    fn set(&self, tree: &mut Value, setting: &str) -> Result<(), Failure> {
        let (key, text) = setting.split_once('=').ok_or_else(|| {
            Failure::input(format!("`{setting}` sets nothing"), "write KEY=VALUE, or KEY= to remove the key")
        })?;
        // A key that is set can be removed, even if the version no longer knows it.
        if text.is_empty() && at(tree, key).is_some() {
            put(tree, key, Value::Null);
            return Ok(());
        }
        let node = self.check_key(key)?;
        let value = match (text, node) {
            ("", _) => Value::Null,
            (text, Some(Node::String | Node::Duration | Node::Quantity | Node::Time)) => json!(text),
            (text, None) => json!(text),
            (text, Some(_)) => yaml::from_str(text)
                .map_err(|error| Failure::input(format!("{key}: `{text}` is not a value: {error}"), ""))?,
        };
        put(tree, key, value);
        Ok(())
    }

    /// Checks that a key exists, and returns its type; flags of gardener-apiserver are texts.
    fn check_key(&self, key: &str) -> Result<Option<Node>, Failure> {
        let refuse = |what: String, hint: String| Err(Failure::input(what, hint));
        let version = self.version();
        if let Some(gate) = key.strip_prefix("featureGates.") {
            let has = |gate: &str| {
                [true, false].iter().any(|on| configuration::check_gate(self.program, &version, gate, *on).is_ok())
            };
            if !has(gate) {
                let what = format!("{} {version} has no feature gate `{gate}`", self.program.name());
                let known: Vec<&str> = gate_names(self.program.short()).collect();
                let hint = if known.contains(&gate) {
                    "other releases have it: `terrarium upgrade plan --to V --notes` shows when gates come and go"
                        .to_owned()
                } else {
                    nearest(gate, known.into_iter().filter(|gate| has(gate)))
                };
                return refuse(what, hint);
            }
            return Ok(Some(Node::Boolean));
        }
        let Some(root) = self.program.schema(&version) else {
            let flags = || {
                let flags = ::apiserver::binary::BINARY.flags.iter().map(|flag| flag.name);
                flags.map(|name| if name == "feature-gates" { "featureGates" } else { name })
            };
            if flags().any(|name| name == key) {
                return Ok(None);
            }
            let what = format!("{} has no flag `{key}`", self.program.name());
            return refuse(what, nearest(key, flags()));
        };
        let mut node = root;
        let mut walked: Vec<&str> = Vec::new();
        for segment in key.split('.') {
            node = match node {
                Node::Object(object) => {
                    let object = object.get();
                    match object.field(segment) {
                        Some(field) => field.node.clone(),
                        None => {
                            let place = if walked.is_empty() { object.name.to_owned() } else { walked.join(".") };
                            let hint = nearest(segment, object.fields.iter().map(|field| field.name));
                            return refuse(format!("{place} has no key `{segment}`"), hint);
                        }
                    }
                }
                Node::Map(values) => *values,
                Node::Raw => Node::Raw,
                _ => return refuse(format!("{} has no keys below it", walked.join(".")), String::new()),
            };
            walked.push(segment);
        }
        Ok(Some(node))
    }

    /// True if the component has this configuration.
    async fn is_held(&self, tree: &Value) -> Result<bool, Failure> {
        let held = self.tree().await?;
        if !matches!(self.owner, Owner::Gardenlet(_)) {
            return Ok(*tree == held);
        }
        // Form in which gardener-apiserver stores it.
        let mut config = RawExtension::from(tree.clone());
        let release =
            GardenerVersion::parse(&self.version()).map_or(Release::UNION, |version| version.served_release());
        gardenlet_configuration::canonical(&mut config, release);
        Ok(config.value() == held)
    }

    /// Writes a configuration if it is valid and new, and waits until the component runs with it.
    async fn apply(&self, tree: &Value, output: &mut Output) -> Result<(), Failure> {
        let wrong = |reason: String| Failure::input(reason, "nothing was changed");
        let version = self.version();
        if self.is_held(tree).await? {
            return output.line(&format!("{} has this configuration already", self.program.name()));
        }
        let mut template = json!({ "metadata": { "annotations": {
            annotation::KUBECTL_RESTARTED_AT: Clock::wall().now().to_rfc3339(),
        } } });
        if self.program == Program::Apiserver {
            let args = tree_to_flags(tree).map_err(wrong)?;
            ::apiserver::binary::options(&args, &version).map_err(wrong)?;
            if let Owner::Garden(..) = self.owner {
                return self.hand_over(tree, output).await;
            }
            let name = self.program.name();
            template["spec"] = json!({ "containers": [{ "name": name, "args": args }] });
        } else {
            let text = yaml(tree)?;
            let read = configuration::read(self.program, &text, &version).map_err(wrong)?;
            if self.program == Program::Scheduler {
                ::scheduler::binary::configuration(&read).map_err(wrong)?;
            }
            if !matches!(self.owner, Owner::Nobody) {
                return self.hand_over(tree, output).await;
            }
            let data = json!({ "data": { FILE: text } });
            let patched = self.maps().patch(&self.map_name(), &Patch::Merge(data)).await;
            patched.map_err(|error| failed(&error))?;
        }
        let deployments = Api::<Deployment>::namespaced(&self.context, &self.cluster, namespace::GARDEN);
        let patch = Patch::Strategic(json!({ "spec": { "template": template } }));
        deployments.patch(self.program.name(), &patch).await.map_err(|error| failed(&error))?;
        self.rolled_out(&deployments).await?;
        output.line(&format!("{} runs with the new configuration", self.program.name()))
    }

    /// Passes the configuration to the owner of the component's settings, which rolls it out.
    async fn hand_over(&self, tree: &Value, output: &mut Output) -> Result<(), Failure> {
        let places = match &self.owner {
            Owner::Garden(garden, component) => owned::set_garden(&self.context, garden, *component, tree).await?,
            Owner::Gardenlet(gardenlet) => owned::set_gardenlet(&self.context, gardenlet, tree).await?,
            Owner::Nobody => return Ok(()),
        };
        output.line(&format!("{} runs with the new configuration ({places})", self.program.name()))
    }

    async fn rolled_out(&self, deployments: &Api<Deployment>) -> Result<(), Failure> {
        let wall = Clock::wall();
        let end = wall.now() + TIMEOUT;
        loop {
            let deployment = deployments.get(self.program.name()).await.map_err(|error| failed(&error))?;
            let (wanted, status) = (deployment.spec.replicas.unwrap_or(1), &deployment.status);
            let is_done = status.observed_generation >= deployment.metadata.generation
                && status.updated_replicas == wanted
                && status.replicas == wanted
                && status.available_replicas == wanted;
            if is_done {
                return Ok(());
            }
            if wall.now() >= end {
                let name = self.program.name();
                let labels = ListOptions::labelled(&format!("role={name}"));
                let pods = Api::<Pod>::namespaced(&self.context, &self.cluster, namespace::GARDEN).list(&labels).await;
                let (pods, _) = pods.map_err(|error| failed(&error))?;
                let reason = last_failure(&pods).unwrap_or_else(|| "it takes too long".to_owned());
                return Err(Failure::Failed(format!(
                    "{name} does not become ready with the new configuration; the old instances go on\n{reason}"
                )));
            }
            wall.sleep(LOOK, TimerClass::Work).await;
        }
    }
}

/// Last line of the first process that has ended and is not ready again; `None`: there is none. A process that ended with the
/// landscape has not failed.
fn last_failure(pods: &[Pod]) -> Option<String> {
    let failing = pods.iter().flat_map(|pod| &pod.status.container_statuses).filter(|container| !container.ready);
    let mut ends = failing.filter_map(|container| container.last_state.terminated.as_ref());
    ends.find(|end| !is_end_of_landscape(end)).map(last_words)
}

fn failed(error: &controller::Error) -> Failure {
    Failure::Failed(error.to_string())
}

fn yaml(tree: &Value) -> Result<String, Failure> {
    yaml::to_string(tree).map_err(|error| Failure::Failed(error.to_string()))
}

fn at<'a>(tree: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(tree, |tree, segment| tree.get(segment))
}

/// Sets a key, or removes it for null; maps that become empty are removed as well.
fn put(tree: &mut Value, key: &str, value: Value) {
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    let Some(fields) = tree.as_object_mut() else { return };
    match key.split_once('.') {
        None if value.is_null() => {
            fields.remove(key);
        }
        None => {
            fields.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let below = fields.entry(first.to_owned()).or_insert_with(|| json!({}));
            put(below, rest, value);
            if below.as_object().is_some_and(Map::is_empty) {
                fields.remove(first);
            }
        }
    }
}

/// Converts arguments `--a=b` to `a: b`, and gates to a map.
pub(in crate::live) fn flags_to_tree(args: &[String]) -> Value {
    let mut tree = Map::new();
    for arg in args {
        let (name, value) = arg.trim_start_matches('-').split_once('=').unwrap_or((arg, ""));
        if name == "feature-gates" {
            let gates = value.split(',').filter_map(|gate| gate.split_once('='));
            let gates: Map<String, Value> =
                gates.map(|(name, on)| (name.to_owned(), json!(on.parse::<bool>().unwrap_or_default()))).collect();
            tree.insert("featureGates".to_owned(), Value::Object(gates));
        } else {
            tree.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(tree)
}

/// Converts a tree back to arguments.
fn tree_to_flags(tree: &Value) -> Result<Vec<String>, String> {
    let mut args = Vec::new();
    for (name, value) in tree.as_object().ok_or("the configuration is not a mapping")? {
        if name == "featureGates" {
            let gates = value.as_object().into_iter().flatten();
            let gates: Vec<String> = gates.map(|(name, on)| format!("{name}={on}")).collect();
            args.push(format!("--feature-gates={}", gates.join(",")));
        } else {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            args.push(format!("--{name}={text}"));
        }
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use domain::garden::rollout::{STOPPED, UNOBSERVED};

    use super::*;

    #[test]
    fn the_landscapes_stop_is_no_failure() {
        let pod = |ready: bool, reason: &str, message: &str| -> Pod {
            let end = json!({ "exitCode": 1, "reason": reason, "message": message });
            let container = json!({ "name": "a", "ready": ready, "lastState": { "terminated": end } });
            serde_json::from_value(json!({ "status": { "containerStatuses": [container] } })).expect("a Pod")
        };
        let stopped = [pod(false, "Completed", STOPPED), pod(false, UNOBSERVED, "killed")];
        assert_eq!(last_failure(&stopped), None);
        let [first, second] = stopped;
        let old = pod(true, "Error", "error: an old one");
        let failed = pod(false, "Error", "a line\nerror: no such gate\n");
        assert_eq!(last_failure(&[first, second, old, failed]).as_deref(), Some("error: no such gate"));
    }

    #[test]
    fn keys_are_set_and_removed() {
        let mut tree = json!({ "kind": "x" });
        put(&mut tree, "controllers.shoot.syncPeriod", json!("1h"));
        put(&mut tree, "controllers.seed.syncPeriod", json!("2h"));
        assert_eq!(at(&tree, "controllers.shoot.syncPeriod"), Some(&json!("1h")));
        put(&mut tree, "controllers.shoot.syncPeriod", Value::Null);
        assert_eq!(tree, json!({ "kind": "x", "controllers": { "seed": { "syncPeriod": "2h" } } }));
        put(&mut tree, "controllers.seed.syncPeriod", Value::Null);
        assert_eq!(tree, json!({ "kind": "x" }));
        assert_eq!(at(&tree, "controllers.seed"), None);
    }

    #[test]
    fn flags_and_keys_agree() {
        let flags = ["--profile=upstream", "--feature-gates=A=true,B=false"].map(str::to_owned);
        let tree = flags_to_tree(&flags);
        assert_eq!(tree, json!({ "profile": "upstream", "featureGates": { "A": true, "B": false } }));
        let mut again = tree_to_flags(&tree).expect("a mapping");
        again.sort();
        assert_eq!(again, ["--feature-gates=A=true,B=false", "--profile=upstream"]);
    }
}
