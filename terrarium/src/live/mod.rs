// SPDX-License-Identifier: Apache-2.0
//! A landscape of processes: starting, stopping and querying it.
//!
//! **Tour.** [`commands`] commands of the user, over [`ask`], requests to the API, and [`history`], the log; [`landscape`]
//! its files, certificates and transports; [`processes`] the host and the components.

mod commands;
mod landscape;
mod processes;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::TypedValueParser;

pub(crate) use self::commands::clock::wait;
pub(crate) use self::commands::{
    ask, assert, at, clock, config, credential, dashboard, demo, doctor, down, dump, events, fault, get, history,
    kubeconfig_command, kubectl, landscapes, log, logs, replay, status, up, upgrade,
};
pub(crate) use self::landscape::client;
pub(crate) use self::landscape::directory::{Directory, Facts};
use self::landscape::{
    authority, bootstrap, consumption, directory, executable, host_process, kubeconfig, owner, retention, running,
    writes,
};
use self::processes::{binaries, clock_file, defaults, operator};
pub(crate) use self::processes::{components, host, start};

use crate::failure::Failure;

/// Name of the default landscape.
pub(crate) const DEFAULT: &str = "default";

/// Selection of a landscape.
///
/// A directory holds one landscape, which has a name. Without a directory, a landscape is in the folder of its name in the
/// default place of landscapes; a name that is given with a directory must be that of the landscape in it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// Name of the landscape [default: that of the landscape in --data-dir, else default]
    #[arg(long, global = true, env = "TERRARIUM_LANDSCAPE", value_name = "NAME")]
    landscape: Option<String>,
    /// Its directory [env: TERRARIUM_DATA_DIR] [default: a folder per landscape under the user's data home]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[arg(long, global = true, env = "TERRARIUM_DATA_DIR", hide = true, hide_env = true, value_parser = maybe_empty())]
    data_dir_env: Option<PathBuf>,
    #[arg(long, global = true, env = "XDG_DATA_HOME", hide = true, hide_env = true)]
    data_home: Option<PathBuf>,
}

impl Which {
    /// Returns the directory of the landscape.
    ///
    /// # Errors
    /// The name is no DNS label, or differs from that of the landscape in the directory; or there is no place for it.
    pub(crate) fn directory(&self) -> Result<Directory, Failure> {
        let place = self.place()?;
        let (Some(given), Ok(Some(facts))) = (self.given(), place.facts()) else { return Ok(place) };
        if facts.name == given {
            return Ok(place);
        }
        let path = place.path().display();
        let source = match (&self.data_dir, self.directory_of_environment()) {
            (Some(_), _) => format!("--data-dir {path}"),
            (None, Some(_)) => format!("TERRARIUM_DATA_DIR={path}"),
            (None, None) => path.to_string(),
        };
        Err(Failure::input(
            format!("{source} is the directory of landscape {}, not of {given}", facts.name),
            "name the landscape or its directory, or both as they belong together: --landscape NAME --data-dir DIR",
        ))
    }

    /// Returns the directory of the landscape, regardless of its content.
    fn place(&self) -> Result<Directory, Failure> {
        let name = self.given().unwrap_or(DEFAULT);
        let is_label = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !is_label {
            return Err(Failure::input(
                format!("`{name}` is not a name for a landscape"),
                "use lower case letters, digits and `-`, at most 40",
            ));
        }
        let place = match self.data_dir.as_deref().or_else(|| self.directory_of_environment()) {
            Some(path) => Directory::at(path),
            None => Directory::at(&Directory::parent(self.data_home.as_deref())?.join(name)),
        };
        Ok(place.selected_by(self.options()))
    }

    /// Name that was given on the command line or in the environment.
    pub(crate) fn given(&self) -> Option<&str> {
        self.landscape.as_deref()
    }

    /// The directory that the environment names.
    fn directory_of_environment(&self) -> Option<&Path> {
        self.data_dir_env.as_deref().filter(|path| !path.as_os_str().is_empty())
    }

    /// Default parent folder of landscapes; `None`: there is none.
    pub(crate) fn parent(&self) -> Option<PathBuf> {
        Directory::parent(self.data_home.as_deref()).ok()
    }

    /// Formats a command for this landscape as its user would type it, with the options that select the landscape if
    /// needed.
    pub(crate) fn hint(&self, command: &str) -> String {
        format!("{command}{}", self.options())
    }

    /// Options that select the landscape, each after a space; empty if none are needed.
    fn options(&self) -> String {
        let name = self.given().filter(|name| *name != DEFAULT);
        let name = name.map_or_else(String::new, |name| format!(" --landscape {name}"));
        let place = self.data_dir.as_ref().map_or_else(String::new, |directory| {
            let path = directory.display().to_string();
            let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/.-_".contains(c));
            if is_plain { format!(" --data-dir {path}") } else { format!(" --data-dir {path:?}") }
        });
        format!("{name}{place}")
    }

    /// Name of the landscape: the name in the directory counts if the user names only the directory.
    pub(crate) fn name(&self) -> String {
        let facts = self.place().and_then(|directory| directory.facts());
        facts.ok().flatten().map_or_else(|| self.given().unwrap_or(DEFAULT).to_owned(), |facts| facts.name)
    }

    /// Returns a landscape with another name: in the same directory, or in the default place.
    pub(crate) fn named(&self, name: &str) -> Self {
        Self { landscape: Some(name.to_owned()), ..self.clone() }
    }

    /// Returns all folders of landscapes, by name; then those in other places: of running landscapes, and the one that
    /// `--data-dir` or the environment names.
    ///
    /// # Errors
    /// There is no place to look, or a folder cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<Directory>, Failure> {
        let named: Vec<Directory> = self
            .data_dir
            .as_deref()
            .or_else(|| self.directory_of_environment())
            .map(Directory::at)
            .into_iter()
            .collect();
        let parent = match Directory::parent(self.data_home.as_deref()) {
            Ok(parent) => parent,
            Err(_) if !named.is_empty() => return Ok(named),
            Err(failure) => return Err(failure),
        };
        let mut names: Vec<String> = match std::fs::read_dir(&parent) {
            Ok(entries) => {
                entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Failure::Failed(format!("cannot read {}: {error}", parent.display()))),
        };
        names.sort();
        // A folder whose name is no valid name of a landscape is ignored.
        let usual = Self { data_dir: None, data_dir_env: None, ..self.clone() };
        let mut all: Vec<Directory> = names.iter().filter_map(|name| usual.named(name).place().ok()).collect();
        for directory in running::elsewhere(&parent).into_iter().chain(named) {
            if !all.iter().any(|known| known.is(&directory)) {
                all.push(directory);
            }
        }
        Ok(all)
    }
}

/// A path from the environment, which may be empty.
fn maybe_empty() -> impl TypedValueParser<Value = PathBuf> {
    clap::builder::OsStringValueParser::new().map(PathBuf::from)
}

/// Selection of the kubeconfig for contexts.
#[derive(Clone, Debug, Args)]
pub(crate) struct KubeconfigFile {
    /// Kubeconfig for the landscape's contexts; '' for none [default: the first file of KUBECONFIG, else
    /// ~/.kube/config]
    // A path must not be empty, but a text may be.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<OsString>,
    #[arg(long, env = "KUBECONFIG", hide = true, hide_env = true)]
    kubeconfig_env: Option<String>,
}

impl KubeconfigFile {
    /// Returns the file; `None`: contexts are not written.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        if let Some(path) = &self.kubeconfig {
            return (!path.is_empty()).then(|| PathBuf::from(path));
        }
        let first = self.kubeconfig_env.as_deref().and_then(|files| files.split(':').find(|file| !file.is_empty()));
        first.map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".kube/config")))
    }
}

impl KubeconfigFile {
    /// Returns the files that kubectl reads without a flag, in its order.
    pub(crate) fn of_kubectl(&self) -> Vec<PathBuf> {
        let files = self.kubeconfig_env.as_deref().unwrap_or_default().split(':').filter(|file| !file.is_empty());
        let files: Vec<PathBuf> = files.map(PathBuf::from).collect();
        let usual = || std::env::home_dir().map(|home| home.join(".kube/config"));
        if files.is_empty() { usual().into_iter().collect() } else { files }
    }
}

/// Runs the requests of a command on this thread.
///
/// # Errors
/// Those of the command, or no runtime can be created.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot make a runtime: {error}")))?;
    runtime.block_on(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_kubeconfig_is_none() {
        use clap::Parser;

        #[derive(Parser)]
        struct Command {
            #[command(flatten)]
            kubeconfig: KubeconfigFile,
        }
        let path = |words: &[&str]| {
            let words = ["terrarium"].iter().chain(words);
            Command::try_parse_from(words).expect("words").kubeconfig.path()
        };
        for words in [&["--kubeconfig", ""][..], &["--kubeconfig="]] {
            assert_eq!(path(words), None, "{words:?}");
        }
        assert_eq!(path(&["--kubeconfig", "a"]), Some(PathBuf::from("a")));
        assert!(Command::try_parse_from(["terrarium", "--kubeconfig"]).is_err(), "there must be a value");
    }

    #[test]
    fn hints_name_the_landscape_if_necessary() {
        let hint = |landscape: &str, data_dir: Option<&str>| {
            let data_dir = data_dir.map(PathBuf::from);
            let data_dir_env = Some(PathBuf::from("/of/the/environment"));
            let landscape = Some(landscape.to_owned());
            let which = Which { landscape, data_dir, data_dir_env, data_home: None };
            let hint = which.hint("terrarium down");
            assert_eq!(which.place().expect("a place").hint("terrarium down"), hint);
            hint
        };
        assert_eq!(hint("default", None), "terrarium down");
        assert_eq!(hint("a", None), "terrarium down --landscape a");
        assert_eq!(hint("default", Some("/d/e")), "terrarium down --data-dir /d/e");
        assert_eq!(hint("a", Some("my data")), "terrarium down --landscape a --data-dir \"my data\"");
    }

    #[test]
    fn a_name_must_be_that_of_the_directory() {
        let folder = std::env::temp_dir().join(format!("terrarium-which-{}", std::process::id()));
        let text = "{\"name\": \"a\", \"gardenerVersion\": \"v1.120.0\", \"profile\": \"documents\", \"seed\": 1, \
                    \"seeds\": 1, \"startTime\": \"2023-07-27T20:00:00Z\", \"log\": \"sled\", \"durable\": true, \"port\": 1}";
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        std::fs::write(folder.join("landscape.json"), text).expect("ours");
        let found = |name: Option<&str>, by_flag: bool| {
            let (data_dir, data_dir_env) =
                if by_flag { (Some(folder.clone()), None) } else { (None, Some(folder.clone())) };
            let which = Which { landscape: name.map(str::to_owned), data_dir, data_dir_env, data_home: None };
            which.directory().map(|directory| directory.path().to_owned()).map_err(|error| error.to_string())
        };
        for by_flag in [true, false] {
            for name in [None, Some("a")] {
                assert_eq!(found(name, by_flag), Ok(folder.clone()), "{name:?}");
            }
            for name in ["b", DEFAULT] {
                let refused = found(Some(name), by_flag).expect_err("it is another one");
                assert!(refused.ends_with(&format!("is the directory of landscape a, not of {name}")), "{refused}");
                assert!(refused.starts_with(if by_flag { "--data-dir" } else { "TERRARIUM_DATA_DIR" }), "{refused}");
            }
        }
        std::fs::remove_dir_all(folder).expect("ours");
    }
}
