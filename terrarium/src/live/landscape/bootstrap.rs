// SPDX-License-Identifier: Apache-2.0
//! Initial objects of a landscape: those of an operator, and the Deployments of its components.

use std::net::Ipv4Addr;

use admission_controller::configurations;
use api::cluster;
use api::constants::{api_version, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace, Service};
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, ObjectMeta};
use authorizer::Mode;
use chrono::{DateTime, TimeDelta};
use controller::{Api, Error, ListOptions};
use domain::event_expiry;
use domain::garden::components::Program;
use domain::garden::control_plane::CONFIGURATION_KEY;
use domain::garden::seed_cluster;
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
use domain::skew::{GardenerVersion, releases};
use domain::validation::network::Network;
use host::live::Client;
use host::registry::{self, Settings};
use landscape::Options;
use process::Context;
use process::transport::full;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::directory::Facts;
use crate::live::{ask, operator};

/// Kind of gardenlet's configuration.
const GARDENLET_KIND: &str = "GardenletConfiguration";

/// Options of the landscape's initial objects, by its facts.
fn options(facts: &Facts) -> Options {
    let mut options = Options::new(facts.seed, facts.start_time);
    options.gardener_version.clone_from(&facts.gardener_version);
    options.kubernetes_version = kubernetes_version(facts);
    options.seeds = (0..facts.seeds).map(|number| seed(number as usize)).collect();
    options
}

/// Kubernetes version of garden and seeds, without `v`.
pub(crate) fn kubernetes_version(facts: &Facts) -> String {
    facts.kubernetes_version.clone().unwrap_or_else(|| usual_kubernetes(&facts.gardener_version))
}

/// Default Kubernetes version for an emulated version of Gardener.
pub(crate) fn usual_kubernetes(gardener: &str) -> String {
    let known = GardenerVersion::parse(gardener);
    known.map_or_else(
        || Options::new(0, DateTime::UNIX_EPOCH).kubernetes_version,
        |known| releases::usual_kubernetes(&known),
    )
}

/// Returns the Seed with a number from 0: `local`, then `local-2`, `local-3`.
fn seed(number: usize) -> Seed {
    let mut seed = landscape::options::local_seed();
    if number > 0 {
        seed.metadata.name = format!("local-{}", number + 1);
    }
    seed
}

/// Creates missing objects. gardener-apiserver is the first: all other parts of Gardener wait for it.
pub(crate) async fn run(client: &Client, facts: &Facts, authorities: &str) -> Result<(), Failure> {
    let (context, options) = (client.context("terrarium"), options(facts));
    let failed = |failure: landscape::Failure| Failure::Failed(failure.to_string());
    landscape::prepare_clusters(&context, &options).await.map_err(failed)?;
    make_namespace(&context, cluster::GARDEN, namespace::INSTANCES).await?;
    let unsaid = |error| Failure::Failed(format!("cannot say how versions are judged: {error}"));
    registry::write_settings(&context.transport, skew_settings(facts)).await.map_err(unsaid)?;
    make_namespace(&context, cluster::RUNTIME, namespace::GARDEN).await?;
    let has_operator = facts.operator == Some(true);
    if has_operator {
        operated(&context, facts, &options).await?;
    } else {
        component(&context, cluster::RUNTIME, Program::Apiserver, facts, &options, None).await?;
    }
    client.register().await.map_err(|error| Failure::Failed(format!("cannot create the APIServices: {error}")))?;
    client.aggregated().await;
    landscape::prepare_extensions(&context, &options).await.map_err(failed)?;
    if !has_operator {
        for program in [Program::AdmissionController, Program::ControllerManager, Program::Scheduler] {
            component(&context, cluster::RUNTIME, program, facts, &options, None).await?;
        }
    }
    create_tree(&context, configurations::PATH, &configurations::validating(authorities)).await?;
    // Waits until a server answers for Gardener's groups: a process that waits for that counts as starting, and holds time.
    for seed in &options.seeds {
        let cluster = cluster::of_seed(&seed.metadata.name);
        make_namespace(&context, &cluster, namespace::GARDEN).await?;
        if has_operator {
            let made = made_gardenlet(&context, &cluster, facts, seed).await?;
            create(&Api::namespaced(&context, cluster::GARDEN, namespace::GARDEN), made).await?;
            gardenlet(&context, &cluster, facts, seed).await?;
        } else {
            component(&context, &cluster, Program::Gardenlet, facts, &options, Some(seed)).await?;
        }
        component(&context, &cluster, Program::ProviderLocal, facts, &options, Some(seed)).await?;
    }
    Ok(())
}

/// Creates a Garden, and the operator that creates its control plane. Settings of a landscape that had none so far are
/// kept.
async fn operated(context: &Context, facts: &Facts, options: &Options) -> Result<(), Failure> {
    let gardens = Api::<Garden>::all(context, cluster::RUNTIME);
    let (known, _) = gardens.list(&ListOptions::default()).await.map_err(|error| unread("Gardens", &error))?;
    let version = match known.first() {
        Some(garden) => garden.status.gardener.as_ref().map(|gardener| gardener.version.clone()),
        None => {
            let deployments = Api::<Deployment>::namespaced(context, cluster::RUNTIME, namespace::GARDEN);
            let maps = Api::<ConfigMap>::namespaced(context, cluster::RUNTIME, namespace::GARDEN);
            let all = ListOptions::default();
            let (deployments, _) = deployments.list(&all).await.map_err(|error| unread("Deployments", &error))?;
            let (found, _) = maps.list(&all).await.map_err(|error| unread("ConfigMaps", &error))?;
            let mut garden = operator::garden(&options.kubernetes_version);
            let adopted = operator::adopt(&mut garden, &deployments, &found);
            for overrides in adopted.overrides {
                create(&maps, overrides).await?;
            }
            create(&gardens, garden).await?;
            adopted.version
        }
    };
    readdress_api_server(context).await?;
    let version = version.unwrap_or_else(|| facts.gardener_version.clone());
    create(&Api::namespaced(context, cluster::RUNTIME, namespace::GARDEN), operator::operator(facts, &version)).await
}

/// Deletes the Service of the API server of cluster `runtime` if it was created before the Garden that names the network of
/// Services. It is created again with the first address of that network.
async fn readdress_api_server(context: &Context) -> Result<(), Failure> {
    let (gardens, _) = Api::<Garden>::all(context, cluster::RUNTIME)
        .list(&ListOptions::default())
        .await
        .map_err(|error| unread("Gardens", &error))?;
    let services = gardens.first().and_then(|garden| garden.spec.runtime_cluster.networking.services.first());
    let network = services.and_then(|services| Network::parse(services)).and_then(Network::ipv4);
    let Some((first, count)) = network else { return Ok(()) };
    let api = Api::<Service>::namespaced(context, cluster::RUNTIME, "default");
    let service = api.get_opt("kubernetes").await.map_err(|error| unread("Services", &error))?;
    let address = service.and_then(|service| service.spec.cluster_ip.parse::<Ipv4Addr>().ok());
    if address.is_none_or(|address| (first..first + count).contains(&u32::from(address))) {
        return Ok(());
    }
    match api.delete("kubernetes", &DeleteOptions::default()).await {
        Err(error) if !error.is_not_found() => {
            Err(Failure::Failed(format!("cannot delete Service default/kubernetes of cluster runtime: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns the Gardenlet of a seed that has none, with version and configuration of the existing Deployment.
async fn made_gardenlet(context: &Context, cluster: &str, facts: &Facts, seed: &Seed) -> Result<Gardenlet, Failure> {
    let deployments = Api::<Deployment>::namespaced(context, cluster, namespace::GARDEN);
    let maps = Api::<ConfigMap>::namespaced(context, cluster, namespace::GARDEN);
    let held = deployments.get_opt(Program::Gardenlet.name()).await;
    let held = held.map_err(|error| unread("Deployments", &error))?;
    let template = held.map(|held| held.spec.template.spec);
    let volumes = template.iter().flat_map(|template| &template.volumes);
    let map = volumes.filter_map(|volume| volume.config_map.as_ref()).map(|map| map.name.clone()).next();
    let text = match map {
        Some(name) => {
            let map = maps.get_opt(&name).await.map_err(|error| unread("ConfigMaps", &error))?;
            map.and_then(|map| map.data.get(CONFIGURATION_KEY).cloned())
        }
        None => None,
    };
    let kind = (api_version::GARDENLET_CONFIG, GARDENLET_KIND);
    let configuration = text
        .and_then(|text| yaml::from_str(&text).ok())
        .unwrap_or_else(|| configuration(Program::Gardenlet, kind, facts, Some(seed)));
    let image = template.as_ref().and_then(|template| template.containers.first());
    let version = image.and_then(|container| container.image.rsplit_once(':')).map(|(_, tag)| tag.to_owned());
    let version = version.unwrap_or_else(|| facts.gardener_version.clone());
    Ok(operator::gardenlet(seed, &version, configuration))
}

/// Returns the Gardenlet of a Seed that a user adds; `version`: version of its gardenlet.
pub(crate) fn added_gardenlet(facts: &Facts, seed: &Seed, version: &str) -> Gardenlet {
    let kind = (api_version::GARDENLET_CONFIG, GARDENLET_KIND);
    operator::gardenlet(seed, version, configuration(Program::Gardenlet, kind, facts, Some(seed)))
}

/// Creates the missing objects of an added Seed's cluster, in a landscape without gardener-operator.
///
/// # Errors
/// An object is rejected.
pub(crate) async fn create_seed_cluster(
    context: &Context,
    facts: &Facts,
    gardenlet: &Gardenlet,
    version: &str,
) -> Result<(), Failure> {
    let name = &gardenlet.metadata.name;
    let wanted = domain::garden::gardenlet::wanted(gardenlet, &facts.profile)
        .map_err(|reason| Failure::Failed(format!("Seed {name}: {reason}")))?;
    let made = seed_cluster::seed_cluster(name, &kubernetes_version(facts), wanted, version, &facts.profile);
    let cluster = made.cluster.metadata.name.clone();
    create(&Api::all(context, cluster::RUNTIME), made.cluster).await?;
    create(&Api::all(context, &cluster), made.namespace).await?;
    for map in made.config_maps {
        create(&Api::namespaced(context, &cluster, namespace::GARDEN), map).await?;
    }
    for deployment in made.deployments {
        create(&Api::namespaced(context, &cluster, namespace::GARDEN), deployment).await?;
    }
    Ok(())
}

/// Creates the Deployment of a seed's gardenlet, in the form that gardenlet itself uses.
async fn gardenlet(context: &Context, cluster: &str, facts: &Facts, seed: &Seed) -> Result<(), Failure> {
    let deployments = Api::<Deployment>::namespaced(context, cluster, namespace::GARDEN);
    let held = deployments.get_opt(Program::Gardenlet.name()).await;
    if held.map_err(|error| unread("Deployments", &error))?.is_some() {
        return Ok(());
    }
    let made = made_gardenlet(context, cluster, facts, seed).await?;
    let (map, deployment) = operator::gardenlet_deployment(&made, &facts.profile)
        .map_err(|reason| Failure::Failed(format!("Gardenlet {}: {reason}", seed.metadata.name)))?;
    create(&Api::namespaced(context, cluster, namespace::GARDEN), map).await?;
    create(&deployments, deployment).await
}

fn unread(what: &str, error: &Error) -> Failure {
    Failure::Failed(format!("cannot read {what}: {error}"))
}

/// Returns the landscape's profile.
pub(crate) fn profile(facts: &Facts) -> Result<Profile, Failure> {
    Profile::named(&facts.profile)
        .ok_or_else(|| Failure::input(format!("there is no profile {}", facts.profile), "use documents or upstream"))
}

/// Retention of Events in a demo, in which days pass quickly: later requests still find the Events.
const EVENT_TTL_OF_DEMO: TimeDelta = TimeDelta::days(365);

/// Landscape time for which Events are kept.
pub(crate) fn event_ttl(facts: &Facts) -> TimeDelta {
    let usual = if facts.demo { EVENT_TTL_OF_DEMO } else { event_expiry::USUAL };
    facts.event_ttl.and_then(TimeDelta::try_seconds).unwrap_or(usual)
}

/// Authorization mode of the landscape.
pub(crate) fn authorization(facts: &Facts) -> Mode {
    facts.authorization.as_deref().and_then(Mode::named).unwrap_or(Mode::Rbac)
}

/// Options of gardener-apiserver, by the landscape's creation parameters.
pub(crate) fn apiserver_options(facts: &Facts) -> Result<::apiserver::Options, Failure> {
    ::apiserver::binary::options(&apiserver_flags(facts, &options(facts)), &facts.gardener_version)
        .map_err(Failure::Failed)
}

/// Flags of gardener-apiserver, by the landscape's creation parameters.
pub(crate) fn flags_of_apiserver(facts: &Facts) -> Vec<String> {
    apiserver_flags(facts, &options(facts))
}

fn apiserver_flags(facts: &Facts, options: &Options) -> Vec<String> {
    ::apiserver::binary::flags(&facts.profile, landscape::DEFAULT_DOMAIN, &options.kubernetes_version)
}

/// Enforcement of the version rules, by the landscape's facts.
pub(crate) fn skew_settings(facts: &Facts) -> Settings {
    let enforcement = facts.skew_enforcement.as_deref().and_then(Enforcement::named);
    Settings { enforcement, allows_downgrades: facts.allow_downgrade }
}

async fn make_namespace(context: &Context, cluster: &str, name: &str) -> Result<(), Failure> {
    create(&Api::all(context, cluster), Namespace { metadata: named("", name), ..Namespace::default() }).await
}

/// Creates a component's Deployment, and before that its configuration.
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
        create(&Api::namespaced(context, cluster, namespace::GARDEN), config).await?;
    }
    let deployment = program.deployment(&facts.gardener_version, replicas, &args);
    create(&Api::namespaced(context, cluster, namespace::GARDEN), deployment).await
}

/// Initial configuration of a component.
fn configuration(program: Program, (api_version, kind): (&str, &str), facts: &Facts, seed: Option<&Seed>) -> Value {
    let mut tree = json!({ "apiVersion": api_version, "kind": kind });
    if let (Program::Gardenlet, Some(seed)) = (program, seed) {
        if facts.demo {
            tree["controllers"] = json!({ "shoot": { "reconcileInMaintenanceOnly": true } });
        }
        let ObjectMeta { name, labels, annotations, .. } = &seed.metadata;
        tree["seedConfig"] = json!({ "metadata": { "name": name }, "spec": seed.spec });
        for (field, values) in [("labels", labels), ("annotations", annotations)] {
            if !values.is_empty() {
                tree["seedConfig"]["metadata"][field] = json!(values);
            }
        }
    }
    tree
}

fn config_map(
    program: Program,
    (api_version, kind): (&str, &str),
    facts: &Facts,
    seed: Option<&Seed>,
) -> Result<ConfigMap, Failure> {
    let tree = configuration(program, (api_version, kind), facts, seed);
    let text = yaml::to_string(&tree).map_err(|error| Failure::Failed(error.to_string()))?;
    let metadata = named(namespace::GARDEN, &format!("{}-config", program.name()));
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

/// Creates an object like [`create`], for a kind without a Rust type.
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

/// Updates the CA bundles of an existing webhook configuration: the keys may have been created again. Other fields are left
/// to their owner.
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
