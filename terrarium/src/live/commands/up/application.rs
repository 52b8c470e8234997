// SPDX-License-Identifier: Apache-2.0
//! Applies the manifests of `up -f` to a landscape that is ready.
//!
//! **Invariants.** Objects are created or updated in the way of `kubectl apply --validate=strict`; additions are created
//! only. A second application of the same manifests changes nothing. Every request and every wait is bounded by `--wait`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use api::cluster;
use api::constants::{condition, label, namespace, role};
use api::core::{
    CloudProfile, Condition, ControllerRegistration, NamespacedCloudProfile, Project, SecretBinding, Seed,
};
use api::kubernetes::core::Namespace;
use api::security::CredentialsBinding;
use api::seedmanagement::{Gardenlet, ManagedSeed};
use apimachinery::status::reason;
use apimachinery::{Object, Resource, Status};
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, TimerClass};
use controller::{Api, ListOptions, Readable};
use domain::project;
use domain::skew::GardenerVersion;
use domain::skew::releases::rules_of;
use ops::inventory::subject_of;
use ops::manifests::Manifest;
use ops::show;
use process::Context;
use serde_json::json;

use super::applied::Applied;
use super::manifests::Manifests;
use super::readiness::{lacks_condition, seed_lacks};
use super::steps::{Step, steps};
use super::waiting::Waiting;
use crate::failure::Failure;
use crate::live::bootstrap;
use crate::live::client::Client;
use crate::output::Output;
use crate::simulate::complete::{self, Plan};
use crate::simulate::{self, apply};

/// Wall time within which a refusal may be due to an API server that has not seen a new object yet.
const LAG: TimeDelta = TimeDelta::seconds(2);
/// Wall time between two attempts.
const RETRY: TimeDelta = TimeDelta::milliseconds(100);

/// The application of manifests to a landscape.
pub(super) struct Application<'a> {
    client: &'a Client,
    context: Context,
    /// Emulated version of Gardener, with `v`.
    version: String,
    /// Maximum wall time of each request and each wait.
    wait: TimeDelta,
    /// Objects that were applied so far.
    applied: &'a RefCell<Applied>,
}

impl<'a> Application<'a> {
    pub(super) fn new(client: &'a Client, version: String, wait: TimeDelta, applied: &'a RefCell<Applied>) -> Self {
        Self { client, context: client.context(), version, wait, applied }
    }

    /// Applies all objects, and prints notes.
    ///
    /// # Errors
    /// The refusal of an object with its file and line, or a wait that is over.
    pub(super) async fn run(&self, manifests: Manifests, output: &mut Output) -> Result<(), Failure> {
        let release = GardenerVersion::parse(&self.version).map_or(domain::release::DOCUMENTED, |it| rules_of(&it));
        if let Some(note) = self.note_on_release(manifests.gardener.as_ref()) {
            output.note(&note);
        }
        let known = self.known().await?;
        let plan = complete::plan_for(manifests.objects, &BTreeSet::new(), known, release);
        let (steps, left_out) = steps(&plan);
        for note in plan.notes_on_changes().chain(left_out.iter().map(String::as_str)) {
            output.note(&format!("note: {note}"));
        }
        self.applied.borrow_mut().of = steps.iter().filter(|step| is_counted(step)).count();
        if let Some(note) = self.label_garden(&steps).await? {
            output.note(&note);
        }
        for step in &steps {
            let moved = match step {
                Step::Apply(manifest) if Plan::is_addition(manifest) => {
                    if self.add(manifest).await? {
                        note_addition(&plan, manifest, output);
                    }
                    None
                }
                Step::Apply(manifest) => {
                    self.repeated(manifest, || apply::update_or_create(&self.context, manifest)).await?;
                    None
                }
                Step::Seed(manifest) => {
                    self.seed(manifest).await?;
                    if Plan::is_addition(manifest) {
                        note_addition(&plan, manifest, output);
                    }
                    None
                }
                Step::AwaitProject(manifest) => self.project(manifest).await?,
                Step::AwaitProfile(manifest) => self.profile(manifest).await?,
                Step::AwaitSeed(manifest) => self.ready_seed(manifest).await?,
            };
            if let Some(now) = moved {
                output.note(&format!("note: landscape time was moved to {} for this", show(now)));
            }
            if is_counted(step)
                && let Step::Apply(manifest) | Step::Seed(manifest) = step
            {
                self.applied.borrow_mut().add(manifest.kind());
            }
        }
        Ok(())
    }

    /// Returns a note if the manifests come from another release than the landscape's.
    fn note_on_release(&self, found: Option<&GardenerVersion>) -> Option<String> {
        let (found, own) = (found?, GardenerVersion::parse(&self.version)?);
        (found.minor() != own.minor()).then(|| {
            format!(
                "note: the manifests come from Gardener v{found} (status.gardener.version), and the landscape emulates v{own}; \
                 --gardener-version v{found} creates another one"
            )
        })
    }

    /// Returns the objects of the landscape that additions depend on.
    async fn known(&self) -> Result<Vec<Manifest>, Failure> {
        let mut known = self.all::<Project>().await?;
        known.extend(self.all::<CloudProfile>().await?);
        known.extend(self.all::<NamespacedCloudProfile>().await?);
        known.extend(self.all::<SecretBinding>().await?);
        known.extend(self.all::<CredentialsBinding>().await?);
        known.extend(self.all::<Seed>().await?);
        known.extend(self.all::<ControllerRegistration>().await?);
        Ok(known)
    }

    /// Returns all objects of a kind; none if the release does not serve it.
    async fn all<K: Readable + Resource + Object>(&self) -> Result<Vec<Manifest>, Failure> {
        match Api::<K>::all(&self.context, cluster::GARDEN).list(&ListOptions::default()).await {
            Ok((objects, _)) => {
                Ok(objects.iter().map(|it| simulate::manifest_of(it, K::KIND, &K::api_version())).collect())
            }
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(Failure::Failed(format!("cannot read objects {}: {error}", K::KIND))),
        }
    }

    /// Labels namespace `garden`, which exists before its Project, for a Project of the manifests; returns a note.
    async fn label_garden(&self, steps: &[Step]) -> Result<Option<String>, Failure> {
        let objects =
            || steps.iter().filter_map(|step| if let Step::Apply(object) = step { Some(object) } else { None });
        let is_project = |object: &&Manifest| {
            object.kind() == "Project" && object.text(&["spec", "namespace"]) == Some(namespace::GARDEN)
        };
        let is_namespace = |object: &Manifest| object.kind() == "Namespace" && object.name() == namespace::GARDEN;
        let Some(project) = objects().find(is_project).filter(|_| !objects().any(is_namespace)) else {
            return Ok(None);
        };
        let labels = [(label::ROLE, role::PROJECT), (label::PROJECT_NAME, project.name())];
        let known = Api::<Namespace>::all(&self.context, cluster::GARDEN).get_opt(namespace::GARDEN).await;
        let known = known.map_err(|error| Failure::Failed(format!("cannot read Namespace garden: {error}")))?;
        let has = |(key, value): &(&str, &str)| {
            known
                .as_ref()
                .and_then(|known| known.metadata.labels.get(key))
                .is_some_and(|found| found.as_str() == *value)
        };
        if labels.iter().all(has) {
            return Ok(None);
        }
        let labels: BTreeMap<&str, &str> = labels.into();
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace::GARDEN, "labels": labels },
        });
        let manifest = Manifest { object, ..project.clone() };
        self.repeated(&manifest, || apply::update(&self.context, &manifest)).await?;
        Ok(Some(format!("note: Namespace garden has the labels of Project {}, which needs them", project.name())))
    }

    /// Creates an added object; returns false if it exists.
    async fn add(&self, manifest: &Manifest) -> Result<bool, Failure> {
        let create = || async {
            match apply::create(&self.context, manifest).await {
                Ok(()) => Ok(true),
                Err(status) if status.is(reason::ALREADY_EXISTS) => Ok(false),
                Err(status) => Err(status),
            }
        };
        self.repeated(manifest, create).await
    }

    /// Sends a request about an object, and repeats it for a while if another object is not found.
    async fn repeated<T, F: Future<Output = Result<T, Status>>>(
        &self,
        manifest: &Manifest,
        request: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let wall = Clock::wall();
        let limit = wall.now() + LAG;
        let attempts = async {
            loop {
                match request().await {
                    Err(status) if status.message.contains("not found") && wall.now() < limit => {
                        wall.sleep(RETRY, TimerClass::Work).await;
                    }
                    answer => return answer.map_err(|status| self.refused(manifest, &status)),
                }
            }
        };
        tokio::select! {
            biased;
            answer = attempts => answer,
            () = wall.sleep(self.wait, TimerClass::Work) => {
                let (subject, seconds) = (subject_at(manifest), self.wait.num_seconds());
                Err(Failure::Failed(format!("{subject}: no answer after {seconds} s")))
            }
        }
    }

    /// Failure for an object that a server refuses.
    fn refused(&self, manifest: &Manifest, status: &Status) -> Failure {
        let what = status.message.trim_end().replace('\n', " ");
        let hint = complete::correction(manifest, &what).or_else(|| self.remedy(&what));
        let what = format!("{} was refused: {what}", subject_at(manifest));
        Failure::input(what, hint.unwrap_or_else(|| "correct it".to_owned()))
    }

    /// Remedy for a refusal that depends on how the landscape was created.
    fn remedy(&self, refusal: &str) -> Option<String> {
        if refusal.contains("is in the past") {
            return Some("change it, or create another landscape that begins earlier with --start-time".to_owned());
        }
        refusal.contains("unknown field").then(|| {
            let version = &self.version;
            format!(
                "correct it, or create another landscape with --gardener-version if {version} does not have the field"
            )
        })
    }

    /// Registers a Seed as a user does: by a Gardenlet, whose gardenlet gardener-operator deploys into a cluster of its own;
    /// without gardener-operator, by that cluster. An existing Seed is updated, by its Gardenlet if it has one: gardenlet
    /// writes the Seed at each of its starts.
    async fn seed(&self, manifest: &Manifest) -> Result<(), Failure> {
        let seed = simulate::seed_template(manifest)?;
        let name = &seed.metadata.name;
        let failed = |error: controller::Error| Failure::Failed(format!("{}: {error}", subject_at(manifest)));
        let gardenlet = bootstrap::added_gardenlet(&self.client.facts, &seed, &self.version);
        let gardenlets = Api::<Gardenlet>::namespaced(&self.context, cluster::GARDEN, namespace::GARDEN);
        if gardenlets.get_opt(name).await.map_err(failed)?.is_some() {
            // The chart follows the operator, and other settings are the user's.
            let config = json!({ "seedConfig": gardenlet.spec.config.value()["seedConfig"] });
            let object = json!({
                "apiVersion": Gardenlet::api_version(),
                "kind": Gardenlet::KIND,
                "metadata": { "name": name, "namespace": namespace::GARDEN },
                "spec": { "config": config },
            });
            let change = Manifest { object, ..manifest.clone() };
            return self.repeated(manifest, || apply::update(&self.context, &change)).await;
        }
        if Api::<Seed>::all(&self.context, cluster::GARDEN).get_opt(name).await.map_err(failed)?.is_some() {
            return self.repeated(manifest, || apply::update(&self.context, manifest)).await;
        }
        if self.client.facts.operator != Some(true) {
            let (context, facts) = (&self.context, &self.client.facts);
            return bootstrap::create_seed_cluster(context, facts, &gardenlet, &self.version).await;
        }
        if Plan::is_addition(manifest) {
            // It has the fields of several releases, of which each reads those that it knows: not validated strictly.
            let create = || async {
                let unanswered = |error: &controller::Error| Status::internal_error(&error.to_string());
                let created = gardenlets.create(&gardenlet).await.map(drop);
                created.map_err(|error| error.status().cloned().unwrap_or_else(|| unanswered(&error)))
            };
            return self.repeated(manifest, create).await;
        }
        let made = simulate::manifest_of(&gardenlet, Gardenlet::KIND, &Gardenlet::api_version());
        self.repeated(manifest, || apply::create(&self.context, &made)).await
    }

    fn waiting(&self) -> Waiting<'_> {
        Waiting { client: self.client, wait: self.wait }
    }

    async fn project(&self, manifest: &Manifest) -> Result<Moved, Failure> {
        let projects = Api::<Project>::all(&self.context, cluster::GARDEN);
        let lacks = |project: Option<&Project>| match project.map_or("", |project| &project.status.phase) {
            project::READY => None,
            project::FAILED => Some("phase Failed; `terrarium events` says why".to_owned()),
            phase => Some(if phase.is_empty() { "no phase".to_owned() } else { format!("phase {phase}") }),
        };
        self.waiting().for_object(&projects, (&subject_at(manifest), manifest.name()), lacks).await
    }

    async fn profile(&self, manifest: &Manifest) -> Result<Moved, Failure> {
        let profiles = Api::<NamespacedCloudProfile>::namespaced(&self.context, cluster::GARDEN, manifest.namespace());
        let lacks = |profile: Option<&NamespacedCloudProfile>| {
            let is_current = profile.is_some_and(|it| it.status.observed_generation == it.metadata.generation);
            (!is_current).then(|| "its status does not have its versions".to_owned())
        };
        self.waiting().for_object(&profiles, (&subject_at(manifest), manifest.name()), lacks).await
    }

    async fn ready_seed(&self, manifest: &Manifest) -> Result<Moved, Failure> {
        let seeds = Api::<Seed>::all(&self.context, cluster::GARDEN);
        let name = manifest.name();
        let lacks = |seed: Option<&Seed>| {
            let Some(seed) = seed else { return Some(NOT_REGISTERED.to_owned()) };
            let bucket = || lacks_condition(seed, condition::SEED_BACKUP_BUCKETS_READY, &["True"]);
            seed_lacks(seed).or_else(|| seed.spec.backup.is_some().then(bucket).flatten())
        };
        match self.waiting().for_object(&seeds, (&subject_at(manifest), name), lacks).await {
            Err(Failure::Failed(what)) if what.ends_with(NOT_REGISTERED) => {
                let reasons = self.maker_conditions(name).await;
                Err(Failure::Failed(if reasons.is_empty() { what } else { format!("{what}: {}", reasons.join("; ")) }))
            }
            result => result,
        }
    }

    /// Returns the messages of the conditions, of the Gardenlet and the ManagedSeed of a Seed, that are not met.
    async fn maker_conditions(&self, name: &str) -> Vec<String> {
        let (context, garden) = (&self.context, namespace::GARDEN);
        let mut conditions: Vec<Condition> = Vec::new();
        if let Ok(Some(found)) = Api::<Gardenlet>::namespaced(context, cluster::GARDEN, garden).get_opt(name).await {
            conditions.extend(found.status.conditions);
        }
        if let Ok(Some(found)) = Api::<ManagedSeed>::namespaced(context, cluster::GARDEN, garden).get_opt(name).await {
            conditions.extend(found.status.conditions);
        }
        let unmet = conditions.into_iter().filter(|condition| condition.status != "True");
        unmet.map(|condition| format!("{}: {}", condition.r#type, condition.message)).collect()
    }
}

/// Landscape time if a wait has moved it.
type Moved = Option<DateTime<Utc>>;

/// Reason for which a Seed that does not exist is not ready.
const NOT_REGISTERED: &str = "no gardenlet has registered it";

/// True if a step applies an object of the manifests.
fn is_counted(step: &Step) -> bool {
    matches!(step, Step::Apply(manifest) | Step::Seed(manifest) if !Plan::is_addition(manifest))
}

fn note_addition(plan: &Plan, manifest: &Manifest, output: &mut Output) {
    if let Some(note) = plan.note_on(manifest) {
        output.note(&format!("note: {note}"));
    }
}

/// Formats an object with its place.
fn subject_at(manifest: &Manifest) -> String {
    if Plan::is_addition(manifest) {
        subject_of(manifest)
    } else {
        format!("{}: {}", manifest.origin, subject_of(manifest))
    }
}
