// SPDX-License-Identifier: Apache-2.0
//! Validation of GardenletConfigurations in Gardenlets and ManagedSeeds.
//!
//! gardenlet checks feature gates, as upstream. Unlike upstream: a warning names each unknown field before it is dropped.
//!
//! Source: pkg/gardenlet/apis/config/v1alpha1/validation, pkg/apis/seedmanagement/{encoding,validation},
//! k8s.io/component-base/config/validation @ v1.120.0.

use api::configuration::node;
use api::constants::api_version;
use api::core::Seed;
use apimachinery::decode;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, LabelSelector, Quantity, RawExtension};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::common::{invalid_duration, one_of};
use super::{Errors, meta, seed as seeds};
use crate::release::Release;

/// Kind of a configuration.
const KIND: &str = "GardenletConfiguration";
/// Source location that upstream's message about an unknown kind names.
const SCHEME: &str = "pkg/apis/seedmanagement/encoding/encoding.go:25";
const LOG_LEVELS: [&str; 3] = ["debug", "info", "error"];
const LOG_FORMATS: [&str; 2] = ["json", "text"];
const PURPOSES: [&str; 5] = ["development", "evaluation", "infrastructure", "production", "testing"];

/// Source of gardenlet's first credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bootstrap {
    /// A bootstrap token or a ServiceAccount.
    Given,
    /// No bootstrap credentials.
    None {
        /// Setting `spec.gardenlet.mergeWithParent`.
        merges: bool,
    },
}

/// A parsed configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    tree: Value,
    /// Paths of fields that do not exist.
    pub unknown: Vec<String>,
}

/// Reads a configuration with the fields of a release; a missing one is empty.
///
/// # Errors
/// The configuration is of another kind, or a value has a wrong type; the text is upstream's.
pub fn read(config: &RawExtension, release: Release) -> Result<Configuration, String> {
    let mut tree = config.value();
    if tree.is_null() {
        tree = Value::Object(Map::new());
    }
    let own =
        |field: &str, usual: &str| tree[field].as_str().filter(|text| !text.is_empty()).unwrap_or(usual).to_owned();
    let (version, kind) = (own("apiVersion", api_version::GARDENLET_CONFIG), own("kind", KIND));
    if (version.as_str(), kind.as_str()) != (api_version::GARDENLET_CONFIG, KIND) {
        return Err(format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}"));
    }
    let Some(node) = node("gardenlet", KIND, release) else { return Ok(Configuration { tree, unknown: Vec::new() }) };
    let mut decoded = decode::tree(tree, &node).map_err(|error| error.message)?;
    decoded.tree["apiVersion"] = json!(version);
    decoded.tree["kind"] = json!(kind);
    Ok(Configuration { tree: decoded.tree, unknown: decoded.unknown })
}

/// Sets upstream's default: an empty `seedConfig`.
pub fn default(config: &mut RawExtension) {
    let mut tree = config.value();
    if tree.is_null() {
        tree = Value::Object(Map::new());
    }
    if let Value::Object(fields) = &mut tree
        && fields.get("seedConfig").is_none_or(Value::is_null)
    {
        fields.insert("seedConfig".to_owned(), json!({}));
        *config = RawExtension::from(tree);
    }
}

/// Converts the configuration into its stored form: the kind, and the fields of the release of gardener-apiserver. An
/// unreadable configuration is unchanged.
///
/// Unlike upstream, fields of Seeds that other releases have are kept, so that they exist after an upgrade to a release
/// that requires one of them. gardenlet ignores those of other releases.
pub fn canonical(config: &mut RawExtension, release: Release) {
    let Ok(Configuration { mut tree, .. }) = read(config, release) else { return };
    if let Ok(mut every) = read(config, Release::UNION)
        && let Some(seed) = tree.get_mut("seedConfig")
    {
        *seed = every.tree["seedConfig"].take();
    }
    if tree != config.value() {
        *config = RawExtension::from(tree);
    }
}

/// Returns warnings about fields that neither the release nor the stored configuration has: fields kept for another
/// release are reported by the write that adds them, not by each later one.
pub fn warnings(config: &RawExtension, old: Option<&RawExtension>, path: &str, release: Release) -> Vec<String> {
    let unknown = |config: &RawExtension| read(config, release).map(|read| read.unknown).unwrap_or_default();
    let before = old.map(unknown).unwrap_or_default();
    let new = unknown(config).into_iter().filter(|field| !before.contains(field));
    new.map(|field| format!("unknown field \"{path}.{field}\"")).collect()
}

/// Returns all violations of an object's configuration.
pub fn validate(config: &RawExtension, bootstrap: Bootstrap, path: &Path, release: Release) -> Errors {
    let mut errors = Errors::new();
    // Admission has already reported an unreadable configuration.
    let Ok(Configuration { tree, .. }) = read(config, release) else { return errors };
    let seed = template(&tree);
    if seed.as_ref().is_some_and(|seed| !seed.metadata.name.is_empty()) {
        let path = path.child("seedConfig").child("metadata").child("name");
        errors.push(FieldError::forbidden(&path, "seed name is forbidden"));
    }
    configuration(&mut errors, &tree, seed.as_ref(), path, release);
    connection(&mut errors, &tree["gardenClientConnection"], bootstrap, &path.child("gardenClientConnection"));
    errors
}

/// Returns all violations of a change.
pub fn validate_update(new: &RawExtension, old: &RawExtension, path: &Path, release: Release) -> Errors {
    let read = |config: &RawExtension| read(config, release).ok().and_then(|read| template(&read.tree));
    let mut errors = Errors::new();
    if let (Some(new), Some(old)) = (read(new), read(old)) {
        seeds::spec_update(&mut errors, &new.spec, &old.spec, &path.child("seedConfig").child("spec"));
    }
    errors
}

/// Returns the Seed described by a configuration.
fn template(tree: &Value) -> Option<Seed> {
    typed(&tree["seedConfig"])
}

/// Converts a value that the schema has accepted.
fn typed<T: DeserializeOwned>(tree: &Value) -> Option<T> {
    if tree.is_null() { None } else { serde_json::from_value(tree.clone()).ok() }
}

fn configuration(errors: &mut Errors, tree: &Value, seed: Option<&Seed>, path: &Path, release: Release) {
    let client = ["gardenClientConnection", "seedClientConnection", "shootClientConnection"];
    for field in client.into_iter().filter(|field| !tree[*field].is_null()) {
        let (tree, path) = (&tree[field], path.child(field));
        if let Some(burst) = tree["burst"].as_i64().filter(|burst| *burst < 0) {
            errors.push(FieldError::invalid(&path.child("burst"), burst, "must be non-negative"));
        }
        kubeconfig_validity(errors, &tree["kubeconfigValidity"], &path.child("kubeconfigValidity"));
    }
    // Upstream's paths of these three begin at the root.
    leader_election(errors, &tree["leaderElection"], &Path::new("leaderElection"));
    controllers(errors, &tree["controllers"], &path.child("controllers"));
    for (field, known) in [("logLevel", &LOG_LEVELS[..]), ("logFormat", &LOG_FORMATS[..])] {
        if let Some(text) = tree[field].as_str().filter(|text| !text.is_empty()) {
            one_of(errors, text, known, &Path::new(field));
        }
    }
    if let Some(seed) = seed {
        let path = path.child("seedConfig");
        meta::labels(errors, &seed.metadata.labels, &path.child("metadata").child("labels"));
        meta::annotations(errors, &seed.metadata.annotations, &path.child("metadata").child("annotations"));
        seeds::template(errors, &seed.spec, &path.child("spec"), release);
    }
    resources(errors, &tree["resources"], &path.child("resources"));
    external_address(errors, &tree["sni"], &path.child("sni"));
    for (index, handler) in list(&tree["exposureClassHandlers"]).enumerate() {
        let path = path.child("exposureClassHandlers").index(index);
        let name = handler["name"].as_str().unwrap_or_default();
        meta::invalid_each(errors, &path.child("name"), name, meta::dns_label(name));
        external_address(errors, &handler["sni"], &path.child("sni"));
    }
    for field in ["defaultNotReadyTolerationSeconds", "defaultUnreachableTolerationSeconds"] {
        not_negative(errors, &tree["nodeToleration"], field, &path.child("nodeToleration"));
    }
}

fn list(tree: &Value) -> impl Iterator<Item = &Value> {
    tree.as_array().into_iter().flatten()
}

/// Adds an error if a number is negative.
fn not_negative(errors: &mut Errors, tree: &Value, field: &str, path: &Path) {
    meta::non_negative(errors, tree[field].as_i64().unwrap_or_default(), &path.child(field));
}

/// Adds an error if a duration is negative. Upstream prints it as a number, some under another field name.
fn no_negative_time(errors: &mut Errors, tree: &Value, path: &Path) {
    let duration = typed::<Duration>(tree).map_or(0, |duration| duration.nanoseconds);
    meta::non_negative(errors, duration, path);
}

fn kubeconfig_validity(errors: &mut Errors, tree: &Value, path: &Path) {
    const LEAST: i64 = 10 * 60 * 1_000_000_000;
    if let Some(validity) = typed::<Duration>(&tree["validity"]).filter(|validity| validity.nanoseconds < LEAST) {
        errors.push(invalid_duration(&path.child("validity"), validity, "validity must be at least 10m"));
    }
    let (least, most) = ("autoRotationJitterPercentageMin", "autoRotationJitterPercentageMax");
    let (min, max) = (tree[least].as_i64(), tree[most].as_i64());
    if let Some(min) = min.filter(|min| *min < 1) {
        errors.push(FieldError::invalid(&path.child(least), min, "minimum percentage must be at least 1"));
    }
    if let Some(max) = max.filter(|max| *max > 100) {
        errors.push(FieldError::invalid(&path.child(most), max, "maximum percentage must be at most 100"));
    }
    if let (Some(min), Some(max)) = (min, max)
        && min >= max
    {
        let text = "minimum percentage must be less than maximum percentage";
        errors.push(FieldError::invalid(&path.child(least), min, text));
    }
}

fn leader_election(errors: &mut Errors, tree: &Value, path: &Path) {
    if tree["leaderElect"] != true {
        return;
    }
    let duration = |field: &str| typed::<Duration>(&tree[field]).unwrap_or_default();
    for field in ["leaseDuration", "renewDeadline", "retryPeriod"] {
        if duration(field).nanoseconds <= 0 {
            errors.push(invalid_duration(&path.child(field), duration(field), "must be greater than zero"));
        }
    }
    if duration("leaseDuration").nanoseconds < duration("renewDeadline").nanoseconds {
        let text = "LeaseDuration must be greater than RenewDeadline";
        errors.push(invalid_duration(&path.child("leaseDuration"), duration("renewDeadline"), text));
    }
    for field in ["resourceLock", "resourceNamespace", "resourceName"] {
        if tree[field].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::invalid(&path.child(field), "", &format!("{field} is required")));
        }
    }
}

fn controllers(errors: &mut Errors, tree: &Value, path: &Path) {
    backup_entry(errors, &tree["backupEntry"], &path.child("backupEntry"));
    // Field, and its name in upstream's message.
    let timed: [(&str, &[(&str, &str)]); 5] = [
        ("bastion", &[]),
        (
            "shoot",
            &[
                ("progressReportPeriod", "progressReporterPeriod"),
                ("retryDuration", "retryDuration"),
                ("syncPeriod", "syncPeriod"),
            ],
        ),
        ("shootCare", &[("syncPeriod", "syncPeriod")]),
        (
            "managedSeed",
            &[
                ("syncPeriod", "syncPeriod"),
                ("waitSyncPeriod", "waitSyncPeriod"),
                ("syncJitterPeriod", "syncJitterPeriod"),
            ],
        ),
        ("networkPolicy", &[]),
    ];
    for (controller, times) in timed {
        let (tree, path) = (&tree[controller], path.child(controller));
        not_negative(errors, tree, "concurrentSyncs", &path);
        for (field, told) in times {
            no_negative_time(errors, &tree[*field], &path.child(told));
        }
        match controller {
            "shoot" => {
                let lifetime = tree["dnsEntryTTLSeconds"].as_i64();
                if let Some(lifetime) = lifetime.filter(|lifetime| !(30..=600).contains(lifetime)) {
                    let path = path.child("dnsEntryTTLSeconds");
                    errors.push(FieldError::invalid(&path, lifetime, "must be within [30,600]"));
                }
            }
            "shootCare" => {
                let stale = path.child("staleExtensionHealthChecks").child("threshold");
                no_negative_time(errors, &tree["staleExtensionHealthChecks"]["threshold"], &stale);
                let stuck = "managedResourceProgressingThreshold";
                no_negative_time(errors, &tree[stuck], &path.child(stuck));
                for (index, threshold) in list(&tree["conditionThresholds"]).enumerate() {
                    let path = path.child("conditionThresholds").index(index).child("duration");
                    no_negative_time(errors, &threshold["duration"], &path);
                }
            }
            "networkPolicy" => {
                for (index, selector) in list(&tree["additionalNamespaceSelectors"]).enumerate() {
                    let selector = typed::<LabelSelector>(selector).unwrap_or_default();
                    let path = path.child("additionalNamespaceSelectors").index(index);
                    meta::label_selector_with_values(errors, &selector, &path);
                }
            }
            _ => {}
        }
    }
}

fn backup_entry(errors: &mut Errors, tree: &Value, path: &Path) {
    let path = path.child("deletionGracePeriodShootPurposes");
    let purposes: Vec<&str> = list(&tree["deletionGracePeriodShootPurposes"]).filter_map(Value::as_str).collect();
    if !purposes.is_empty() && tree["deletionGracePeriodHours"].as_i64().unwrap_or_default() <= 0 {
        errors.push(FieldError::forbidden(&path, "must specify grace period hours > 0 when specifying purposes"));
    }
    for (index, purpose) in purposes.into_iter().enumerate() {
        one_of(errors, purpose, &PURPOSES, &path.index(index));
    }
}

fn resources(errors: &mut Errors, tree: &Value, path: &Path) {
    let quantity = |of: &str, name: &str| typed::<Quantity>(&tree[of][name]);
    let reserved: Vec<&String> = tree["reserved"].as_object().into_iter().flat_map(Map::keys).collect();
    for (is_missing, text) in
        [(false, "reserved must be lower or equal to capacity"), (true, "reserved without capacity")]
    {
        for name in &reserved {
            let held = quantity("reserved", name).unwrap_or_default();
            let is_wrong = match quantity("capacity", name) {
                Some(capacity) => !is_missing && held.value() > capacity.value(),
                None => is_missing,
            };
            if is_wrong {
                errors.push(FieldError::invalid(&path.child("reserved").child(name), held, text));
            }
        }
    }
}

fn external_address(errors: &mut Errors, tree: &Value, path: &Path) {
    let Some(address) = tree["ingress"]["serviceExternalIP"].as_str() else { return };
    if address.parse::<std::net::IpAddr>().is_err() {
        let path = path.child("ingress").child("serviceExternalIP");
        errors.push(FieldError::invalid(&path, address, "external service ip is invalid"));
    }
}

/// Validates the connection of gardenlet to the garden.
fn connection(errors: &mut Errors, tree: &Value, bootstrap: Bootstrap, path: &Path) {
    if tree.is_null() {
        return;
    }
    let has_kubeconfig = !tree["kubeconfig"].as_str().unwrap_or_default().is_empty();
    let kubeconfig = path.child("kubeconfig");
    match bootstrap {
        Bootstrap::Given if has_kubeconfig => {
            errors.push(FieldError::forbidden(&kubeconfig, "kubeconfig is forbidden if bootstrap is specified"));
        }
        Bootstrap::Given => {}
        Bootstrap::None { merges } => {
            if !has_kubeconfig && !merges {
                let text = "kubeconfig is required if bootstrap is not specified and merging with parent is disabled";
                errors.push(FieldError::required(&kubeconfig, text));
            }
            for (field, what) in
                [("bootstrapKubeconfig", "bootstrap kubeconfig"), ("kubeconfigSecret", "kubeconfig secret")]
            {
                if !tree[field].is_null() {
                    let text = format!("{what} is forbidden if bootstrap is not specified");
                    errors.push(FieldError::forbidden(&path.child(field), &text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the errors of a configuration.
    #[track_caller]
    fn check(tree: Value, bootstrap: Bootstrap, expected: &[&str]) {
        let found = validate(&RawExtension::from(tree.clone()), bootstrap, &Path::new("c"), Release::UNION);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{tree}");
    }

    #[test]
    fn a_configuration_is_read_by_its_kind() {
        let read = |tree: Value| read(&RawExtension::from(tree), Release::UNION).map(|read| (read.tree, read.unknown));
        let own = json!({"apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration"});
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(read(Value::Null), Ok((own.clone(), Vec::new())));
        assert_eq!(read(json!({})), Ok((own.clone(), Vec::new())));
        assert_eq!(
            read(json!({"kind": "Foo"})),
            refused(
                "no kind \"Foo\" is registered for version \"gardenlet.config.gardener.cloud/v1alpha1\" in scheme \
             \"pkg/apis/seedmanagement/encoding/encoding.go:25\"",
            )
        );
        let unknown = read(json!({"controllers": {"shoot": {"syncperiod": "1h"}}, "foo": 1})).expect("it is read");
        assert_eq!(unknown.1, ["controllers.shoot.syncperiod", "foo"]);
        assert_eq!(unknown.0["foo"], Value::Null);
        let wrong = read(json!({"controllers": {"shoot": {"concurrentSyncs": "many"}}})).expect_err("it is no number");
        assert!(wrong.starts_with("json: cannot unmarshal string into Go struct field "), "{wrong}");
    }

    #[test]
    fn stored_configurations_have_their_kind_and_known_fields() {
        let mut config = RawExtension::from(json!({"logLevel": "info", "foo": 1}));
        assert_eq!(warnings(&config, None, "spec.config", Release::UNION), ["unknown field \"spec.config.foo\""]);
        canonical(&mut config, Release::UNION);
        assert_eq!(
            config.value(),
            json!({
                "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration", "logLevel": "info",
            })
        );
        let before = config.clone();
        canonical(&mut config, Release::UNION);
        assert_eq!(config, before);
    }

    #[test]
    fn seed_config_has_the_fields_of_the_release() {
        for (field, value, first, last) in [
            ("zoneSelection", json!({"mode": "Prefer"}), 139, 149),
            ("persistentVolumeClaimAutoscaler", json!({"enabled": true}), 145, 149),
        ] {
            let given = json!({"seedConfig": {"spec": {"settings": {field: value}}}});
            for release in [120, first - 1, first, last] {
                let mut config = RawExtension::from(given.clone());
                let warned = warnings(&config, None, "spec.config", Release(release));
                canonical(&mut config, Release(release));
                let kept = !config.value()["seedConfig"]["spec"]["settings"][field].is_null();
                let text = format!("unknown field \"spec.config.seedConfig.spec.settings.{field}\"");
                let expected = (true, if release >= first { vec![] } else { vec![text] });
                assert_eq!((kept, warned), expected, "{field} {release}");
                let again = warnings(&config, Some(&config), "spec.config", Release(release));
                assert_eq!(again, Vec::<String>::new(), "a later write does not repeat the warning: {field} {release}");
            }
        }
        let removed = json!({"seedConfig": {"spec": {"dns": {"provider": {"type": "a", "secretRef": {"name": "b"}}}}}});
        let unknown = |release: u16| warnings(&RawExtension::from(removed.clone()), None, "c", Release(release)).len();
        assert_eq!((unknown(138), unknown(139)), (0, 1));
    }

    #[test]
    fn a_seed_is_described_even_if_by_nothing() {
        for (given, expected) in [
            (Value::Null, json!({"seedConfig": {}})),
            (json!({"logLevel": "info", "seedConfig": null}), json!({"logLevel": "info", "seedConfig": {}})),
            (json!({"seedConfig": {"spec": {}}}), json!({"seedConfig": {"spec": {}}})),
            (json!("a"), json!("a")),
        ] {
            let mut config = RawExtension::from(given);
            default(&mut config);
            assert_eq!(config.value(), expected);
        }
    }

    #[test]
    fn controllers_have_neither_negative_numbers_nor_times() {
        check(json!({"controllers": {"shoot": {"syncPeriod": "1h", "concurrentSyncs": 5}}}), Bootstrap::Given, &[]);
        check(
            json!({"controllers": {
                "shoot": {"concurrentSyncs": -1, "progressReportPeriod": "-1s", "dnsEntryTTLSeconds": 29},
                "shootCare": {"conditionThresholds": [{"type": "A", "duration": "-1m"}]},
                "managedSeed": {"syncJitterPeriod": "-1ns"},
                "networkPolicy": {"additionalNamespaceSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]},
                "backupEntry": {"deletionGracePeriodShootPurposes": ["fun"]},
            }}),
            Bootstrap::Given,
            &[
                "c.controllers.backupEntry.deletionGracePeriodShootPurposes: Forbidden: must specify grace period hours > 0 \
                 when specifying purposes",
                "c.controllers.backupEntry.deletionGracePeriodShootPurposes[0]: Unsupported value: \"fun\": supported values: \
                 \"development\", \"evaluation\", \"infrastructure\", \"production\", \"testing\"",
                "c.controllers.shoot.concurrentSyncs: Invalid value: -1: must be greater than or equal to 0",
                "c.controllers.shoot.progressReporterPeriod: Invalid value: -1000000000: must be greater than or equal to 0",
                "c.controllers.shoot.dnsEntryTTLSeconds: Invalid value: 29: must be within [30,600]",
                "c.controllers.shootCare.conditionThresholds[0].duration: Invalid value: -60000000000: must be greater than or \
                 equal to 0",
                "c.controllers.managedSeed.syncJitterPeriod: Invalid value: -1: must be greater than or equal to 0",
                "c.controllers.networkPolicy.additionalNamespaceSelectors[0].matchExpressions[0].operator: Invalid value: \
                 \"Is\": not a valid selector operator",
            ],
        );
    }

    #[test]
    fn settings_at_the_top_are_judged() {
        check(
            json!({
                "logLevel": "loud", "logFormat": "xml",
                "resources": {"capacity": {"shoots": "1"}, "reserved": {"shoots": "2", "seeds": "1"}},
                "sni": {"ingress": {"serviceExternalIP": "a"}},
                "exposureClassHandlers": [{"name": "A", "loadBalancerService": {"annotations": {}}}],
                "nodeToleration": {"defaultNotReadyTolerationSeconds": -1},
                "leaderElection": {"leaderElect": true, "leaseDuration": "1s", "renewDeadline": "2s", "retryPeriod": "1s",
                    "resourceLock": "leases", "resourceNamespace": "garden"},
                "seedClientConnection": {"burst": -1},
            }),
            Bootstrap::Given,
            &[
                "c.seedClientConnection.burst: Invalid value: -1: must be non-negative",
                "leaderElection.leaseDuration: Invalid value: 2s: LeaseDuration must be greater than RenewDeadline",
                "leaderElection.resourceName: Invalid value: \"\": resourceName is required",
                "logLevel: Unsupported value: \"loud\": supported values: \"debug\", \"info\", \"error\"",
                "logFormat: Unsupported value: \"xml\": supported values: \"json\", \"text\"",
                "c.resources.reserved.shoots: Invalid value: \"2\": reserved must be lower or equal to capacity",
                "c.resources.reserved.seeds: Invalid value: \"1\": reserved without capacity",
                "c.sni.ingress.serviceExternalIP: Invalid value: \"a\": external service ip is invalid",
                "c.exposureClassHandlers[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case \
                 alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
                 '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                "c.nodeToleration.defaultNotReadyTolerationSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        );
    }

    #[test]
    fn a_seed_template_has_no_name() {
        check(json!({"seedConfig": {"spec": {}}}), Bootstrap::Given, &[]);
        check(
            json!({"seedConfig": {"metadata": {"name": "a", "labels": {"-": "b"}}, "spec": {
                "provider": {"zones": ["a", "a"]}, "networks": {"pods": "x"},
            }}}),
            Bootstrap::Given,
            &[
                "c.seedConfig.metadata.name: Forbidden: seed name is forbidden",
                "c.seedConfig.metadata.labels: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', \
                 '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
                 '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "c.seedConfig.spec.provider.zones[1]: Duplicate value: \"a\"",
                "c.seedConfig.spec.networks.pods: Invalid value: \"x\": invalid CIDR address: x",
            ],
        );
        let of = |pods: &str| RawExtension::from(json!({"seedConfig": {"spec": {"networks": {"pods": pods}}}}));
        let found = validate_update(&of("10.1.0.0/16"), &of("10.2.0.0/16"), &Path::new("c"), Release::UNION);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["c.seedConfig.spec.networks.pods: Invalid value: \"10.1.0.0/16\": field is immutable"]);
    }

    #[test]
    fn credentials_have_one_source() {
        let with = |connection: Value| json!({"gardenClientConnection": connection});
        let kubeconfig = || with(json!({"kubeconfig": "/a"}));
        check(
            kubeconfig(),
            Bootstrap::Given,
            &["c.gardenClientConnection.kubeconfig: Forbidden: kubeconfig is forbidden if bootstrap is specified"],
        );
        check(kubeconfig(), Bootstrap::None { merges: false }, &[]);
        check(with(json!({})), Bootstrap::None { merges: true }, &[]);
        let secret = json!({"name": "a", "namespace": "b"});
        check(
            with(json!({"bootstrapKubeconfig": secret, "kubeconfigSecret": secret})),
            Bootstrap::None { merges: false },
            &[
                "c.gardenClientConnection.kubeconfig: Required value: kubeconfig is required if bootstrap is not specified and \
                 merging with parent is disabled",
                "c.gardenClientConnection.bootstrapKubeconfig: Forbidden: bootstrap kubeconfig is forbidden if bootstrap is not \
                 specified",
                "c.gardenClientConnection.kubeconfigSecret: Forbidden: kubeconfig secret is forbidden if bootstrap is not \
                 specified",
            ],
        );
        check(
            with(json!({"kubeconfigValidity": {
                "validity": "9m59s", "autoRotationJitterPercentageMin": 101, "autoRotationJitterPercentageMax": 101,
            }})),
            Bootstrap::Given,
            &[
                "c.gardenClientConnection.kubeconfigValidity.validity: Invalid value: 9m59s: validity must be at least 10m",
                "c.gardenClientConnection.kubeconfigValidity.autoRotationJitterPercentageMax: Invalid value: 101: maximum \
                 percentage must be at most 100",
                "c.gardenClientConnection.kubeconfigValidity.autoRotationJitterPercentageMin: Invalid value: 101: minimum \
                 percentage must be less than maximum percentage",
            ],
        );
    }
}
