// SPDX-License-Identifier: Apache-2.0
//! `terrarium versions`: versions that a CloudProfile offers, their users and their successors.

use std::path::PathBuf;

use clap::Args;
use clock::{Clock, Random};
use domain::profile::Profile;
use ops::instant::When;
use ops::inventory::Inventory;
use ops::inventory::{DecodedManifests, Reading};
use ops::names::ProfileKey;
use ops::release::Chosen;
use ops::show;
use ops::versions::{self, Offered, Row};
use serde_json::Value;

use super::rows::{Form, print_objects};
use crate::failure::Failure;
use crate::input::{AskedRelease, accept, paths, tell};
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
    /// Include subfolders
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    #[command(flatten)]
    release: AskedRelease,
    /// Go on although the API server would refuse the manifests: each refusal becomes a warning, except an unknown field that
    /// may decide the answer
    #[arg(long, requires = "files")]
    force: bool,
    /// Only versions that no Shoot uses
    #[arg(long)]
    unused: bool,
    /// Instant of the evaluation, or its distance from now (90d) [default: now, of the landscape or of this machine]
    #[arg(long, value_name = "T")]
    at: Option<When>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let mut landscape = None;
    let (mut inventory, chosen, now, profile) = if arguments.files.is_empty() {
        let client = Client::of(&arguments.which.directory()?)?;
        let (inventory, chosen, now) = block_on(async {
            let chosen = arguments.release.of_landscape(&client.facts.name, &client.gardener_version().await?)?;
            let inventory = Inventory::of_landscape(&client.context(), chosen.release).await?;
            Ok((inventory, chosen, client.clock().await?.now))
        })?;
        let profile = profile_of(&client.facts.profile);
        landscape = Some(client.facts.name);
        (inventory, chosen, now, profile)
    } else {
        let now = Clock::wall().now();
        if arguments.at.is_none() {
            output.note(&format!("note: as of {}, which is now; --at T looks from another instant", show(now)));
        }
        let at = arguments.at.map_or(now, |at| at.behind(now));
        let given = DecodedManifests::read(&paths(&arguments.files, arguments.recursive)?, &mut |_| {})?;
        let chosen = Chosen::for_shoots(arguments.release.version(), given.shoots());
        let (random, rules) = (Random::new(1), Profile::default());
        let inventory = given.inventory(Reading { random: &random, now: at, rules, release: chosen.release });
        (inventory, chosen, now, Profile::default())
    };
    tell(&chosen, output);
    let now = arguments.at.map_or(now, |at| at.behind(now));
    inventory.complete(now);
    accept(&inventory, Some(arguments.force), output)?;
    for note in &inventory.notes {
        output.note(&format!("note: {note}"));
    }
    let found = versions::offered(&inventory, arguments.name.as_deref(), now, profile);
    let create = landscape.map(|name| format!("`kubectl --context terrarium-{name} create -f FILE` creates one"));
    let is_empty = found.is_none() && arguments.name.is_none() && create.is_some();
    if is_empty {
        output.note(&format!("note: the landscape has no CloudProfile: {}", create.as_deref().unwrap_or_default()));
    }
    // An empty result is an answer: no row in each form.
    let found = if is_empty { Some(Offered::default()) } else { found };
    let Some(Offered { mut rows, warnings }) = found else {
        let names: Vec<String> = inventory.offers().keys().map(ProfileKey::shown).collect();
        let what = match &arguments.name {
            Some(name) => format!("there is no CloudProfile {name}"),
            None => "there is no CloudProfile".to_owned(),
        };
        let hint = match &names[..] {
            [] if create.is_some() => create.unwrap_or_default(),
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
    print_objects(&objects, &versions::KEYS, &chosen, arguments.output, output)?;
    for warning in warnings {
        output.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn profile_of(name: &str) -> Profile {
    if name == "upstream" { Profile::Upstream } else { Profile::Documents }
}
