// SPDX-License-Identifier: Apache-2.0
//! Certificates of several authorities on one port: their scope and expiry.

use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Instant, Random};
use generic_apiserver::authentication::{Authenticator, Credentials, Identity};
use host::identity::{CertificateAuthenticator, ClusterAuthenticator};
use process::pki::{Authority, Key, Leaf, Validity};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::json;

use crate::support;

type Chain = Vec<CertificateDer<'static>>;

/// Landscape time and wall time are years apart.
fn landscape_noon() -> Instant {
    "2023-07-27T12:00:00Z".parse().expect("an instant")
}

fn wall_noon() -> Instant {
    "2026-11-22T12:00:00Z".parse().expect("an instant")
}

fn authority(name: &str, from: Instant) -> Authority {
    let key = Key::landscape(&Random::new(1), name, "x", 0);
    Authority::new("ca-client", key, Validity::starting(from, TimeDelta::days(10))).expect("an authority")
}

fn user(authority: &Authority, from: Instant) -> Chain {
    let validity = Validity::starting(from, TimeDelta::hours(1));
    let key = Key::transport().expect("a key");
    let pair = authority.issue(Leaf::Client("jane", &["devs"]), &key, validity).expect("a certificate");
    CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect::<Result<_, _>>().expect("PEM")
}

struct World {
    knows: ClusterAuthenticator,
    landscape: Chain,
    garden: Chain,
    shoot: Chain,
}

/// A host whose cluster `garden` has an authority created by the landscape, and `shoot--p--c` one in its object.
async fn world() -> World {
    let host = support::host().await;
    let landscape = authority("landscape", wall_noon());
    let (garden, shoot) = (authority("garden", landscape_noon()), authority("shoot", landscape_noon()));
    let object = json!({
        "metadata": { "name": "shoot--p--c" },
        "spec": { "kubernetesVersion": "1.27.1", "clientCA": shoot.pair().certificate },
    });
    let path = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
    assert_eq!(support::send(&host, "POST", path, &[], object.to_string()).await.code, 201);
    let own = garden.pair().certificate.clone();
    let own = move |cluster: &str| (cluster == "garden").then(|| own.clone());
    let everywhere = CertificateAuthenticator::new(&landscape.pair().certificate, 1).expect("an authority");
    World {
        knows: ClusterAuthenticator::new(everywhere, host.server().clone(), Arc::new(own)),
        landscape: user(&landscape, wall_noon()),
        garden: user(&garden, landscape_noon()),
        shoot: user(&shoot, landscape_noon()),
    }
}

impl World {
    async fn name(&self, cluster: &str, certificates: &Chain, now: Instant) -> Option<String> {
        let credentials = Credentials { cluster, certificates, bearer_token: None, now, wall: wall_noon() };
        match self.knows.authenticate(credentials).await {
            Ok(Identity::User(user)) => Some(format!("{} {:?}", user.name, user.groups)),
            Ok(other) => Some(format!("{other:?}")),
            Err(_) => None,
        }
    }
}

#[tokio::test]
async fn a_certificate_counts_by_the_cluster_of_the_path() {
    let world = world().await;
    let jane = Some("jane [\"devs\"]");
    for (chain, everywhere, garden, shoot, other) in [
        (&world.landscape, jane, jane, jane, jane),
        (&world.garden, None, jane, None, None),
        (&world.shoot, None, None, jane, None),
        (&Chain::new(), Some("Anonymous"), Some("Anonymous"), Some("Anonymous"), Some("Anonymous")),
    ] {
        for (cluster, expected) in [
            ("", everywhere),
            ("*", everywhere),
            ("garden", garden),
            ("shoot--p--c", shoot),
            ("shoot--p--a", other),
            ("runtime", other),
            ("gone", other),
        ] {
            let found = world.name(cluster, chain, landscape_noon()).await;
            assert_eq!(found.as_deref(), expected, "{cluster:?}");
        }
    }
}

#[tokio::test]
async fn landscape_certificates_expire_in_landscape_time() {
    let world = world().await;
    for (second, is_valid) in [(-1, false), (0, true), (3_600, true), (3_601, false)] {
        let now = landscape_noon() + TimeDelta::seconds(second);
        assert_eq!(world.name("shoot--p--c", &world.shoot, now).await.is_some(), is_valid, "{second}");
        assert!(world.name("shoot--p--c", &world.landscape, now).await.is_some(), "that is judged on wall time");
    }
}

#[tokio::test]
async fn a_path_without_a_cluster_means_the_users_own() {
    let world = world().await;
    for (chain, expected) in [
        (&world.garden, Some("garden")),
        (&world.shoot, Some("shoot--p--c")),
        (&world.landscape, None),
        (&Chain::new(), None),
    ] {
        let (now, wall) = (landscape_noon(), wall_noon());
        let credentials = Credentials { cluster: "", certificates: chain, bearer_token: None, now, wall };
        assert_eq!(world.knows.home(credentials).await.as_deref(), expected);
    }
}
