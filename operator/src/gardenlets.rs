// SPDX-License-Identifier: Apache-2.0
//! Gardenlets that follow the operator's version: after a Garden was reconciled they are given its chart.

use api::constants::label;
use api::seedmanagement::Gardenlet;
use controller::{Api, Error, ListOptions};
use domain::garden::gardenlet;
use process::Context;

use crate::GARDEN;

/// Gives all of them the chart of a version.
pub(crate) async fn update(context: &Context, version: &str) -> Result<(), Error> {
    let api = Api::<Gardenlet>::all(context, GARDEN);
    let (gardenlets, _) = api.list(&ListOptions::labelled(&format!("{}=true", label::AUTO_UPDATE_GARDENLET))).await?;
    for old in gardenlets {
        let Some(new) = gardenlet::updated(&old, version) else { continue };
        tracing::info!(gardenlet = old.metadata.name, version, "Updating the chart reference of a Gardenlet");
        api.in_namespace_of(&old).update(&old, &new).await?;
    }
    Ok(())
}
