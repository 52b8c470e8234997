// SPDX-License-Identifier: Apache-2.0
//! What a landscape has from its beginning: what an operator gives it, and the Deployments of its components.

use api::core::Seed;
use api::kubernetes::core::{ConfigMap, Namespace};
use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use controller::{Api, Error};
use domain::profile::Profile;
use host::RUNTIME_CLUSTER;
use landscape::Options;
use process::Context;
use serde_json::json;

use super::components::{NAMESPACE, Program};
use super::directory::Facts;
use crate::failure::Failure;

/// The landscape that was asked for.
fn options(facts: &Facts) -> Options {
    let mut options = Options::new(facts.seed, facts.start_time);
    options.gardener_version.clone_from(&facts.gardener_version);
    options.seeds = (0..facts.seeds).map(|number| seed(number as usize)).collect();
    options
}

/// The Seed `local`, then `local-2`, `local-3`.
fn seed(number: usize) -> Seed {
    let mut seed = landscape::options::local_seed();
    if number > 0 {
        seed.metadata.name = format!("local-{}", number + 1);
    }
    seed
}

/// How gardener-apiserver serves.
pub(crate) fn apiserver_options(facts: &Facts) -> Result<apiserver::Options, Failure> {
    let profile = match facts.profile.as_str() {
        "documents" => Profile::Documents,
        "upstream" => Profile::Upstream,
        other => return Err(Failure::input(format!("there is no profile {other}"), "use documents or upstream")),
    };
    Ok(apiserver::Options {
        profile,
        default_domains: vec![landscape::DEFAULT_DOMAIN.to_owned()],
        kubernetes_version: options(facts).kubernetes_version,
        ..apiserver::Options::default()
    })
}

/// Creates what is not there yet.
pub(crate) async fn run(context: &Context, facts: &Facts) -> Result<(), Failure> {
    let options = options(facts);
    landscape::prepare(context, &options).await.map_err(|failure| Failure::Failed(failure.to_string()))?;
    let seeds = options.seeds.iter().map(|seed| (format!("seed--{}", seed.metadata.name), Some(seed)));
    for (cluster, seed) in std::iter::once((RUNTIME_CLUSTER.to_owned(), None)).chain(seeds) {
        create(&Api::all(context, &cluster), Namespace { metadata: named("", NAMESPACE), ..Namespace::default() })
            .await?;
        for program in Program::ALL.into_iter().filter(|program| program.is_of_seed() == seed.is_some()) {
            let config = configuration(program, seed)?;
            create(&Api::namespaced(context, &cluster, NAMESPACE), config).await?;
            let deployment = program.deployment(&facts.gardener_version, &facts.profile);
            create(&Api::namespaced(context, &cluster, NAMESPACE), deployment).await?;
        }
    }
    Ok(())
}

fn configuration(program: Program, seed: Option<&Seed>) -> Result<ConfigMap, Failure> {
    let (api_version, kind) = program.configuration();
    let mut tree = json!({ "apiVersion": api_version, "kind": kind });
    if let (Program::Gardenlet, Some(seed)) = (program, seed) {
        tree["controllers"] = json!({ "shoot": { "reconcileInMaintenanceOnly": true } });
        tree["seedConfig"] = json!({ "metadata": { "name": seed.metadata.name }, "spec": seed.spec });
    }
    let text = serde_yaml_ng::to_string(&tree).map_err(|error| Failure::Failed(error.to_string()))?;
    let metadata = named(NAMESPACE, &format!("{}-config", program.name()));
    Ok(ConfigMap { metadata, data: [("config.yaml".to_owned(), text)].into(), ..ConfigMap::default() })
}

fn named(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta { name: name.to_owned(), namespace: namespace.to_owned(), ..ObjectMeta::default() }
}

async fn create<K: Resource>(api: &Api<K>, object: K) -> Result<(), Failure> {
    match api.create(&object).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(refused(K::KIND, &object.metadata().name, &error)),
    }
}

fn refused(kind: &str, name: &str, error: &Error) -> Failure {
    Failure::Failed(format!("cannot create {kind} {name}: {error}"))
}
