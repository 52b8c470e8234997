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

use ops::manifests;
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

/// Prints what the API server would refuse of manifests: as warnings if that does not matter.
///
/// # Errors
/// There is something, and it matters.
fn accept(world: &World, force: bool, output: &mut Output) -> Result<(), Failure> {
    let mut lines = world.refusals(force);
    if force {
        for line in &lines {
            output.note(&format!("warning: {line}"));
        }
        return Ok(());
    }
    let Some(last) = lines.pop() else { return Ok(()) };
    for line in &lines {
        output.note(&format!("error: {line}"));
    }
    Err(Failure::input(last, "the API server refuses this; correct it, or go on with --force"))
}
