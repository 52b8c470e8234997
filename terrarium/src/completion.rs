// SPDX-License-Identifier: Apache-2.0
//! `terrarium completion`: scripts that complete commands, flags and names in a shell.
//!
//! The script calls this program with [`VARIABLE`] set and the words after `--`; the output is one candidate per line.
//! Names of objects are read from the landscape that the words name.
//!
//! **Invariants.** A completion starts no landscape, prints nothing on standard error and ends within [`PATIENCE`],
//! whatever the state of the landscape: without an answer it offers no names.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use api::catalogue;
use api::cluster;
use api::constants::api_version;
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use domain::fault::KINDS;
use domain::garden::components::Program;
use ops::explain::words::WORDS;
use ops::names::clusters::NamedCluster;
use ops::names::shoots::{self, ShootName};
use ops::read;
use process::Transport;

use crate::Arguments;
use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::config;
use crate::live::demo::Play;
use crate::live::{Which, block_on};

/// Environment variable with the shell's name, set when the script calls the program.
const VARIABLE: &str = "TERRARIUM_COMPLETE";
/// Maximum wall time to wait for a landscape.
const PATIENCE: Duration = Duration::from_millis(700);
/// Maximum number of objects of a kind that are offered.
const MAX_NAMES: u32 = 1_000;
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// Origin of an argument's candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Landscapes of this user.
    Landscapes,
    /// Shoots as `shoot/PROJECT/NAME`.
    Shoots,
    /// `window`, and Shoots with `=`.
    Goals,
    /// `garden`, `runtime`, `seed/NAME`, `shoot/PROJECT/NAME`.
    Clusters,
    /// Components of a landscape.
    Components,
    /// Components that have a configuration.
    Configured,
    /// Components and `host`.
    Printers,
    /// Kinds of faults.
    FaultKinds,
    /// Faults of a landscape.
    Faults,
    Seeds,
    CloudProfiles,
    /// Stories of `up --demo`.
    Stories,
    /// Kinds of objects, in the plural.
    Kinds,
    /// Words with an explanation.
    Words,
}

/// Command (empty: every one), name of the argument, origin of its candidates. Arguments of type [`ShootName`] and
/// [`NamedCluster`] need no row.
const ARGUMENTS: [(&str, &str, Source); 16] = [
    ("", "landscape", Source::Landscapes),
    ("landscape rm", "names", Source::Landscapes),
    ("up", "demo", Source::Stories),
    ("get", "kinds", Source::Kinds),
    ("at get", "kinds", Source::Kinds),
    ("logs", "component", Source::Printers),
    ("config get", "name", Source::Configured),
    ("config set", "name", Source::Configured),
    ("config edit", "name", Source::Configured),
    ("clock until", "until", Source::Goals),
    ("fault inject", "kind", Source::FaultKinds),
    ("fault inject", "component", Source::Components),
    ("fault inject", "seed_cluster", Source::Seeds),
    ("fault clear", "ids", Source::Faults),
    ("versions", "name", Source::CloudProfiles),
    ("explain", "word", Source::Words),
];

/// Returns the script that registers completion in a shell. `program`: path by which this program was called.
pub(crate) fn script(shell: Shell, program: Option<&OsString>) -> Result<String, Failure> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name).ok_or_else(|| Failure::Failed(format!("{name} is not supported")))?;
    // A name without a folder is looked up in PATH whenever the script runs.
    let path = program.map(Path::new).filter(|path| path.components().count() > 1);
    let path = path.and_then(|path| std::path::absolute(path).ok());
    let place = path.as_deref().and_then(Path::to_str).unwrap_or("terrarium");
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "terrarium", "terrarium", place, &mut script)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(&script).trim().to_owned())
}

/// Answers a call of the script; false: this is not such a call.
pub(crate) fn answer(words: &[OsString]) -> bool {
    let which = which(words);
    let completion = CompleteEnv::with_factory(move || command(which.clone())).var(VARIABLE).bin("terrarium");
    // After an error there is nothing to complete.
    completion.try_complete(words.iter().cloned(), std::env::current_dir().ok().as_deref()).unwrap_or(true)
}

/// Landscape that the words of an unfinished command name.
fn which(words: &[OsString]) -> Option<Which> {
    let words: Vec<&str> =
        words.iter().filter_map(|word| word.to_str()).skip_while(|word| *word != "--").skip(1).collect();
    let mut named = vec!["terrarium"];
    for (number, word) in words.iter().enumerate() {
        let (name, value) = word.split_once('=').unzip();
        if !matches!(name.unwrap_or(word), "--landscape" | "--data-dir") {
            continue;
        }
        // A shell may treat `=` as a separate word.
        let rest = words.get(number + 1..).unwrap_or_default();
        let next = || rest.iter().copied().find(|word| *word != "=");
        let value = value.filter(|value| !value.is_empty()).or_else(next);
        named.extend(value.into_iter().flat_map(|value| [name.unwrap_or(word), value]));
    }
    let probe = Which::augment_args(Command::new("terrarium"));
    Which::from_arg_matches(&probe.try_get_matches_from(named).ok()?).ok()
}

/// Returns the program's command with the origins of its candidates, and with the options that may precede the command.
fn command(which: Option<Which>) -> Command {
    let known = Which::augment_args(Command::new("terrarium"));
    let before = known.get_arguments().filter(|arg| !arg.is_hide_set()).cloned().map(|arg| arg.global(false));
    let root = Arguments::command().args(before.collect::<Vec<_>>());
    with_sources(root, "", &Arc::new(which))
}

fn with_sources(command: Command, path: &str, which: &Arc<Option<Which>>) -> Command {
    let command = command.mut_args(|arg| match source(path, &arg) {
        Some(source) => {
            let which = Arc::clone(which);
            arg.add(ArgValueCompleter::new(move |current: &OsStr| candidates(source, which.as_ref().as_ref(), current)))
        }
        None => arg,
    });
    command.mut_subcommands(|below| {
        let path = if path.is_empty() { below.get_name().to_owned() } else { format!("{path} {}", below.get_name()) };
        with_sources(below, &path, which)
    })
}

fn source(path: &str, arg: &Arg) -> Option<Source> {
    let type_id = arg.get_value_parser().type_id();
    if type_id == TypeId::of::<ShootName>() {
        return Some(Source::Shoots);
    }
    if type_id == TypeId::of::<NamedCluster>() {
        return Some(Source::Clusters);
    }
    let is_meant = |row: &&(&str, &str, Source)| (row.0.is_empty() || row.0 == path) && arg.get_id() == row.1;
    ARGUMENTS.iter().find(is_meant).map(|row| row.2)
}

fn candidates(source: Source, which: Option<&Which>, current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let all = names(source, which);
    let mut found: Vec<&str> = all.iter().map(String::as_str).filter(|name| name.starts_with(current)).collect();
    if found.is_empty() && matches!(source, Source::Shoots | Source::Goals) {
        // `shoot/` is optional.
        let bare = all.iter().filter_map(|name| name.strip_prefix("shoot/"));
        found = bare.filter(|name| name.starts_with(current)).collect();
    }
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns all names of a source, in the order in which they are offered.
fn names(source: Source, which: Option<&Which>) -> Vec<String> {
    let components = || Program::ALL.into_iter().map(|program| program.name().to_owned());
    let asked = |question: Question| which.and_then(|which| ask(which, question)).unwrap_or_default();
    match source {
        Source::Landscapes => which.map(landscapes).unwrap_or_default(),
        Source::Shoots => asked(Question::Shoots),
        Source::Goals => {
            let shoots = asked(Question::Shoots).into_iter().map(|shoot| format!("{shoot}="));
            std::iter::once("window".to_owned()).chain(shoots).collect()
        }
        Source::Clusters => {
            let fixed = [cluster::GARDEN, cluster::RUNTIME].map(str::to_owned);
            fixed.into_iter().chain(asked(Question::Clusters)).collect()
        }
        Source::Components => components().collect(),
        Source::Configured => config::configured().map(|program| program.name().to_owned()).collect(),
        Source::Printers => components().chain(["host".to_owned()]).collect(),
        Source::FaultKinds => KINDS.iter().map(|kind| kind.name.to_owned()).collect(),
        Source::Faults => asked(Question::Objects(cluster::RUNTIME, "terrarium.dev/v1alpha1", "faults")),
        Source::Seeds => asked(Question::Objects(cluster::GARDEN, api_version::CORE, "seeds")),
        Source::CloudProfiles => {
            let own = asked(Question::Objects(cluster::GARDEN, api_version::CORE, "cloudprofiles"));
            let of_namespaces = asked(Question::Objects(cluster::GARDEN, api_version::CORE, "namespacedcloudprofiles"));
            own.into_iter().chain(of_namespaces).collect()
        }
        Source::Stories => Play::names().map(str::to_owned).collect(),
        Source::Kinds => {
            let mut kinds: Vec<String> = catalogue::all().iter().map(|row| row.plural.to_owned()).collect();
            kinds.sort();
            kinds.dedup();
            kinds
        }
        Source::Words => WORDS.iter().flat_map(|word| word.names).map(|name| (*name).to_owned()).collect(),
    }
}

fn landscapes(which: &Which) -> Vec<String> {
    let directories = which.all().unwrap_or_default();
    directories.iter().filter_map(|directory| Some(directory.facts().ok()??.name)).collect()
}

/// Question to a running landscape.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// Shoots as `shoot/PROJECT/NAME`.
    Shoots,
    /// `seed/NAME`, then Shoots.
    Clusters,
    /// `NAME` or `NAMESPACE/NAME` of a resource of a cluster and group version.
    Objects(&'static str, &'static str, &'static str),
}

/// Answer of the landscape; None: it does not run, or did not answer in time.
fn ask(which: &Which, question: Question) -> Option<Vec<String>> {
    let which = which.clone();
    let (sender, answer) = mpsc::channel();
    let asking = move || {
        let answer = which.directory().and_then(|directory| Client::of(&directory)).and_then(|client| {
            let transport = client.transport();
            block_on(async { question.answer(&transport).await.map_err(Failure::from) })
        });
        let _ = sender.send(answer.ok());
    };
    // The process ends without waiting for this thread.
    std::thread::Builder::new().spawn(asking).ok()?;
    answer.recv_timeout(PATIENCE).ok()?
}

impl Question {
    async fn answer(self, transport: &Transport) -> Result<Vec<String>, ops::Error> {
        match self {
            Self::Shoots => {
                let projects = shoots::projects(transport).await?;
                let shoots = objects(transport, cluster::GARDEN, api_version::CORE, "shoots").await?;
                let address = |(namespace, name): (String, String)| {
                    let (project, _) = projects.iter().find(|(_, its)| *its == namespace)?;
                    Some(format!("shoot/{project}/{name}"))
                };
                Ok(shoots.into_iter().filter_map(address).collect())
            }
            Self::Clusters => {
                let seeds = objects(transport, cluster::GARDEN, api_version::CORE, "seeds").await?;
                let mut clusters: Vec<String> = seeds.iter().map(|(_, name)| format!("seed/{name}")).collect();
                clusters.extend(Box::pin(Self::Shoots.answer(transport)).await?);
                Ok(clusters)
            }
            Self::Objects(cluster, version, plural) => {
                let all = objects(transport, cluster, version, plural).await?;
                let named = |(namespace, name): (String, String)| {
                    if namespace.is_empty() { name } else { format!("{namespace}/{name}") }
                };
                Ok(all.into_iter().map(named).collect())
            }
        }
    }
}

/// Namespaces and names of the first objects of a resource.
async fn objects(
    transport: &Transport,
    cluster: &str,
    version: &str,
    plural: &str,
) -> Result<Vec<(String, String)>, ops::Error> {
    let path = format!("/clusters/{cluster}/apis/{version}/{plural}?limit={MAX_NAMES}");
    let list = read::tree(transport, &path, METADATA).await?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().into_iter().flatten();
    Ok(items.map(|item| (text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"]))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(command: &'a Command, path: &str) -> &'a Command {
        let below = |at: &'a Command, name: &str| at.find_subcommand(name).unwrap_or_else(|| panic!("{path}"));
        path.split(' ').filter(|name| !name.is_empty()).fold(command, below)
    }

    #[test]
    fn every_origin_belongs_to_an_argument() {
        let command = command(None);
        for (path, name, source) in ARGUMENTS {
            let arg = find(&command, path).get_arguments().find(|arg| arg.get_id() == name);
            let arg = arg.unwrap_or_else(|| panic!("{path} has no {name}"));
            assert!(arg.get::<ArgValueCompleter>().is_some(), "{path} {name}");
            assert_eq!(super::source(path, arg), Some(source));
        }
        for (path, name) in
            [("why", "shoot"), ("kubectl", "cluster"), ("clock until", "shoot"), ("fault inject", "shoot")]
        {
            let arg = find(&command, path).get_arguments().find(|arg| arg.get_id() == name).expect("an argument");
            assert!(arg.get::<ArgValueCompleter>().is_some(), "{path} {name}");
        }
        command.debug_assert();
    }

    #[test]
    fn components_without_a_configuration_are_not_offered_for_it() {
        let expected = [
            "gardener-apiserver",
            "gardener-controller-manager",
            "gardener-scheduler",
            "gardener-admission-controller",
            "gardenlet",
        ];
        let [mut found, mut expected] = [names(Source::Configured, None), expected.map(str::to_owned).to_vec()];
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert!(names(Source::Components, None).contains(&"gardener-operator".to_owned()));
    }

    #[test]
    fn words_name_a_landscape() {
        let named = |line: &str| {
            let words: Vec<OsString> =
                ["terrarium", "--"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            which(&words).map(|which| (which.given().map(str::to_owned), which.hint("")))
        };
        for line in ["terrarium --landscape a why", "terrarium why --landscape=a", "terrarium why --landscape = a"] {
            assert_eq!(named(line), Some((Some("a".to_owned()), " --landscape a".to_owned())), "{line}");
        }
        let placed = named("terrarium why --data-dir /d --landscape a ").expect("words");
        assert_eq!(placed.1, " --landscape a --data-dir /d");
        // The word at the cursor is incomplete.
        assert!(named("terrarium why --landscape").is_none_or(|(name, _)| name.as_deref() != Some("why")));
    }
}
