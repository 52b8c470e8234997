// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/certificates/signer/signer_test.go: signing of requests. Rejections and
//! validity periods are covered by a table in `domain::certificates`.

use std::sync::Arc;

use apimachinery::meta::{ByteString, ObjectMeta};
use apimachinery::schema::{Node, Schema};
use apimachinery::wire::api_type;
use apimachinery::{Resource, Status};
use clock::Random;
use kube_controllers::{Options, certificates};
use process::pki::{Authority, Key, Validity};
use serde_json::{Value, json};
use testkit::{World, instant};

use super::{CLUSTER, start, world};

/// Request of user `alice` in group `dev`.
const ALICE: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHZMIGAAgEAMB4xDDAKBgNVBAoMA2RldjEOMAwGA1UEAwwFYWxpY2UwWTATBgcq\n\
hkjOPQIBBggqhkjOPQMBBwNCAATEcd9oDQt1+rlFyZsFv/IjY17oLDDSgSCeFflY\n\
KAIJXw23vOqTVeedCQowOZ/moC906cDUWmTkGOLIXqpDJkDKoAAwCgYIKoZIzj0E\n\
AwIDSAAwRQIgcIMbYfwnyxDPyxmfwmTdNi+SPZ5gEHKMeHelvR9OIFcCIQDjsLS2\n\
Lai+yBJkd4iiOp6fT0mqBnYp2BBZzyXvlicOag==\n\
-----END CERTIFICATE REQUEST-----\n\
";
/// Request of user `system:node:n1` in group `system:nodes`.
const KUBELET: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHrMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lz\n\
dGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARiqNN7sd0Xt5yS\n\
F4xliLjAzsGhpr5oXGfuX3HEAFCoZt9ILZpGddn05ESJahuGAuaG1SZEotnYFOWH\n\
fOSjtNHRoAAwCgYIKoZIzj0EAwIDSAAwRQIhAMS4i1PKORxqP7yW5ts4iNxMgXx/\n\
qCrJc5jaXDMp1SpVAiAN6XJlAUbn4G20rfWtonDubvGZzyJPLXN+xNnBL8Ec7A==\n\
-----END CERTIFICATE REQUEST-----\n\
";
/// Request of user `root` in group `system:masters`.
const MASTER: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHjMIGKAgEAMCgxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ0wCwYDVQQDDARy\n\
b290MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeGy3AnDXOHEJhJRFbS1t/5FT\n\
pjgvxZJdNrkXZJrZmTR5StLO0awRwylzYYKaH2w1adem6p7pny3OkqOuXsKVPKAA\n\
MAoGCCqGSM49BAMCA0gAMEUCIQDZnoJwFkdHJOcRa+P+ZpC6lGMy1/al7mGrWGlb\n\
j5013gIgJ+NCBgDweQrqAZ19fRP7YNFZpqXn2WlzzDhlbv2LvRk=\n\
-----END CERTIFICATE REQUEST-----\n\
";

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

#[api_type(no_schema)]
struct CertificateSigningRequest {
    metadata: ObjectMeta,
    spec: Value,
    status: Value,
}

impl Resource for CertificateSigningRequest {
    const GROUP: &'static str = "certificates.k8s.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "CertificateSigningRequest";
    const PLURAL: &'static str = "certificatesigningrequests";
    const NAMESPACED: bool = false;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Schema for CertificateSigningRequest {
    fn node() -> Node {
        api::kubernetes::tables::node("certificates", Self::KIND).expect("it is there")
    }
}

fn request(signer: &str, pem: &str, usages: &[&str], conditions: &[&str]) -> CertificateSigningRequest {
    let condition = |type_: &&str| json!({"type": type_, "status": "True", "reason": "ByHand", "message": "by hand"});
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    let spec =
        json!({"request": ByteString(pem.as_bytes().to_vec()).to_base64(), "signerName": signer, "usages": usages});
    CertificateSigningRequest { metadata: ObjectMeta::named("", "r"), spec, status: json!({"conditions": conditions}) }
}

const USAGES: [&str; 2] = ["digital signature", "client auth"];

fn authority() -> Authority {
    let key = Key::landscape(&Random::new(1), "authority", "a", 0);
    let until = instant("2035-06-02T12:00:00Z");
    Authority::new("a", key, Validity { not_before: instant("2025-06-02T12:00:00Z"), not_after: until })
        .expect("it is made")
}

/// Starts the controller; only cluster [`CLUSTER`] has an authority.
fn begin(world: &mut World) {
    let authority_of: certificates::AuthorityOf =
        Arc::new(|cluster| Box::pin(async move { Ok((cluster == CLUSTER).then(authority)) }));
    start(world, Options { certificates: Some(certificates::Options { authority_of }), ..Options::default() });
}

fn judged(request: CertificateSigningRequest) -> Value {
    let mut world = world().with_in(CLUSTER, request);
    begin(&mut world);
    status(&world)
}

fn status(world: &World) -> Value {
    world.get_in::<CertificateSigningRequest>(CLUSTER, "", "r").expect("it is there").status
}

fn has_certificate(status: &Value) -> bool {
    let pem: ByteString = serde_json::from_value(status["certificate"].clone()).unwrap_or_default();
    pem.0.starts_with(b"-----BEGIN CERTIFICATE-----")
}

/// Returns the message of condition `Failed`.
fn failure(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array()?;
    let failed = conditions.iter().find(|condition| condition["type"] == "Failed")?;
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("True"), &json!("SignerValidationFailure")));
    failed["message"].as_str()
}

#[test]
fn only_approved_requests_are_signed() {
    for (conditions, is_signed) in [
        (&["Approved"][..], true),
        (&[], false),
        (&["Denied"], false),
        (&["Approved", "Denied"], false),
        (&["Approved", "Failed"], false),
    ] {
        let status = judged(request(CLIENT, ALICE, &USAGES, conditions));
        assert_eq!(has_certificate(&status), is_signed, "{conditions:?}: {status}");
        assert_eq!(status["conditions"].as_array().map_or(0, Vec::len), conditions.len(), "nothing is added");
    }
}

#[test]
fn a_later_approval_is_observed() {
    let mut world = world().with_in(CLUSTER, request(CLIENT, ALICE, &USAGES, &[]));
    begin(&mut world);
    assert!(!has_certificate(&status(&world)));
    world.change_in::<CertificateSigningRequest>(CLUSTER, "", "r", |stored| {
        stored.status = request(CLIENT, ALICE, &USAGES, &["Approved"]).status;
    });
    let pass = world.pass();
    assert!(has_certificate(&status(&world)));
    assert_eq!(pass.writes.len(), 1, "{:?}", pass.writes);
    assert_eq!(world.pass().writes, [""; 0], "a certificate is given once");
}

#[test]
fn each_signer_has_its_subjects_and_usages() {
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let serving = "kubernetes.io/kubelet-serving";
    let server = ["digital signature", "server auth"];
    for (signer, pem, usages, why) in [
        (CLIENT, ALICE, USAGES, None),
        (kubelet, KUBELET, USAGES, None),
        (serving, KUBELET, server, None),
        (
            CLIENT,
            MASTER,
            USAGES,
            Some("use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"),
        ),
        (
            kubelet,
            ALICE,
            USAGES,
            Some("subject common name must begin with \"system:node:\", and its organization be \"system:nodes\""),
        ),
        (
            CLIENT,
            ALICE,
            server,
            Some(
                "usages must include \"client auth\", and none but \"client auth\", \"digital signature\", \"key encipherment\"",
            ),
        ),
    ] {
        let status = judged(request(signer, pem, &usages, &["Approved"]));
        assert_eq!(failure(&status), why, "{signer} {usages:?}");
        assert_eq!(has_certificate(&status), why.is_none(), "{signer} {usages:?}");
    }
}

#[test]
fn requests_for_foreign_signers_are_ignored() {
    let status = judged(request("example.org/signer", ALICE, &USAGES, &["Approved"]));
    assert!(!has_certificate(&status) && failure(&status).is_none(), "{status}");
}

#[test]
fn an_invalid_request_fails_with_a_message() {
    let broken = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
    for pem in [broken, ""] {
        let status = judged(request(CLIENT, pem, &USAGES, &["Approved"]));
        assert!(failure(&status).is_some_and(|message| !message.is_empty()), "{status}");
        assert!(!has_certificate(&status));
    }
}

#[test]
fn without_an_authority_nothing_is_signed() {
    let mut world = world().with_in("seed--b", request(CLIENT, ALICE, &USAGES, &["Approved"]));
    begin(&mut world);
    let stored: CertificateSigningRequest = world.get_in("seed--b", "", "r").expect("it is there");
    assert!(!has_certificate(&stored.status) && failure(&stored.status).is_none());
}

#[test]
fn a_write_that_fails_is_tried_again() {
    let mut world = world().with_in(CLUSTER, request(CLIENT, ALICE, &USAGES, &["Approved"]));
    let line = format!("{CLUSTER}: update certificatesigningrequests");
    world.refuse(&line, Status::failure(500, "InternalError", "etcdserver: request timed out"));
    begin(&mut world);
    world.advance_to("2025-06-02T12:01:00Z");
    assert!(has_certificate(&status(&world)));
}
