// SPDX-License-Identifier: Apache-2.0
//! Discovery of the resources of a cluster.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use http::Method;
use process::Context;
use serde::Deserialize;

use crate::api::ApiResource;
use crate::error::Error;
use crate::{decode, request};

/// A served resource, without its subresources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedResource {
    /// Group, version and plural name.
    pub resource: ApiResource,
    /// Kind: `Shoot`.
    pub kind: String,
    /// Supported verbs.
    pub verbs: Vec<String>,
}

impl ServedResource {
    /// True if the resource supports all of `verbs`.
    pub fn offers(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|offered| offered == verb))
    }

    /// `plural.group`, or `plural` for the core group.
    pub fn qualified_name(&self) -> String {
        let ApiResource { group, plural, .. } = &self.resource;
        if group.is_empty() { plural.to_string() } else { format!("{plural}.{group}") }
    }
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    name: String,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    #[serde(default)]
    namespaced: bool,
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Entry {
    fn served(self, group: &str, version: &str) -> ServedResource {
        let resource = ApiResource {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            plural: self.name.into(),
            namespaced: self.namespaced,
        };
        ServedResource { resource, kind: self.kind, verbs: self.verbs }
    }
}

/// Returns the resources of a cluster (`*`: of all clusters) in their preferred versions, ordered by group and name.
///
/// A group whose server does not answer (503) is left out, and the second value is `false` then.
pub fn preferred_resources<'a>(
    context: &'a Context,
    cluster: &'a str,
) -> BoxFuture<'a, Result<(Vec<ServedResource>, bool), Error>> {
    Box::pin(async move {
        let root = format!("/clusters/{cluster}");
        let groups: GroupList = get(context, format!("{root}/apis")).await?;
        let mut versions = vec![(String::new(), "v1".to_owned(), format!("{root}/api/v1"))];
        for group in groups.groups {
            // The preferred version is first; later ones only add missing resources.
            for Version { version } in group.versions {
                let path = format!("{root}/apis/{}/{version}", group.name);
                versions.push((group.name.clone(), version, path));
            }
        }
        let (mut seen, mut found, mut complete) = (BTreeSet::new(), Vec::new(), true);
        for (group, version, path) in versions {
            let list: ResourceList = match get(context, path).await {
                Ok(list) => list,
                Err(Error::Api(_)) => {
                    complete = false;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for entry in list.resources.into_iter().filter(|entry| !entry.name.contains('/')) {
                if !seen.insert((group.clone(), entry.name.clone())) {
                    continue;
                }
                found.push(entry.served(&group, &version));
            }
        }
        found.sort_by(|left, right| left.resource.cmp(&right.resource));
        Ok((found, complete))
    })
}

/// Returns a resource of a cluster in its preferred version; `None`: it is not served.
pub fn resource<'a>(
    context: &'a Context,
    cluster: &'a str,
    group: &'a str,
    plural: &'a str,
) -> BoxFuture<'a, Result<Option<ServedResource>, Error>> {
    Box::pin(async move {
        let root = format!("/clusters/{cluster}/apis/{group}");
        let known: Group = match get(context, root.clone()).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        for Version { version } in known.versions {
            let list: ResourceList = match get(context, format!("{root}/{version}")).await {
                Err(error) if error.is_not_found() => continue,
                answer => answer?,
            };
            if let Some(entry) = list.resources.into_iter().find(|entry| entry.name == plural) {
                return Ok(Some(entry.served(group, &version)));
            }
        }
        Ok(None)
    })
}

async fn get<T: serde::de::DeserializeOwned>(context: &Context, path: String) -> Result<T, Error> {
    decode::read_any(&request::send(context, Method::GET, path, None).await?)
}
