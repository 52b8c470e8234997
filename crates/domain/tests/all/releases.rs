// SPDX-License-Identifier: Apache-2.0
//! Facts about Gardener's releases v1.120 to v1.149: release, question, input, answer.

use api::configuration;
use apimachinery::schema::{EACH, Node};
use domain::features;
use domain::release::Release;
use domain::skew::GardenerVersion;
use domain::skew::releases::{
    check_gate, feature_gate, first_release, kubernetes_minors, supports_kubernetes, unknown_release, usual_kubernetes,
};
use domain::upgrade::changes::{image_tag, of_minor};
use domain::versions::Version;

/// Questions:
/// `gate COMPONENT NAME=BOOL`, setting of a gate of Gardener: `ok` or the error;
/// `default NAME`, default of a gate of Gardener;
/// `kubernetes VERSION`, support for a Kubernetes version;
/// `minors`, supported minors of Kubernetes 1.x;
/// `usual`, default Kubernetes version of gardens;
/// `kubernetes-gate VERSION NAME`, a gate of Kubernetes; `plugin VERSION NAME`, an admission plugin;
/// `key COMPONENT KIND PATH`, a key of a configuration file;
/// `image COMPONENT VERSION`, tag of an image for a Kubernetes version;
/// `released`, day and newest patch;
/// `known`, note on a release that is not known;
/// `note TEXT`, number of rows of the minor's notes with the text.
const TABLE: &str = "
120 | gate gardenlet DoNotCopyBackupCredentials=true               | unrecognized feature gate: DoNotCopyBackupCredentials
121 | gate operator DoNotCopyBackupCredentials=true                | ok
123 | default DoNotCopyBackupCredentials                           | on
134 | gate operator DoNotCopyBackupCredentials=false               | cannot set feature gate DoNotCopyBackupCredentials to false, feature is locked to true
129 | gate operator UseUnifiedHTTPProxyPort=true                   | unrecognized feature gate: UseUnifiedHTTPProxyPort
130 | gate operator UseUnifiedHTTPProxyPort=true                   | ok
145 | gate operator UseUnifiedHTTPProxyPort=true                   | unrecognized feature gate: UseUnifiedHTTPProxyPort
136 | gate gardenlet OpenTelemetryCollector=false                  | ok
145 | gate operator OpenTelemetryCollector=false                   | unrecognized feature gate: OpenTelemetryCollector
146 | gate operator OpenTelemetryCollector=false                   | ok
142 | gate apiserver LiveControlPlaneMigration=true                | unrecognized feature gate: LiveControlPlaneMigration
147 | gate apiserver LiveControlPlaneMigration=true                | unrecognized feature gate: LiveControlPlaneMigration
148 | gate apiserver LiveControlPlaneMigration=true                | ok
142 | default LiveControlPlaneMigration                            | off
141 | gate apiserver DisableNginxIngressInShoot=true               | unrecognized feature gate: DisableNginxIngressInShoot
142 | gate apiserver DisableNginxIngressInShoot=true               | ok
142 | gate controllermanager DisableNginxIngressInShoot=true       | ok
149 | gate controllermanager DisableNginxIngressInShoot=true       | ok
149 | gate gardenlet DisableNginxIngressInShoot=true               | unrecognized feature gate: DisableNginxIngressInShoot
139 | gate gardenlet RemoveVali=true                               | unrecognized feature gate: RemoveVali
149 | gate gardenlet RemoveVali=true                               | ok
149 | gate operator RemoveVali=true                                | ok
132 | default CustomDNSServerInNodeLocalDNS                        | unknown
133 | default CustomDNSServerInNodeLocalDNS                        | on
146 | default BackupEntryForGarden                                 | off
147 | default BackupEntryForGarden                                 | on
148 | default DisableNginxIngressInSeed                            | off
149 | default DisableNginxIngressInSeed                            | on
149 | default DisableNginxIngressInGarden                          | on
147 | gate gardenlet RemoveHTTPProxyLegacyPort=true                | unrecognized feature gate: RemoveHTTPProxyLegacyPort
148 | gate gardenlet RemoveHTTPProxyLegacyPort=true                | ok
145 | default CloudProfileCapabilities                             | off
146 | default CloudProfileCapabilities                             | on
120 | kubernetes 1.33.0                                            | no
122 | kubernetes 1.33.0                                            | yes
144 | kubernetes 1.36.0                                            | no
145 | kubernetes 1.36.0                                            | yes
149 | kubernetes 1.31.1                                            | no
132 | minors                                                       | 29 to 34
149 | minors                                                       | 32 to 36
999 | minors                                                       | 32 to 36
120 | usual                                                        | 1.31.1
149 | usual                                                        | 1.32.0
120 | kubernetes-gate 1.32.0 MutablePodResourcesForSuspendedJobs   | unknown
149 | kubernetes-gate 1.34.0 MutablePodResourcesForSuspendedJobs   | unsupported
149 | kubernetes-gate 1.35.0 MutablePodResourcesForSuspendedJobs   | supported
149 | kubernetes-gate 1.34.3 DRAConsumableCapacity                 | supported
120 | kubernetes-gate 1.32.0 SizeMemoryBackedVolumes               | locked to on
149 | kubernetes-gate 1.34.9 SizeMemoryBackedVolumes               | locked to on
149 | kubernetes-gate 1.35.0 SizeMemoryBackedVolumes               | unsupported
149 | kubernetes-gate 1.36.0 UserNamespacesSupport                 | locked to on
149 | kubernetes-gate 1.32.0 APISelfSubjectReview                  | unknown
120 | plugin 1.32.0 PodTopologyLabels                              | unknown
149 | plugin 1.32.0 PodTopologyLabels                              | unsupported
149 | plugin 1.33.0 PodTopologyLabels                              | supported
149 | plugin 1.36.0 PodResizeValidator                             | supported
146 | key gardenlet GardenletConfiguration controllers.cacheSyncTimeout                                            | no
147 | key gardenlet GardenletConfiguration controllers.cacheSyncTimeout                                            | yes
149 | key controllermanager ControllerManagerConfiguration controllers.cacheSyncTimeout                            | yes
120 | key controllermanager ControllerManagerConfiguration controllers.controllerDeploymentReference               | no
149 | key controllermanager ControllerManagerConfiguration controllers.controllerDeploymentReference.concurrentSyncs | yes
136 | key gardenlet GardenletConfiguration logging.victoriaLogs                                                    | no
137 | key gardenlet GardenletConfiguration logging.victoriaLogs.garden.storage                                     | yes
149 | key gardenlet GardenletConfiguration controllers.tokenRequestorWorkloadIdentity.tokenExpirationDuration      | yes
120 | key gardenlet GardenletConfiguration controllers.tokenRequestorWorkloadIdentity.tokenExpirationDuration      | no
142 | key gardenlet GardenletConfiguration gardenClientConnection.gardenClusterCACert                              | yes
143 | key gardenlet GardenletConfiguration gardenClientConnection.gardenClusterCACert                              | no
132 | key admissioncontroller AdmissionControllerConfiguration server.resourceAdmissionConfiguration.limits.[].count | yes
131 | key admissioncontroller AdmissionControllerConfiguration server.resourceAdmissionConfiguration.limits.[].count | no
120 | image metrics-server 1.32.0                                  | v0.7.2
149 | image metrics-server 1.33.0                                  | v0.8.1
149 | image metrics-server 1.34.0                                  | v0.9.0
149 | image coredns 1.36.0                                         | v1.14.6
120 | image cluster-autoscaler 1.32.0                              | -
145 | image cluster-autoscaler 1.35.0                              | v1.35.1
149 | image node-local-dns 1.34.0                                  | 1.26.8
121 | released                                                     | 2025-06-13 1.121.5
135 | released                                                     | 2026-01-27 1.135.4
147 | released                                                     | 2026-07-17 1.147.4
148 | released                                                     | 2026-07-31 1.148.4
149 | released                                                     | 2026-08-13 1.149.3
150 | released                                                     | -
149 | known                                                        | -
150 | known                                                        | Gardener v1.150.0 is not known here: rules of v1.149 apply
999 | known                                                        | Gardener v1.999.0 is not known here: rules of v1.149 apply
122 | note enableStaticTokenKubeconfig                             | 1
123 | note globallyEnabled                                         | 1
124 | note BackupBucket spec.secretRef                             | 1
127 | note gardener-info                                           | 1
128 | note capabilitySets                                          | 1
129 | note status.credentials.rotation.kubeconfig                  | 1
139 | note status.encryptedResources                               | 1
139 | note spec.dns.provider.secretRef                             | 1
141 | note systemReserved                                          | 1
142 | note oidcConfig                                              | 1
142 | note settings.gardener.cloud                                 | 1
146 | note first form                                              | 1
145 | note first form                                              | 0
149 | note architecture of a pool                                  | 1
";

fn answer(minor: u64, question: &str) -> String {
    let gardener = GardenerVersion::release(1, minor, 0);
    let release = Release(u16::try_from(minor).expect("a minor"));
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let words: Vec<&str> = question.split_whitespace().collect();
    match words.as_slice() {
        ["gate", component, setting] => {
            let (name, on) = setting.split_once('=').expect("NAME=BOOL");
            check_gate(&gardener, component, name, on == "true").map_or_else(|error| error, |()| "ok".to_owned())
        }
        ["default", name] => match feature_gate(&gardener, name) {
            None => "unknown".to_owned(),
            Some(gate) if gate.default => "on".to_owned(),
            Some(_) => "off".to_owned(),
        },
        ["kubernetes", version] => yes(supports_kubernetes(&gardener, version)),
        ["minors"] => {
            let (oldest, newest) = kubernetes_minors(&gardener);
            format!("{oldest} to {newest}")
        }
        ["usual"] => usual_kubernetes(&gardener),
        ["kubernetes-gate", version, name] => {
            let version: Version = version.parse().expect("a version");
            match features::feature_gate(name, release) {
                None => "unknown".to_owned(),
                Some(gate) if !gate.is_supported(&version) => "unsupported".to_owned(),
                Some(gate) if gate.is_locked(&version) => {
                    format!("locked to {}", if gate.default { "on" } else { "off" })
                }
                Some(_) => "supported".to_owned(),
            }
        }
        ["plugin", version, name] => {
            let version: Version = version.parse().expect("a version");
            match features::admission_plugin(name, release) {
                None => "unknown".to_owned(),
                Some(plugin) if plugin.is_supported(&version) => "supported".to_owned(),
                Some(_) => "unsupported".to_owned(),
            }
        }
        ["key", component, kind, path] => {
            let root = configuration::node(component, kind, release).expect("a table");
            let found = path.split('.').try_fold(root, |node, name| match node {
                Node::List(inner) | Node::Map(inner) if name == EACH => Some(*inner),
                node => Some(node.as_object()?.field(name)?.node.clone()),
            });
            yes(found.is_some())
        }
        ["image", component, version] => image_tag(component, &gardener, version).unwrap_or("-").to_owned(),
        ["released"] => {
            first_release(minor).map_or_else(|| "-".to_owned(), |(date, newest)| format!("{date} {newest}"))
        }
        ["known"] => unknown_release(&gardener).unwrap_or_else(|| "-".to_owned()),
        ["note", ..] => {
            let text = question.trim_start_matches("note").trim();
            let rows = of_minor(minor).rows;
            rows.iter().filter(|row| row.what.contains(text) || row.how.contains(text)).count().to_string()
        }
        _ => panic!("no question: {question}"),
    }
}

#[test]
fn releases_answer_as_their_tags_do() {
    let rows: Vec<Vec<&str>> =
        TABLE.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').map(str::trim).collect()).collect();
    assert!(rows.len() > 90, "{}", rows.len());
    let wrong = rows.iter().filter_map(|row| {
        let [minor, question, expected] = row.as_slice() else { panic!("three columns: {row:?}") };
        let said = answer(minor.parse().expect("a minor"), question);
        (said != *expected).then(|| format!("1.{minor} {question}: {said}, expected {expected}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

/// A minor without a change would have no report.
#[test]
fn every_minor_changes_something() {
    for minor in 121..=149 {
        let changes = of_minor(minor);
        let count = changes.gates.len() + changes.kubernetes_gained.len() + changes.rows.len();
        assert!(count > 0, "1.{minor}");
    }
    let removing: Vec<u64> = (121..=149)
        .filter(|minor| of_minor(*minor).rows.iter().any(|row| row.kind.as_str() == "field removed"))
        .collect();
    assert_eq!(removing, [122, 123, 124, 128, 129, 139, 141, 142, 143]);
}
