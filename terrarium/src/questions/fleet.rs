// SPDX-License-Identifier: Apache-2.0
//! Versions of a landscape ([`ops::upgrade::fleet`]), from files or a running landscape.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use domain::profile::Profile;
use ops::manifests;
use ops::upgrade::fleet::{self, Fleet};

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::{Which, block_on};

/// A landscape, its profile if it names one, and its current instant.
pub(crate) struct FleetInput {
    pub(crate) fleet: Fleet,
    pub(crate) profile: Profile,
    pub(crate) now: DateTime<Utc>,
}

/// Reads files, or without files the running landscape.
///
/// # Errors
/// The files cannot be read, or the landscape does not run.
pub(crate) fn given(which: &Which, files: &[PathBuf], profile: Option<&str>) -> Result<FleetInput, Failure> {
    let wanted = profile.and_then(Profile::named);
    if files.is_empty() {
        let (fleet, own, now) = of_landscape(which)?;
        return Ok(FleetInput { fleet, profile: wanted.unwrap_or(own), now });
    }
    let now = clock::Clock::wall().now();
    Ok(FleetInput { fleet: fleet::of_files(files)?, profile: wanted.unwrap_or_default(), now })
}

/// Reads the landscape, its profile and its time.
///
/// # Errors
/// The landscape does not run.
fn of_landscape(which: &Which) -> Result<(Fleet, Profile, DateTime<Utc>), Failure> {
    let client = Client::of(&which.directory()?)?;
    let profile = Profile::named(&client.facts.profile).unwrap_or_default();
    block_on(async {
        let now = client.clock().await?.now;
        let mut fleet = fleet::of_landscape(&client.context()).await?;
        fleet.name = Some(client.facts.name.clone());
        Ok((fleet, profile, now))
    })
}

/// Reads the only file of a command that takes one.
pub(crate) fn text_of(path: &Path) -> Result<(String, String), Failure> {
    Ok((path.display().to_string(), manifests::text_of(path)?))
}
