// SPDX-License-Identifier: Apache-2.0
//! Question of `get`: objects and output format, for the present or a revision.

use api::cluster;
use api::constants::namespace;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, ValueEnum};
use controller::push_query;
use domain::garden::components::Program;
use domain::skew::releases::rules_of;
use generic_apiserver::AGES_AT;
use process::Transport;
use serde_json::{Value, json};

use super::kinds;
use super::table::{Front, Table};
use crate::failure::Failure;
use crate::output::Output;
use ops::names::clusters::NamedCluster;
use ops::renamed_fields;
use ops::upgrade::components::version_of;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const JSON: &str = "application/json";

/// Form of rows and objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns
    #[default]
    Table,
    /// More columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Names
    Name,
}

/// Selection of objects, and the output format.
#[derive(Clone, Debug, Args)]
pub(crate) struct Question {
    /// Kinds, with commas between (`shoots`, `deploy,pods`), or `KIND/NAME`
    #[arg(value_name = "KIND")]
    kinds: String,
    /// Names of objects
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Cluster: garden, runtime, seed/NAME or shoot/PROJECT/NAME
    #[arg(long, value_name = "CLUSTER", default_value = "garden")]
    pub(crate) cluster: NamedCluster,
    /// Namespace
    #[arg(short, long, value_name = "NS", default_value = "default")]
    namespace: String,
    /// All namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Label selector
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Field selector
    #[arg(long, value_name = "SELECTOR")]
    field_selector: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// A revision, and the instant up to which ages count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) revision: u64,
    pub(crate) instant: DateTime<Utc>,
}

/// Objects of one kind.
struct Part {
    row: &'static ResourceInfo,
    /// Names of objects; empty: all that match the selectors.
    names: Vec<String>,
}

impl Part {
    /// Fails if an object that was requested by name did not exist at a revision: its list is empty.
    fn found(&self, at: Option<Moment>, items: &Value) -> Result<(), Failure> {
        let is_empty = items.as_array().is_none_or(Vec::is_empty);
        match (at, &self.names[..]) {
            (Some(Moment { revision, .. }), [_, ..]) if is_empty => {
                let names = self.names.join(", ");
                Err(Failure::Failed(format!(
                    "at revision {revision} there is no {} {names}",
                    kinds::full_name(self.row)
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Question {
    /// Sends the requests and prints the answer. `at`: past moment to read; `None`: the present.
    pub(crate) async fn answer(
        &self,
        transport: &Transport,
        at: Option<Moment>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let parts = self.parts()?;
        match self.output {
            Format::Table | Format::Wide => self.tables(transport, &parts, at, output).await,
            Format::Name => {
                for part in &parts {
                    for object in self.objects(transport, part, at).await? {
                        let name = object["metadata"]["name"].as_str().unwrap_or_default();
                        output.line(&format!("{}/{name}", kinds::full_name(part.row)))?;
                    }
                }
                Ok(())
            }
            Format::Json | Format::Yaml => {
                let mut items = Vec::new();
                for part in &parts {
                    items.extend(self.objects(transport, part, at).await?);
                }
                let is_one = matches!(&parts[..], [part] if part.names.len() == 1);
                let whole = match items.pop() {
                    Some(item) if is_one => item,
                    last => {
                        items.extend(last);
                        json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items })
                    }
                };
                print_tree(&whole, self.output, output)
            }
        }
    }

    fn parts(&self) -> Result<Vec<Part>, Failure> {
        let cluster = self.cluster.logical();
        let words = || self.kinds.split(',');
        if words().any(|word| word.contains('/')) {
            let mut parts: Vec<Part> = Vec::new();
            for word in words().chain(self.names.iter().map(String::as_str)) {
                let Some((kind, name)) = word.split_once('/').filter(|(_, name)| !name.is_empty()) else {
                    let hint = "name kinds and then names, or KIND/NAME only";
                    return Err(Failure::input(format!("`{word}` is not KIND/NAME, as others are"), hint));
                };
                let row = kinds::find(&cluster, kind)?;
                match parts.last_mut().filter(|part| std::ptr::eq(part.row, row)) {
                    Some(part) => part.names.push(name.to_owned()),
                    None => parts.push(Part { row, names: vec![name.to_owned()] }),
                }
            }
            return self.check(parts);
        }
        let parts: Result<Vec<Part>, Failure> = words()
            .filter(|kind| !kind.is_empty())
            .map(|kind| Ok(Part { row: kinds::find(&cluster, kind)?, names: self.names.clone() }))
            .collect();
        self.check(parts?)
    }

    fn check(&self, parts: Vec<Part>) -> Result<Vec<Part>, Failure> {
        let by_name = parts.iter().any(|part| !part.names.is_empty());
        if parts.is_empty() {
            return Err(Failure::input("no kind is named", ""));
        }
        let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '%', '?', '#', ',', '=', ' ']);
        if let Some(name) = parts.iter().flat_map(|part| &part.names).find(|name| !is_name(name)) {
            return Err(Failure::input(format!("`{name}` is not a name of an object"), ""));
        }
        if !is_name(&self.namespace) {
            return Err(Failure::input(format!("`{}` is not a name of a namespace", self.namespace), ""));
        }
        if by_name && (self.selector.is_some() || self.field_selector.is_some()) {
            return Err(Failure::input("objects are chosen by name or by a selector, not by both", ""));
        }
        if by_name && self.all_namespaces {
            let hint = "name the namespace with -n";
            return Err(Failure::input("an object is found by name in one namespace only", hint));
        }
        Ok(parts)
    }

    fn namespace(&self) -> Option<&str> {
        (!self.all_namespaces).then_some(self.namespace.as_str())
    }

    async fn tables(
        &self,
        transport: &Transport,
        parts: &[Part],
        at: Option<Moment>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let namespace = |object: &Value| object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let mut shown = 0;
        for part in parts {
            let mut whole = Value::Null;
            for path in self.paths(part, at) {
                let tree = super::tree(transport, &path, TABLE).await?;
                part.found(at, &tree["rows"])?;
                match whole["rows"].as_array_mut() {
                    None => whole = tree,
                    Some(rows) => rows.extend(tree["rows"].as_array().cloned().unwrap_or_default()),
                }
            }
            let with_namespace = self.all_namespaces && part.row.namespaced;
            let front: &[Front<'_>] = &[("namespace", &namespace)];
            let mut table =
                Table::of_server(&whole, self.output == Format::Wide, if with_namespace { front } else { &[] });
            if table.is_empty() {
                continue;
            }
            if parts.len() > 1 {
                table.prefix_names(usize::from(with_namespace), &format!("{}/", kinds::full_name(part.row)));
            }
            if shown > 0 {
                output.line("")?;
            }
            table.print(output)?;
            shown += 1;
        }
        if shown == 0 {
            let is_spread = self.all_namespaces || parts.iter().all(|part| !part.row.namespaced);
            let place = if is_spread { String::new() } else { format!(" in {} namespace", self.namespace) };
            output.note(&format!("No resources found{place}"));
        }
        Ok(())
    }

    async fn objects(&self, transport: &Transport, part: &Part, at: Option<Moment>) -> Result<Vec<Value>, Failure> {
        let mut objects = Vec::new();
        let release = match at {
            Some(moment) if !part.row.life.renamed_fields.is_empty() => release_at(transport, moment).await?,
            _ => None,
        };
        for path in self.paths(part, at) {
            let mut tree = super::tree(transport, &path, JSON).await?;
            match tree.get_mut("items").and_then(Value::as_array_mut) {
                Some(items) => {
                    let mut items = std::mem::take(items);
                    for item in &mut items {
                        item["apiVersion"] = json!(kinds::api_version(part.row));
                        item["kind"] = json!(part.row.kind);
                        if let Some(release) = release {
                            renamed_fields::at_release(item, part.row, release);
                        }
                    }
                    part.found(at, &Value::Array(items.clone()))?;
                    objects.extend(items);
                }
                None => objects.push(tree),
            }
        }
        Ok(objects)
    }

    /// Requests that answer the question.
    fn paths(&self, part: &Part, at: Option<Moment>) -> Vec<String> {
        let cluster = self.cluster.logical();
        let path = |name| kinds::path(&cluster, part.row, self.namespace(), name);
        match at {
            _ if part.names.is_empty() => vec![self.with_query(path(None), at, None)],
            None => part.names.iter().map(|name| path(Some(name))).collect(),
            // The past is served as lists only.
            Some(_) => part.names.iter().map(|name| self.with_query(path(None), at, Some(name))).collect(),
        }
    }

    fn with_query(&self, mut path: String, at: Option<Moment>, name: Option<&str>) -> String {
        if let Some(Moment { revision, instant }) = at {
            push_query(&mut path, "resourceVersion", &revision.to_string());
            push_query(&mut path, "resourceVersionMatch", "Exact");
            if matches!(self.output, Format::Table | Format::Wide) {
                push_query(&mut path, AGES_AT, &instant.to_rfc3339_opts(SecondsFormat::AutoSi, true));
            }
        }
        if let Some(selector) = &self.selector {
            push_query(&mut path, "labelSelector", selector);
        }
        let by_name = name.map(|name| format!("metadata.name={name}"));
        if let Some(selector) = by_name.as_ref().or(self.field_selector.as_ref()) {
            push_query(&mut path, "fieldSelector", selector);
        }
        path
    }
}

/// Release whose rules a landscape had at a moment, by the image of gardener-apiserver: the present one answers with its own
/// names of renamed fields. `None`: there was no gardener-apiserver yet.
async fn release_at(transport: &Transport, at: Moment) -> Result<Option<Release>, Failure> {
    let deployments = kinds::find(cluster::RUNTIME, "deployments.apps")?;
    let mut path = kinds::path(cluster::RUNTIME, deployments, Some(namespace::GARDEN), None);
    push_query(&mut path, "resourceVersion", &at.revision.to_string());
    push_query(&mut path, "resourceVersionMatch", "Exact");
    push_query(&mut path, "fieldSelector", &format!("metadata.name={}", Program::Apiserver.name()));
    let found = super::tree(transport, &path, JSON).await?;
    let image = found.pointer("/items/0/spec/template/spec/containers/0/image").and_then(Value::as_str);
    Ok(image.and_then(version_of).map(|version| rules_of(&version)))
}

/// Form of an answer that is one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Columns, for a person
    #[default]
    Table,
    /// One JSON object
    Json,
    /// YAML
    Yaml,
}

impl Form {
    /// Prints an object; `table`: prints it as a table.
    pub(crate) fn print(
        self,
        object: &Value,
        output: &mut Output,
        table: impl FnOnce(&mut Output) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Table => table(output),
            Self::Json => output.line(&object.to_string()),
            Self::Yaml => print_tree(object, Format::Yaml, output),
        }
    }
}

/// Prints a tree as JSON or YAML.
pub(crate) fn print_tree(tree: &Value, format: Format, output: &mut Output) -> Result<(), Failure> {
    let text = match format {
        Format::Yaml => yaml::to_string(tree).map_err(|error| Failure::Failed(error.to_string()))?,
        _ => serde_json::to_string_pretty(tree).map_err(|error| Failure::Failed(error.to_string()))?,
    };
    output.line(text.trim_end())
}
