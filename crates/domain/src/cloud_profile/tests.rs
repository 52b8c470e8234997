// SPDX-License-Identifier: Apache-2.0
//! Profiles of Shoots, and their offers.

use apimachinery::meta::Time;

use super::*;

fn image_version(version: &str, expires: Option<Time>) -> MachineImageVersion {
    MachineImageVersion {
        version: version.to_owned(),
        expiration_date: expires,
        architectures: vec!["arm64".to_owned()],
        ..MachineImageVersion::default()
    }
}

fn image(name: &str, strategy: Option<&str>, versions: Vec<MachineImageVersion>) -> MachineImage {
    MachineImage { name: name.to_owned(), versions, update_strategy: strategy.map(str::to_owned) }
}

#[test]
fn reference_falls_back_to_the_deprecated_name() {
    let by_name = ShootSpec { cloud_profile_name: Some("local".to_owned()), ..ShootSpec::default() };
    let expected = CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() };
    assert_eq!(reference(&by_name), Some(expected.clone()));
    let by_reference = ShootSpec {
        cloud_profile: Some(CloudProfileReference {
            kind: "NamespacedCloudProfile".to_owned(),
            name: "own".to_owned(),
        }),
        ..by_name
    };
    assert_eq!(reference(&by_reference).map(|reference| reference.kind).as_deref(), Some("NamespacedCloudProfile"));
    assert_eq!(reference(&ShootSpec::default()), None);
}

/// Release, kind, name; field of a Shoot's spec and its value.
const FIELDS: &[(u16, &str, &str, &str, &str)] = &[
    (80, "", "local", "cloudProfileName", r#""local""#),
    (91, "CloudProfile", "local", "cloudProfileName", r#""local""#),
    (100, "CloudProfile", "local", "cloudProfileName", r#""local""#),
    (101, "CloudProfile", "local", "cloudProfile", r#"{"kind":"CloudProfile","name":"local"}"#),
    (101, "", "local", "cloudProfile", r#"{"name":"local"}"#),
    (149, "NamespacedCloudProfile", "own", "cloudProfile", r#"{"kind":"NamespacedCloudProfile","name":"own"}"#),
];

#[test]
fn a_reference_is_written_in_the_field_that_counts() {
    for (release, kind, name, field, value) in FIELDS {
        let reference = CloudProfileReference { kind: (*kind).to_owned(), name: (*name).to_owned() };
        let (actual, written) = reference_field(&reference, Release(*release));
        assert_eq!((actual, written.to_string().as_str()), (*field, *value), "{release}");
        let spec: ShootSpec = serde_json::from_value(serde_json::json!({ actual: written })).expect("a spec");
        assert_eq!(reference_path(&spec), format!("spec.{field}"));
        assert_eq!(super::reference(&spec).map(|reference| reference.name).as_deref(), Some(*name));
    }
    assert_eq!(reference_path(&ShootSpec::default()), "spec.cloudProfile");
    assert!(!counts_by_name(Release::UNION));
    assert_eq!(no_reference(Release(100)), "cloudprofile.core.gardener.cloud \"\" not found");
    assert_eq!(no_reference(Release(101)), "no cloudprofile reference has been provided");
}

/// One CloudProfile `whole`, and one NamespacedCloudProfile `garden-dev/own`.
struct Two;

impl Profiles for Two {
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
        let mut profile = CloudProfile::default();
        "whole".clone_into(&mut profile.metadata.name);
        "of spec".clone_into(&mut profile.spec.r#type);
        (name == "whole").then(|| Arc::new(profile))
    }

    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
        let mut profile = NamespacedCloudProfile::default();
        "own".clone_into(&mut profile.metadata.name);
        "of status".clone_into(&mut profile.status.cloud_profile_spec.r#type);
        ((namespace, name) == ("garden-dev", "own")).then(|| Arc::new(profile))
    }
}

/// Namespace of the Shoot, kind and name of `spec.cloudProfile` (`-`: none), `spec.cloudProfileName` (`-`: none); name
/// and type of the profile that is found, or the error.
const RESOLVED: &[(&str, &str, &str, &str, &str)] = &[
    ("garden-dev", "CloudProfile", "whole", "-", "whole: of spec"),
    ("garden-dev", "", "whole", "-", "whole: of spec"),
    ("garden-dev", "-", "-", "whole", "whole: of spec"),
    ("garden-dev", "NamespacedCloudProfile", "own", "-", "own: of status"),
    ("garden-dev", "NamespacedCloudProfile", "own", "whole", "own: of status"),
    ("garden-dev", "-", "-", "own", "CloudProfile.core.gardener.cloud \"own\" not found"),
    ("garden-qa", "NamespacedCloudProfile", "own", "-", "NamespacedCloudProfile.core.gardener.cloud \"own\" not found"),
    ("garden-dev", "CloudProfile", "own", "-", "CloudProfile.core.gardener.cloud \"own\" not found"),
    ("garden-dev", "Profile", "whole", "-", "could not find referenced cloudprofile"),
    ("garden-dev", "-", "-", "-", "no cloudprofile reference has been provided"),
    ("garden-dev", "-", "-", "", "no cloudprofile reference has been provided"),
];

#[test]
fn a_shoot_has_the_profile_of_its_reference() {
    for (namespace, kind, name, by_name, expected) in RESOLVED {
        let mut shoot = Shoot::default();
        (*namespace).clone_into(&mut shoot.metadata.namespace);
        let reference = || CloudProfileReference { kind: (*kind).to_owned(), name: (*name).to_owned() };
        shoot.spec.cloud_profile = (*kind != "-").then(reference);
        shoot.spec.cloud_profile_name = (*by_name != "-").then(|| (*by_name).to_owned());
        let found = match resolve(&shoot, &mut Two) {
            Ok(found) => format!("{}: {}", found.name(), found.spec().r#type),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, *expected, "{namespace} {kind:?} {name:?} {by_name:?}");
    }
}

/// Images that a profile offers, in its order; `s` supported, `~` deprecated, `?` preview, `!` expired, `a` for
/// arm64, `k` for kubelets from 1.31 on, `i` updated in place. The pool, and the default that is shown.
const SHOWN_IMAGES: &str = "
one 1.0.0 1.1.0 ; two 9.0.0s              | amd64         => one 1.1.0
one 1.0.0s 1.1.0 1.2.0? 1.3.0~            | amd64         => one 1.0.0
one 1.0.0? 1.1.0~ 1.2.0s! ; two 1.0.0     | amd64         => two 1.0.0
one 1.0.0? 1.1.0~                         | amd64         => none
one 1.0.0s! 1.1.0!                        | amd64         => none
one 2.0.0sa 1.0.0s ; two 3.0.0s           | amd64         => one 1.0.0
one 1.0.0s ; two 3.0.0sa                  | arm64         => two 3.0.0
one 2.0.0sk 1.0.0s                        | amd64         => one 1.0.0
one 2.0.0s 1.0.0si ; two 3.0.0si          | amd64 inplace => one 1.0.0
one 2.0.0s ; two 3.0.0i                   | amd64 inplace => two 3.0.0
one 1.10.0s 1.9.0s                        | amd64         => one 1.10.0
";

#[test]
fn the_shown_default_image_is_supported() {
    let now: chrono::DateTime<chrono::Utc> = "2025-06-15T12:00:00Z".parse().expect("an instant");
    let kubelet = Version::parse("1.30.0").expect("a version");
    for row in SHOWN_IMAGES.lines().filter(|row| !row.is_empty()) {
        let (given, expected) = row.split_once("=>").expect("an arrow");
        let (offered, pool) = given.split_once('|').expect("a pool");
        let version = |text: &str| {
            let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let marks = &text[number.len()..];
            let class = [('s', "supported"), ('~', "deprecated"), ('?', "preview")];
            MachineImageVersion {
                version: number.to_owned(),
                classification: class
                    .iter()
                    .find(|(mark, _)| marks.contains(*mark))
                    .map(|(_, name)| (*name).to_owned()),
                expiration_date: marks.contains('!').then_some(Time(now)),
                architectures: vec![if marks.contains('a') { "arm64" } else { "amd64" }.to_owned()],
                kubelet_version_constraint: marks.contains('k').then(|| ">= 1.31".to_owned()),
                in_place_updates: marks
                    .contains('i')
                    .then(|| api::core::InPlaceUpdates { supported: true, ..Default::default() }),
                cri: vec![api::core::CRI { name: "containerd".to_owned(), ..Default::default() }],
                ..MachineImageVersion::default()
            }
        };
        let spec = CloudProfileSpec {
            machine_images: offered
                .split(';')
                .map(|text| {
                    let mut words = text.split_whitespace();
                    let name = words.next().expect("a name");
                    image(name, None, words.map(version).collect())
                })
                .collect(),
            ..CloudProfileSpec::default()
        };
        let mut worker = Worker::default();
        let mut words = pool.split_whitespace();
        worker.machine.architecture = words.next().map(str::to_owned);
        worker.update_strategy = words.next().map(|_| "AutoInPlaceUpdate".to_owned());
        let found = shown_default_image(
            &spec,
            &worker,
            &kubelet,
            crate::versions::Moment::new(now, crate::release::DOCUMENTED),
        );
        let found =
            found.map_or_else(|| "none".to_owned(), |(image, entry)| format!("{} {}", image.name, entry.version));
        assert_eq!(found, expected.trim(), "row: {row}");
    }
}

/// A list may hold a version twice, with other architectures or constraints.
#[test]
fn of_equal_images_the_first_is_shown() {
    let version = || MachineImageVersion {
        architectures: vec!["amd64".to_owned()],
        cri: vec![api::core::CRI { name: "containerd".to_owned(), ..Default::default() }],
        ..image_version("2.0.0", None)
    };
    let spec = CloudProfileSpec {
        machine_images: vec![image("os", None, vec![version(), version()])],
        ..CloudProfileSpec::default()
    };
    let mut worker = Worker::default();
    worker.machine.architecture = Some("amd64".to_owned());
    let now: chrono::DateTime<chrono::Utc> = "2025-06-15T12:00:00Z".parse().expect("an instant");
    let kubelet = Version::parse("1.30.0").expect("a version");
    let (_, found) =
        shown_default_image(&spec, &worker, &kubelet, crate::versions::Moment::new(now, crate::release::DOCUMENTED))
            .expect("an image");
    assert!(std::ptr::eq(found, &raw const spec.machine_images[0].versions[0]));
}
