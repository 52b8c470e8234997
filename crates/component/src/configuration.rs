// SPDX-License-Identifier: Apache-2.0
//! Configuration files of components: read strictly, by the kinds of Gardener.
//!
//! A file is valid if its kind is the component's, every field exists in the emulated version and is of its type, and
//! that version knows its feature gates. Fields without an effect here are accepted; each component reads those that
//! have one with the functions below.
//!
//! Unlike upstream: there an unknown field is ignored, so that a typing error is a setting without effect. Here only
//! fields below `seedConfig` that other releases have are ignored.
//!
//! Source: pkg/*/apis/config/v1alpha1, cmd/*/app/options.go @ v1.120.0 to v1.149.0.

use std::collections::BTreeMap;

use apimachinery::decode;
use apimachinery::meta::{Duration, Quantity};
use apimachinery::release::Release;
use chrono::TimeDelta;
use domain::garden::components::Program;
use domain::skew::{GardenerVersion, releases};
use serde_json::{Value, json};

/// Reads a component's file.
///
/// # Errors
/// The text with which upstream's component would end, or a field that upstream would ignore.
pub fn read(program: Program, text: &str, version: &str) -> Result<Value, String> {
    let failed = |reason: String| format!("error decoding config: {reason}");
    let tree: Value = yaml::from_str(text).map_err(|error| failed(error.to_string()))?;
    let (Some((api_version, kind)), Some(node)) = (program.configuration(), program.schema(version)) else {
        return Ok(tree);
    };
    match (tree["apiVersion"].as_str(), tree["kind"].as_str()) {
        (_, None) => return Err(failed("Object 'Kind' is missing".to_owned())),
        (found, Some(other)) if other != kind || found != Some(api_version) => {
            let found = found.unwrap_or_default();
            return Err(failed(format!("no kind {other:?} is registered for version {found:?}")));
        }
        _ => {}
    }
    let decoded = decode::tree(tree.clone(), &node).map_err(|error| failed(error.message))?;
    if !decoded.strict.is_empty() {
        // Fields of Seeds that other releases have are dropped: they come from objects that outlive an upgrade.
        let union = api::configuration::node(program.short(), kind, Release::UNION).unwrap_or(node);
        let of_all = decode::tree(tree, &union).map_err(|error| failed(error.message))?.strict;
        let is_of_seeds = |error: &str| error.starts_with("unknown field \"seedConfig.");
        let wrong = |error: &&str| !is_of_seeds(error) || of_all.iter().any(|one| one == error);
        let strict: Vec<&str> = decoded.strict.iter().map(String::as_str).filter(wrong).collect();
        if !strict.is_empty() {
            return Err(failed(format!("strict decoding error: {}", strict.join(", "))));
        }
    }
    for (name, on) in decoded.tree["featureGates"].as_object().into_iter().flatten() {
        check_gate(program, version, name, on.as_bool().unwrap_or_default())?;
    }
    Ok(decoded.tree)
}

/// Checks whether a gate of a component may have this value in an emulated version. An invalid version passes: it is
/// refused elsewhere.
///
/// # Errors
/// Upstream's text.
pub fn check_gate(program: Program, version: &str, name: &str, on: bool) -> Result<(), String> {
    let Some(version) = GardenerVersion::parse(version) else { return Ok(()) };
    releases::check_gate(&version, program.short(), name, on)
}

/// Returns a duration that the schema has let through; None: the field is not set.
pub fn duration(tree: &Value) -> Option<TimeDelta> {
    let read: Duration = tree.as_str()?.parse().ok()?;
    Some(TimeDelta::nanoseconds(read.nanoseconds))
}

/// Returns a duration as a configuration file has it.
pub fn duration_text(length: TimeDelta) -> Value {
    json!(Duration { nanoseconds: length.num_nanoseconds().unwrap_or(i64::MAX) }.to_string())
}

/// Returns a number of workers; None: the field is not set, or 0.
pub fn workers(tree: &Value) -> Option<usize> {
    tree.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0)
}

/// Overwrites a default with a value that is set.
pub fn put<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}

/// Returns, by type, the durations for which conditions are `Progressing` before they fail; None: the field is not set.
pub fn thresholds(tree: &Value) -> Option<BTreeMap<String, TimeDelta>> {
    let one = |entry: &Value| Some((entry["type"].as_str()?.to_owned(), duration(&entry["duration"])?));
    Some(tree.as_array()?.iter().filter_map(one).collect())
}

/// Returns whole units by name; None: the field is not set.
pub fn quantities(tree: &Value) -> Option<BTreeMap<String, u32>> {
    let one = |(name, value): (&String, &Value)| {
        let quantity: Quantity = value.as_str()?.parse().ok()?;
        Some((name.clone(), u32::try_from(quantity.value()).ok()?))
    };
    Some(tree.as_object()?.iter().filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GARDENLET: &str = "apiVersion: gardenlet.config.gardener.cloud/v1alpha1\nkind: GardenletConfiguration\n";

    #[track_caller]
    fn check(rest: &str, version: &str, expected: Result<(), &str>) {
        let read = read(Program::Gardenlet, &format!("{GARDENLET}{rest}"), version);
        assert_eq!(read.map(|_| ()), expected.map_err(str::to_owned), "{rest}");
    }

    /// Content of a file without its kind, the version, and the error.
    #[test]
    fn files_are_read_strictly() {
        let v120 = "v1.120.0";
        check("", v120, Ok(()));
        check("controllers: {shoot: {syncPeriod: 30m, concurrentSyncs: 5}}", v120, Ok(()));
        check("controllers: {managedSeed: {syncJitterPeriod: 1m}}\nsni: {ingress: {namespace: a}}", v120, Ok(()));
        check(
            "controllers: {shoot: {syncperiod: 30m}}\nfoo: 1",
            v120,
            Err(
                "error decoding config: strict decoding error: unknown field \"controllers.shoot.syncperiod\", unknown \
                 field \"foo\"",
            ),
        );
        check("featureGates: {NewWorkerPoolHash: true}", v120, Ok(()));
        check("featureGates: {Nonsense: true}", v120, Err("unrecognized feature gate: Nonsense"));
        check("featureGates: {InPlaceNodeUpdates: true}", v120, Err("unrecognized feature gate: InPlaceNodeUpdates"));
        check(
            "featureGates: {NewWorkerPoolHash: false}",
            "v1.141.0",
            Err("cannot set feature gate NewWorkerPoolHash to false, feature is locked to true"),
        );
        let unknown = |field: &str| format!("error decoding config: strict decoding error: unknown field {field:?}");
        for (rest, field, first) in [
            ("controllers: {cacheSyncTimeout: 2m}", "controllers.cacheSyncTimeout", "v1.147.0"),
            ("logging: {victoriaLogs: {enabled: true}}", "logging.victoriaLogs", "v1.137.0"),
            (
                "controllers: {tokenRequestorWorkloadIdentity: {tokenExpirationDuration: 6h}}",
                "controllers.tokenRequestorWorkloadIdentity.tokenExpirationDuration",
                "v1.137.0",
            ),
        ] {
            check(rest, v120, Err(&unknown(field)));
            check(rest, first, Ok(()));
            check(rest, "v1.149.0", Ok(()));
        }
        for version in [v120, "v1.138.0", "v1.139.0", "v1.149.0"] {
            // Each is a field of some releases only.
            check("seedConfig: {spec: {settings: {zoneSelection: {mode: Prefer}}}}", version, Ok(()));
            check("seedConfig: {spec: {dns: {provider: {type: a, secretRef: {name: b}}}}}", version, Ok(()));
            let text = unknown("seedConfig.spec.settings.zoneselection");
            check("seedConfig: {spec: {settings: {zoneselection: {}}}}", version, Err(&text));
        }
        check("gardenClientConnection: {gardenClusterCACert: YQ==}", "v1.142.0", Ok(()));
        check(
            "gardenClientConnection: {gardenClusterCACert: YQ==}",
            "v1.143.0",
            Err(&unknown("gardenClientConnection.gardenClusterCACert")),
        );
        assert_eq!(
            read(Program::Scheduler, GARDENLET, v120),
            Err("error decoding config: no kind \"GardenletConfiguration\" is registered for version \
                 \"gardenlet.config.gardener.cloud/v1alpha1\""
                .to_owned())
        );
        assert_eq!(
            read(Program::Gardenlet, "{}", v120),
            Err("error decoding config: Object 'Kind' is missing".to_owned())
        );
        let wrong = read(Program::Gardenlet, &format!("{GARDENLET}controllers: {{shoot: {{syncPeriod: {{}}}}}}"), v120);
        assert!(wrong.is_err());
    }
}
