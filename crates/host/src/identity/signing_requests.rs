// SPDX-License-Identifier: Apache-2.0
//! Signing authority of a cluster's clients: the cluster's own, or that of a Shoot's clients, which the garden stores
//! in InternalSecrets.

use std::sync::Arc;

use api::cluster;
use api::core::InternalSecret;
use api::terrarium::Cluster;
use controller::{Api, ListOptions};
use kube_controllers::certificates::Options;
use process::Context;
use process::pki::Authority;

/// Returns the authority of a cluster that is no Shoot's; `None`: it has none of its own.
pub type OwnSigners = Arc<dyn Fn(&str) -> Option<Authority> + Send + Sync>;

/// Keys in the data of an InternalSecret that holds an authority.
const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Options of the signer, which looks up the authority of a cluster.
pub(crate) fn options(context: &Context, own: OwnSigners) -> Options {
    let context = context.clone();
    Options {
        authority_of: Arc::new(move |cluster| {
            let (context, own) = (context.clone(), own.clone());
            Box::pin(async move {
                match own(&cluster) {
                    Some(authority) => Ok(Some(authority)),
                    None => of_shoot(&context, &cluster).await,
                }
            })
        }),
    }
}

/// Returns the authority whose certificate is in the bundle of a Shoot's cluster.
async fn of_shoot(context: &Context, cluster: &str) -> Result<Option<Authority>, String> {
    let object = Api::<Cluster>::all(context, cluster::RUNTIME).get_opt(cluster).await;
    let bundle = match object.map_err(|error| error.to_string())? {
        Some(object) if !object.spec.client_ca.is_empty() => object.spec.client_ca,
        _ => return Ok(None),
    };
    let all = Api::<InternalSecret>::all(context, cluster::GARDEN).list(&ListOptions::default()).await;
    let (all, _) = all.map_err(|error| error.to_string())?;
    // During a rotation both authorities are in the bundle; the last one signs.
    let mut found = None;
    for secret in &all {
        let text = |key: &str| secret.data.get(key).and_then(|bytes| std::str::from_utf8(&bytes.0).ok());
        let Some((certificate, key)) = text(CERTIFICATE).zip(text(KEY)) else { continue };
        let place = bundle.find(certificate.trim());
        if let Some(place) = place.filter(|place| found.as_ref().is_none_or(|(known, _)| place > known)) {
            found = Some((place, Authority::from_pem(certificate, key).map_err(|error| error.to_string())?));
        }
    }
    Ok(found.map(|(_, authority)| authority))
}
