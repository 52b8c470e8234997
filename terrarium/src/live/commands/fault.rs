// SPDX-License-Identifier: Apache-2.0
//! `terrarium fault`: injected faults.
//!
//! A fault is an object (`faults.terrarium.dev` in cluster `runtime`): the command only validates, creates, lists and
//! deletes it. The affected component finds it by itself.

use apimachinery::meta::TextMap;

use api::cluster;
use api::core::Seed;
use api::kubernetes::core::Pod;
use api::terrarium::{Fault, FaultShoot, FaultSpec};
use apimachinery::meta::{DeleteOptions, ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};
use controller::{Api, Error, ListOptions};
use domain::fault::{self, KINDS, Kind, Target};
use domain::garden::components::Program;
use gardenlet_sim::gardenlet;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::ask::query::{Format, print_tree};
use crate::live::ask::table::Table;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::faults::{self, Row};
use ops::instant::{self, duration};
use ops::names::components;
use ops::names::shoots::ShootName;
use ops::show;
use ops::spelling::nearest;

/// Let something go wrong, and see what it has done
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the faults and what each has done so far
    List {
        /// List the kinds of faults and their settings (needs no landscape)
        #[arg(long)]
        kinds: bool,
        /// Form of the output
        #[arg(short, long, value_enum, default_value_t)]
        output: Format,
    },
    /// Let something go wrong; prints the fault's ID
    Inject(Box<Injection>),
    /// Take faults away
    Clear {
        /// IDs, as `fault list` shows them
        #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
        ids: Vec<String>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Args)]
struct Injection {
    /// Kind of fault: `fault list --kinds`
    #[arg(value_name = "KIND")]
    kind: String,
    /// The one Shoot that it hits [default: any]
    #[arg(long, value_name = "PROJECT/NAME")]
    shoot: Option<ShootName>,
    /// The component that it hits, as its Deployment is named; with I one pod of it: its name, or its number from 0 on, in
    /// the order of their names
    #[arg(long, value_name = "NAME[/I]")]
    component: Option<String>,
    /// The Seed whose cluster it hits
    #[arg(long, value_name = "NAME")]
    seed_cluster: Option<String>,
    /// The one worker pool whose machines it hits [default: any]
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The one zone of a pool whose machines it hits: its number in the pool, from 1 on [default: any]
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(i32).range(1..))]
    zone: Option<i32>,
    /// The one machine of its pool and zone that it hits: its number in the order of creation, from 1 on [default: any]
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(i32).range(1..))]
    machine: Option<i32>,
    /// The one node that it hits [default: any]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Maximum number of hits [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..), conflicts_with = "always")]
    times: Option<i32>,
    /// It hits every time, until it is cleared
    #[arg(long)]
    always: bool,
    /// Duration in which it may hit, in landscape time: `90s`, `2h`, `3d`
    #[arg(long = "for", value_name = "D", value_parser = span)]
    lasts: Option<TimeDelta>,
    /// A setting of the kind; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Parses a duration in whole seconds, the resolution of faults.
fn span(text: &str) -> Result<TimeDelta, String> {
    let span = duration(text)?;
    if span.num_seconds() < 1 || span.subsec_nanos() != 0 {
        return Err("use whole seconds, at least one".to_owned());
    }
    Ok(span)
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    if let Verb::List { kinds: true, output: format } = arguments.verb {
        return list_kinds(format, output);
    }
    if let Verb::Inject(injection) = &arguments.verb {
        // Settings are checked first, since that needs no landscape.
        injection.settings()?;
        injection.check_target()?;
    }
    let client = Client::of(&arguments.which.directory()?)?;
    block_on(async {
        match &arguments.verb {
            Verb::List { output: format, .. } => list(&client, *format, output).await,
            Verb::Inject(injection) => inject(&client, injection, output).await,
            Verb::Clear { ids, all } => clear(&client, ids, *all, output).await,
        }
    })
}

fn faults(client: &Client) -> Api<Fault> {
    Api::all(&client.context(), cluster::RUNTIME)
}

fn failed(error: &Error) -> Failure {
    Failure::Failed(format!("from server: {error}"))
}

fn list_kinds(format: Format, output: &mut Output) -> Result<(), Failure> {
    match format {
        Format::Name => return KINDS.iter().try_for_each(|kind| output.line(kind.name)),
        Format::Json | Format::Yaml => {
            let kinds: Vec<Value> = KINDS.iter().map(kind_object).collect();
            return print_tree(&json!({ "kinds": kinds }), format, output);
        }
        Format::Table | Format::Wide => {}
    }
    for kind in &KINDS {
        output.line(kind.name)?;
        output.line(&format!("  {}", kind.effect))?;
        match kind.target {
            Target::Shoot => output.line("  --shoot PROJECT/NAME  the Shoot (optional)")?,
            Target::Machine => {
                output.line("  --shoot PROJECT/NAME, --pool NAME, --zone I, --machine I, --node NAME  which machines (optional)")?;
            }
            Target::Component => output.line("  --component NAME[/I]  the component, or one pod of it")?,
            Target::Seed => output.line("  --seed-cluster NAME  the Seed")?,
        }
        let widest = kind.settings.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
        for setting in kind.settings {
            let need = if setting.is_required { "" } else { " (optional)" };
            let name = format!("{}=…", setting.name);
            output.line(&format!("  --set {name:width$}  {}{need}", setting.meaning, width = widest + 2))?;
        }
    }
    Ok(())
}

/// Returns a kind of fault with the options that select its target, and its settings.
fn kind_object(kind: &Kind) -> Value {
    let options: &[&str] = match kind.target {
        Target::Shoot => &["shoot"],
        Target::Machine => &["shoot", "pool", "zone", "machine", "node"],
        Target::Component => &["component"],
        Target::Seed => &["seed-cluster"],
    };
    let setting = |setting: &fault::Setting| {
        json!({
            "name": setting.name, "required": setting.is_required, "meaning": setting.meaning, "values": setting.values,
        })
    };
    let settings: Vec<Value> = kind.settings.iter().map(setting).collect();
    json!({ "name": kind.name, "effect": kind.effect, "options": options, "settings": settings })
}

async fn list(client: &Client, format: Format, output: &mut Output) -> Result<(), Failure> {
    let (all, _) = faults(client).list(&ListOptions::default()).await.map_err(|error| failed(&error))?;
    let now = client.clock().await?.now;
    match format {
        Format::Name => all.iter().try_for_each(|fault| output.line(&fault.metadata.name)),
        Format::Json | Format::Yaml => {
            let rows: Vec<Value> = all.iter().map(|fault| faults::object(fault, now)).collect();
            print_tree(&json!({ "faults": rows }), format, output)
        }
        Format::Table | Format::Wide if all.is_empty() => {
            output.note("no faults");
            Ok(())
        }
        Format::Table | Format::Wide => table(&all, now).print(output),
    }
}

fn table(faults: &[Fault], now: DateTime<Utc>) -> Table {
    let mut table = Table::new(&["ID", "Kind", "Where", "Done", "Last", "Until", "State", "Settings"]);
    for row in faults.iter().map(|fault| Row::of(fault, now)) {
        let Row { id, kind, place, done, last, until, state, settings } = row;
        let last = last.map(|(time, target)| format!("{} {target}", show(time)));
        let until = until.map(show).unwrap_or_default();
        table.push([id, kind, place, done, last.unwrap_or_default(), until, state.to_owned(), settings.join(" ")]);
    }
    table
}

impl Injection {
    fn kind(&self) -> Result<&'static Kind, Failure> {
        fault::kind(&self.kind).ok_or_else(|| {
            let hint = nearest(&self.kind, KINDS.iter().map(|kind| kind.name));
            Failure::input(format!("there is no fault `{}`", self.kind), hint)
        })
    }

    /// Checks that the target fits the kind.
    fn check_target(&self) -> Result<(), Failure> {
        let kind = self.kind()?;
        let given = [
            ("--shoot", &[Target::Shoot, Target::Machine][..], self.shoot.is_some()),
            ("--component", &[Target::Component], self.component.is_some()),
            ("--seed-cluster", &[Target::Seed], self.seed_cluster.is_some()),
            ("--pool", &[Target::Machine], self.pool.is_some()),
            ("--zone", &[Target::Machine], self.zone.is_some()),
            ("--machine", &[Target::Machine], self.machine.is_some()),
            ("--node", &[Target::Machine], self.node.is_some()),
        ];
        let fits = |targets: &[Target]| targets.contains(&kind.target);
        let flag = given.iter().find(|(_, targets, _)| fits(targets)).map_or("--shoot", |(flag, ..)| *flag);
        if let Some((other, ..)) = given.iter().find(|(_, targets, is_given)| *is_given && !fits(targets)) {
            return Err(Failure::input(
                format!("{} does not hit what {other} names", kind.name),
                format!("use {flag}"),
            ));
        }
        let needs_target = matches!(kind.target, Target::Component | Target::Seed);
        if needs_target && !given.iter().any(|(.., is_given)| *is_given) {
            return Err(Failure::input(format!("{} needs a target", kind.name), format!("add {flag} NAME")));
        }
        if kind.lasts && self.times.is_some() {
            let hint = "leave --times out, or use --for";
            return Err(Failure::input(format!("{} lasts until it is cleared", kind.name), hint));
        }
        self.program().map(drop)
    }

    /// The component, and the selected pod.
    fn program(&self) -> Result<Option<(Program, Option<&str>)>, Failure> {
        let Some(text) = &self.component else { return Ok(None) };
        let (name, pod) = text.split_once('/').map_or((text.as_str(), None), |(name, pod)| (name, Some(pod)));
        let unknown = || {
            let name = components::full(name);
            let hint = nearest(name, Program::ALL.iter().map(|program| program.name()));
            Failure::input(format!("there is no component {name}"), hint)
        };
        let program = Program::ALL.into_iter().find(|program| components::is_meant(name, program.name()));
        Ok(Some((program.ok_or_else(unknown)?, pod)))
    }

    /// Component and pod by the names that a fault uses.
    async fn process(&self, client: &Client) -> Result<(String, String), Failure> {
        let Some((program, pod)) = self.program()? else { return Ok(Default::default()) };
        let component = program.name().to_owned();
        let Some(pod) = pod else { return Ok((component, String::new())) };
        let labels = ListOptions::labelled(&format!("app=gardener,role={component}"));
        let listed = Api::<Pod>::all(&client.context(), "*").list(&labels).await;
        let (pods, _) = listed.map_err(|error| failed(&error))?;
        let mut names: Vec<&str> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
        names.sort_unstable();
        let numbered = pod.parse::<usize>().ok().and_then(|number| names.get(number));
        match numbered.or_else(|| names.iter().find(|name| **name == pod)) {
            Some(name) => Ok((component, (*name).to_owned())),
            None => {
                let hint = format!("there are {}", names.join(", "));
                Err(Failure::input(format!("{component} has no pod {pod}"), hint))
            }
        }
    }

    /// The Seed, which must exist.
    async fn seed(&self, client: &Client) -> Result<String, Failure> {
        let Some(name) = &self.seed_cluster else { return Ok(String::new()) };
        let listed = Api::<Seed>::all(&client.context(), cluster::GARDEN).list(&ListOptions::default()).await;
        let (seeds, _) = listed.map_err(|error| failed(&error))?;
        if seeds.iter().any(|seed| seed.metadata.name == *name) {
            return Ok(name.clone());
        }
        let hint = nearest(name, seeds.iter().map(|seed| seed.metadata.name.as_str()));
        Err(Failure::input(format!("there is no Seed {name}"), hint))
    }

    /// The settings, each known and with a valid value.
    fn settings(&self) -> Result<TextMap, Failure> {
        let kind = self.kind()?;
        let mut settings = TextMap::new();
        for text in &self.settings {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| Failure::input(format!("`{text}` sets nothing"), "write --set KEY=VALUE"))?;
            if !kind.settings.iter().any(|setting| setting.name == name) {
                let hint = nearest(name, kind.settings.iter().map(|setting| setting.name));
                return Err(Failure::input(format!("{} has no setting `{name}`", kind.name), hint));
            }
            settings.insert(name.to_owned(), value.to_owned());
        }
        for setting in kind.settings.iter().filter(|setting| setting.is_required) {
            if settings.get(setting.name).is_none_or(String::is_empty) {
                let hint = format!("add --set {}=…: {}", setting.name, setting.meaning);
                return Err(Failure::input(format!("{} needs to know `{}`", kind.name, setting.name), hint));
            }
        }
        if let Some(task) = settings.get(fault::TASK) {
            let names = || gardenlet::tasks().flat_map(|task| [Some(task.name), task.while_hibernating]).flatten();
            if !names().any(|name| name == task) {
                return Err(Failure::input(format!("no flow has a task `{task}`"), nearest(task, names())));
            }
        }
        for setting in kind.settings.iter().filter(|setting| !setting.values.is_empty()) {
            let Some(value) = settings.get(setting.name).filter(|value| !setting.values.contains(&value.as_str()))
            else {
                continue;
            };
            let what = if setting.name == fault::CODE {
                "error code".to_owned()
            } else {
                format!("value of {}", setting.name)
            };
            return Err(Failure::input(
                format!("`{value}` is no {what}"),
                nearest(value, setting.values.iter().copied()),
            ));
        }
        Ok(settings)
    }
}

async fn inject(client: &Client, injection: &Injection, output: &mut Output) -> Result<(), Failure> {
    let kind = injection.kind()?;
    let settings = injection.settings()?;
    let shoot = match &injection.shoot {
        Some(shoot) => {
            let ObjectMeta { namespace, name, .. } =
                client.shoot_of_flag(shoot).await?.find(&client.context()).await?.metadata;
            Some(FaultShoot { namespace, name })
        }
        None => None,
    };
    let (component, instance) = injection.process(client).await?;
    let seed_name = injection.seed(client).await?;
    let until = match injection.lasts {
        Some(lasts) => Some(instant::reach(client.clock().await?.now, lasts)?),
        None => None,
    };
    let fault = Fault {
        metadata: ObjectMeta { generate_name: format!("{}-", kind.name), ..ObjectMeta::default() },
        spec: FaultSpec {
            kind: kind.name.to_owned(),
            shoot,
            component,
            instance,
            seed_name,
            pool: injection.pool.clone().unwrap_or_default(),
            zone: injection.zone,
            machine: injection.machine,
            node: injection.node.clone().unwrap_or_default(),
            times: injection.times,
            always: injection.always,
            until: until.map(Time::from_instant),
            settings,
        },
        ..Fault::default()
    };
    let created = faults(client).create(&fault).await.map_err(|error| failed(&error))?;
    let name = &created.metadata.name;
    if injection.output == Form::Text {
        output.line(name)
    } else {
        output.record(injection.output, &json!({ "name": name }))
    }
}

async fn clear(client: &Client, ids: &[String], all: bool, output: &mut Output) -> Result<(), Failure> {
    let api = faults(client);
    let (present, _) = api.list(&ListOptions::default()).await.map_err(|error| failed(&error))?;
    let names: Vec<&str> = present.iter().map(|fault| fault.metadata.name.as_str()).collect();
    if let Some(missing) = ids.iter().find(|id| !names.contains(&id.as_str())) {
        let near = nearest(missing, names.iter().copied());
        let hint = if near.is_empty() { "there are none".to_owned() } else { near };
        return Err(Failure::input(format!("there is no fault {missing}"), hint));
    }
    let chosen = names.iter().filter(|name| all || ids.iter().any(|id| id == *name));
    for name in chosen {
        match api.delete(name, &DeleteOptions::default()).await {
            Err(error) if !error.is_not_found() => return Err(failed(&error)),
            _ => output.line(&format!("{name} cleared"))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, settings: &[&str], expected: Result<&[(&str, &str)], (&str, &str)>) {
        let injection = Injection {
            kind: kind.to_owned(),
            shoot: None,
            component: None,
            seed_cluster: None,
            pool: None,
            zone: None,
            machine: None,
            node: None,
            times: None,
            always: false,
            lasts: None,
            settings: settings.iter().map(|&text| text.to_owned()).collect(),
            output: Form::Text,
        };
        let expected = expected
            .map(|all| all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
            .map_err(|(what, hint)| Failure::input(what, hint));
        assert_eq!(injection.settings(), expected);
    }

    #[test]
    fn a_kind_has_its_options_and_settings_as_an_object() {
        let object = kind_object(fault::kind("task-fails").expect("a kind"));
        assert_eq!((&object["name"], &object["options"]), (&json!("task-fails"), &json!(["shoot"])));
        let first = json!({
            "name": "task", "required": true, "meaning": "name of the task, as in lastOperation.description", "values": [],
        });
        assert_eq!(object["settings"][0], first);
        assert!(KINDS.iter().all(|kind| kind_object(kind)["options"].as_array().is_some_and(|all| !all.is_empty())));
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest_one() {
        let task = "task=Deploying Shoot infrastructure";
        check("task-fails", &[task], Ok(&[("task", "Deploying Shoot infrastructure")]));
        check("task-fail", &[task], Err(("there is no fault `task-fail`", "the nearest is `task-fails`")));
        check(
            "task-fails",
            &["task=Deploying Shoot infrastucture"],
            Err((
                "no flow has a task `Deploying Shoot infrastucture`",
                "the nearest is `Deploying Shoot infrastructure`",
            )),
        );
        check("task-fails", &[task, "cod=x"], Err(("task-fails has no setting `cod`", "the nearest is `code`")));
        check(
            "task-fails",
            &[task, "code=ERR_INFRA_QUOTA"],
            Err(("`ERR_INFRA_QUOTA` is no error code", "the nearest is `ERR_INFRA_QUOTA_EXCEEDED`")),
        );
        check("task-fails", &[task, "code"], Err(("`code` sets nothing", "write --set KEY=VALUE")));
        check(
            "task-fails",
            &["code=ERR_INFRA_QUOTA_EXCEEDED"],
            Err((
                "task-fails needs to know `task`",
                "add --set task=…: name of the task, as in lastOperation.description",
            )),
        );
    }

    #[test]
    fn target_of_a_fault_fits_its_kind() {
        #[track_caller]
        fn check(kind: &str, component: Option<&str>, seed: Option<&str>, expected: Result<(), (&str, &str)>) {
            let injection = Injection {
                kind: kind.to_owned(),
                shoot: None,
                component: component.map(str::to_owned),
                seed_cluster: seed.map(str::to_owned),
                pool: None,
                zone: None,
                machine: None,
                node: None,
                times: None,
                always: false,
                lasts: None,
                settings: Vec::new(),
                output: Form::Text,
            };
            assert_eq!(injection.check_target(), expected.map_err(|(what, hint)| Failure::input(what, hint)));
        }
        check("component-crash", Some("gardenlet"), None, Ok(()));
        check("component-partition", Some("gardener-apiserver/0"), None, Ok(()));
        check("seed-unreachable", None, Some("local"), Ok(()));
        check("task-fails", None, None, Ok(()));
        check("never-joins", None, None, Ok(()));
        check(
            "never-joins",
            None,
            Some("local"),
            Err(("never-joins does not hit what --seed-cluster names", "use --shoot")),
        );
        check(
            "component-crash",
            Some("gardenler/0"),
            None,
            Err(("there is no component gardenler", "the nearest is `gardenlet`")),
        );
        check("component-crash", None, None, Err(("component-crash needs a target", "add --component NAME")));
        check(
            "seed-unreachable",
            Some("gardenlet"),
            None,
            Err(("seed-unreachable does not hit what --component names", "use --seed-cluster")),
        );
    }

    #[test]
    fn times_are_whole_seconds() {
        assert_eq!(span("90s"), Ok(TimeDelta::seconds(90)));
        assert!(span("0s").is_err() && span("1500ms").is_err() && span("soon").is_err());
    }
}
