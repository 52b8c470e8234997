// SPDX-License-Identifier: Apache-2.0
//! Manifests and their violations. Source: docs/usage/shoot-operations/shoot_versions.md, "Version Requirements".

use domain::release::DOCUMENTED;

use super::super::DecodedManifests;
use super::*;
use crate::forecast::Forecast;
use crate::manifests::Text;

const PROFILE: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: aws}
spec:
  type: aws
  kubernetes:
    versions:
    - {version: 1.31.2}
    - {version: 1.30.4, classification: supported, expirationDate: \"2025-01-01T00:00:00Z\"}
  machineImages:
  - name: os
    versions:
    - {version: 2.0.0}
    - {version: 1.5.0, classification: deprecated}
  machineTypes: [{name: small, cpu: \"1\", gpu: \"0\", memory: 1Gi}]
  regions: [{name: here}]
";

const SHOOT: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: a, namespace: b}
spec:
  cloudProfileName: aws
  region: here
  secretBindingName: aws
  networking: {type: calico}
  kubernetes: {version: 1.31.2}
  maintenance:
    timeWindow: {begin: 220000+0000, end: 230000+0000}
  provider:
    type: aws
    workers:
    - name: one
      minimum: 1
      maximum: 1
      machine: {type: small, image: {name: os, version: 2.0.0}}
";

/// Returns an inventory, and the warnings of a lenient reader.
#[track_caller]
fn inventory(text: &str) -> Inventory {
    inventory_at(text, DOCUMENTED)
}

#[track_caller]
fn inventory_at(text: &str, release: Release) -> Inventory {
    let random = Random::new(1);
    let now = "2025-06-01T00:00:00Z".parse().expect("RFC 3339");
    let reading = Reading { random: &random, now, rules: Profile::Documents, release };
    let mut inventory =
        DecodedManifests::of_texts(vec![Text::new("f.yaml", text)], &mut |_| {}).expect("YAML").inventory(reading);
    inventory.complete(now);
    inventory
}

fn violations_of(text: &str) -> Vec<String> {
    inventory(text).remarks.violations.iter().map(ToString::to_string).collect()
}

/// Returns a text with one part replaced; the part must occur in it.
#[track_caller]
fn with(text: &str, part: &str, other: &str) -> String {
    assert!(text.contains(part), "{part}");
    text.replace(part, other)
}

#[test]
fn manifests_that_a_landscape_may_store_have_no_violations() {
    let both = format!("{PROFILE}---\n{SHOOT}");
    assert_eq!(violations_of(&both), [] as [&str; 0]);
    // Fields that are null are not set.
    assert_eq!(violations_of(&with(&both, "{type: calico}", "{type: calico, pods: null}")), [] as [&str; 0]);
    // The operation was valid when it was requested; the Shoot has changed since.
    let asked = with(SHOOT, "namespace: b", "namespace: b, annotations: {gardener.cloud/operation: rotate-ca-start}");
    let reconciling = format!("{asked}status: {{lastOperation: {{type: Reconcile, state: Processing}}}}\n");
    assert_eq!(violations_of(&reconciling), [] as [&str; 0]);
    assert_eq!(violations_of(&asked).len(), 1);
}

#[test]
fn violations_name_the_line_of_the_field() {
    let check = |text: &str, part: &str, other: &str, expected: &[&str]| {
        assert_eq!(violations_of(&with(text, part, other)), expected, "{part} → {other}");
    };
    check(
        PROFILE,
        "  - name: os\n",
        "  - name: os\n    updateStrategie: patch\n",
        &[
            "f.yaml:12: CloudProfile aws: unknown field \"spec.machineImages[0].updateStrategie\", which may decide the answer",
        ],
    );
    check(
        PROFILE,
        "{version: 1.31.2}",
        "{version: 1.31.2, classification: stable}",
        &[
            "f.yaml:8: CloudProfile aws: spec.kubernetes.versions[0].classification: Unsupported value: \"stable\": supported \
           values: \"deprecated\", \"preview\", \"supported\"",
        ],
    );
    let clash = |line: usize, index: usize, version: &str| {
        format!(
            "f.yaml:{line}: CloudProfile aws: spec.kubernetes.versions[{index}]: Forbidden: unable to add version \
             \"{version}\" with classification \"supported\". Only one \"supported\" version is allowed per minor version"
        )
    };
    check(
        PROFILE,
        "- {version: 1.31.2}",
        "- {version: 1.31.2}\n    - {version: 1.30.5, classification: supported}",
        &[&clash(9, 1, "1.30.5"), &clash(10, 2, "1.30.4")],
    );
    let window = violations_of(&with(SHOOT, "begin: 220000+0000", "begin: \"00:30\""));
    assert_eq!(window.len(), 1);
    assert!(
        window[0].starts_with("f.yaml:11: Shoot b/a: spec.maintenance.timeWindow.begin/end: Invalid value:"),
        "{window:?}"
    );
    check(
        SHOOT,
        "minimum: 1",
        "minimum: one",
        &["f.yaml:15: Shoot b/a: json: cannot unmarshal string into Go struct field \
           Worker.spec.provider.workers.minimum of type int32"],
    );
}

#[test]
fn a_namespaced_profile_must_fit_its_parent_and_have_one() {
    let own = "---\napiVersion: core.gardener.cloud/v1beta1\nkind: NamespacedCloudProfile\nmetadata: {name: own, namespace: b}\n\
               spec:\n  parent: {kind: CloudProfile, name: aws}\n  kubernetes: {versions: [{version: 1.30.4, expirationDate: \
               \"2025-05-01T00:00:00Z\"}]}\n";
    assert_eq!(violations_of(&format!("{PROFILE}{own}")), [] as [&str; 0]);
    assert_eq!(
        violations_of(&format!("{PROFILE}{}", with(own, "1.30.4", "1.29.1"))),
        [
            "f.yaml:18: NamespacedCloudProfile b/own: invalid kubernetes version specified: '1.29.1' does not exist in parent \
          CloudProfile and thus cannot be overridden"
        ]
    );
    let alone = inventory(own.trim_start_matches("---\n"));
    assert_eq!(
        alone.notes,
        [
            "NamespacedCloudProfile b/own: its parent CloudProfile \"aws\" is not given, and its status offers nothing: what it \
          offers is not known"
        ]
    );
    assert!(alone.offers().is_empty());
}

#[test]
fn completed_fields_are_noted_and_others_are_violations() {
    let open = with(&with(SHOOT, "version: 1.31.2", "version: \"1.31\""), ", image: {name: os, version: 2.0.0}", "");
    let filled = inventory(&format!("{PROFILE}---\n{open}"));
    assert_eq!(filled.remarks.violations, []);
    assert_eq!(filled.shoots[0].spec.kubernetes.version, "1.31.2");
    assert_eq!(
        filled.notes,
        [
            "Shoot b/a: spec.kubernetes.version \"1.31\" becomes 1.31.2, as for a new Shoot",
            "Shoot b/a: spec.provider.workers[0].machine.image is omitted and becomes os 2.0.0, as for a new Shoot"
        ]
    );
    let nothing = with(&open, "\"1.31\"", "\"1.29\"");
    let told = violations_of(&format!("{PROFILE}---\n{nothing}"));
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with(
            "f.yaml:26: Shoot b/a: spec.kubernetes.version: Invalid value: \"1.29\": couldn't find a suitable version"
        ),
        "{told:?}"
    );
    // Without the profile only versions cannot be validated.
    let odd = with(&open, "region: here", "region: \"\"");
    assert_eq!(violations_of(&odd), ["f.yaml:6: Shoot b/a: spec.region: Required value: must specify a region"]);
}

#[test]
fn unoffered_versions_and_images_are_noted() {
    let strange = with(
        &with(SHOOT, "version: 1.31.2", "version: 1.31.9"),
        "{name: os, version: 2.0.0}",
        "{name: o, version: 2.0.0}",
    );
    let mut inventory = inventory(&format!("{PROFILE}---\n{strange}"));
    inventory.note_unoffered();
    assert_eq!(inventory.remarks.violations, []);
    assert_eq!(
        inventory.notes,
        [
            "CloudProfile \"aws\" does not have a machine image o, which worker pool one of Shoot b/a has",
            "CloudProfile \"aws\" does not offer Kubernetes 1.31.9, which Shoot b/a has"
        ]
    );
}

#[test]
fn violations_that_are_alike_are_told_once() {
    let text = |what: &str| Violation {
        origin: Origin { file: "f".to_owned(), line: 1 },
        subject: "Shoot a/b".to_owned(),
        what: what.to_owned(),
        kind: Kind::Refused,
    };
    let (first, second) = (text("workers[0].a[key]: x"), text("workers[12].a[key]: x"));
    assert_eq!(first.likeness(), second.likeness());
    assert_ne!(first.likeness(), text("workers[0].a[other]: x").likeness());
}

#[test]
fn ten_unknown_fields_of_an_object_are_noted_and_nothing_is_refused() {
    let profile = with(
        &with(PROFILE, "  type: aws\n", "  type: aws\n  a1: 1\n  a2: {b: 1}\n  a3: [1]\n  a4: null\n  a5: x\n"),
        "memory: 1Gi}",
        "memory: 1Gi, b1: 1, b2: 2, b3: 3}, {name: large, cpu: \"2\", gpu: \"0\", memory: 1Gi, b1: 1, b4: 4, b5: 5}",
    );
    let shoot = with(
        &with(SHOOT, "  region: here\n", "  region: here\n  c1: 1\n  c2: 2\n  c3: 3\n  c4: {}\n"),
        "minimum: 1\n",
        "minimum: 1\n      d1: 1\n      d2: {e: []}\n      d3: 3\n      d4: 4\n      d5: 5\n",
    );
    let shoot = format!("{shoot}status: {{f1: 1}}\n");
    let other = with(&shoot, "name: a, namespace: b", "name: z, namespace: b");
    let inventory = inventory_at(&format!("{profile}---\n{shoot}---\n{other}"), Release(149));
    assert_eq!(inventory.refusals(false), Refusals::default());
    assert_eq!((inventory.cloud_profiles.len(), inventory.shoots.len(), inventory.notes.len()), (1, 2, 20));
    let told = |note: &str| assert!(inventory.notes.iter().any(|told| told == note), "{note}: {:#?}", inventory.notes);
    told("unknown field spec.a1 in 1 CloudProfile (f.yaml:6); ignored");
    told("unknown field spec.machineTypes[].b1 in 1 CloudProfile (f.yaml:20); ignored");
    told("unknown field spec.provider.workers[].d2 in 2 Shoots (first: f.yaml:44); ignored");
    told("unknown field status.f1 in 2 Shoots (first: f.yaml:50); ignored");
}

#[test]
fn an_unknown_decisive_field_is_refused_despite_force() {
    for (text, part, other, line, field) in [
        (PROFILE, "{version: 1.31.2}", "{version: 1.31.2, stages: []}", 8, "spec.kubernetes.versions[0].stages"),
        (PROFILE, "{version: 2.0.0}", "{version: 2.0.0, ends: x}", 13, "spec.machineImages[0].versions[0].ends"),
        (SHOOT, "{begin: 220000+0000,", "{days: [1], begin: 220000+0000,", 11, "spec.maintenance.timeWindow.days"),
        (SHOOT, "  maintenance:\n", "  maintenance:\n    autoUpdates: {}\n", 11, "spec.maintenance.autoUpdates"),
        (SHOOT, "minimum: 1", "updateStrategie: x", 16, "spec.provider.workers[0].updateStrategie"),
    ] {
        let text = with(text, part, other);
        let kind = if text.contains("kind: Shoot") { "Shoot b/a" } else { "CloudProfile aws" };
        let expected = format!("f.yaml:{line}: {kind}: unknown field \"{field}\", which may decide the answer");
        for release in [120, 149] {
            let inventory = inventory_at(&text, Release(release));
            for force in [false, true] {
                assert_eq!(inventory.refusals(force).errors.first(), Some(&expected), "{field} {release} {force}");
            }
        }
    }
}

#[test]
fn a_life_cycle_that_the_release_does_not_read_is_refused_with_its_line() {
    let staged = with(PROFILE, "{version: 1.31.2}", "{version: 1.31.2, lifecycle: [{classification: supported}]}");
    let (before, since) = (inventory_at(&staged, Release(136)), inventory_at(&staged, Release(137)));
    let expected = "f.yaml:8: CloudProfile aws: field \"spec.kubernetes.versions[0].lifecycle\" decides the answer and is of \
                    v1.137 and later, not of v1.136";
    for force in [false, true] {
        assert_eq!(before.refusals(force), Refusals { errors: vec![expected.to_owned()], ..Refusals::default() });
    }
    assert_eq!(since.refusals(false), Refusals::default());
}

#[test]
fn force_turns_violations_into_warnings() {
    let odd = with(PROFILE, "{version: 1.31.2}", "{version: 1.31.2, classification: stable}");
    let (refused, insisted) = (inventory(&odd).refusals(false), inventory(&odd).refusals(true));
    assert_eq!((refused.warnings.len(), refused.errors.len()), (0, 1));
    assert_eq!((insisted.warnings, insisted.errors.len()), (refused.errors, 0));
}

#[test]
fn a_release_has_its_own_fields_only() {
    let rotated = with(
        SHOOT,
        "  maintenance:\n",
        "  maintenance:\n    autoRotation: {credentials: {sshKeypair: {rotationPeriod: 240h}}}\n",
    );
    let both = format!("{PROFILE}---\n{rotated}");
    let period = |inventory: &Inventory| {
        let maintenance = inventory.shoots[0].spec.maintenance.as_ref().expect("it is there");
        maintenance.auto_rotation.is_some()
    };
    let (documented, newest) = (inventory(&both), inventory_at(&both, Release(149)));
    assert_eq!((period(&documented), period(&newest)), (false, true));
    assert_eq!(documented.refusals(false), Refusals::default());
    assert_eq!(newest.notes, [] as [&str; 0]);
    assert_eq!(
        documented.notes,
        [
            "field spec.maintenance.autoRotation in 1 Shoot (f.yaml:28) is of v1.135 and later; ignored by v1.120; it may decide \
             the answer: --gardener-version v1.135 reads it"
        ]
    );
}

#[test]
fn capabilities_are_read_by_both_names_in_each_release() {
    for (registered, flavors) in [("capabilities", "capabilitySets"), ("machineCapabilities", "capabilityFlavors")] {
        let definitions = format!("spec:\n  {registered}: [{{name: architecture, values: [amd64, arm64]}}]\n");
        let text = with(PROFILE, "spec:\n", &definitions);
        let text =
            with(&text, "{version: 2.0.0}", &format!("{{version: 2.0.0, {flavors}: [{{architecture: [arm64]}}]}}"));
        for release in [127, 128, 149] {
            let inventory = inventory_at(&text, Release(release));
            let spec = &inventory.cloud_profiles[0].spec;
            let is_new = release >= 128;
            assert_eq!(
                (spec.machine_capabilities.is_empty(), spec.capabilities.is_empty()),
                (!is_new, is_new),
                "{release}"
            );
            let version =
                spec.machine_images.iter().flat_map(|image| &image.versions).find(|one| one.version == "2.0.0");
            assert_eq!(version.expect("it is there").architectures, ["arm64"], "{registered} {release}");
            assert_eq!(inventory.notes, [] as [&str; 0], "{registered} {release}");
        }
    }
}

#[test]
fn the_shoots_tell_their_release_before_anything_is_judged() {
    let text = format!("{PROFILE}---\n{SHOOT}status: {{gardener: {{id: a, name: b, version: v1.136.2}}}}\n");
    let given = DecodedManifests::of_texts(vec![Text::new("f.yaml", &text)], &mut |_| {}).expect("YAML");
    assert_eq!(given.shoots().map(|shoot| shoot.status.gardener.version.as_str()).collect::<Vec<_>>(), ["v1.136.2"]);
}

/// Since 1.149 admission takes the architecture of a pool from its machine type; the API's own default was amd64.
#[test]
fn pools_have_the_architecture_that_admission_fills_in() {
    let arm = with(PROFILE, "memory: 1Gi}]", "memory: 1Gi, architecture: arm64}]");
    let arm = with(&arm, "    - {version: 2.0.0}", "    - {version: 2.0.0, architectures: [arm64]}");
    let explicit = with(SHOOT, "{type: small,", "{type: small, architecture: arm64,");
    for (profile, shoot, release, expected) in [
        (PROFILE, SHOOT, 148, "amd64"),
        (PROFILE, SHOOT, 149, "amd64"),
        (&arm, SHOOT, 148, "amd64"),
        (&arm, SHOOT, 149, "arm64"),
        (&arm, &explicit, 148, "arm64"),
        (&arm, &explicit, 149, "arm64"),
    ] {
        let inventory = inventory_at(&format!("{profile}---\n{shoot}"), Release(release));
        let machine = &inventory.shoots[0].spec.provider.workers[0].machine;
        assert_eq!(machine.architecture.as_deref(), Some(expected), "{release}");
    }
}

/// Without them `rollout` would replace nodes because of a reservation that the stored Shoot has already.
#[test]
fn kubelets_have_the_reservations_that_admission_fills_in() {
    let own = with(SHOOT, "{version: 1.31.2}", "{version: 1.31.2, kubelet: {kubeReserved: {cpu: 100m}}}");
    for (shoot, cpu) in [(SHOOT, "80m"), (&own, "100m")] {
        let inventory = inventory(&format!("{PROFILE}---\n{shoot}"));
        let kubelet = inventory.shoots[0].spec.kubernetes.kubelet.as_ref().expect("it has defaults");
        let reserved = kubelet.kube_reserved.as_ref().expect("it is filled in");
        let shown = [&reserved.cpu, &reserved.memory, &reserved.pid].map(|part| part.as_ref().map(ToString::to_string));
        assert_eq!(shown, [cpu, "1Gi", "20k"].map(|part| Some(part.to_owned())));
    }
}

/// The image's date passes; without an architecture of the pool no image fits, and maintenance fails.
#[test]
fn maintenance_of_a_pool_without_an_architecture_succeeds() {
    let expiring = with(
        PROFILE,
        "{version: 1.5.0, classification: deprecated}",
        "{version: 1.5.0, classification: deprecated, expirationDate: \"2025-07-01T00:00:00Z\"}",
    );
    let old = with(SHOOT, "{name: os, version: 2.0.0}", "{name: os, version: 1.5.0}");
    let old = with(
        &old,
        "  maintenance:\n",
        "  maintenance:\n    autoUpdate: {kubernetesVersion: false, machineImageVersion: false}\n",
    );
    for release in [120, 148, 149] {
        let inventory = inventory_at(&format!("{expiring}---\n{old}"), Release(release));
        let at = |text: &str| text.parse().expect("RFC 3339");
        let forecast =
            Forecast::of(&inventory, at("2025-06-15T00:00:00Z"), at("2025-07-15T00:00:00Z"), &Random::new(1));
        let changes: Vec<_> = forecast
            .rows
            .iter()
            .map(|row| (row.change.to.as_deref(), row.change.is_forced, row.change.failure.as_deref()))
            .collect();
        assert_eq!(changes, [(Some("2.0.0"), true, None)], "{release}");
    }
}

/// A server has stored such a Shoot before its release refused it: the question is answered, and maintenance fails.
#[test]
fn stored_shoots_that_the_release_refuses_are_noted_and_new_ones_are_errors() {
    let odd = with(SHOOT, "{version: 1.31.2}", "{version: 1.31.2, kubeAPIServer: {apiAudiences: [\"a,b\"]}}");
    let odd = with(&odd, "{name: os, version: 2.0.0}", "{name: os, version: 1.5.0}");
    let what =
        "spec.kubernetes.kubeAPIServer.apiAudiences[0]: Invalid value: \"a,b\": audience must not contain commas";
    let error = format!("f.yaml:26: Shoot b/a: {what}");
    let changes = |inventory: &Inventory| -> Vec<(Option<String>, Option<String>)> {
        let at = |text: &str| text.parse().expect("RFC 3339");
        let forecast = Forecast::of(inventory, at("2025-06-15T00:00:00Z"), at("2025-07-15T00:00:00Z"), &Random::new(1));
        forecast.rows.into_iter().map(|row| (row.change.to, row.change.failure)).collect()
    };
    let updated = (Some("2.0.0".to_owned()), None);
    let refused =
        format!("Updates to the Shoot failed to be applied: Shoot.core.gardener.cloud \"a\" is invalid: {what}");

    let new = inventory_at(&format!("{PROFILE}---\n{odd}"), Release(127));
    assert_eq!(new.refusals(false), Refusals { errors: vec![error.clone()], ..Refusals::default() });
    assert_eq!(new.refusals(true), Refusals { warnings: vec![error.clone()], ..Refusals::default() });
    assert_eq!(changes(&new), std::slice::from_ref(&updated));

    let with_metadata = |field: &str| with(&odd, "namespace: b}", &format!("namespace: b, {field}}}"));
    let reconciled = format!("{odd}status: {{lastOperation: {{type: Reconcile, state: Succeeded}}}}\n");
    for stored in [with_metadata("uid: x"), with_metadata("resourceVersion: \"7\""), reconciled] {
        let text = format!("{PROFILE}---\n{stored}");
        let before = inventory_at(&text, Release(126));
        assert_eq!(before.refusals(false), Refusals::default(), "{text}");
        assert_eq!(changes(&before), std::slice::from_ref(&updated), "{text}");
        let since = inventory_at(&text, Release(127));
        let notes = vec![format!("{error}; it is stored, and its next change will be refused")];
        for force in [false, true] {
            assert_eq!(since.refusals(force), Refusals { notes: notes.clone(), ..Refusals::default() }, "{text}");
        }
        assert_eq!(changes(&since), [(None, Some(refused.clone()))], "{text}");
    }
    let stored = with_metadata("uid: x");
    let other = with(&stored, "name: a, ", "name: z, ");
    assert_eq!(
        inventory_at(&format!("{PROFILE}---\n{stored}---\n{other}"), Release(127)).refusals(false).notes,
        [format!("{error}; it is stored, and its next change will be refused (and 1 more like it)")]
    );
}

/// A change that waits for a window may roll pools, although no version changes.
#[test]
fn a_forecast_names_shoots_that_confine_changes() {
    let told = |confines: bool| {
        let setting = format!("  maintenance:\n    confineSpecUpdateRollout: {confines}\n");
        let status = "status:\n  lastOperation:\n    {type: Reconcile, state: Succeeded, progress: 100, \
                      lastUpdateTime: \"2025-01-01T00:00:00Z\", description: done}\n";
        let shoot = with(SHOOT, "  maintenance:\n", &setting);
        let inventory = inventory(&format!("{PROFILE}---\n{shoot}{status}"));
        let at = |text: &str| text.parse().expect("RFC 3339");
        let until = at("2025-07-15T00:00:00Z");
        Forecast::of(&inventory, at("2025-06-15T00:00:00Z"), until, &Random::new(1)).closing()
    };
    let [first, .., last] = &told(true)[..] else { panic!("several lines") };
    assert_eq!(first, "1 Shoot: 0 move, no worker pool rolls for a version");
    assert_eq!(
        last,
        "  1 Shoot confines changes of the spec to the window, where they may roll worker pools; `terrarium why` lists those \
         that wait: b/a"
    );
    let [first, ..] = &told(false)[..] else { panic!("a line") };
    assert_eq!(first, "1 Shoot: 0 move, no worker pool rolls");
}
