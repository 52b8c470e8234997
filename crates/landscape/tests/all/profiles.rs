// SPDX-License-Identifier: Apache-2.0
//! Differences between the requirements documents and Gardener's code, in a whole landscape under both profiles.

use api::core::Shoot;
use controller::Api;
use domain::profile::Profile;
use landscape::{Options, preset, wait};

use crate::support::{Audited, evening, is};

fn start(profile: Profile) -> Audited {
    let mut audited = Audited::start(Options { profile, ..Options::new(1, evening()) });
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    audited
}

fn create(audited: &mut Audited, name: &str, version: &str) {
    let shoots = Api::<Shoot>::namespaced(&audited.admin, "garden", preset::NAMESPACE);
    let mut shoot = preset::shoot(name);
    version.clone_into(&mut shoot.spec.kubernetes.version);
    audited.run(shoots.create(&shoot)).expect("the API looks at the CloudProfile only");
}

/// Row 11 (skew-and-upgrade 5.1, 5.3): Gardener v1.120.0 supports Kubernetes 1.27 to 1.32, and the documents' examples
/// run clusters on 1.26. According to the documents such a cluster works; upstream's gardenlet does not connect to it.
#[test]
fn clusters_on_unknown_versions_work_or_fail_by_profile() {
    for profile in [Profile::Documents, Profile::Upstream] {
        let mut audited = start(profile);
        create(&mut audited, "known", "1.27.1");
        create(&mut audited, "unknown", "1.26.4");
        let shoots = Api::<Shoot>::namespaced(&audited.admin.clone(), "garden", preset::NAMESPACE);
        let ready = wait::for_object(&shoots, "known", |shoot| is(shoot, "Create", "Succeeded"));
        audited.until_done("2023-07-27T20:30:00Z", ready);
        audited.until("2023-07-27T20:30:00Z");
        let status = audited.shoot("unknown").status;
        let operation = status.last_operation.expect("an operation");
        if profile == Profile::Documents {
            assert_eq!((operation.r#type.as_str(), operation.state.as_str()), ("Create", "Succeeded"));
            assert!(status.last_errors.is_empty(), "{:?}", status.last_errors);
            continue;
        }
        assert_eq!(operation.r#type, "Create");
        let error = status.last_errors.first().expect("an error");
        assert_eq!(error.task_id.as_deref(), Some("Initializing connection to Shoot"));
        assert_eq!(
            error.description,
            "task \"Initializing connection to Shoot\" failed: retry failed with context deadline exceeded, last error: \
             error creating new ClientSet for key \"garden-demo/unknown\": error discovering kubernetes version: \
             unsupported kubernetes version \"v1.26.4\""
        );
        assert!(
            audited.events("unknown").iter().any(|(reason, message)| {
                reason == "ReconcileError" && message.contains("unsupported kubernetes version \"v1.26.4\"")
            }),
            "{:?}",
            audited.events("unknown")
        );
    }
}
