// SPDX-License-Identifier: Apache-2.0
//! Configuration of a process from its container's specification: arguments, environment, mounted files.

use apimachinery::meta::TextMap;

use api::kubernetes::core::{ConfigMap, Pod, Secret};
use controller::{Api, Error, ObjectKey};
use process::Context;
use process::child::Assignment;

/// Adds the configuration in the pod and in mounted objects to an assignment.
///
/// # Errors
/// The missing object or key, in the words of the kubelet.
pub(super) async fn complete(
    context: &Context,
    key: &ObjectKey,
    pod: &Pod,
    mut assignment: Assignment,
) -> Result<Assignment, String> {
    let container = pod.spec.containers.first().cloned().unwrap_or_default();
    assignment.instance = key.name.to_string();
    assignment.cluster = key.cluster.to_string();
    assignment.args.extend(container.command.iter().skip(1).chain(&container.args).cloned());
    for variable in &container.env {
        assignment.env.insert(variable.name.clone(), variable.value.clone());
    }
    for mount in &container.volume_mounts {
        let Some(volume) = pod.spec.volumes.iter().find(|volume| volume.name == mount.name) else { continue };
        let content = if let Some(source) = &volume.config_map {
            let name = &source.name;
            let optional = source.optional == Some(true);
            config_map(context, key, name, optional).await.map_err(|error| missing("configmap", name, &error))?
        } else if let Some(source) = &volume.secret {
            let name = &source.secret_name;
            let optional = source.optional == Some(true);
            secret(context, key, name, optional).await.map_err(|error| missing("secret", name, &error))?
        } else {
            continue;
        };
        let folder = mount.mount_path.trim_end_matches('/');
        for (name, text) in content {
            assignment.files.insert(format!("{folder}/{name}"), text);
        }
    }
    Ok(assignment)
}

fn missing(kind: &str, name: &str, error: &Error) -> String {
    if error.is_not_found() { format!("{kind} {name:?} not found") } else { error.to_string() }
}

async fn config_map(context: &Context, key: &ObjectKey, name: &str, optional: bool) -> Result<TextMap, Error> {
    match Api::<ConfigMap>::namespaced(context, &key.cluster, &key.namespace).get(name).await {
        Ok(map) => Ok(map.data),
        Err(error) if optional && error.is_not_found() => Ok(TextMap::new()),
        Err(error) => Err(error),
    }
}

async fn secret(context: &Context, key: &ObjectKey, name: &str, optional: bool) -> Result<TextMap, Error> {
    let secret = match Api::<Secret>::namespaced(context, &key.cluster, &key.namespace).get(name).await {
        Ok(secret) => secret,
        Err(error) if optional && error.is_not_found() => return Ok(TextMap::new()),
        Err(error) => return Err(error),
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    Ok(secret.data.iter().map(|(name, value)| (name.clone(), text(&value.0))).collect())
}
