// SPDX-License-Identifier: Apache-2.0
use std::future;

use chrono::DateTime;
use clock::Random;
use domain::skew::Instance;
use host::registry::Registered;
use parking_lot::Mutex;
use process::transport::full;
use process::{Identity, Output, Tasks, Transport};
use serde_json::Value;

use super::*;

/// Seed of all gardenlets here.
const SEED: &str = "a";
const PROVIDER: &str = "gardener-extension-provider-local";
/// Last line of provider-local 1.121 while gardenlet 1.120 is registered.
const REFUSED: &str = "Error: extension \"provider-local\" depends on extensions library 1.121.0, which is newer than gardenlet \
                       1.120.0 on seed \"a\" [rule=E1, component=gardener-extension-provider-local, version=v1.121.0, \
                       against=1.120.0]";

/// Requests that are no reads: method and path.
type Writes = Arc<Mutex<Vec<String>>>;

/// View of a landscape with these objects, by the plurals of their kinds. Its server accepts every request, and sends no
/// changes.
async fn view(objects: Vec<(&'static str, Value)>) -> (View, Writes) {
    let writes = Writes::default();
    let noted = writes.clone();
    let transport = Transport::new(move |request| {
        let (method, uri) = (request.method().to_string(), request.uri().to_string());
        let (path, query) = uri.split_once('?').unwrap_or((uri.as_str(), ""));
        if method != "GET" {
            noted.lock().push(format!("{method} {path}"));
        }
        let plural = path.rsplit('/').next().unwrap_or_default();
        let items: Vec<&Value> =
            objects.iter().filter(|(known, _)| *known == plural).map(|(_, object)| object).collect();
        let body = json!({ "metadata": { "resourceVersion": "9" }, "items": items }).to_string();
        let is_watch = query.contains("watch=true");
        Box::pin(async move {
            if is_watch {
                future::pending::<()>().await;
            }
            Ok(http::Response::new(full(body)))
        })
    });
    let context = Context {
        identity: Identity { component: "terrarium".into(), instance: "terrarium".into(), version: "v1.120.0".into() },
        clock: Clock::wall(),
        random: Random::new(1),
        wall: Clock::wall(),
        transport,
        tasks: Tasks::new(),
        output: Output::new(|_| {}),
    };
    let view = View::open(context, "default", Profile::Documents).await.expect("it answers");
    view.garden_is_read(&version("1.121.0"), TimeDelta::minutes(1)).await.expect("it answers");
    (view, writes)
}

fn version(text: &str) -> GardenerVersion {
    GardenerVersion::parse(text).expect("a version")
}

/// Move of a component on the Seed, or of an extension, from 1.120 to 1.121.
fn next(component: Component, owner: &str) -> Move {
    Move { component, owner: owner.to_owned(), from: version("1.120.0"), to: version("1.121.0"), instances: 1 }
}

/// Deployment at 1.121 in the cluster of the Seed, rolled out.
fn deployment(name: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {
            "name": name, "namespace": "garden", "resourceVersion": "1",
            "annotations": { annotation::CLUSTER: cluster::of_seed(SEED) },
        },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "role": name } },
            "template": { "spec": { "containers": [{ "name": name, "image": format!("r.example/{name}:v1.121.0") }] } },
        },
        "status": { "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1 },
    });
    ("deployments", object)
}

/// Pod of provider-local that rule E1 has refused.
fn refused_pod() -> (&'static str, Value) {
    let object = json!({
        "metadata": {
            "name": "provider-local-1", "namespace": "garden", "resourceVersion": "2",
            "labels": { "role": PROVIDER },
            "annotations": { annotation::CLUSTER: cluster::of_seed(SEED) },
        },
        "spec": { "containers": [{ "name": PROVIDER, "image": format!("r.example/{PROVIDER}:v1.121.0") }] },
        "status": { "containerStatuses": [{
            "name": PROVIDER, "ready": false, "restartCount": 1,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "exitCode": 3, "message": REFUSED } },
        }] },
    });
    ("pods", object)
}

/// Registration of the Seed's gardenlet.
fn gardenlet(version: &str) -> (&'static str, Value) {
    let cluster = cluster::of_seed(SEED);
    let me = Registered { cluster: &cluster, pod: "gardenlet-1", component: "gardenlet", version, address: "" };
    ("leases", json!(me.lease(DateTime::UNIX_EPOCH)))
}

/// An Extension has just been applied: gardener-operator has not created its ControllerDeployment yet.
#[tokio::test]
async fn an_unregistered_extension_is_not_upgraded() {
    let of = |name: &str| Instance::owned(Component::Extension, name, "v1.120.0");
    let running = Landscape {
        instances: vec![
            Instance::new(Component::Apiserver, "v1.120.0"),
            Instance::owned(Component::Gardenlet, SEED, "v1.120.0"),
            of("provider-local"),
            of("mine"),
        ],
        ..Landscape::default()
    };
    let plan = domain::upgrade::plan(&running, &version("1.121.0"), Profile::Documents).expect("an order");
    let extensions = |moves: &[Move]| -> Vec<String> {
        let extensions = moves.iter().filter(|next| next.component == Component::Extension);
        extensions.map(|next| next.owner.clone()).collect()
    };
    let mut planned = extensions(&moves::of(&plan));
    planned.sort();
    assert_eq!(planned, ["mine", "provider-local"], "the plan has both");

    let (view, writes) = view(vec![deployment(PROVIDER)]).await;
    let (moves, notes) = view.moves(&plan).expect("nothing is pinned");
    assert_eq!(extensions(&moves), ["provider-local"]);
    assert_eq!(
        notes,
        ["extension mine stays at library v1.120.0, which its manifest says: a release of the extension changes that"]
    );
    // Also as a move it would send no request about a ControllerDeployment.
    let refused = view.ask_for(&next(Component::Extension, "mine"), TimeDelta::zero()).await.expect_err("it has none");
    assert_eq!(refused.to_string(), "extension mine v1.120.0 -> v1.121.0: there is no Deployment of it");
    assert_eq!(*writes.lock(), Vec::<String>::new());
}

/// The host was killed and started again during an upgrade.
#[tokio::test]
async fn a_refusal_by_an_ended_registration_is_awaited() {
    let provider = next(Component::Extension, "provider-local");
    let why = || REFUSED.to_owned();
    for (registered, expected) in [
        (Some("v1.120.0"), State::Refused(why())),
        (Some("v1.121.0"), State::Waits(why())),
        (None, State::Waits(why())),
    ] {
        let mut objects = vec![deployment(PROVIDER), refused_pod()];
        objects.extend(registered.map(gardenlet));
        let (view, _) = view(objects).await;
        assert_eq!(view.state(&provider), expected, "{registered:?}");
    }
}

/// The gardenlet of the former version is registered until the kubelet has removed its Lease.
#[tokio::test]
async fn a_move_waits_for_the_end_of_former_registrations() {
    let text = "an instance at v1.120.0 is still registered";
    for (registered, expected) in
        [(Some("v1.120.0"), State::Waits(text.to_owned())), (Some("v1.121.0"), State::Done), (None, State::Done)]
    {
        let mut objects = vec![deployment("gardenlet")];
        objects.extend(registered.map(gardenlet));
        let (view, _) = view(objects).await;
        assert_eq!(view.state(&next(Component::Gardenlet, SEED)), expected, "{registered:?}");
    }
}
