// SPDX-License-Identifier: Apache-2.0
//! Options that commands about manifests have in common, and refusals of manifests.

use std::path::PathBuf;

use clap::Args;
use domain::skew::GardenerVersion;
use ops::inventory::Inventory;
use ops::inventory::Refusals;
use ops::manifests;
use ops::release::Chosen;

use crate::failure::Failure;
use crate::output::Output;

/// Returns the given files and folders; `recursive`: with their subfolders.
///
/// # Errors
/// A folder cannot be read.
pub(crate) fn paths(files: &[PathBuf], recursive: bool) -> Result<Vec<PathBuf>, Failure> {
    Ok(if recursive { manifests::with_subfolders(files)? } else { files.to_vec() })
}

/// Parses `NAME=true` or `NAME=false`.
pub(crate) fn gate(text: &str) -> Result<(String, bool), String> {
    let read = text.split_once('=').and_then(|(name, on)| Some((name.to_owned(), on.parse().ok()?)));
    read.ok_or_else(|| format!("`{text}` is not NAME=true or NAME=false"))
}

/// Option `--gardener-version` of questions about manifests or a landscape.
#[derive(Debug, Args)]
pub(crate) struct AskedRelease {
    /// Release of Gardener whose rules answer: `newest`, or a version as v1.149 [default: the landscape's; of manifests the
    /// newest that status.gardener.version of a Shoot says, else the newest known]
    #[arg(long, value_name = "V", value_parser = ops::release::parse)]
    pub(crate) gardener_version: Option<GardenerVersion>,
}

impl AskedRelease {
    /// Requested version.
    pub(crate) fn version(&self) -> Option<&GardenerVersion> {
        self.gardener_version.as_ref()
    }

    /// Chooses the release for a landscape of a version.
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

/// Prints notes on the release that answers, and the reason.
pub(crate) fn tell(chosen: &Chosen, output: &mut Output) {
    for note in chosen.notes() {
        output.note(&format!("note: {note}"));
    }
}

/// Prints the refusals of an API server for manifests: as warnings if they do not prevent an answer. `force`: value of
/// `--force`; `None`: the command does not have the option.
///
/// # Errors
/// A refusal prevents an answer.
pub(crate) fn accept(inventory: &Inventory, force: Option<bool>, output: &mut Output) -> Result<(), Failure> {
    let Refusals { notes, warnings, errors } = inventory.refusals(force == Some(true));
    for line in &notes {
        output.note(&format!("note: {line}"));
    }
    for line in &warnings {
        output.note(&format!("warning: {line}"));
    }
    // The last error becomes the failure and has the hint: one that stays with --force, if there is any.
    let deciding = inventory.refusals(true).errors;
    let hint = remedy(!deciding.is_empty(), force.is_some());
    let others = errors.into_iter().filter(|error| !deciding.contains(error));
    refuse(others.chain(deciding.iter().cloned()).collect(), &hint, output)
}

/// Returns the remedy for a refusal; `decides`: because of a field that may decide the answer. `has_force`: the command has
/// option `--force`.
fn remedy(decides: bool, has_force: bool) -> String {
    match (decides, has_force) {
        (false, true) => "the API server refuses this; correct it, or go on with --force".to_owned(),
        (false, false) => "the API server refuses this; correct it".to_owned(),
        (true, true) => format!("--force does not ignore a field that may decide the answer: {UNDECIDED}"),
        (true, false) => UNDECIDED.to_owned(),
    }
}

/// Hint about a field that is not read and may decide the answer.
const UNDECIDED: &str =
    "correct it, choose a release that has it with --gardener-version, or remove it if it changes nothing";

/// Prints fields of manifests that are not read and may decide the answer; `fields`: messages about them.
///
/// # Errors
/// There is such a field.
pub(crate) fn decide(fields: Vec<String>, output: &mut Output) -> Result<(), Failure> {
    refuse(fields, UNDECIDED, output)
}

/// Prints errors; the last one becomes the failure.
fn refuse(mut errors: Vec<String>, hint: &str, output: &mut Output) -> Result<(), Failure> {
    let Some(last) = errors.pop() else { return Ok(()) };
    for line in &errors {
        output.note(&format!("error: {line}"));
    }
    Err(Failure::input(last, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_force_only_for_commands_that_have_it() {
        for decides in [false, true] {
            assert!(remedy(decides, true).contains("--force"));
            assert!(!remedy(decides, false).contains("--force"));
        }
    }
}
