// SPDX-License-Identifier: Apache-2.0
//! Rule E1: the library of an extension and the gardenlets with which it is compared.
//!
//! The library is declared: annotation `terrarium.dev/extensions-library-version` of its ControllerDeployment. An extension
//! that is released with Gardener, as provider-local is, has the library of its own version ([`of_component`]).
//!
//! | found | `documents` | `upstream` |
//! | --- | --- | --- |
//! | when it is declared | depends on `--skew-enforcement` | a warning |
//! | later, when an older gardenlet appears | condition `Valid` of its ControllerInstallations is `False`; it does not work | the condition |
//!
//! Source: docs/deployment/version_skew_policy.md; upstream has no code for it.

use std::collections::BTreeSet;

use api::constants::annotation;
use api::core::Seed;
use api::core_v1::ControllerDeployment;

use super::start_up::{Candidate, Decision, judge};
use super::{Component, GardenerVersion, Instance, Landscape};
use crate::garden::components::Program;
use crate::profile::Profile;

/// Reason of condition `Valid` of a ControllerInstallation whose extension has a library that is too new.
pub const TOO_NEW: &str = "ExtensionLibraryTooNew";

/// Prefix of the names of the Deployments of extensions.
const DEPLOYMENT_PREFIX: &str = "gardener-extension-";

/// Name of the extension with this Deployment if the extension is released with Gardener: its version is that of its
/// library.
pub fn of_component(deployment: &str) -> Option<&str> {
    let name = deployment.strip_prefix(DEPLOYMENT_PREFIX)?;
    (deployment == Program::ProviderLocal.name()).then_some(name)
}

/// Deployment of an extension that is released with Gardener; `None` for any other extension.
pub fn deployment_of(extension: &str) -> Option<String> {
    let name = format!("{DEPLOYMENT_PREFIX}{extension}");
    of_component(&name).is_some().then_some(name)
}

/// Gardenlets of a landscape: the running ones, and for a Seed without a running one the gardenlet that reconciled it
/// last, which keeps its version when it restarts.
pub fn gardenlets<'a>(running: &Landscape, seeds: impl IntoIterator<Item = &'a Seed>) -> Vec<Instance> {
    let is_gardenlet = |instance: &&Instance| instance.component == Component::Gardenlet;
    let mut all: Vec<Instance> = running.instances.iter().filter(is_gardenlet).cloned().collect();
    let known: BTreeSet<String> = all.iter().map(|instance| instance.owner.clone()).collect();
    all.extend(seeds.into_iter().filter(|seed| !known.contains(&seed.metadata.name)).filter_map(last_gardenlet));
    all
}

/// Version of an extension that follows the gardenlets of a landscape: that of the oldest. `own`: version of the
/// requesting gardenlet.
pub fn followed<'a>(own: &'a str, gardenlets: &'a [Instance]) -> &'a str {
    let Some(version) = GardenerVersion::parse(own) else { return own };
    let others = gardenlets.iter().filter_map(|one| Some((GardenerVersion::parse(&one.version)?, &*one.version)));
    let oldest = others.filter(|(other, _)| *other < version).min_by(|(one, _), (other, _)| one.cmp(other));
    oldest.map_or(own, |(_, text)| text)
}

/// The gardenlet that reconciled a Seed last.
fn last_gardenlet(seed: &Seed) -> Option<Instance> {
    let version = &seed.status.gardener.as_ref()?.version;
    GardenerVersion::parse(version)?;
    Some(Instance::owned(Component::Gardenlet, &seed.metadata.name, version))
}

/// The version that an extension declares.
pub fn declared(deployment: &ControllerDeployment) -> Option<&str> {
    deployment.metadata.annotation(annotation::EXTENSIONS_LIBRARY_VERSION).filter(|version| !version.is_empty())
}

/// Returns the text of rule E1 (or V0) for an extension that is not allowed; `seeds` are all of the landscape: the
/// oldest gardenlet anywhere decides.
pub fn violation<'a>(deployment: &ControllerDeployment, seeds: impl Iterator<Item = &'a Seed>) -> Option<String> {
    let library = declared(deployment)?;
    let landscape = Landscape { instances: seeds.filter_map(last_gardenlet).collect(), ..Landscape::default() };
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

    /// Library; versions of the gardenlets of seeds a, b, …; the text.
    const ROWS: &str = "
-        | 1.119.0         => -
1.120.0  |                 => -
1.120.0  | 1.120.3 1.121.0 => -
v1.120.9 | v1.120.0-dev    => -
1.121.0  | 1.121.0 1.120.4 => extension \"ext\" depends on extensions library 1.121.0, which is newer than gardenlet 1.120.4 on seed \"b\"
1.121.0  | odd 1.121.0     => -
odd      | 1.120.0         => failed parsing version of extension \"odd\": Invalid Semantic Version
";

    fn seed(name: &str, gardenlet: &str) -> Seed {
        let mut seed = Seed::default();
        name.clone_into(&mut seed.metadata.name);
        seed.status.gardener = Some(Gardener { version: gardenlet.to_owned(), ..Gardener::default() });
        seed
    }

    #[test]
    fn an_extension_follows_the_oldest_gardenlet_of_the_landscape() {
        let running = Landscape {
            instances: vec![
                Instance::owned(Component::Gardenlet, "a", "v1.135.0"),
                Instance::owned(Component::Gardenlet, "b", "v1.134.2"),
                Instance::new(Component::Apiserver, "v1.100.0"),
            ],
            ..Landscape::default()
        };
        let version = |own, seeds: &[Seed]| followed(own, &gardenlets(&running, seeds)).to_owned();
        assert_eq!(version("v1.135.0", &[]), "v1.134.2");
        // The version of a running gardenlet counts, not the one recorded in the Seed.
        assert_eq!(version("v1.135.0", &[seed("b", "v1.133.0"), seed("c", "odd")]), "v1.134.2");
        // A gardenlet that does not run keeps its version when it restarts.
        assert_eq!(version("v1.135.0", &[seed("c", "v1.134.0")]), "v1.134.0");
        assert_eq!(version("v1.134.2-dev", &[]), "v1.134.2-dev", "equal versions are the same");
        assert_eq!(version("latest", &[]), "latest");
    }

    #[test]
    fn an_extension_of_gardener_has_the_library_of_its_version() {
        assert_eq!(of_component("gardener-extension-provider-local"), Some("provider-local"));
        assert_eq!(of_component("gardener-extension-provider-aws"), None, "it has releases of its own");
        assert_eq!(of_component("provider-local"), None);
        assert_eq!(deployment_of("provider-local").as_deref(), Some("gardener-extension-provider-local"));
        assert_eq!(deployment_of("provider-aws"), None);
    }

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
                .map(|(name, version)| seed(&name.to_string(), version))
                .collect();
            let found = violation(&deployment, seeds.iter());
            assert_eq!(found.as_deref().unwrap_or("-"), expected.trim(), "row: {row}");
        }
    }
}
