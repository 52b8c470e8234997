// SPDX-License-Identifier: Apache-2.0
//! Parameters of a landscape.

use std::collections::BTreeSet;

use api::core::{Seed, SeedDNS, SeedDNSProvider, SeedDNSProviderConfig, SeedNetworks, SeedProvider, ShootNetworks};
use api::kubernetes::core::{ObjectReference, SecretReference};
use apimachinery::meta::ObjectMeta;
use clock::Instant;
use domain::profile::Profile;
use domain::validation::shoot::Gates;

/// Default version of Gardener that a landscape emulates.
pub const GARDENER_VERSION: &str = domain::skew::releases::EMULATED;

/// Parent domain of Shoots without a domain of their own.
pub const DEFAULT_DOMAIN: &str = "sandbox.example.org";

/// Internal domain of the landscape's Shoots.
pub const INTERNAL_DOMAIN: &str = "internal.sandbox.example.org";

/// Schedule by which gardenlets reconcile unchanged Shoots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Shoots are reconciled once a day, in the maintenance time window.
    #[default]
    Window,
    /// Shoots are reconciled every hour.
    Hourly,
}

/// Parameters of a landscape; immutable once it is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of all randomness.
    pub seed: u64,
    /// Landscape time at the start.
    pub start: Instant,
    /// Profile of behaviour: requirements documents or upstream.
    pub profile: Profile,
    /// Seeds that gardenlets register; each gets a gardenlet and a provider-local.
    pub seeds: Vec<Seed>,
    /// Disabled controllers of gardener-controller-manager, for example `shoot-maintenance`.
    pub disabled: BTreeSet<&'static str>,
    /// Seed of a schedule to explore: order of the timers of an instant, delays of tasks and of watch events, next key
    /// of a work queue. `None`: the default schedule of every landscape.
    pub schedule: Option<u64>,
    /// Minimum number of entries of history that are retained; `None` retains all.
    pub history: Option<u64>,
    /// Schedule by which unchanged Shoots are reconciled.
    pub sync: Sync,
    /// Kubernetes version of the clusters `garden` and `seed--NAME`.
    pub kubernetes_version: String,
    /// Emulated version of Gardener, with `v`.
    pub gardener_version: String,
    /// Feature gates of gardener-apiserver.
    pub gates: Gates,
    /// True if workloads such as Deployments get pods, which run on nodes, as in a landscape of processes. Otherwise
    /// they are only objects.
    pub workload: bool,
}

impl Options {
    /// Parameters of a landscape with one seed, `local`, of provider and region `local`.
    pub fn new(seed: u64, start: Instant) -> Self {
        Self {
            seed,
            start,
            profile: Profile::default(),
            seeds: vec![local_seed()],
            disabled: BTreeSet::new(),
            schedule: None,
            history: None,
            sync: Sync::default(),
            kubernetes_version: "1.31.1".to_owned(),
            gardener_version: GARDENER_VERSION.to_owned(),
            gates: Gates::default(),
            workload: false,
        }
    }
}

/// The Seed `local`: provider and region `local`, with capacity for any number of Shoots.
pub fn local_seed() -> Seed {
    let mut seed =
        Seed { metadata: ObjectMeta { name: "local".to_owned(), ..ObjectMeta::default() }, ..Seed::default() };
    seed.spec.provider = SeedProvider {
        r#type: "local".to_owned(),
        region: "local".to_owned(),
        zones: ["0", "1", "2"].map(str::to_owned).to_vec(),
        ..SeedProvider::default()
    };
    seed.spec.networks = SeedNetworks {
        nodes: Some("172.18.0.0/16".to_owned()),
        pods: "10.1.0.0/16".to_owned(),
        services: "10.2.0.0/16".to_owned(),
        shoot_defaults: Some(ShootNetworks {
            pods: Some("10.3.0.0/16".to_owned()),
            services: Some("10.4.0.0/16".to_owned()),
        }),
        ..SeedNetworks::default()
    };
    seed.spec.ingress = Some(api::core::Ingress {
        domain: "ingress.local.seed.example.org".to_owned(),
        controller: api::core::IngressController { kind: "nginx".to_owned(), ..Default::default() },
    });
    let secret = ObjectReference {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        name: "internal-domain".to_owned(),
        namespace: "garden".to_owned(),
        ..ObjectReference::default()
    };
    seed.spec.dns = SeedDNS {
        provider: Some(SeedDNSProvider {
            r#type: "local".to_owned(),
            // Each release reads the field that it knows.
            secret_ref: SecretReference { name: secret.name.clone(), namespace: secret.namespace.clone() },
            credentials_ref: Some(secret.clone()),
        }),
        internal: Some(SeedDNSProviderConfig {
            r#type: "local".to_owned(),
            domain: INTERNAL_DOMAIN.to_owned(),
            credentials_ref: secret,
            ..SeedDNSProviderConfig::default()
        }),
        ..SeedDNS::default()
    };
    seed
}
