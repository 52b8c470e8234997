// SPDX-License-Identifier: Apache-2.0
//! Operator Extensions: a ControllerDeployment and a ControllerRegistration of the same name in the virtual garden,
//! once the Garden is reconciled.
//!
//! Source: pkg/operator/controller/extension @ v1.120.0.

use std::sync::Arc;

use api::constants::finalizer;
use api::core::{ControllerInstallation, ControllerRegistration};
use api::core_v1::ControllerDeployment;
use api::operator::{Extension, Garden};
use apimachinery::meta::Time;
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::garden::extension::{self, Installation};
use domain::{conditions, garden};
use process::{Context, watch};

use crate::{GARDEN, RUNTIME};

const CONCURRENCY: usize = 5;

/// Runs the controller until the component stops. It begins when the Garden is reconciled for the first time: before,
/// the API of the kinds that it reads may not be served.
pub(crate) async fn run(context: Context, gardens: Store<Garden>, mut reconciled: watch::Receiver<bool>) {
    if reconciled.wait_for(|reconciled| *reconciled).await.is_err() {
        return;
    }
    let mut controller = Controller::new("extension", &context);
    let extensions = Api::<Extension>::all(&context, RUNTIME);
    let extensions = controller.watch(extensions, ListOptions::default(), |change| vec![change.key.clone()]);
    let known = extensions.clone();
    controller.watch_store(&gardens, move |change| {
        let is_news = change.differs(|garden| (garden::status::is_over(garden), garden.spec.clone()));
        if is_news { known.keys() } else { Vec::new() }
    });
    let installations = Api::<ControllerInstallation>::all(&context, GARDEN);
    let installations = controller.watch(installations, ListOptions::default(), |change| {
        let names = [&change.old, &change.new].into_iter().flatten();
        let names = names.map(|installation| installation.spec.registration_ref.name.as_str());
        names.map(|name| ObjectKey { cluster: RUNTIME.into(), namespace: "".into(), name: name.into() }).collect()
    });
    let installer = Arc::new(Installer { context, gardens, extensions, installations });
    controller
        .run(CONCURRENCY, move |key| {
            let installer = installer.clone();
            async move { installer.pass(&key).await }
        })
        .await;
}

struct Installer {
    context: Context,
    gardens: Store<Garden>,
    extensions: Store<Extension>,
    installations: Store<ControllerInstallation>,
}

impl Installer {
    async fn pass(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(extension) = self.extensions.get(key) else { return Ok(Requeue::OnChange) };
        let api = Api::<Extension>::all(&self.context, RUNTIME);
        let mut extension = Extension::clone(&extension);
        let gardens = self.gardens.list();
        let garden = gardens.first().map(|garden| &**garden);
        let mut failure = None;
        let installation = if extension.metadata.is_being_deleted() {
            if !extension.metadata.has_finalizer(finalizer::OPERATOR) {
                return Ok(Requeue::OnChange);
            }
            self.remove(&extension.metadata.name).await?;
            Installation::Deleted
        } else {
            if !extension.metadata.has_finalizer(finalizer::OPERATOR) {
                let mut new = extension.clone();
                new.metadata.finalizers.push(finalizer::OPERATOR.to_owned());
                extension = api.update(&extension, &new).await?;
            }
            match extension::obstacle(garden) {
                Some(obstacle) => obstacle,
                None => match self.register(&extension).await {
                    Ok(()) => Installation::Done,
                    Err(error) => {
                        let text = error.to_string();
                        failure = Some(error);
                        Installation::Failed(text)
                    }
                },
            }
        };
        let name = &extension.metadata.name;
        let all = self.installations.list();
        let own: Vec<&ControllerInstallation> =
            all.iter().map(|one| &**one).filter(|one| one.spec.registration_ref.name == *name).collect();
        let kinds = extension::required_kinds(&extension, garden);
        let mut new = extension.clone();
        let now = Time::from_instant(self.context.clock.now());
        let judged = extension::conditions(&extension, &installation, &kinds, &own, now);
        conditions::merge(&mut new.status.conditions, judged);
        new.status.observed_generation = extension.metadata.generation;
        let written = api.update_status(&extension, &new).await?;
        if installation == Installation::Deleted {
            let mut new = written.clone();
            new.metadata.finalizers.retain(|name| name != finalizer::OPERATOR);
            api.update(&written, &new).await?;
        }
        // The controller retries after an error even if nothing changes.
        failure.map_or(Ok(Requeue::OnChange), Err)
    }

    async fn register(&self, extension: &Extension) -> Result<(), Error> {
        let Some((deployment, registration)) = extension::registration(extension) else {
            return self.remove(&extension.metadata.name).await;
        };
        Api::<ControllerDeployment>::all(&self.context, GARDEN).create_or_update(&deployment).await?;
        Api::<ControllerRegistration>::all(&self.context, GARDEN).create_or_update(&registration).await?;
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), Error> {
        Api::<ControllerRegistration>::all(&self.context, GARDEN).delete_if_there(name).await?;
        Api::<ControllerDeployment>::all(&self.context, GARDEN).delete_if_there(name).await
    }
}
