// SPDX-License-Identifier: Apache-2.0
//! Credentials that the garden needs from its first start: those for observability, which are copied to every Seed.
//!
//! Source: pkg/controllermanager/bootstrappers @ v1.120.0.

use api::constants::namespace;
use api::kubernetes::core::Secret;
use controller::{Api, Controller, Error, Requeue};
use domain::observability::{self, Decision};
use process::Context;

use crate::protection::garden_key;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "bootstrap";

/// Runs the controller: one check after each start.
pub async fn run(context: Context, stores: Stores, _: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.secrets, |_| Vec::new());
    controller.queue().add(garden_key(namespace::GARDEN, observability::NAME));
    let secrets = Api::<Secret>::namespaced(&context, GARDEN, namespace::GARDEN);
    controller
        .run(1, move |_| {
            let (context, stores, secrets) = (context.clone(), stores.clone(), secrets.clone());
            async move { deploy(&context, &stores, &secrets).await.map(|()| Requeue::OnChange) }
        })
        .await;
}

async fn deploy(context: &Context, stores: &Stores, secrets: &Api<Secret>) -> Result<(), Error> {
    let stored = stores.secrets.list_in(GARDEN, namespace::GARDEN);
    let password = context.random.suffix(observability::PASSWORD_LENGTH, "observability-password", GARDEN, 0);
    let Decision { wanted, stale } =
        observability::decide(stored.iter().map(|secret| &**secret), &password, context.clock.now());
    if let Some(wanted) = wanted {
        match stores.secrets.find(namespace::GARDEN, &wanted.metadata.name) {
            Some(stored) => drop(secrets.update(&stored, &wanted).await?),
            None => drop(secrets.create(&wanted).await?),
        }
    }
    for name in stale {
        secrets.delete_if_there(&name).await?;
    }
    Ok(())
}
