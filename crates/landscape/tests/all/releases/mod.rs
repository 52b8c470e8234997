// SPDX-License-Identifier: Apache-2.0
//! A landscape of each release from 1.120 on: the preset fits it, a Shoot is created, and objects with all the fields of the
//! release are accepted with strict field validation, while the fields of other releases are unknown.

use api::core::Shoot;
use apimachinery::Object;
use chrono::TimeDelta;
use domain::release::{DOCUMENTED, NEWEST, Release, Releases};
use domain::skew::{GardenerVersion, releases};
use domain::validation::shoot::Gates;
use http_body_util::BodyExt;
use landscape::preset::{self, Preset};
use landscape::{Landscape, Options};
use process::{Context, transport};
use serde_json::{Value, json};

use super::support::Audited;

/// Objects that every release accepts.
const OBJECTS: &str = include_str!("objects.yaml");

/// Path of a field, a value of it, and the releases that have it.
type Row = (&'static str, &'static str, Releases);

/// Fields of each object of [`OBJECTS`], by kind and name, that only some releases have.
const FIELDS: &[(&str, &[Row])] = &[
    (
        "Shoot/old",
        &[
            ("spec/kubernetes/enableStaticTokenKubeconfig", "false", until(122)),
            ("spec/kubernetes/kubelet/systemReserved", r#"{"cpu": "100m"}"#, until(141)),
            ("spec/provider/workers/0/kubernetes/kubelet/systemReserved", r#"{"cpu": "100m"}"#, until(141)),
        ],
    ),
    (
        "Shoot/new",
        &[
            (
                "spec/dns/providers/0/credentialsRef",
                r#"{"apiVersion": "v1", "kind": "Secret", "name": "local"}"#,
                since(135),
            ),
            ("spec/kubernetes/clusterAutoscaler/autoscaling", r#"{"minAllowed": {"memory": "100M"}}"#, since(147)),
            ("spec/kubernetes/clusterAutoscaler/emitPerNodeGroupMetrics", "true", since(141)),
            ("spec/kubernetes/clusterAutoscaler/initialNodeGroupBackoffDuration", "\"6m\"", since(132)),
            ("spec/kubernetes/clusterAutoscaler/maxBinpackingTime", "\"6m\"", since(142)),
            ("spec/kubernetes/clusterAutoscaler/maxDrainParallelism", "2", since(121)),
            ("spec/kubernetes/clusterAutoscaler/maxNodeGroupBackoffDuration", "\"31m\"", since(132)),
            ("spec/kubernetes/clusterAutoscaler/maxScaleDownParallelism", "11", since(121)),
            ("spec/kubernetes/clusterAutoscaler/nodeGroupBackoffResetTimeout", "\"4h\"", since(132)),
            ("spec/kubernetes/kubeAPIServer/encryptionConfig/provider", r#"{"type": "aescbc"}"#, since(136)),
            ("spec/kubernetes/kubeAPIServer/tlsMinVersion", "\"VersionTLS13\"", since(149)),
            ("spec/kubernetes/kubelet/singleProcessOOMKill", "true", since(143)),
            ("spec/kubernetes/verticalPodAutoscaler/featureGates", "{}", since(124)),
            ("spec/kubernetes/verticalPodAutoscaler/maxAllowed", r#"{"cpu": "8", "memory": "32Gi"}"#, since(125)),
            ("spec/kubernetes/verticalPodAutoscaler/recommenderUpdateWorkerCount", "11", since(135)),
            (
                "spec/maintenance/autoRotation",
                r#"{"credentials": {"sshKeypair": {"rotationPeriod": "168h"}}}"#,
                since(135),
            ),
            ("spec/provider/workers/0/kubernetes/kubelet/singleProcessOOMKill", "false", since(143)),
            ("spec/provider/workers/0/machineControllerManager/autoPreserveFailedMachineMax", "1", since(147)),
            ("spec/provider/workers/0/machineControllerManager/machinePreserveTimeout", "\"48h\"", since(147)),
        ],
    ),
    (
        "CloudProfile/profile",
        &[
            (
                "spec/kubernetes/versions/1/lifecycle",
                r#"[{"classification": "supported"}, {"classification": "expired", "startTime": "2030-01-01T00:00:00Z"}]"#,
                since(137),
            ),
            ("spec/machineImages/0/versions/0/lifecycle", r#"[{"classification": "supported"}]"#, since(137)),
            ("spec/machineTypes/0/machineControllerManager", r#"{"machineCreationTimeout": "10m"}"#, since(137)),
        ],
    ),
    (
        "Seed/other",
        &[
            ("spec/dns/provider/secretRef", r#"{"name": "dns", "namespace": "garden"}"#, until(139)),
            (
                "spec/dns/provider/credentialsRef",
                r#"{"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}"#,
                since(135),
            ),
            ("spec/dns/internal", DOMAIN, since(127)),
            ("spec/dns/defaults/0", DOMAIN, since(131)),
            ("spec/settings/loadBalancerServices/class", "\"internal\"", since(132)),
            ("spec/settings/loadBalancerServices/zonalIngress", r#"{"enabled": false}"#, since(131)),
            ("spec/settings/persistentVolumeClaimAutoscaler", r#"{"enabled": true}"#, since(145)),
            ("spec/settings/verticalPodAutoscaler/featureGates", "{}", since(124)),
            ("spec/settings/verticalPodAutoscaler/maxAllowed", r#"{"cpu": "8"}"#, since(125)),
            ("spec/settings/zoneSelection", r#"{"mode": "Prefer"}"#, since(139)),
        ],
    ),
    (
        "ControllerDeployment/chart",
        &[
            ("helm/ociRepository/caBundleSecretRef", r#"{"name": "bundle"}"#, since(136)),
            (
                "resources",
                r#"[{"name": "values", "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": "values"}}]"#,
                since(147),
            ),
        ],
    ),
    (
        "ControllerRegistration/extension",
        &[
            (
                "spec/resources/1",
                r#"{"continuousEndpointUpdate": true, "kind": "SelfHostedShootExposure", "type": "example"}"#,
                since(148),
            ),
            ("spec/resources/0/globallyEnabled", "false", until(123)),
        ],
    ),
    (
        "Gardenlet/other",
        &[
            ("spec/deployment/enableHealthProbes", "false", since(149)),
            ("spec/deployment/helm/ociRepository/caBundleSecretRef", r#"{"name": "bundle"}"#, since(136)),
            ("spec/deployment/image/ref", "\"example.org/gardenlet:v1.140.0\"", since(140)),
            ("spec/deployment/tolerations/0", r#"{"key": "a", "operator": "Exists"}"#, since(136)),
        ],
    ),
];

const DOMAIN: &str = r#"{"type": "local", "domain": "internal.example.org",
    "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}}"#;

const fn since(minor: u16) -> Releases {
    Releases::since(minor)
}

const fn until(minor: u16) -> Releases {
    Releases::until(minor)
}

/// Sets the field at a path; numbers are indexes of lists.
fn set(tree: &mut Value, path: &str, value: &str) {
    let mut place = tree;
    for word in path.split('/') {
        place = match word.parse::<usize>() {
            Ok(index) => {
                if place.is_null() {
                    *place = json!([]);
                }
                let list = place.as_array_mut().expect("a list");
                if list.len() == index {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            Err(_) => &mut place[word],
        };
    }
    *place = serde_json::from_str(value).expect("JSON");
}

/// Path of a field as in an error message; a list stands for its first item.
fn shown(path: &str) -> String {
    let words = path.strip_suffix("/0").unwrap_or(path).split('/').map(|word| match word.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{word}"),
    });
    words.collect::<String>().trim_start_matches('.').to_owned()
}

/// Objects of a landscape, with Kubernetes versions of its release.
fn objects(preset: &Preset) -> Vec<Value> {
    let text = OBJECTS.replace("OLD_VERSION", preset.expiring()).replace("NEW_VERSION", preset.newest());
    let binding = if preset.has_credentials_binding() { "credentialsBindingName" } else { "secretBindingName" };
    let documents = text.replace("BINDING", binding);
    documents.split("\n---\n").map(|document| yaml::value(document).expect("YAML")).collect()
}

/// Collection of an object's kind.
fn collection(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let plural = format!("{}{}", kind.to_lowercase(), if kind.ends_with('s') { "es" } else { "s" });
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map_or_else(String::new, |namespace| format!("namespaces/{namespace}/"));
    format!("/clusters/garden/apis/{api_version}/{namespace}{plural}")
}

/// Creates an object with strict field validation, optionally as a dry run; the error is the code and the message of a
/// rejection.
async fn create(context: &Context, object: &Value, is_dry_run: bool) -> Result<(), (u16, String)> {
    let dry_run = if is_dry_run { "&dryRun=All" } else { "" };
    let uri = format!("{}?fieldValidation=Strict{dry_run}", collection(object));
    let request = http::Request::post(uri)
        .header("content-type", "application/json")
        .body(transport::full(object.to_string()))
        .expect("a request");
    let response = context.transport.send(request).await.expect("an answer");
    let code = response.status().as_u16();
    if code == 201 {
        return Ok(());
    }
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    Err((code, status["message"].as_str().unwrap_or_default().to_owned()))
}

fn id(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// Starts a landscape of a release with its preset, and creates the preset's Shoot.
fn landscape_of(minor: u16) -> (Audited, Preset) {
    let version = GardenerVersion::release(1, u64::from(minor), 0);
    let preset = Preset::of(&version);
    let gates = Gates { version_classification_lifecycle: true, ..Gates::of_release(&version) };
    let kubernetes_version = releases::usual_kubernetes(&version);
    let options = Options {
        gates,
        kubernetes_version,
        gardener_version: format!("v{version}"),
        ..Options::new(u64::from(minor), preset.start())
    };
    let mut audited = Audited::start(options);
    let (admin, start) = (audited.admin.clone(), preset.start());
    let limit = (start + TimeDelta::minutes(1)).to_rfc3339();
    audited.until_done(&limit, preset.create(&admin, preset.expiration(start).expect("a midnight")));
    (audited, preset)
}

/// Runs until the Shoot of the preset is created.
fn until_created(landscape: &Landscape, admin: &Context, limit: TimeDelta) {
    let shoots = controller::Api::<Shoot>::namespaced(admin, "garden", preset::NAMESPACE);
    let created = landscape::wait::for_object(&shoots, "local", |shoot| {
        shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded")
    });
    let done = landscape.run_until_done(landscape.now() + limit, created).expect("the landscape runs");
    done.expect("the Shoot is created in time").expect("the Shoot can be read");
}

/// Checks one release.
fn check(minor: u16) {
    let (mut audited, preset) = landscape_of(minor);
    let admin = audited.admin.clone();
    let mut shoot = preset.shoot("local").to_tree();
    (shoot["apiVersion"], shoot["kind"]) = (json!("core.gardener.cloud/v1beta1"), json!("Shoot"));
    shoot.as_object_mut().expect("an object").remove("status");
    assert_eq!(audited.run(create(&admin, &shoot, false)), Ok(()), "Shoot of the preset at 1.{minor}");
    until_created(&audited.landscape, &admin, TimeDelta::hours(1));
    for object in objects(&preset) {
        let name = id(&object);
        let rows = FIELDS.iter().find(|(id, _)| *id == name).map_or(&[][..], |(_, rows)| rows);
        let mut whole = object.clone();
        for (path, value, _) in rows.iter().filter(|(.., releases)| releases.contain(Release(minor))) {
            set(&mut whole, path, value);
        }
        // Fields of the neighbouring releases are unknown.
        for (path, value, releases) in rows {
            let is_near = releases.since == minor + 1 || releases.until == Some(minor);
            if is_near {
                let mut other = whole.clone();
                set(&mut other, path, value);
                let (code, message) =
                    audited.run(create(&admin, &other, true)).expect_err(&format!("{name} {path} at 1.{minor}"));
                let unknown = format!("unknown field \"{}", shown(path));
                assert!(code == 400 && message.contains(&unknown), "{name} {path} at 1.{minor}: {code} {message}");
            }
        }
        assert_eq!(audited.run(create(&admin, &whole, false)), Ok(()), "{name} at 1.{minor}: {whole:#}");
    }
}

#[test]
fn each_release_takes_its_own_fields_strictly() {
    std::thread::scope(|scope| {
        // Two landscapes at a time: each has its own thread.
        for first in 0..2 {
            scope.spawn(move || (DOCUMENTED.0..=NEWEST.0).skip(first).step_by(2).for_each(check));
        }
    });
}
