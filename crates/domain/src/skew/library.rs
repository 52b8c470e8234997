// SPDX-License-Identifier: Apache-2.0
//! Rule E1 where the library of an extension is declared: annotation `terrarium.dev/extensions-library-version` of its
//! ControllerDeployment.
//!
//! | found | `documents` | `upstream` |
//! | --- | --- | --- |
//! | when it is declared | as `--skew-enforcement` says | a warning |
//! | later, when an older gardenlet appears | condition `Valid` of its ControllerInstallations is `False`; it does not work | the condition |
//!
//! Source: docs/deployment/version_skew_policy.md; upstream no code looks.

use api::constants::annotation;
use api::core::Seed;
use api::core_v1::ControllerDeployment;

use super::start_up::{Candidate, Decision, judge};
use super::{Component, GardenerVersion, Instance, Landscape};
use crate::profile::Profile;

/// Reason of condition `Valid` of a ControllerInstallation whose extension has a library that is too new.
pub const TOO_NEW: &str = "ExtensionLibraryTooNew";

/// The version that an extension declares.
pub fn declared(deployment: &ControllerDeployment) -> Option<&str> {
    deployment.metadata.annotation(annotation::EXTENSIONS_LIBRARY_VERSION).filter(|version| !version.is_empty())
}

/// Why an extension must not be there, in the words of rule E1 (or V0); `seeds` are all of the landscape: the oldest
/// gardenlet anywhere decides.
pub fn violation<'a>(deployment: &ControllerDeployment, seeds: impl Iterator<Item = &'a Seed>) -> Option<String> {
    let library = declared(deployment)?;
    let gardenlets = seeds.filter_map(|seed| {
        let version = &seed.status.gardener.as_ref()?.version;
        GardenerVersion::parse(version)?;
        Some(Instance::owned(Component::Gardenlet, &seed.metadata.name, version))
    });
    let landscape = Landscape { instances: gardenlets.collect(), ..Landscape::default() };
    let instance = Instance::owned(Component::Extension, &deployment.metadata.name, library);
    let candidate = Candidate { instance, previous: None, looks_ahead: false };
    match judge(&landscape, &candidate, Profile::Documents) {
        Decision::Refused(refused) => Some(refused.text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use api::core::Gardener;

    use super::*;

    /// Library; versions of the gardenlets of seeds a, b, …; what is said.
    const ROWS: &str = "
-        | 1.119.0         => -
1.120.0  |                 => -
1.120.0  | 1.120.3 1.121.0 => -
v1.120.9 | v1.120.0-dev    => -
1.121.0  | 1.121.0 1.120.4 => extension \"ext\" depends on extensions library 1.121.0, which is newer than gardenlet 1.120.4 on seed \"b\"
1.121.0  | odd 1.121.0     => -
odd      | 1.120.0         => failed parsing version of extension \"odd\": Invalid Semantic Version
";

    #[test]
    fn the_oldest_gardenlet_decides_which_library_is_too_new() {
        for row in ROWS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("an arrow");
            let (library, gardenlets) = given.split_once('|').expect("two cells");
            let mut deployment = ControllerDeployment::default();
            "ext".clone_into(&mut deployment.metadata.name);
            if library.trim() != "-" {
                let annotations = &mut deployment.metadata.annotations;
                annotations.insert(annotation::EXTENSIONS_LIBRARY_VERSION.to_owned(), library.trim().to_owned());
            }
            let seeds: Vec<Seed> = ('a'..)
                .zip(gardenlets.split_whitespace())
                .map(|(name, version)| {
                    let mut seed = Seed::default();
                    seed.metadata.name = name.to_string();
                    seed.status.gardener = Some(Gardener { version: version.to_owned(), ..Gardener::default() });
                    seed
                })
                .collect();
            let found = violation(&deployment, seeds.iter());
            assert_eq!(found.as_deref().unwrap_or("-"), expected.trim(), "row: {row}");
        }
    }
}
