// SPDX-License-Identifier: Apache-2.0
//! `terrarium skew`: check whether the versions of a landscape may run together, and list of versions that may.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::profile::Profile;
use domain::skew::{Component, GardenerVersion, Rule};
use ops::spelling::{counted, plural};
use ops::upgrade::components::Crash;
use ops::upgrade::fleet::Fleet;
use ops::upgrade::skew::{self, Row, name_of};
use serde_json::{Value, json};

use super::fleet::{self, FleetInput};
use crate::failure::Failure;
use crate::input::paths;
use crate::live::Which;
use crate::live::ask::query::Form;
use crate::live::ask::table::Table;
use crate::output::Output;

/// Check the versions of Gardener's components, and show which may run together
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say whether the versions of a landscape may run together, and which rule each violates
    ///
    /// Exit code 0 if they may, 1 if they may not.
    Check {
        /// LANDSCAPE.yaml, or objects as kubectl prints them; `-` for standard input [default: the landscape that runs]
        #[arg(short = 'f', long = "filename", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Include subfolders
        #[arg(short = 'R', long, requires = "files")]
        recursive: bool,
        #[command(flatten)]
        shared: Shared,
    },
    /// Show which components may run together with gardener-apiservers of some versions (needs no landscape)
    Table {
        /// Versions of the gardener-apiservers
        #[arg(long, value_name = "V[,V]", required = true, value_delimiter = ',', value_parser = version)]
        apiserver: Vec<GardenerVersion>,
        #[command(flatten)]
        shared: Shared,
    },
}

/// Options that several commands about versions have in common.
#[derive(Debug, Args)]
pub(super) struct Shared {
    /// Source of the rules on which the requirements documents and upstream's code differ [default: the landscape's, else
    /// documents]
    #[arg(long, value_parser = ["documents", "upstream"])]
    pub(super) profile: Option<String>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    pub(super) output: Form,
}

/// Parses a version of Gardener on the command line.
pub(super) fn version(text: &str) -> Result<GardenerVersion, String> {
    GardenerVersion::parse(text).ok_or_else(|| format!("`{text}` is no version of Gardener as 1.120.0 or v1.120"))
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Check { files, recursive, shared } => {
            let given = fleet::given(&arguments.which, &paths(files, *recursive)?, shared.profile.as_deref())?;
            check(&given, shared.output, output)
        }
        Verb::Table { apiserver, shared } => {
            let profile = shared.profile.as_deref().and_then(Profile::named).unwrap_or_default();
            table(apiserver, profile, shared.output, output)
        }
    }
}

fn check(given: &FleetInput, form: Form, output: &mut Output) -> Result<(), Failure> {
    let FleetInput { fleet, profile, .. } = given;
    for note in &fleet.notes {
        output.note(&format!("note: {note}"));
    }
    let rows = skew::rows(fleet, *profile);
    let object = json!({
        "absent": fleet.absent,
        "allowed": rows.is_empty(),
        "pending": fleet.pending,
        "notStarted": fleet.crashes.iter().map(Crash::object).collect::<Vec<Value>>(),
        "profile": name_of(*profile),
        "violations": rows.iter().map(Row::object).collect::<Vec<Value>>(),
    });
    form.print(&object, output, |output| {
        if rows.is_empty() {
            let count = plural(fleet.landscape.instances.len(), "instance");
            output.line(&format!("allowed: {count} may run together (profile {})", name_of(*profile)))?;
            return not_started(fleet, output);
        }
        let has_places = rows.iter().any(|row| row.place.is_some());
        let mut headers = vec!["rule", "component", "instance", "version", "message"];
        if has_places {
            headers.insert(4, "where");
        }
        let mut table = Table::new(&headers);
        for row in &rows {
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let mut cells = vec![
                row.rule.to_string(),
                row.component.to_owned(),
                or_dash(&row.instance),
                or_dash(&row.version),
                row.message.clone(),
            ];
            if has_places {
                cells.insert(4, or_dash(&row.place));
            }
            table.push(cells);
        }
        table.print(output)?;
        not_started(fleet, output)
    })?;
    if rows.is_empty() {
        return Ok(());
    }
    let violated = counted(rows.len(), "violation", "violations");
    Err(Failure::Failed(format!("{violated} of the rules about versions (profile {})", name_of(*profile))))
}

/// Prints the components and processes that do not start, which the rules have not checked.
fn not_started(fleet: &Fleet, output: &mut Output) -> Result<(), Failure> {
    let mut others = fleet.absent.iter().chain(&fleet.pending);
    others.try_for_each(|other| output.line(&format!("not among them: {other}")))?;
    fleet.crashes.iter().try_for_each(|crash| output.line(&format!("not among them: {crash}")))
}

fn table(apiservers: &[GardenerVersion], profile: Profile, form: Form, output: &mut Output) -> Result<(), Failure> {
    let allowed = skew::allowed(apiservers, profile)?;
    let rules = |rules: &[Rule]| rules.iter().map(ToString::to_string).collect::<Vec<String>>();
    let component = |component: Component| component.name();
    let rows: Vec<Value> = allowed
        .iter()
        .map(|row| {
            json!({
                "component": component(row.component), "oldest": row.oldest, "newest": row.newest, "rules": rules(row.rules),
            })
        })
        .collect();
    let versions: Vec<String> = apiservers.iter().map(ToString::to_string).collect();
    let object = json!({ "apiservers": versions, "profile": name_of(profile), "allowed": rows });
    form.print(&object, output, |output| {
        let mut table = Table::new(&["component", "oldest", "newest", "rules"]);
        for row in &allowed {
            table.push([
                component(row.component).to_owned(),
                row.oldest.clone().unwrap_or_else(|| "any".to_owned()),
                row.newest.clone().unwrap_or_else(|| "that of the oldest gardenlet".to_owned()),
                rules(row.rules).join(" "),
            ]);
        }
        table.print(output)
    })
}
