// SPDX-License-Identifier: Apache-2.0
//! Questions before acting: the rules alone, no API server. What is computed is in `ops`.
//!
//! **Tour.** [`forecast`] what maintenance will do; [`versions`] what is offered and who uses it; [`why`] what one Shoot
//! waits for; [`rollout`] what a change does to nodes; [`rows`] how changes are printed. [`skew`] and [`upgrade`] are about
//! the versions of Gardener's components, which [`fleet`] reads.

pub(crate) mod fleet;
pub(crate) mod forecast;
pub(crate) mod rollout;
mod rows;
pub(crate) mod skew;
pub(crate) mod upgrade;
pub(crate) mod versions;
pub(crate) mod why;

use std::path::PathBuf;

use clap::Args;
use domain::skew::GardenerVersion;
use ops::given::Refusals;
use ops::manifests;
use ops::release::Chosen;
use ops::world::World;

use crate::failure::Failure;
use crate::output::Output;

/// Files and folders that are given; `recursive`: with the folders in them.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn paths(files: &[PathBuf], recursive: bool) -> Result<Vec<PathBuf>, Failure> {
    Ok(if recursive { manifests::with_subfolders(files)? } else { files.to_vec() })
}

/// `--gardener-version` of questions.
#[derive(Debug, Args)]
pub(crate) struct AskedRelease {
    /// Release of Gardener whose rules answer: `newest`, or a version as v1.149 [default: the landscape's; of manifests the
    /// newest that status.gardener.version of a Shoot says, else the newest known]
    #[arg(long, value_name = "V", value_parser = ops::release::parse)]
    pub(crate) gardener_version: Option<GardenerVersion>,
}

impl AskedRelease {
    /// The version that was asked for.
    pub(crate) fn version(&self) -> Option<&GardenerVersion> {
        self.gardener_version.as_ref()
    }

    /// The release for a landscape of a version.
    ///
    /// # Errors
    /// No version was requested, and the landscape's version is invalid.
    pub(crate) fn of_landscape(&self, name: &str, version: &str) -> Result<Chosen, Failure> {
        let own = GardenerVersion::parse(version).or_else(|| self.gardener_version.clone());
        let own =
            own.ok_or_else(|| Failure::Failed(format!("landscape {name}: `{version}` is no version of Gardener")))?;
        Ok(Chosen::for_landscape(self.version(), name, own))
    }
}

/// Says which release answers, and why.
pub(crate) fn tell(chosen: &Chosen, output: &mut Output) {
    for note in chosen.notes() {
        output.note(&format!("note: {note}"));
    }
}

/// Prints what the API server would refuse of manifests: as warnings if that does not matter.
///
/// # Errors
/// There is something, and it matters.
fn accept(world: &World, force: bool, output: &mut Output) -> Result<(), Failure> {
    let Refusals { warnings, errors } = world.refusals(force);
    for line in &warnings {
        output.note(&format!("warning: {line}"));
    }
    // The last error is the failure; --force is a way out of it only if it becomes a warning then.
    let stays = force || world.refusals(true).errors.last().is_some_and(|last| errors.last() == Some(last));
    refuse(
        errors,
        if stays { UNDECIDED } else { "the API server refuses this; correct it, or go on with --force" },
        output,
    )
}

/// Hint about an unknown field that may decide the answer.
const UNDECIDED: &str = "no release that is known here has this field, so --force does not ignore it: correct it, or take it out if it changes nothing";

/// Prints unknown fields of manifests that may decide the answer.
///
/// # Errors
/// There is one.
fn decide(world: &World, output: &mut Output) -> Result<(), Failure> {
    refuse(world.refusals(true).errors, UNDECIDED, output)
}

/// Prints errors; the last one is the failure.
fn refuse(mut errors: Vec<String>, hint: &str, output: &mut Output) -> Result<(), Failure> {
    let Some(last) = errors.pop() else { return Ok(()) };
    for line in &errors {
        output.note(&format!("error: {line}"));
    }
    Err(Failure::input(last, hint))
}
