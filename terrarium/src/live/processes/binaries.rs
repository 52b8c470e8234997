// SPDX-License-Identifier: Apache-2.0
//! Binaries of components in the folder of this program.
//!
//! A component runs as its own binary if there is one of the same build; otherwise this program runs it (`terrarium
//! component NAME`). The files are held open from the start of the host: a running landscape starts the same build until it
//! ends, even if the files are replaced.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use component::Binary;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::live::components::BINARIES;
use crate::live::executable::{self, FileState, Held};

/// Maximum wall time until a binary reports its build.
const PATIENCE: TimeDelta = TimeDelta::seconds(5);
/// Maximum number of bytes that are read from a binary's output.
const MAX_ANSWER: u64 = 256;

/// Binaries of this program's build. Cheap to clone.
#[derive(Clone, Debug)]
pub(in crate::live) struct Binaries(Arc<BTreeMap<&'static str, Result<Held, FallbackReason>>>);

/// Reason for which this program runs a component itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FallbackReason {
    /// The file does not exist.
    Missing,
    /// The file cannot be used.
    Unusable(String),
}

impl Binaries {
    /// Finds the binaries in the folder of this program.
    pub(in crate::live) async fn find() -> Self {
        let folder = executable::file().ok().and_then(|file| Some(file.parent()?.to_owned()));
        Self::within(folder.as_deref()).await
    }

    async fn within(folder: Option<&Path>) -> Self {
        let found = BINARIES.iter().map(|binary| async move {
            let name = binary.program.name();
            let held = match folder {
                Some(folder) => hold(binary, &folder.join(name)).await,
                None => Err(FallbackReason::Missing),
            };
            (name, held)
        });
        Self(Arc::new(join_all(found).await.into_iter().collect()))
    }

    /// Path and name of a component's binary; None: this program runs the component.
    pub(in crate::live) fn of(&self, component: &str) -> Option<(PathBuf, PathBuf)> {
        let held = self.0.get(component)?.as_ref().ok()?;
        Some((held.path(), held.name().to_owned()))
    }

    /// Reason for which a component's binary can no longer be started; None: it can.
    pub(in crate::live) fn lost(&self, component: &str) -> Option<String> {
        let held = self.0.get(component)?.as_ref().ok().filter(|held| held.is_overwritten())?;
        Some(overwritten(&[held.name()], "terrarium down", "terrarium up"))
    }

    /// Forms of the components, for commands.
    pub(in crate::live) fn form(&self) -> ComponentForms {
        let of = |lacking: &FallbackReason| match lacking {
            FallbackReason::Missing => String::new(),
            FallbackReason::Unusable(reason) => reason.clone(),
        };
        let played = self.0.iter().filter_map(|(name, held)| Some(((*name).to_owned(), of(held.as_ref().err()?))));
        let binaries = self.0.iter().filter(|(_, held)| held.is_ok()).map(|(name, _)| (*name).to_owned());
        let files =
            self.0.iter().filter_map(|(name, held)| Some(((*name).to_owned(), held.as_ref().ok()?.state().clone())));
        ComponentForms {
            form: PROCESSES.to_owned(),
            binaries: binaries.collect(),
            files: files.collect(),
            played: played.collect(),
        }
    }
}

/// Opens a binary if it belongs to this build.
async fn hold(binary: &Binary, path: &Path) -> Result<Held, FallbackReason> {
    let unusable = |reason: String| FallbackReason::Unusable(format!("{}: {reason}", path.display()));
    let held = Held::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => FallbackReason::Missing,
        _ => unusable(error.to_string()),
    })?;
    let wall = Clock::wall();
    let answer = tokio::select! {
        biased;
        answer = ask(&held) => answer.map_err(|error| unusable(format!("it cannot be started: {error}")))?,
        () = wall.sleep(PATIENCE, TimerClass::Work) => return Err(unusable("it does not name its build".to_owned())),
    };
    if answer == format!("{}\n", binary.identity()).as_bytes() {
        Ok(held)
    } else {
        Err(unusable("it is of another build".to_owned()))
    }
}

/// Starts a program to query its build, and ends it after its output.
async fn ask(held: &Held) -> io::Result<Vec<u8>> {
    let mut child = Command::new(held.path())
        .arg0(held.name())
        .arg("--build")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    }
    Ok(answer)
}

/// Forms in which components run.
pub(crate) const PROCESSES: &str = "processes";
pub(crate) const INSIDE: &str = "inside";
/// Text about the program of components without their own binary.
const PLAYED: &str = "`terrarium component NAME`";

/// Form in which the components of a landscape run, as reported by its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ComponentForms {
    /// Form: `inside` or `processes`; empty: reported by an older build.
    pub(crate) form: String,
    /// Names of the components that run as their own binaries.
    pub(crate) binaries: Vec<String>,
    /// Files of these binaries as opened by the host.
    pub(crate) files: BTreeMap<String, FileState>,
    /// Components that `terrarium` runs itself, with the reason; empty: there is no binary.
    pub(crate) played: BTreeMap<String, String>,
}

impl ComponentForms {
    /// Returns the form in which all components run as tasks of the host's process.
    pub(in crate::live) fn inside() -> Self {
        Self { form: INSIDE.to_owned(), ..Self::default() }
    }

    /// Formats the form on one line, with the programs of processes; None: it is unknown.
    pub(crate) fn line(&self) -> Option<String> {
        let Self { form, binaries, played, .. } = self;
        match form.as_str() {
            "" => return None,
            INSIDE => return Some(format!("{form} the host's process")),
            _ => {}
        }
        let each = |(name, reason): (&String, &String)| match reason.as_str() {
            "" => name.clone(),
            reason => format!("{name} ({reason})"),
        };
        let named = || played.iter().map(each).collect::<Vec<_>>().join(", ");
        let folder = self.folder().map_or_else(String::new, |folder| format!(" in {}", folder.display()));
        Some(match (binaries.len(), played.values().all(String::is_empty)) {
            (_, _) if played.is_empty() => format!("{form}, each of its own binary{folder}"),
            (0, true) => format!("{form} of {PLAYED}"),
            (0, false) => format!("{form} of {PLAYED}: {}", named()),
            _ => format!("{form} of their own binaries{folder}, of {PLAYED}: {}", named()),
        })
    }

    /// Folder of the binaries; None: there is none that can be used.
    fn folder(&self) -> Option<&Path> {
        self.files.values().find_map(|file| file.path.parent())
    }

    /// Notes about binaries that cannot be used, and about missing ones unless all are missing.
    pub(in crate::live) fn notes(&self) -> impl Iterator<Item = String> {
        self.unusable().chain(self.missing())
    }

    fn unusable(&self) -> impl Iterator<Item = String> {
        let unusable = self.played.iter().filter(|(_, reason)| !reason.is_empty());
        unusable.map(|(name, reason)| format!("{reason}; terrarium plays {name}"))
    }

    fn missing(&self) -> Option<String> {
        let missing = self.played.iter().filter(|(_, reason)| reason.is_empty());
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        let is_all = self.binaries.is_empty() && missing.len() == self.played.len();
        let (are, them) = match missing.len() {
            0 => return None,
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let folder = self.folder().map_or_else(|| "the folder of terrarium".to_owned(), |it| it.display().to_string());
        (!is_all).then(|| format!("there {are} no {} in {folder}; terrarium plays {them}", missing.join(", ")))
    }

    /// Warnings about files that differ from those that the landscape runs, each with a remedy. `program`: file of the host
    /// if it was replaced; `down` and `up`: commands that restart the landscape.
    pub(crate) fn warnings(&self, program: Option<&Path>, down: &str, up: &str) -> Vec<String> {
        let changed = self.files.values().filter(|file| file.has_changed());
        let (lost, kept): (Vec<&FileState>, Vec<&FileState>) = changed.partition(|file| file.is_overwritten());
        let lost: Vec<&Path> = lost.into_iter().map(|file| file.path.as_path()).collect();
        let lost = (!lost.is_empty()).then(|| overwritten(&lost, down, up));
        let files: Vec<&Path> = program.into_iter().chain(kept.into_iter().map(|file| file.path.as_path())).collect();
        let replaced = (!files.is_empty()).then(|| {
            let (was, it, other) = match files.len() {
                1 => ("was", "build that it was", "one"),
                _ => ("were", "builds that they were", "ones"),
            };
            format!(
                "{} {was} replaced: the landscape runs on with the {it} started with; `{down}` and `{up}` start the other \
                 {other}",
                listed(&files)
            )
        });
        let unusable = self.unusable().map(|note| {
            format!(
                "{note}: `cargo build --workspace --bins` makes all programs of one build, then `{down}` and `{up}` start them"
            )
        });
        replaced.into_iter().chain(lost).chain(unusable).collect()
    }
}

/// Sentence about files whose content was overwritten in place.
fn overwritten(files: &[&Path], down: &str, up: &str) -> String {
    let (was, of, other) = match files.len() {
        1 => ("was", "the build that the landscape was started with is lost", "one"),
        _ => ("were", "the builds that the landscape was started with are lost", "ones"),
    };
    format!("{} {was} overwritten: {of}; `{down}` and `{up}` start the other {other}", listed(files))
}

/// Paths of files; names only for files in the folder of the first one.
fn listed(files: &[&Path]) -> String {
    let folder = files.first().and_then(|first| first.parent());
    let name = |(index, path): (usize, &&Path)| match path.file_name() {
        Some(name) if index > 0 && path.parent() == folder => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    };
    files.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with a file for some components, and the reasons for which they are not used.
    #[tokio::test]
    async fn files_that_are_not_binaries_of_this_build_are_named() {
        let folder = std::env::temp_dir().join(format!("terrarium-binaries-{}", std::process::id()));
        fs::create_dir_all(folder.join("gardener-apiserver")).expect("a folder for temporary files");
        let file = |name: &str, content: &[u8], mode: u32| {
            fs::write(folder.join(name), content).expect("ours");
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("ours");
        };
        file("gardener-scheduler", b"text", 0o600);
        file("gardenlet", b"#!/bin/sh\necho gardenlet\n", 0o700);
        file("gardener-operator", b"no program", 0o700);
        std::os::unix::fs::symlink("/bin/echo", folder.join("gardener-controller-manager")).expect("ours");
        let binaries = Binaries::within(Some(&folder)).await;
        let form = binaries.form();
        let place = folder.display().to_string();
        let reason = |name: &str| form.played.get(name).map_or("", |reason| reason.trim_start_matches(&place));
        for (name, expected) in [
            ("gardener-apiserver", "/gardener-apiserver: it is not a file"),
            ("gardener-scheduler", "/gardener-scheduler: it is not executable"),
            ("gardenlet", "/gardenlet: it is a script"),
            ("gardener-operator", "/gardener-operator: it cannot be started: "),
            ("gardener-controller-manager", "/gardener-controller-manager: it is of another build"),
            ("gardener-admission-controller", ""),
            ("gardener-extension-provider-local", ""),
        ] {
            // The text about a file that cannot be executed comes from the operating system.
            assert_eq!(reason(name).split_inclusive("started: ").next().unwrap_or_default(), expected);
            assert_eq!(binaries.of(name), None);
        }
        assert!(form.binaries.is_empty());
        let notes: Vec<String> = form.notes().collect();
        assert_eq!(notes.len(), 6, "{notes:?}");
        let missing = "there are no gardener-admission-controller, gardener-extension-provider-local in the folder of \
                       terrarium; terrarium plays them";
        assert_eq!(notes[5], missing);
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn missing_binaries_are_named_unless_all_are_missing() {
        let notes = |binaries: &[&str], played: &[(&str, &str)]| {
            let file = |name: &&str| {
                let state = serde_json::json!({ "path": format!("/d/{name}") });
                ((*name).to_owned(), serde_json::from_value(state).expect("a file"))
            };
            let form = ComponentForms {
                form: PROCESSES.to_owned(),
                binaries: binaries.iter().map(|name| (*name).to_owned()).collect(),
                files: binaries.iter().map(file).collect(),
                played: played.iter().map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned())).collect(),
            };
            form.notes().collect::<Vec<_>>()
        };
        assert_eq!(notes(&["a", "b"], &[]), Vec::<String>::new());
        assert_eq!(notes(&[], &[("a", ""), ("b", "")]), Vec::<String>::new());
        assert_eq!(notes(&["a"], &[("b", "")]), ["there is no b in /d; terrarium plays it"]);
        assert_eq!(notes(&["a"], &[("b", ""), ("c", "")]), ["there are no b, c in /d; terrarium plays them"]);
        assert_eq!(
            notes(&[], &[("a", "/d/a: bad"), ("b", "")]),
            ["/d/a: bad; terrarium plays a", "there is no b in the folder of terrarium; terrarium plays it"]
        );
        assert_eq!(ComponentForms::inside().notes().count(), 0);
    }

    #[test]
    fn the_form_is_printed_in_a_line() {
        let line = |binaries: &[&str], played: &[(&str, &str)]| {
            let form = ComponentForms {
                form: PROCESSES.to_owned(),
                binaries: binaries.iter().map(|name| (*name).to_owned()).collect(),
                files: BTreeMap::new(),
                played: played.iter().map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned())).collect(),
            };
            form.line().expect("it is known")
        };
        assert_eq!(line(&["a", "b"], &[]), "processes, each of its own binary");
        assert_eq!(line(&[], &[("a", ""), ("b", "")]), "processes of `terrarium component NAME`");
        assert_eq!(
            line(&[], &[("a", ""), ("b", "/b: bad")]),
            "processes of `terrarium component NAME`: a, b (/b: bad)"
        );
        assert_eq!(line(&["a"], &[("b", "")]), "processes of their own binaries, of `terrarium component NAME`: b");
        assert_eq!(ComponentForms::default().line(), None);
        assert_eq!(ComponentForms::inside().line().as_deref(), Some("inside the host's process"));
    }

    #[test]
    fn replaced_files_and_files_of_other_builds_are_warned_of() {
        let folder = std::env::temp_dir().join(format!("terrarium-replaced-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let mut form = ComponentForms { form: PROCESSES.to_owned(), ..ComponentForms::default() };
        for name in ["gardener-operator", "gardener-scheduler", "gardenlet"] {
            let path = folder.join(name);
            fs::copy("/bin/true", &path).expect("every system has true");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("ours");
            form.files.insert(name.to_owned(), Held::open(&path).expect("a program").state().clone());
        }
        let place = folder.display().to_string();
        let warnings = |form: &ComponentForms, program: Option<&str>| {
            let program = program.map(|name| folder.join(name));
            let warnings = form.warnings(program.as_deref(), "terrarium down", "terrarium up");
            warnings.iter().map(|warning| warning.replace(&place, "")).collect::<Vec<_>>()
        };
        assert_eq!(warnings(&form, None), Vec::<String>::new());
        fs::remove_file(folder.join("gardenlet")).expect("ours");
        let one = "/gardenlet was replaced: the landscape runs on with the build that it was started with; `terrarium down` \
                   and `terrarium up` start the other one";
        assert_eq!(warnings(&form, None), [one]);
        fs::remove_file(folder.join("gardener-scheduler")).expect("ours");
        let found = warnings(&form, Some("terrarium"));
        let several = "/terrarium, gardener-scheduler, gardenlet were replaced: the landscape runs on with the builds that they \
                       were started with; ";
        assert!(found.len() == 1 && found[0].starts_with(several), "{found:?}");
        let path = folder.join("gardener-operator");
        let file = fs::File::options().write(true).open(&path).expect("ours");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("ours");
        let found = warnings(&form, None);
        let lost = "/gardener-operator was overwritten: the build that the landscape was started with is lost; `terrarium down` \
                    and `terrarium up` start the other one";
        assert_eq!(found.last().map(String::as_str), Some(lost), "{found:?}");
        form.files.clear();
        form.played = BTreeMap::from([("a".to_owned(), String::new()), ("b".to_owned(), "/b: bad".to_owned())]);
        let found = warnings(&form, None);
        assert!(found.len() == 1 && found[0].starts_with("/b: bad; terrarium plays b: `cargo build "), "{found:?}");
        fs::remove_dir_all(folder).expect("ours");
    }
}
