// SPDX-License-Identifier: Apache-2.0
//! Expectations about the processes of a component of Gardener: its pods, in all clusters.

use domain::garden::components::Program;
use process::Transport;
use serde_json::Value;

use super::count::Count;
use super::cursor::Cursor;
use crate::Error;
use crate::names::components::is_meant;
use crate::spelling::nearest;

/// An expected set of processes.
#[derive(Clone, Debug)]
pub(super) struct ComponentItem {
    /// Component.
    pub(super) program: Program,
    /// Versions of the processes, without `v`, sorted.
    versions: Option<Vec<String>>,
    /// Number of ready processes.
    ready: Option<Count>,
    /// Number of restarts of all processes.
    restarts: Option<Count>,
    /// Part of the output of a process that runs, or of its previous run.
    output: Option<String>,
}

impl ComponentItem {
    /// Reads `{name, versions?, ready?, restarts?, output?}`.
    pub(super) fn read(cursor: Cursor<'_>) -> Result<Self, Error> {
        let item = "`component`";
        let fields = cursor.fields(item, &["name", "versions", "ready", "restarts", "output"])?;
        let name = fields.required(item, "name")?;
        let Some(program) = Program::ALL.into_iter().find(|program| is_meant(name, program.name())) else {
            let place = fields.get("name").unwrap_or(cursor);
            let hint = nearest(name, Program::ALL.into_iter().map(Program::name));
            return Err(place.refuse(format!("there is no component `{name}`"), hint));
        };
        let number = |key: &str| fields.get(key).map(|count| Count::read(count, &format!("`{key}`"))).transpose();
        let read = Self {
            program,
            versions: fields.get("versions").map(versions).transpose()?,
            ready: number("ready")?,
            restarts: number("restarts")?,
            output: fields.text("output")?.map(str::to_owned),
        };
        let Self { versions, ready, restarts, output, .. } = &read;
        if versions.is_none() && ready.is_none() && restarts.is_none() && output.is_none() {
            let hint = "add `versions`, `ready`, `restarts` or `output`";
            return Err(cursor.refuse("nothing is expected of the component", hint));
        }
        Ok(read)
    }

    /// Label selector of the pods.
    pub(super) fn labels(&self) -> String {
        format!("app=gardener,role={}", self.program.name())
    }

    /// Reads the outputs of pods, if they are needed: those of the present and of the previous run.
    ///
    /// # Errors
    /// The output of a present process cannot be read.
    pub(super) async fn outputs(&self, pods: &[Value], transport: &Transport) -> Result<Vec<String>, Error> {
        let mut outputs = Vec::new();
        if self.output.is_none() {
            return Ok(outputs);
        }
        for pod in pods {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            // Keys of annotations with a slash are no pointers.
            let cluster = pod["metadata"]["annotations"][api::constants::annotation::CLUSTER].as_str();
            let (cluster, namespace, name) =
                (cluster.unwrap_or_default(), text("/metadata/namespace"), text("/metadata/name"));
            let path = format!("/clusters/{cluster}/api/v1/namespaces/{namespace}/pods/{name}/log");
            outputs.push(crate::read::text(transport, &path).await?);
            // A process that was not restarted has no previous output.
            outputs.extend(crate::read::text(transport, &format!("{path}?previous=true")).await.ok());
        }
        Ok(outputs)
    }

    /// Returns the differences from the pods and their outputs.
    pub(super) fn differences(&self, pods: &[Value], outputs: &[String]) -> Vec<String> {
        let name = self.program.name();
        let mut lines = Vec::new();
        let first =
            |pod: &Value, list: &str| pod.pointer(list).and_then(|items| items.get(0)).cloned().unwrap_or_default();
        let status = |pod: &Value| first(pod, "/status/containerStatuses");
        let mut found: Vec<String> = pods
            .iter()
            .filter_map(|pod| {
                let image = first(pod, "/spec/containers")["image"].as_str().unwrap_or_default().to_owned();
                Some(plain(image.rsplit_once(':')?.1).to_owned())
            })
            .collect();
        found.sort();
        found.dedup();
        if let Some(versions) = self.versions.as_ref().filter(|versions| **versions != found) {
            lines.push(format!("{name}: versions: expected {}, found {}", list(versions), list(&found)));
        }
        let ready = pods.iter().filter(|pod| status(pod)["ready"] == true).count() as u64;
        if let Some(count) = self.ready.filter(|count| !count.holds(ready)) {
            lines.push(format!("{name}: ready: expected {count}, found {ready} of {}", pods.len()));
        }
        let restarts = pods.iter().filter_map(|pod| status(pod)["restartCount"].as_u64()).sum();
        if let Some(count) = self.restarts.filter(|count| !count.holds(restarts)) {
            lines.push(format!("{name}: restarts: expected {count}, found {restarts}"));
        }
        if let Some(part) = self.output.as_ref().filter(|part| !outputs.iter().any(|text| text.contains(part.as_str())))
        {
            lines.push(format!("{name}: output: expected {part:?}, is absent"));
        }
        lines
    }
}

/// Reads a list of versions.
fn versions(cursor: Cursor<'_>) -> Result<Vec<String>, Error> {
    let items = cursor.items("`versions`")?.into_iter();
    let mut versions: Vec<String> =
        items.map(|item| Ok(plain(item.text("a version")?).to_owned())).collect::<Result<_, Error>>()?;
    versions.sort();
    versions.dedup();
    Ok(versions)
}

/// Version without `v`.
fn plain(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

fn list(versions: &[String]) -> String {
    if versions.is_empty() { "none".to_owned() } else { versions.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Defaults, of_arguments};
    use super::*;
    use crate::expectation::item::Item;
    use crate::names::clusters::NamedCluster;

    fn item(text: &str) -> Result<ComponentItem, Error> {
        let defaults = Defaults { cluster: NamedCluster::Garden, namespace: "default".to_owned() };
        let mut read = of_arguments(&[format!("component: {text}")], &defaults)?;
        match read.pop().expect("an expectation").item {
            Item::Component(item) => Ok(item),
            other => panic!("{other:?}"),
        }
    }

    fn pod(version: &str, ready: bool, restarts: u32) -> Value {
        json!({
            "spec": { "containers": [{ "image": format!("registry/gardener/x:{version}") }] },
            "status": { "containerStatuses": [{ "ready": ready, "restartCount": restarts }] },
        })
    }

    #[test]
    fn processes_are_judged_by_their_pods() {
        let pods = [pod("v1.120.0", true, 1), pod("v1.121.0", false, 2)];
        for (text, expected) in [
            ("{name: gardener-apiserver, versions: [1.121.0, v1.120.0], ready: 1, restarts: 3}", &[][..]),
            ("{name: apiserver, ready: '>=1', output: hello}", &[]),
            (
                "{name: apiserver, versions: [v1.121.0], ready: 2, restarts: 0, output: other}",
                &[
                    "gardener-apiserver: versions: expected 1.121.0, found 1.120.0, 1.121.0",
                    "gardener-apiserver: ready: expected 2, found 1 of 2",
                    "gardener-apiserver: restarts: expected 0, found 3",
                    "gardener-apiserver: output: expected \"other\", is absent",
                ],
            ),
        ] {
            let item = item(text).expect(text);
            assert_eq!(item.differences(&pods, &["say hello".to_owned()]), expected, "{text}");
        }
        let item = item("{name: scheduler, versions: [1.120.0]}").expect("a component");
        assert_eq!(item.labels(), "app=gardener,role=gardener-scheduler");
        assert_eq!(item.differences(&[], &[]), ["gardener-scheduler: versions: expected 1.120.0, found none"]);
    }

    #[test]
    fn unknown_components_are_refused() {
        for (text, what, hint) in [
            ("{name: gardenlett, ready: 1}", "there is no component `gardenlett`", "gardenlet"),
            ("{name: gardenlet}", "nothing is expected of the component", "`versions`"),
            ("{name: gardenlet, versions: 1.120.0}", "`versions` is a text, expected a list", ""),
            ("{name: gardenlet, version: [a]}", "unknown field `version` of `component`", "`versions`"),
        ] {
            let error = item(text).expect_err(text);
            assert!(error.to_string().contains(what) && error.hint().contains(hint), "{error}: {}", error.hint());
        }
    }
}
