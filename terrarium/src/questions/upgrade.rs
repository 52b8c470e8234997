// SPDX-License-Identifier: Apache-2.0
//! `terrarium upgrade`: legal order to another version of Gardener, check of a given order ([`ops::upgrade`]), and
//! execution (`live::upgrade`).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::profile::Profile;
use domain::skew::releases::{is_unknown_minor, unknown_newer_release};
use domain::skew::start_up::violation_text;
use domain::skew::{Component, GardenerVersion, violations};
use domain::upgrade::Step;
use ops::spelling::{counted, first_of, plural};
use ops::upgrade::fleet::{Fleet, plan as plans};
use ops::upgrade::skew::name_of;
use ops::upgrade::{Illegal, Order, Planned, minors, notes_after, order, shown, target};
use serde_json::json;

use super::fleet::{self, FleetInput};
use super::skew::{Shared, version};
use crate::failure::Failure;
use crate::input::paths;
use crate::live::ask::query::Form;
use crate::live::ask::table::Table;
use crate::live::upgrade::{ApplyOptions, Planning};
use crate::live::{self, Which};
use crate::output::Output;

/// Maximum number of instances that are listed in a row of the table.
const NAMED: usize = 3;

/// Plan and check upgrades of Gardener's components
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the shortest legal order in which every component gets to a version, and what each step waits for
    ///
    /// From a landscape that is out of skew, the steps back to a legal one come first. Components of the running landscape that
    /// do not start are counted with the version of their Deployments. Exit code 3 if a component does not run and no step
    /// starts it; the plan names it. `-o yaml` prints what `upgrade check` reads.
    Plan {
        /// The version to get to; without a patch the highest of its minor that is there already, else .0
        #[arg(long, value_name = "V", value_parser = version)]
        to: GardenerVersion,
        /// LANDSCAPE.yaml, or objects as kubectl prints them; `-` for standard input [default: the landscape that runs]
        #[arg(short = 'f', long = "filename", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Include subfolders
        #[arg(short = 'R', long, requires = "files")]
        recursive: bool,
        /// Also tell the changes of each minor on the way: feature gates, Kubernetes versions, fields, checks, defaults, components
        #[arg(long)]
        notes: bool,
        /// Accept a version that is newer than every known release; the rules of the newest known release apply
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        shared: Shared,
    },
    /// Say whether an order of steps is legal, and which is the first that is not
    ///
    /// Exit code 0 if it is, 1 if it is not.
    Check {
        /// PLAN.yaml: `start`, a landscape, and `steps` with component, instance and `to`; `-` for standard input
        #[arg(short = 'f', long = "filename", value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        shared: Shared,
    },
    /// Execute the upgrade plan on the running landscape, component by component
    ///
    /// A component that gardener-operator or a Gardenlet replaces is only waited for. The command succeeds when every instance of
    /// every component is ready at the version, none crash-loops, and the version rules allow all versions. It fails with exit
    /// code 3 if a component is refused because of its version, or at the end is missing, has 0 replicas or an image of something
    /// else. After an interruption another call continues the upgrade.
    Apply {
        /// Target version; without a patch the highest version of its minor in the landscape, else .0
        #[arg(long, value_name = "V", value_parser = version)]
        to: GardenerVersion,
        /// Accept a version that is newer than every known release; the rules of the newest known release apply
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        options: ApplyOptions,
    },
    /// Show which version each component runs and which it is to run
    Status {
        #[command(flatten)]
        shared: Shared,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Plan { to, files, recursive, notes, force, shared } => {
            must_be_known(to, *force, output)?;
            let given = fleet::given(&arguments.which, &paths(files, *recursive)?, shared.profile.as_deref())?;
            plan(&given, to, *notes, shared.output, output)
        }
        Verb::Check { file, shared } => {
            let profile = shared.profile.as_deref().and_then(Profile::named).unwrap_or_default();
            let (name, text) = fleet::text_of(file)?;
            check(&plans::read(&name, &text)?, profile, shared.output, output)
        }
        Verb::Apply { to, force, options } if options.dry_run => {
            must_be_known(to, *force, output)?;
            plan(&fleet::given(&arguments.which, &[], None)?, to, false, Form::default(), output)
        }
        Verb::Apply { to, force, options } => {
            let plan = |output: &mut Output| {
                must_be_known(to, *force, output)?;
                let FleetInput { fleet, profile, .. } = fleet::given(&arguments.which, &[], None)?;
                let target = target(to, &fleet);
                let Order { fleet, plan, .. } = order(&fleet, &target, profile)?;
                Ok(Planning { fleet, plan, to: target, profile })
            };
            live::upgrade::apply(&arguments.which, options, to, plan, output)
        }
        Verb::Status { shared } => live::upgrade::status(&arguments.which, shared.output, output),
    }
}

/// Refuses a version that is newer than every known release; with `force`, and for an unknown patch of a known release,
/// prints a note on the rules that apply.
fn must_be_known(to: &GardenerVersion, force: bool, output: &mut Output) -> Result<(), Failure> {
    let to = to.clone().completed();
    let Some(text) = unknown_newer_release(&to) else { return Ok(()) };
    if is_unknown_minor(&to) && !force {
        return Err(Failure::input(text, "plan by these rules with --force"));
    }
    output.note(&format!("note: {text}"));
    Ok(())
}

fn plan(
    given: &FleetInput,
    to: &GardenerVersion,
    with_minors: bool,
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    let FleetInput { fleet, profile, now } = given;
    let planned = Planned::of(fleet, to, with_minors, *profile, *now)?;
    let Planned { plan, fleet, .. } = &planned;
    for note in &fleet.notes {
        output.note(&format!("note: {note}"));
    }
    for crash in &planned.resolved {
        output.note(&format!("note: {crash}"));
    }
    for violated in &planned.violated {
        output.note(&format!("note: {violated}"));
    }
    if plan.steps_back > 0 {
        output.note(&format!(
            "note: the landscape is out of skew; {} back to a legal one",
            counted(plan.steps_back, "step leads", "steps lead")
        ));
    }
    let object = planned.object();
    form.print(&object, output, |output| {
        if !plan.steps.is_empty() {
            rows(&plan.steps, fleet).print(output)?;
        } else if planned.left_out.is_empty() {
            output.line(&format!("nothing to do: every component is at {}", planned.target))?;
        } else {
            output.line(&format!("no steps: every component that runs is at {}", planned.target))?;
        }
        planned.left_out.iter().try_for_each(|left_out| output.line(&format!("not among them: {left_out}")))?;
        for minor in planned.minors.iter().flatten() {
            output.line("")?;
            minors::lines(minor, fleet).iter().try_for_each(|line| output.line(line))?;
        }
        Ok(())
    })?;
    for left in &planned.left {
        output.note(&format!("note: {left}"));
    }
    for pinned in &planned.pinned {
        output.note(&format!("note: {pinned}"));
    }
    for note in &planned.notes {
        output.note(&format!("note: {note}"));
    }
    if plan.steps.iter().any(|step| step.component == Component::Extension) {
        output.note("note: extensions are released on their own: they may also stay at an older library");
    }
    must_be_complete(&planned)
}

/// Refuses a plan without steps for a component that does not run.
fn must_be_complete(planned: &Planned) -> Result<(), Failure> {
    let Some((first, rest)) = planned.left_out.split_first() else { return Ok(()) };
    let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
    Err(Failure::Refused(format!("not every component gets to v{}: {first}{more}", planned.target)))
}

/// Returns a row for each step; consecutive steps that differ only in the instance share a row.
fn rows(steps: &[Step], fleet: &Fleet) -> Table {
    let is_alike = |one: &Step, other: &Step| {
        one.component == other.component
            && one.to == other.to
            && one.from == other.from
            && one.waits_for == other.waits_for
    };
    let mut table = Table::new(&["step", "component", "instance", "from", "to", "waits for"]);
    let mut number = 1;
    for alike in steps.chunk_by(is_alike) {
        let Some(step) = alike.first() else { continue };
        let names: Vec<String> = alike.iter().filter_map(|step| fleet.name_of(step.index)).collect();
        let named = if names.is_empty() { "-".to_owned() } else { first_of(names.iter().map(String::as_str), NAMED) };
        let last = number + alike.len() - 1;
        let numbers = if alike.len() == 1 { number.to_string() } else { format!("{number}-{last}") };
        number = last + 1;
        let mut waits = shown(step, fleet).into_iter();
        let first = waits.next().unwrap_or_default();
        let (from, to) = (step.from.to_string(), step.to.to_string());
        table.push([numbers, step.component.name().to_owned(), named, from, to, first]);
        for wait in waits {
            let blank = String::new;
            table.push([blank(), blank(), blank(), blank(), blank(), wait]);
        }
    }
    table
}

fn check(plan: &plans::Plan, profile: Profile, form: Form, output: &mut Output) -> Result<(), Failure> {
    plan.start.parsable()?;
    for note in &plan.start.notes {
        output.note(&format!("note: {note}"));
    }
    for violation in violations(&plan.start.landscape, profile) {
        let text = violation_text(&plan.start.landscape, &violation, profile);
        output.note(&format!("note: the landscape to begin with is out of skew: {}: {text}", violation.rule));
    }
    let Some(illegal) = Illegal::of(plan, profile) else {
        let object = json!({ "allowed": true, "firstIllegalStep": null, "rule": null, "message": null });
        let (steps, name) = (plural(plan.steps.len(), "step"), name_of(profile));
        form.print(&object, output, |output| output.line(&format!("allowed: {steps} (profile {name})")))?;
        for note in notes_after(plan, profile) {
            output.note(&format!("note: {note}"));
        }
        return Ok(());
    };
    let found = &illegal.found;
    let first = found.first().cloned().unwrap_or_default();
    let number = illegal.index + 1;
    let object = json!({ "allowed": false, "firstIllegalStep": number, "rule": first.0, "message": first.1 });
    let place = plan.origin(illegal.index).map(|origin| format!("{origin}: ")).unwrap_or_default();
    form.print(&object, output, |output| {
        found.iter().try_for_each(|(rule, text)| output.line(&format!("{place}step {number}: {rule}: {text}")))
    })?;
    let step = &plan.steps[illegal.index];
    Err(Failure::Failed(format!(
        "step {number} of {} is not legal: {} from {} to {} (profile {})",
        plan.steps.len(),
        ops::upgrade::fleet::shown(&step.from),
        step.from.version,
        step.to,
        name_of(profile)
    )))
}
