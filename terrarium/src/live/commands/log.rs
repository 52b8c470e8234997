// SPDX-License-Identifier: Apache-2.0
//! `terrarium log`: the history of a landscape, one line per entry.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use clap::Args;
use eventlog::{Entry, Message};
use futures::StreamExt;

use crate::failure::Failure;
use crate::live::ask::kinds;
use crate::live::client::note_usual;
use crate::live::history::Past;
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::history::entry::ReadEntry;
use ops::history::writers;
use ops::instant::Place;
use ops::names::clusters::NamedCluster;
use ops::names::shoots::{self, ShootName};
use ops::spelling::nearest;

/// Show the history of a landscape, one line per entry; also of one that is stopped
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// From this revision or instant of landscape time on, or from so long ago (2d)
    #[arg(long, value_name = "REV|TIME|D")]
    since: Option<Place>,
    /// Up to this revision or instant, or up to so long ago
    #[arg(long, value_name = "REV|TIME|D")]
    until: Option<Place>,
    /// Continue with new entries
    #[arg(short, long, conflicts_with = "until")]
    follow: bool,
    /// Only this object, or all of a kind: `KIND/NAMESPACE/NAME`, `KIND/NAME` or `KIND`;
    /// a Shoot also as shoot/PROJECT/NAME or PROJECT/NAME
    #[arg(long, value_name = "KIND/NS/NAME")]
    object: Option<String>,
    /// Only by this component (with or without `gardener-`), controller (`shoot-maintenance`) or user
    #[arg(long, value_name = "ACTOR")]
    actor: Option<String>,
    /// Only of this cluster: garden, runtime, seed/NAME or shoot/PROJECT/NAME
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<NamedCluster>,
    /// Show the changed fields with their old and new values
    #[arg(long)]
    diff: bool,
    /// Form of the output; a record for each entry
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let mut wanted = EntryFilter::of(arguments)?;
    block_on(async {
        let past = Past::open(&directory).await?;
        let shown = arguments.answer(&past, &mut wanted, output).await;
        past.close().await?;
        shown
    })
}

impl Arguments {
    async fn answer(&self, past: &Past, wanted: &mut EntryFilter, output: &mut Output) -> Result<(), Failure> {
        wanted.of_project(past).await?;
        let cluster = match &self.cluster {
            Some(given) => Some(past.cluster(given).await?.logical()),
            None => None,
        };
        self.show(past, wanted, cluster.as_deref(), output).await
    }

    async fn show(
        &self,
        past: &Past,
        wanted: &EntryFilter,
        cluster: Option<&str>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.follow && !past.runs() {
            let hint = "leave --follow out, or resume it with `terrarium up`";
            return Err(Failure::input(format!("landscape {} does not run", past.facts.name), hint));
        }
        let (from, to) = past.range(self.since, self.until).await?;
        let (mut count, mut actors) = (0_u64, Actors::default());
        past.each(from, to, cluster, |entry| {
            actors.meet(entry);
            count += u64::from(self.print(entry, wanted, output)?);
            Ok(true)
        })
        .await?;
        if count == 0 && !self.follow {
            self.actor.as_deref().map_or(Ok(()), |actor| actors.must_know(actor))?;
            output.note("no entry is like that");
        }
        if !self.follow {
            return output.end_list(self.output);
        }
        let mut subscription = past.follow(to, cluster)?;
        while let Some(message) = subscription.messages.next().await {
            if let Message::Entry(entry) = message {
                self.print(&entry, wanted, output)?;
            }
        }
        Ok(())
    }

    /// Prints an entry if it matches; returns true if it did.
    fn print(&self, entry: &Entry, wanted: &EntryFilter, output: &mut Output) -> Result<bool, Failure> {
        if !wanted.is(entry) {
            return Ok(false);
        }
        let read = ReadEntry::of(entry);
        if !wanted.actor.as_ref().is_none_or(|actor| actor.is(entry, &read)) {
            return Ok(false);
        }
        if self.output != Form::Text {
            output.item(self.output, &read.json())?;
            return Ok(true);
        }
        output.line(&read.line())?;
        if self.diff {
            read.difference().iter().try_for_each(|line| output.line(line))?;
        }
        Ok(true)
    }
}

/// Filter of entries by writer.
#[derive(Debug)]
struct ActorFilter {
    name: String,
}

impl ActorFilter {
    /// True if the filter names the component, the user, or the controller of the component that wrote the entry.
    fn is(&self, entry: &Entry, read: &ReadEntry<'_>) -> bool {
        let is_meant = |name: &str| writers::is_meant(&self.name, name);
        is_meant(&entry.actor.component) || is_meant(&entry.actor.user) || read.controller().is_some_and(is_meant)
    }
}

/// Writers of all entries, including those that the filter excludes.
#[derive(Debug, Default)]
struct Actors(BTreeSet<Arc<str>>);

impl Actors {
    fn meet(&mut self, entry: &Entry) {
        for name in [&entry.actor.component, &entry.actor.user] {
            if !name.is_empty() && !self.0.contains(name) {
                self.0.insert(name.clone());
            }
        }
    }

    /// Fails for an unknown name.
    fn must_know(&self, wanted: &str) -> Result<(), Failure> {
        let known = || self.0.iter().map(|name| &**name).chain(writers::names().map(|name| name as &str));
        if known().any(|name| writers::is_meant(wanted, name)) {
            return Ok(());
        }
        Err(Failure::input(format!("no actor is called `{wanted}`"), nearest(wanted, known())))
    }
}

/// Filter of entries by object and writer.
#[derive(Debug, Default)]
struct EntryFilter {
    /// Names of resources as in keys of the log; empty: all.
    resources: Vec<String>,
    namespace: Option<String>,
    name: Option<String>,
    /// The object as the name of a Shoot, if it can be one, and true if it begins with the kind.
    shoot: Option<(ShootName, bool)>,
    actor: Option<ActorFilter>,
    /// Failure to find the kind of a name that may also be PROJECT/NAME of a Shoot.
    no_kind: Option<Failure>,
}

impl EntryFilter {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let actor = arguments.actor.clone().map(|name| ActorFilter { name });
        let mut wanted = Self { actor, ..Self::default() };
        let Some(object) = &arguments.object else { return Ok(wanted) };
        let parts: Vec<&str> = object.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [project, name] if kinds::find("*", project).is_err() && object.parse::<ShootName>().is_ok() => {
                wanted.no_kind = kinds::find("*", project).err();
                ("shoots", Some(project), Some(name))
            }
            [kind] => (kind, None, None),
            [kind, name] => (kind, None, Some(name)),
            [kind, namespace, name] => (kind, Some(namespace), Some(name)),
            _ => {
                return Err(Failure::input(format!("`{object}` is no object"), "use KIND/NAMESPACE/NAME or KIND/NAME"));
            }
        };
        let first = kinds::find("*", kind)?;
        // One name may belong to kinds of several groups.
        let same = catalogue::all().iter().filter(|row| row.plural == first.plural && row.kind == first.kind);
        wanted.resources = if kind.contains('.') {
            vec![first.log_resource()]
        } else {
            same.map(ResourceInfo::log_resource).collect()
        };
        wanted.shoot = object.parse().ok().map(|shoot| (shoot, object.split('/').count() == 3));
        wanted.namespace = namespace.map(str::to_owned);
        wanted.name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(wanted)
    }

    /// Replaces the Project in the name of a Shoot by its namespace, and prints the usual name if another form was given,
    /// except `KIND/NAMESPACE/NAME`.
    async fn of_project(&mut self, past: &Past) -> Result<(), Failure> {
        let Some(named) = &self.namespace else { return Ok(()) };
        if !self.resources.contains(&kinds::find("*", "shoots")?.log_resource()) {
            return Ok(());
        }
        let projects = match shoots::projects(&past.transport).await {
            Ok(projects) => projects,
            // If gardener-apiserver does not respond, the Projects are read from the log.
            Err(_) => past.all_projects().await?,
        };
        // KIND/NAMESPACE/NAME is the usual form for objects of every kind.
        let is_namespace = |name: &str| projects.iter().any(|(_, namespace)| namespace == name);
        if let Some((given, has_kind)) = &self.shoot
            && !(*has_kind && is_namespace(named))
            && let Some(usual) = given.usual_among(&projects)
        {
            note_usual(given, &usual);
        }
        let known = projects.into_iter().find(|(project, namespace)| project == named || namespace == named);
        match (known, self.no_kind.take()) {
            (None, Some(failure)) => return Err(failure),
            (Some((_, namespace)), _) if !namespace.is_empty() => self.namespace = Some(namespace),
            _ => {}
        }
        Ok(())
    }

    fn is(&self, entry: &Entry) -> bool {
        let key = &entry.key;
        // Heartbeats are not part of the history.
        !entry.volatile
            && (self.resources.is_empty() || self.resources.iter().any(|resource| **resource == *key.resource))
            && self.namespace.as_ref().is_none_or(|namespace| **namespace == *key.namespace)
            && self.name.as_ref().is_none_or(|name| **name == *key.name)
    }
}
