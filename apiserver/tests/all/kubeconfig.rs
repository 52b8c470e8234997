// SPDX-License-Identifier: Apache-2.0
//! `shoots/adminkubeconfig` and `shoots/viewerkubeconfig` (docs/usage/shoot/shoot_access.md).

use api::core::InternalSecret;
use apimachinery::meta::ByteString;
use apiserver::{Options, ShootAccess};
use chrono::TimeDelta;
use clock::Random;
use generic_apiserver::authentication::ClientAuthority;
use process::pki::{Authority, Key, Validity};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use crate::support::{self, Garden, START};

const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";

fn client_authority() -> Authority {
    let validity = Validity::starting(START.parse().expect("an instant"), TimeDelta::days(3650));
    let key = Key::landscape(&Random::new(1), "ca-client", "garden/garden-demo/local", 0);
    Authority::new("ca-client", key, validity).expect("an authority")
}

/// Creates a garden with a Shoot, without the objects that gardenlet writes for it.
async fn garden(access: Option<ShootAccess>) -> Garden {
    let options =
        Options { default_domains: vec!["example.org".to_owned()], shoot_access: access, ..Options::default() };
    let garden = Garden::new(&options);
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden.post(&support::shoot("local", "1.26.4")).await.accepted();
    garden
}

/// Creates a garden with a Shoot, like `garden`, and the objects that gardenlet writes.
async fn reconciled(access: Option<ShootAccess>) -> Garden {
    let garden = garden(access).await;
    let address = |name: &str| json!({ "name": name, "url": format!("https://api.{name}.example.org") });
    let addresses = [address("external"), address("service-account-issuer"), address("internal")];
    let status = json!({ "status": { "advertisedAddresses": addresses, "technicalID": "shoot--demo--local" } });
    garden.merge(&format!("{SHOOT}/status"), &status).await.accepted();
    let pair = client_authority().pair().clone();
    let base64 = |text: &str| ByteString(text.as_bytes().to_vec()).to_base64();
    let secret = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "type": "Opaque",
        "metadata": { "namespace": "garden-demo", "name": "local.ca-client" },
        "data": { "ca.crt": base64(&pair.certificate), "ca.key": base64(&pair.key) },
    });
    garden.post(&secret).await.accepted();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "garden-demo", "name": "local.ca-cluster" },
        "data": { "ca.crt": "CLUSTER\n" },
    });
    garden.post(&map).await.accepted();
    garden
}

async fn ask(garden: &Garden, resource: &str, body: Value) -> support::Answer {
    garden.send("POST", &format!("{SHOOT}/{resource}"), "application/json", &body).await
}

fn decoded(text: &Value) -> String {
    let bytes = ByteString::from_base64(text.as_str().expect("text")).expect("base64").0;
    String::from_utf8(bytes).expect("text")
}

fn kubeconfig(answer: &Value) -> Value {
    yaml::from_str(&decoded(&answer["status"]["kubeconfig"])).expect("YAML")
}

#[test]
fn a_kubeconfig_has_every_address_and_the_users_certificate() {
    support::run(async {
        let garden = reconciled(None).await;
        for (resource, kind, group) in [
            ("adminkubeconfig", "AdminKubeconfigRequest", "system:masters"),
            ("viewerkubeconfig", "ViewerKubeconfigRequest", "gardener.cloud:system:viewers"),
        ] {
            let answer = ask(&garden, resource, json!({ "spec": { "expirationSeconds": 600 } })).await.accepted();
            assert_eq!(answer["kind"], kind);
            assert_eq!(answer["apiVersion"], "authentication.gardener.cloud/v1alpha1");
            assert_eq!(answer["spec"]["expirationSeconds"], 600);
            assert_eq!(answer["status"]["expirationTimestamp"], "2023-07-27T20:10:00Z");
            let config = kubeconfig(&answer);
            assert_eq!(config["current-context"], "garden-demo--local-external");
            let names = |list: &str| -> Vec<String> {
                let entries = config[list].as_array().expect("a list").iter();
                entries.map(|entry| entry["name"].as_str().unwrap_or_default().to_owned()).collect()
            };
            let both = ["garden-demo--local-external", "garden-demo--local-internal"];
            assert_eq!(
                (names("clusters"), names("contexts")),
                (both.map(Into::into).into(), both.map(Into::into).into())
            );
            assert_eq!(names("users"), ["garden-demo--local-external"]);
            assert_eq!(config["contexts"][1]["context"]["user"], "garden-demo--local-external");
            let cluster = &config["clusters"][1]["cluster"];
            assert_eq!(cluster["server"], "https://api.internal.example.org");
            assert_eq!(decoded(&cluster["certificate-authority-data"]), "CLUSTER\n");

            let certificate = decoded(&config["users"][0]["user"]["client-certificate-data"]);
            let chain: Vec<_> =
                CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>().expect("PEM");
            let judge = ClientAuthority::from_pem(&client_authority().pair().certificate).expect("a bundle");
            let at = |second: i64| START.parse::<clock::Instant>().expect("an instant") + TimeDelta::seconds(second);
            let user = judge.judge(&chain, at(600)).expect("a user");
            assert_eq!((&*user.name, user.groups), ("alice", vec![group.into()]));
            assert!(judge.judge(&chain, at(601)).is_err());
        }
    });
}

/// User of a server of a release, and name and group of the certificate.
#[test]
fn users_and_groups_of_certificates_follow_release_and_permissions() {
    const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: members, namespace: garden-demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: member}
subjects: [{kind: User, name: anna}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: member}
rules: [{verbs: [create], apiGroups: [core.gardener.cloud], resources: [shoots/adminkubeconfig, shoots/viewerkubeconfig]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operators}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operator}
subjects: [{kind: User, name: olga}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]
";
    const ADMIN: &str = "adminkubeconfig";
    const VIEWER: &str = "viewerkubeconfig";
    support::run(async {
        let garden = reconciled(None).await;
        garden.apply(ROLES).await;
        for (version, user, resource, name, group) in [
            ("v1.124.0", "anna", ADMIN, "anna", "system:masters"),
            ("v1.128.0", "anna", ADMIN, "..........:anna", "system:masters"),
            ("v1.128.0", "anna", VIEWER, "..........:anna", "gardener.cloud:system:viewers"),
            ("v1.129.0", "anna", ADMIN, "..........:anna", "gardener.cloud:project:admins"),
            ("v1.129.0", "olga", ADMIN, "..........:olga", "gardener.cloud:system:admins"),
            ("v1.149.0", "anna", ADMIN, "gardener.cloud:admin:anna", "gardener.cloud:project:admins"),
            ("v1.149.0", "olga", ADMIN, "gardener.cloud:admin:olga", "gardener.cloud:system:admins"),
            ("v1.149.0", "anna", VIEWER, "gardener.cloud:viewer:anna", "gardener.cloud:project:viewers"),
            ("v1.149.0", "olga", VIEWER, "gardener.cloud:viewer:olga", "gardener.cloud:system:viewers"),
        ] {
            let mut asked = garden
                .another_instance(&Options { authorization: authorizer::Mode::Rbac, ..Options::emulating(version) });
            (asked.user, asked.groups) = (user, &["system:authenticated"]);
            let config = kubeconfig(&ask(&asked, resource, json!({})).await.accepted());
            let certificate = decoded(&config["users"][0]["user"]["client-certificate-data"]);
            let chain: Vec<_> =
                CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>().expect("PEM");
            let judge = ClientAuthority::from_pem(&client_authority().pair().certificate).expect("a bundle");
            let found = judge.judge(&chain, START.parse().expect("an instant")).expect("a user");
            match name.strip_prefix("..........") {
                Some(rest) => {
                    let prefix = found.name.strip_suffix(rest).unwrap_or_default();
                    assert!(
                        prefix.len() == 10 && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                        "{}",
                        found.name
                    );
                }
                None => assert_eq!(&*found.name, name, "{version}"),
            }
            assert_eq!(found.groups, vec![group.into()], "{version} {user}");
        }
    });
}

#[test]
fn kubeconfigs_use_the_address_of_the_landscape() {
    support::run(async {
        let access = ShootAccess { server: "127.0.0.1:40121".to_owned(), authorities: "HOST\n".to_owned() };
        let garden = reconciled(Some(access)).await;
        let config = kubeconfig(&ask(&garden, "adminkubeconfig", Value::Null).await.accepted());
        for index in 0..2 {
            let cluster = &config["clusters"][index]["cluster"];
            assert_eq!(cluster["server"], "https://127.0.0.1:40121/clusters/shoot--demo--local");
            assert_eq!(decoded(&cluster["certificate-authority-data"]), "CLUSTER\nHOST\n");
        }
    });
}

#[test]
fn times_have_a_default_and_bounds() {
    support::run(async {
        let garden = reconciled(None).await;
        let until = async |body: Value| {
            let answer = ask(&garden, "adminkubeconfig", body).await.accepted();
            answer["status"]["expirationTimestamp"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(until(json!({})).await, "2023-07-27T21:00:00Z");
        assert_eq!(until(json!({ "spec": { "expirationSeconds": 864_000 } })).await, "2023-07-28T20:00:00Z");
        let kind = "AdminKubeconfigRequest.authentication.gardener.cloud \"\" is invalid: spec.expirationSeconds: ";
        for (seconds, text) in [
            (599_i64, "Invalid value: 599: may not specify a duration less than 10 minutes"),
            (4_294_967_296, "Too long: may not be more than 4294967295 bytes"),
        ] {
            let body = json!({ "spec": { "expirationSeconds": seconds } });
            ask(&garden, "adminkubeconfig", body).await.refused(422, &format!("{kind}{text}"));
        }
    });
}

#[test]
fn missing_objects_are_reported() {
    support::run(async {
        let fresh = garden(None).await;
        ask(&fresh, "adminkubeconfig", json!({})).await.refused(
            422,
            "AdminKubeconfigRequest.authentication.gardener.cloud \"local\" is invalid: status.status: Invalid value: \
             []core.ShootAdvertisedAddress(nil): no suitable advertised address for kube-apiserver found in \
             .status.advertisedAddresses",
        );
        let garden = reconciled(None).await;
        garden.delete("/api/v1/namespaces/garden-demo/configmaps/local.ca-cluster").await.accepted();
        ask(&garden, "viewerkubeconfig", json!({})).await.refused(
            500,
            "Internal error occurred: could not get cluster CA secret: secret \"local.ca-cluster\" not found",
        );
        let secret = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/internalsecrets/local.ca-client";
        let stored: InternalSecret = serde_json::from_value(garden.get(secret).await).expect("an InternalSecret");
        assert_eq!(stored.data.len(), 2);
        garden.delete(secret).await.accepted();
        ask(&garden, "viewerkubeconfig", json!({})).await.refused(
            500,
            "Internal error occurred: could not get client CA secret: internalsecret.core.gardener.cloud \
             \"local.ca-client\" not found",
        );
        let other = SHOOT.replace("local", "other");
        garden
            .send("POST", &format!("{other}/adminkubeconfig"), "application/json", &json!({}))
            .await
            .refused(404, "shoots.core.gardener.cloud \"other\" not found");
    });
}

#[test]
fn kubeconfigs_support_create_only() {
    support::run(async {
        let garden = reconciled(None).await;
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let answer = garden
                .send(method, &format!("{SHOOT}/adminkubeconfig"), "application/merge-patch+json", &json!({}))
                .await;
            assert_eq!(answer.code, 405, "{method}");
        }
        let path = "adminkubeconfig?fieldValidation=Strict";
        ask(&garden, path, json!({ "spec": { "expiration": 1 } })).await.refused(
            400,
            "AdminKubeconfigRequest in version \"v1alpha1\" cannot be handled as a AdminKubeconfigRequest: strict decoding \
             error: unknown field \"spec.expiration\"",
        );
        let wrong =
            json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "ViewerKubeconfigRequest" });
        ask(&garden, "adminkubeconfig", wrong).await.refused(
            400,
            "ViewerKubeconfigRequest in version \"v1alpha1\" cannot be handled as a AdminKubeconfigRequest: converting \
             (v1alpha1.ViewerKubeconfigRequest) to (authentication.AdminKubeconfigRequest): unknown conversion",
        );
    });
}
