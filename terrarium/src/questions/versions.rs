// SPDX-License-Identifier: Apache-2.0
//! `terrarium versions`: what a CloudProfile offers, who uses it, and what comes after it.

use std::path::PathBuf;

use clap::Args;
use clock::{Clock, Random};
use domain::profile::Profile;
use ops::given::Reading;
use ops::instant::When;
use ops::show;
use ops::versions::{self, Offered, Row};
use ops::world::{ProfileKey, World};
use serde_json::Value;

use super::rows::{Form, print_objects};
use super::{accept, paths};
use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;

/// Show versions with their state, expiration, targets and users
///
/// `*` marks the default to show to users: the highest supported version, else the highest unclassified one; never a
/// preview and never a deprecated version.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// One profile: NAME, or NAMESPACE/NAME of a NamespacedCloudProfile [default: all]
    #[arg(value_name = "CLOUDPROFILE")]
    name: Option<String>,
    /// Manifests instead of the landscape: files, folders, or `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read the folders in folders, too
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// Go on although the API server would refuse the manifests: each refusal becomes a warning
    #[arg(long, requires = "files")]
    force: bool,
    /// Only versions that no Shoot uses
    #[arg(long)]
    unused: bool,
    /// As of another instant, or of so long from now (90d) [default: now, of the landscape or of this machine]
    #[arg(long, value_name = "T")]
    at: Option<When>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let (mut world, now, profile) = if arguments.files.is_empty() {
        let client = Client::of(&arguments.which.directory()?)?;
        let (world, now) =
            block_on(async { Ok((World::of_landscape(&client.context()).await?, client.clock().await?.now)) })?;
        (world, now, profile_of(&client.facts.profile))
    } else {
        let now = Clock::wall().now();
        if arguments.at.is_none() {
            output.note(&format!("note: as of {}, which is now; --at T looks from another instant", show(now)));
        }
        let at = arguments.at.map_or(now, |at| at.behind(now));
        let reading = Reading { random: &Random::new(1), now: at, rules: Profile::default() };
        (World::of_files(&paths(&arguments.files, arguments.recursive)?, reading)?, now, Profile::default())
    };
    let now = arguments.at.map_or(now, |at| at.behind(now));
    world.complete(now);
    accept(&world, arguments.force, output)?;
    for note in &world.notes {
        output.note(&format!("note: {note}"));
    }
    let found = versions::offered(&world, arguments.name.as_deref(), now, profile);
    let is_empty = found.is_none() && arguments.name.is_none() && arguments.files.is_empty();
    if is_empty {
        output.note("note: the landscape has no CloudProfile: `kubectl apply` one");
    }
    // Nothing is an answer: no row in each form.
    let found = if is_empty { Some(Offered::default()) } else { found };
    let Some(Offered { mut rows, warnings }) = found else {
        let names: Vec<String> = world.offers().keys().map(ProfileKey::shown).collect();
        let what = match &arguments.name {
            Some(name) => format!("there is no CloudProfile {name}"),
            None => "there is no CloudProfile".to_owned(),
        };
        let hint = match &names[..] {
            [] if arguments.files.is_empty() => "`kubectl apply` it".to_owned(),
            [] => "add the CloudProfile to the manifests".to_owned(),
            [one] => format!("there is {one}"),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(Failure::input(what, hint));
    };
    if arguments.unused {
        rows.retain(|row| row.shoots == 0 && row.pools == 0);
    }
    let objects: Vec<Value> = rows.iter().map(Row::object).collect();
    print_objects(&objects, &versions::KEYS, arguments.output, output)?;
    for warning in warnings {
        output.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn profile_of(name: &str) -> Profile {
    if name == "upstream" { Profile::Upstream } else { Profile::Documents }
}
