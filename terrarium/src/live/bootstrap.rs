// SPDX-License-Identifier: Apache-2.0
//! What a landscape has from its beginning: what an operator gives it, and the Deployments of its components.

use api::constants::namespace;
use api::core::Seed;
use api::kubernetes::core::{ConfigMap, Namespace};
use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use controller::{Api, Error};
use domain::profile::Profile;
use host::live::Live;
use host::{GARDEN_CLUSTER, RUNTIME_CLUSTER};
use landscape::Options;
use process::Context;
use process::transport::full;
use serde_json::{Value, json};

use super::components::{NAMESPACE, Program};
use super::directory::Facts;
use super::{admission_controller, apiserver, ask};
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

/// Creates what is not there yet. gardener-apiserver comes first: everything of Gardener waits for it.
pub(crate) async fn run(live: &Live, facts: &Facts, authorities: &str) -> Result<(), Failure> {
    let (context, options) = (live.context("terrarium"), options(facts));
    let failed = |failure: landscape::Failure| Failure::Failed(failure.to_string());
    landscape::prepare_clusters(&context, &options).await.map_err(failed)?;
    live.register().await.map_err(|error| Failure::Failed(format!("cannot create the APIServices: {error}")))?;
    namespace(&context, GARDEN_CLUSTER, namespace::INSTANCES).await?;
    namespace(&context, RUNTIME_CLUSTER, NAMESPACE).await?;
    component(&context, RUNTIME_CLUSTER, Program::Apiserver, facts, &options, None).await?;
    live.aggregated().await;
    landscape::prepare_extensions(&context, &options).await.map_err(failed)?;
    let of_seed = |of_seed| Program::ALL.into_iter().filter(move |program| program.is_of_seed() == of_seed);
    for program in of_seed(false).filter(|program| *program != Program::Apiserver) {
        component(&context, RUNTIME_CLUSTER, program, facts, &options, None).await?;
    }
    create_tree(&context, admission_controller::CONFIGURATIONS, &admission_controller::configuration(authorities))
        .await?;
    for seed in &options.seeds {
        let cluster = format!("seed--{}", seed.metadata.name);
        namespace(&context, &cluster, NAMESPACE).await?;
        for program in of_seed(true) {
            component(&context, &cluster, program, facts, &options, Some(seed)).await?;
        }
    }
    Ok(())
}

/// The landscape's profile.
pub(crate) fn profile(facts: &Facts) -> Result<Profile, Failure> {
    Profile::named(&facts.profile)
        .ok_or_else(|| Failure::input(format!("there is no profile {}", facts.profile), "use documents or upstream"))
}

/// How gardener-apiserver serves, as the landscape was created.
pub(crate) fn apiserver_options(facts: &Facts) -> Result<::apiserver::Options, Failure> {
    apiserver::options(&apiserver_flags(facts, &options(facts)), &facts.gardener_version).map_err(Failure::Failed)
}

/// Flags with which gardener-apiserver serves as the landscape was created.
pub(crate) fn flags_of_apiserver(facts: &Facts) -> Vec<String> {
    apiserver_flags(facts, &options(facts))
}

fn apiserver_flags(facts: &Facts, options: &Options) -> Vec<String> {
    apiserver::flags(&facts.profile, landscape::DEFAULT_DOMAIN, &options.kubernetes_version)
}

async fn namespace(context: &Context, cluster: &str, name: &str) -> Result<(), Failure> {
    create(&Api::all(context, cluster), Namespace { metadata: named("", name), ..Namespace::default() }).await
}

/// Creates a component's Deployment, and its configuration before it.
async fn component(
    context: &Context,
    cluster: &str,
    program: Program,
    facts: &Facts,
    options: &Options,
    seed: Option<&Seed>,
) -> Result<(), Failure> {
    let (replicas, args) = match program {
        Program::Apiserver => (facts.apiservers, apiserver_flags(facts, options)),
        _ => (1, vec![format!("--profile={}", facts.profile)]),
    };
    if let Some(configuration) = program.configuration() {
        let config = config_map(program, configuration, facts, seed)?;
        create(&Api::namespaced(context, cluster, NAMESPACE), config).await?;
    }
    let deployment = program.deployment(&facts.gardener_version, replicas, &args);
    create(&Api::namespaced(context, cluster, NAMESPACE), deployment).await
}

fn config_map(
    program: Program,
    (api_version, kind): (&str, &str),
    facts: &Facts,
    seed: Option<&Seed>,
) -> Result<ConfigMap, Failure> {
    let mut tree = json!({ "apiVersion": api_version, "kind": kind });
    if let (Program::Gardenlet, Some(seed)) = (program, seed) {
        if facts.demo {
            tree["controllers"] = json!({ "shoot": { "reconcileInMaintenanceOnly": true } });
        }
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

/// As [`create`], for a kind that has no type.
async fn create_tree(context: &Context, path: &str, tree: &Value) -> Result<(), Failure> {
    let what = format!("{} {}", tree["kind"].as_str().unwrap_or_default(), tree["metadata"]["name"]);
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("cannot create {what}: {error}"));
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(full(tree.to_string()))
        .map_err(|error| failed(&error))?;
    let response = context.transport.send(request).await.map_err(|error| failed(&error))?;
    match response.status() {
        http::StatusCode::CREATED => Ok(()),
        http::StatusCode::CONFLICT => trust(context, path, tree).await.map_err(|error| failed(&error)),
        code => Err(failed(&code)),
    }
}

/// Has the webhooks of a configuration that is there trust the authorities of today: keys may have been made anew. The
/// rest of it is its owner's.
async fn trust(context: &Context, path: &str, tree: &Value) -> Result<(), String> {
    let path = format!("{path}/{}", tree["metadata"]["name"].as_str().unwrap_or_default());
    let mut held = ask::tree(&context.transport, &path, "application/json").await.map_err(|error| error.to_string())?;
    let wanted = tree["webhooks"].as_array().into_iter().flatten();
    let bundles: Vec<_> = wanted.map(|webhook| (&webhook["name"], &webhook["clientConfig"]["caBundle"])).collect();
    let before = held.clone();
    for webhook in held["webhooks"].as_array_mut().into_iter().flatten() {
        if let Some((_, bundle)) = bundles.iter().find(|(name, _)| **name == webhook["name"]) {
            webhook["clientConfig"]["caBundle"] = (*bundle).clone();
        }
    }
    if held == before {
        return Ok(());
    }
    let request = http::Request::put(&path).header(http::header::CONTENT_TYPE, "application/json");
    let request = request.body(full(held.to_string())).map_err(|error| error.to_string())?;
    match context.transport.send(request).await.map_err(|error| error.to_string())?.status() {
        http::StatusCode::OK => Ok(()),
        code => Err(code.to_string()),
    }
}

fn refused(kind: &str, name: &str, error: &Error) -> Failure {
    Failure::Failed(format!("cannot create {kind} {name}: {error}"))
}
