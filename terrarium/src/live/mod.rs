// SPDX-License-Identifier: Apache-2.0
//! A landscape of processes: starting, stopping and asking it.
//!
//! **Tour.** [`commands`] what a user types, over [`ask`], what they ask the API, and [`history`], the log; [`landscape`]
//! its files, certificates and ways to it; [`processes`] the host and the components.

mod commands;
mod landscape;
mod processes;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::TypedValueParser;

use self::commands::demo;
pub(crate) use self::commands::{
    ask, at, clock, config, credential, dashboard, doctor, down, dump, events, fault, get, history, kubeconfig_command,
    kubectl, landscapes, log, logs, replay, status, up, upgrade,
};
pub(crate) use self::landscape::client;
pub(crate) use self::landscape::directory::{Directory, Facts};
use self::landscape::{authority, bootstrap, directory, kubeconfig, owner, retention, running, writes};
use self::processes::{
    admission_controller, apiserver, clock_file, configuration, defaults, operator, registration, skew_event,
    skew_watch,
};
pub(crate) use self::processes::{components, host, joining};

use crate::failure::Failure;

/// Name of the landscape that commands are about when none is named.
pub(crate) const DEFAULT: &str = "default";

/// Which landscape.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// Name of the landscape
    #[arg(long, global = true, env = "TERRARIUM_LANDSCAPE", default_value = DEFAULT, value_name = "NAME")]
    pub(crate) landscape: String,
    /// Its directory [env: TERRARIUM_DATA_DIR] [default: a folder per landscape under the user's data home]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[arg(long, global = true, env = "TERRARIUM_DATA_DIR", hide = true, hide_env = true, value_parser = maybe_empty())]
    data_dir_env: Option<PathBuf>,
    #[arg(long, global = true, env = "XDG_DATA_HOME", hide = true, hide_env = true)]
    data_home: Option<PathBuf>,
}

impl Which {
    /// Its directory.
    ///
    /// # Errors
    /// A name that is no DNS label, or nowhere to put it.
    pub(crate) fn directory(&self) -> Result<Directory, Failure> {
        let name = &self.landscape;
        let is_label = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !is_label {
            return Err(Failure::input(
                format!("`{name}` is no name for a landscape"),
                "use lower case letters, digits and `-`, at most 40",
            ));
        }
        if self.data_dir.is_none()
            && let Some(path) = self.directory_of_environment()
        {
            let directory = Directory::at(path);
            // A user who names another landscape than is there means that one.
            let is_meant = *name == DEFAULT || directory.facts().ok().flatten().is_none_or(|facts| facts.name == *name);
            if is_meant {
                return Ok(directory);
            }
        }
        Directory::of(name, self.data_dir.as_deref(), self.data_home.as_deref())
    }

    /// The directory that the environment names.
    fn directory_of_environment(&self) -> Option<&Path> {
        self.data_dir_env.as_deref().filter(|path| !path.as_os_str().is_empty())
    }

    /// Where landscapes usually are; `None`: nowhere.
    pub(crate) fn parent(&self) -> Option<PathBuf> {
        Directory::parent(self.data_home.as_deref()).ok()
    }

    /// A command about it, as its user would type it: with what says which landscape, where that must be said.
    pub(crate) fn hint(&self, command: &str) -> String {
        let name = if self.landscape == DEFAULT { String::new() } else { format!(" --landscape {}", self.landscape) };
        let place = self.data_dir.as_ref().map_or_else(String::new, |directory| {
            let path = directory.display().to_string();
            let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/.-_".contains(c));
            if is_plain { format!(" --data-dir {path}") } else { format!(" --data-dir {path:?}") }
        });
        format!("{command}{name}{place}")
    }

    /// Its name: what is in a directory has its own, which a user who names the directory need not say.
    pub(crate) fn name(&self) -> String {
        let facts = self.directory().and_then(|directory| directory.facts());
        facts.ok().flatten().map_or_else(|| self.landscape.clone(), |facts| facts.name)
    }

    /// Another landscape, where landscapes usually are.
    pub(crate) fn named(&self, name: &str) -> Self {
        Self { landscape: name.to_owned(), data_dir: None, data_dir_env: None, data_home: self.data_home.clone() }
    }

    /// Every folder where landscapes are, by name; then those elsewhere: of landscapes that run, and the one that
    /// `--data-dir` or the environment names.
    ///
    /// # Errors
    /// Nowhere to look, or what is there cannot be read.
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
        // What has another name than a landscape has is no landscape.
        let mut all: Vec<Directory> = names.iter().filter_map(|name| self.named(name).directory().ok()).collect();
        for directory in running::elsewhere(&parent).into_iter().chain(named) {
            if !all.iter().any(|known| known.is(&directory)) {
                all.push(directory);
            }
        }
        Ok(all)
    }
}

/// A path of the environment, which may be set to nothing.
fn maybe_empty() -> impl TypedValueParser<Value = PathBuf> {
    clap::builder::OsStringValueParser::new().map(PathBuf::from)
}

/// Where contexts are written to.
#[derive(Clone, Debug, Args)]
pub(crate) struct KubeconfigFile {
    /// Kubeconfig for the landscape's contexts; '' for none [default: the first file of KUBECONFIG, else
    /// ~/.kube/config]
    // A path may not be empty, a text may.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<OsString>,
    #[arg(long, env = "KUBECONFIG", hide = true, hide_env = true)]
    kubeconfig_env: Option<String>,
}

impl KubeconfigFile {
    /// The file; `None`: nowhere.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        if let Some(path) = &self.kubeconfig {
            return (!path.is_empty()).then(|| PathBuf::from(path));
        }
        let first = self.kubeconfig_env.as_deref().and_then(|files| files.split(':').find(|file| !file.is_empty()));
        first.map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".kube/config")))
    }
}

/// Runs a command's requests on this thread.
///
/// # Errors
/// The command's own, or no runtime can be made.
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
    fn hints_say_which_landscape_where_that_must_be_said() {
        let hint = |landscape: &str, data_dir: Option<&str>| {
            let data_dir = data_dir.map(PathBuf::from);
            let data_dir_env = Some(PathBuf::from("/of/the/environment"));
            Which { landscape: landscape.to_owned(), data_dir, data_dir_env, data_home: None }.hint("terrarium down")
        };
        assert_eq!(hint("default", None), "terrarium down");
        assert_eq!(hint("a", None), "terrarium down --landscape a");
        assert_eq!(hint("default", Some("/d/e")), "terrarium down --data-dir /d/e");
        assert_eq!(hint("a", Some("my data")), "terrarium down --landscape a --data-dir \"my data\"");
    }
}
