// SPDX-License-Identifier: Apache-2.0
//! Subresources that are more than a part of their object, and endpoints of a cluster as a whole.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use clock::{Clock, Instant, Random, SimulatedClock};
use eventlog::MemoryLog;
use generic_apiserver::Foundation;
use generic_apiserver::authentication::{Authenticator, Credentials, Identity};
use generic_apiserver::http::Metrics;
use host::identity::tokens::Tokens;
use host::{Host, Parts};
use http_body_util::BodyExt;
use process::pki::Key;
use process::transport::full;
use process::{Tasks, Transport, User};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

const DEFAULT: &str = "/clusters/runtime/api/v1/namespaces/default";

struct World {
    tokens: Tokens,
    transport: Transport,
}

impl World {
    fn new() -> Self {
        let tokens = Tokens::new(&Key::transport().expect("a key").der()).expect("a key of the curve");
        let foundation = Foundation {
            log: Arc::new(MemoryLog::new()),
            clock: Clock::new(SimulatedClock::new(noon())),
            wall: Clock::wall(),
            random: Random::new(1),
            writer: 1,
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let parts = Parts { tokens: Some(tokens.clone()), metrics: Some(Metrics::default()), ..Parts::default() };
        let host = Host::with(foundation, &Tasks::new(), parts);
        let transport =
            host.transport(User { name: "ann".into(), groups: vec!["system:authenticated".into()], component: None });
        Self { tokens, transport }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let type_ = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", type_);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.transport.send(request.body(full(body)).expect("a request")).await.expect("a response");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into()))
    }

    /// Returns the user of a token, in a cluster and this number of seconds after noon.
    async fn who(&self, token: &str, cluster: &str, seconds: i64) -> Option<(String, Vec<String>)> {
        let now = noon() + TimeDelta::seconds(seconds);
        let credentials = Credentials { cluster, certificates: &[], bearer_token: Some(token), now, wall: now };
        match self.tokens.authenticate(credentials).await {
            Ok(Identity::User(user)) => {
                Some((user.name.to_string(), user.groups.iter().map(ToString::to_string).collect()))
            }
            _ => None,
        }
    }
}

fn noon() -> Instant {
    "2025-06-01T12:00:00Z".parse().expect("an instant")
}

#[tokio::test]
async fn a_token_is_valid_until_expiry_or_its_accounts_deletion() {
    let world = World::new();
    let accounts = format!("{DEFAULT}/serviceaccounts");
    assert_eq!(world.send("POST", &accounts, json!({ "metadata": { "name": "robot" } })).await.0, 201);
    let path = format!("{accounts}/robot/token");
    let (code, answer) = world.send("POST", &path, json!({ "spec": { "expirationSeconds": 1200 } })).await;
    assert_eq!((code, &answer["kind"]), (201, &json!("TokenRequest")), "{answer}");
    assert_eq!(answer["status"]["expirationTimestamp"], "2025-06-01T12:20:00Z");
    let token = answer["status"]["token"].as_str().expect("a token");
    let robot = (
        "system:serviceaccount:default:robot".to_owned(),
        vec!["system:serviceaccounts".to_owned(), "system:serviceaccounts:default".to_owned()],
    );
    assert_eq!(world.who(token, "runtime", 1199).await, Some(robot));
    assert_eq!(world.who(token, "runtime", 1200).await, None, "expired");
    assert_eq!(world.who(token, "garden", 0).await, None, "of another cluster");

    let review = json!({ "spec": { "token": token } });
    let (code, reviewed) =
        world.send("POST", "/clusters/runtime/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!((code, &reviewed["status"]["authenticated"]), (201, &json!(true)), "{reviewed}");

    // An account of the same name with another uid.
    assert_eq!(world.send("DELETE", &format!("{accounts}/robot"), Value::Null).await.0, 200);
    assert_eq!(world.send("POST", &accounts, json!({ "metadata": { "name": "robot" } })).await.0, 201);
    assert_eq!(world.who(token, "runtime", 0).await, None);

    for (name, spec, code, message) in [
        ("missing", json!({}), 404, "serviceaccounts \"missing\" not found"),
        (
            "robot",
            json!({ "expirationSeconds": 599 }),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not \
             specify a duration less than 10 minutes",
        ),
        (
            "robot",
            json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "p" } }),
            404,
            "pods \"p\" not found",
        ),
        (
            "robot",
            json!({ "boundObjectRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "p" } }),
            400,
            "cannot bind token to object of type \"apps/v1, Kind=Deployment\"",
        ),
    ] {
        let refused = world.send("POST", &format!("{accounts}/{name}/token"), json!({ "spec": spec })).await;
        assert_eq!((refused.0, &refused.1["message"]), (code, &json!(message)));
    }
}

#[tokio::test]
async fn a_bound_token_is_invalid_after_the_objects_deletion() {
    let world = World::new();
    world.send("POST", &format!("{DEFAULT}/serviceaccounts"), json!({ "metadata": { "name": "robot" } })).await;
    world.send("POST", &format!("{DEFAULT}/secrets"), json!({ "metadata": { "name": "s" } })).await;
    let spec = json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Secret", "name": "s" } });
    let path = format!("{DEFAULT}/serviceaccounts/robot/token");
    let (code, answer) = world.send("POST", &path, json!({ "spec": spec })).await;
    assert_eq!(code, 201, "{answer}");
    let token = answer["status"]["token"].as_str().expect("a token").to_owned();
    assert!(world.who(&token, "runtime", 0).await.is_some());
    world.send("DELETE", &format!("{DEFAULT}/secrets/s"), Value::Null).await;
    assert_eq!(world.who(&token, "runtime", 0).await, None);
}

#[tokio::test]
async fn a_pod_is_evicted_unless_a_budget_needs_it() {
    let world = World::new();
    for name in ["a", "b"] {
        let pod = json!({
            "metadata": { "name": name, "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "c", "image": "i" }] },
        });
        assert_eq!(world.send("POST", &format!("{DEFAULT}/pods"), pod).await.0, 201);
        let status = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
        assert_eq!(world.send("PATCH", &format!("{DEFAULT}/pods/{name}/status"), status).await.0, 200);
    }
    let budget = json!({
        "metadata": { "name": "web" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "web" } } },
    });
    let budgets = "/clusters/runtime/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    assert_eq!(world.send("POST", budgets, budget).await.0, 201);
    let evict = async |name: &str| {
        let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
        world.send("POST", &format!("{DEFAULT}/pods/{name}/eviction"), eviction).await
    };
    let (code, answer) = evict("a").await;
    let cause = &answer["details"]["causes"][0]["message"];
    let unprocessed = json!("The disruption budget web is still being processed by the server.");
    assert_eq!((code, cause), (429, &unprocessed), "{answer}");
    // As the disruption controller sets it for a `maxUnavailable` and pods without a controller.
    let status = |expected: i32, desired: i32, allowed: i32| {
        json!({ "status": {
            "observedGeneration": 1, "expectedPods": expected, "currentHealthy": 2, "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
        } })
    };
    let processed = format!("{budgets}/web/status");
    assert_eq!(world.send("PATCH", &processed, status(0, 0, 0)).await.0, 200);
    let (code, answer) = evict("a").await;
    let cause = &answer["details"]["causes"][0]["message"];
    let needs = json!("The disruption budget web needs 0 healthy pods and has 2 currently");
    assert_eq!((code, cause), (429, &needs), "{answer}");
    assert_eq!(world.send("PATCH", &processed, status(2, 1, 1)).await.0, 200);
    let (code, answer) = evict("a").await;
    assert_eq!((code, &answer["status"]), (201, &json!("Success")), "{answer}");
    assert_eq!(world.send("GET", &format!("{DEFAULT}/pods/a"), Value::Null).await.0, 404);
    let (code, answer) = evict("b").await;
    assert_eq!(code, 429, "{answer}");
    assert_eq!(answer["message"], "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_eq!(answer["details"]["causes"][0]["reason"], "DisruptionBudget");
    assert_eq!(evict("a").await.0, 404);
    let (_, resources) = world.send("GET", "/clusters/runtime/api/v1", Value::Null).await;
    let resources = resources["resources"].as_array().expect("a list");
    let eviction = resources.iter().find(|resource| resource["name"] == "pods/eviction").expect("what drain looks for");
    assert_eq!((&eviction["group"], &eviction["kind"]), (&json!("policy"), &json!("Eviction")));
}

#[tokio::test]
async fn a_scale_in_a_dry_run_shows_the_result() {
    let world = World::new();
    let deployments = "/clusters/runtime/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({ "app": "web" });
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        },
    });
    assert_eq!(world.send("POST", deployments, deployment).await.0, 201);
    let scale = format!("{deployments}/web/scale");
    let patch = json!({ "spec": { "replicas": 3 } });
    let (code, answer) = world.send("PATCH", &format!("{scale}?dryRun=All"), patch.clone()).await;
    assert_eq!((code, &answer["kind"], &answer["spec"]["replicas"]), (200, &json!("Scale"), &json!(3)));
    assert_eq!(world.send("GET", &scale, Value::Null).await.1["spec"]["replicas"], 1);
    assert_eq!(world.send("PATCH", &scale, patch).await.1["spec"]["replicas"], 3);
    let (_, stored) = world.send("GET", &scale, Value::Null).await;
    assert_eq!((&stored["spec"]["replicas"], &stored["status"]["selector"]), (&json!(3), &json!("app=web")));
}

#[tokio::test]
async fn metrics_are_served_for_every_cluster() {
    let world = World::new();
    let (code, text) = world.send("GET", "/clusters/runtime/metrics", Value::Null).await;
    assert_eq!(code, 200);
    assert!(text.as_str().is_some_and(|text| text.ends_with("# EOF\n")), "{text}");
}

#[tokio::test]
async fn keys_of_tokens_are_published() {
    let world = World::new();
    let (code, configuration) =
        world.send("GET", "/clusters/runtime/.well-known/openid-configuration", Value::Null).await;
    assert_eq!((code, &configuration["issuer"]), (200, &json!("https://kubernetes.default.svc.cluster.local")));
    assert_eq!(configuration["jwks_uri"], "https://localhost/clusters/runtime/openid/v1/jwks");
    let (code, keys) = world.send("GET", "/clusters/runtime/openid/v1/jwks", Value::Null).await;
    let key = &keys["keys"][0];
    assert_eq!((code, &key["kty"], &key["alg"], &key["use"]), (200, &json!("EC"), &json!("ES256"), &json!("sig")));

    // The published documents suffice to verify a token.
    world.send("POST", &format!("{DEFAULT}/serviceaccounts"), json!({ "metadata": { "name": "robot" } })).await;
    let (_, answer) = world.send("POST", &format!("{DEFAULT}/serviceaccounts/robot/token"), json!({})).await;
    let token = answer["status"]["token"].as_str().expect("a token");
    let (text, signature) = token.rsplit_once('.').expect("three parts");
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64");
    let head: Value = serde_json::from_slice(&decode(text.split('.').next().expect("a head"))).expect("JSON");
    assert_eq!((&head["alg"], &head["kid"]), (&json!("ES256"), &key["kid"]));
    let coordinate = |name: &str| decode(key[name].as_str().expect("a coordinate"));
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    public.verify(text.as_bytes(), &decode(signature)).expect("a signature of the key");

    assert_eq!(world.send("GET", "/clusters/missing/openid/v1/jwks", Value::Null).await.0, 404);
    assert_eq!(world.send("POST", "/clusters/runtime/openid/v1/jwks", json!({})).await.0, 404);
}

#[tokio::test]
async fn a_token_review_returns_the_audiences() {
    let world = World::new();
    world.send("POST", &format!("{DEFAULT}/serviceaccounts"), json!({ "metadata": { "name": "robot" } })).await;
    let path = format!("{DEFAULT}/serviceaccounts/robot/token");
    let (_, answer) = world.send("POST", &path, json!({ "spec": { "audiences": ["vault", "registry"] } })).await;
    let token = answer["status"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(world.who(&token, "runtime", 0).await, None, "it is not meant for the API server");
    for (audiences, expected) in [
        (json!(["vault"]), json!(["vault"])),
        (json!(["other", "registry"]), json!(["registry"])),
        (json!(["other"]), Value::Null),
        (json!([]), Value::Null),
    ] {
        let review = json!({ "spec": { "token": token, "audiences": audiences } });
        let (code, reviewed) =
            world.send("POST", "/clusters/runtime/apis/authentication.k8s.io/v1/tokenreviews", review).await;
        assert_eq!((code, &reviewed["status"]["audiences"]), (201, &expected), "{reviewed}");
        assert_eq!(reviewed["status"]["authenticated"].as_bool().unwrap_or_default(), !expected.is_null());
        if audiences == json!(["other"]) {
            assert_eq!(
                reviewed["status"]["error"],
                "[invalid bearer token, token audiences [\"vault\" \"registry\"] is invalid for the target audiences \
                 [\"other\"]]"
            );
        }
    }
}
