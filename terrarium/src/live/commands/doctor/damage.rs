// SPDX-License-Identifier: Apache-2.0
//! Damaged or missing files of a landscape, and their restoration.

use std::fs;

use eventlog::sled::SledLog;

use super::Finding;
use crate::failure::Failure;
use crate::live::authority::{ClusterAuthorities, LandscapeAuthority, Made};
use crate::live::directory::{Directory, Facts};
use crate::live::host::FACTS;

/// Checks the landscape's creation parameters: if `landscape.json` does not have them, the log does. `None`: the file is
/// intact, or there is no log.
pub(super) fn facts(directory: &Directory, fix: bool) -> Result<Option<Finding>, Failure> {
    let path = directory.join("landscape.json");
    let wrong = match directory.facts() {
        Ok(Some(_)) => return Ok(None),
        Ok(None) if !directory.join("log").exists() => return Ok(None),
        Ok(None) => format!("{} is missing", path.display()),
        Err(failure) => failure.to_string(),
    };
    let Some(known) = facts_in_log(directory) else {
        let remedy = "restore the file from a copy of the directory, or write it by hand: name, seed and start time";
        return Ok(Some(Finding::failure("landscape", wrong, remedy)));
    };
    if !fix {
        let remedy = "`terrarium doctor --fix` writes it again, from what the log says";
        return Ok(Some(Finding::failure("landscape", wrong, remedy)));
    }
    directory.write_facts(&known)?;
    Ok(Some(Finding::ok("landscape", format!("{wrong}: written again, from what the log says"))))
}

/// Returns the creation parameters that the landscape's log has; `None`: there is no log, or it has none.
pub(in crate::live) fn facts_in_log(directory: &Directory) -> Option<Facts> {
    let facts = SledLog::facts_in(directory.join("log")).ok()?;
    serde_json::from_slice(facts.get(FACTS)?).ok()
}

/// Checks for unreadable keys. New keys are equivalent: `up` writes new contexts.
pub(super) fn keys(directory: &Directory, facts: &Facts, fix: bool) -> Result<Finding, Failure> {
    let names = fs::read_dir(directory.join("pki")).into_iter().flatten().filter_map(Result::ok);
    let names = names.filter_map(|file| file.file_name().into_string().ok());
    let mut clusters: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
    clusters.sort();
    let mut wrong: Vec<(Vec<String>, Failure)> = Vec::new();
    if directory.join("pki/ca.crt").exists() || directory.join("pki/ca.key").exists() {
        let pair = || vec!["pki/ca.crt".to_owned(), "pki/ca.key".to_owned()];
        wrong.extend(LandscapeAuthority::read(directory).err().map(|failure| (pair(), failure)));
    }
    let authorities = ClusterAuthorities::of(directory, facts.start_time);
    for cluster in &clusters {
        let file = || vec![format!("pki/{cluster}.json")];
        wrong.extend(authorities.certificate(cluster).err().map(|failure| (file(), failure)));
    }
    let made = Made::of(directory)?;
    let lost: Vec<String> = made.lost().into_iter().map(str::to_owned).collect();
    for name in &lost {
        let failure = match name.as_str() {
            LandscapeAuthority::NAME => LandscapeAuthority::of(directory).err(),
            cluster => authorities.authority(cluster).err(),
        };
        wrong.extend(failure.map(|failure| (Vec::new(), failure)));
    }
    if wrong.is_empty() {
        if fix
            && !directory.is_held()?
            && let Some(note) = made.restore()?
        {
            return Ok(Finding::ok("keys", note));
        }
        if let Some(trouble) = made.trouble() {
            return Ok(Finding::warning("keys", trouble, "`terrarium up` writes it again"));
        }
        return Ok(Finding::ok("keys", format!("of the landscape, and of {} clusters", clusters.len())));
    }
    let mut what: Vec<String> = wrong.iter().map(|(_, failure)| failure.to_string()).collect();
    // All authorities are lost with their folder.
    what.dedup();
    let what = what.join("; ");
    if !fix {
        let remedy = "restore the files from a copy, or `terrarium doctor --fix` and `terrarium up` make new keys";
        return Ok(Finding::failure("keys", what, remedy));
    }
    if directory.is_held()? {
        return Ok(Finding::failure("keys", what, "`terrarium down` first: the host uses them"));
    }
    for name in wrong.iter().flat_map(|(names, _)| names).filter(|name| directory.join(name).exists()) {
        let aside = directory.join(&format!("{name}.damaged"));
        let moved = fs::rename(directory.join(name), &aside);
        moved.map_err(|error| Failure::Failed(format!("cannot rename {name}: {error}")))?;
    }
    let names = wrong.iter().flat_map(|(names, _)| names);
    let aside = names.filter_map(|name| name.strip_prefix("pki/")).map(|name| match name.rsplit_once('.') {
        Some((cluster, "json")) => cluster.to_owned(),
        _ => LandscapeAuthority::NAME.to_owned(),
    });
    let aside: Vec<String> = aside.collect();
    let moved = if aside.is_empty() { "" } else { "put aside; " };
    made.forget(&[aside, lost].concat())?;
    Ok(Finding::ok("keys", format!("{what}: {moved}`terrarium up` makes new keys and contexts")))
}

/// Checks the log's files and repairs them if requested; `None`: they are intact.
pub(super) fn log(directory: &Directory, fix: bool, discard: bool) -> Option<Finding> {
    let path = directory.join("log");
    let runs = directory.is_held().unwrap_or(true);
    if !path.exists() {
        let gone = || format!("{} is gone, and the landscape had a log", path.display());
        let remedy = "restore it from a copy; `terrarium up --start-empty` begins with an empty landscape";
        return directory.has_run().then(|| Finding::failure("log", gone(), remedy));
    }
    let damage = match SledLog::examine(&path) {
        Ok(None) => return None,
        Ok(Some(damage)) => damage,
        Err(error) => return Some(Finding::failure("log", error.to_string(), restore())),
    };
    let mut what = damage.what.join("; ");
    if runs {
        let remedy = "`terrarium down` writes again what can be found elsewhere; then ask again";
        return Some(Finding::failure("log", what, remedy));
    }
    what = format!("{what}: {}", damage.remedy);
    if !damage.remedy.loses() && !fix {
        return Some(Finding::failure("log", what, "`terrarium doctor --fix` writes it again"));
    }
    if damage.remedy.loses() && !(fix && discard) {
        let remedy = format!(
            "{}; `terrarium doctor --fix --discard-damaged` gives up what is lost and keeps the rest",
            restore()
        );
        return Some(Finding::failure("log", what, remedy));
    }
    Some(match SledLog::repair(&path, discard) {
        Ok(Some(done)) if done.remedy.loses() => {
            let what = format!("{}: {}; the damaged files are kept in log/damaged", done.what.join("; "), done.remedy);
            Finding::warning("log", what, "")
        }
        Ok(_) => Finding::ok("log", format!("{}: written again", damage.what.join("; "))),
        Err(error) => Finding::failure("log", error.to_string(), restore()),
    })
}

const fn restore() -> &'static str {
    "restore the directory from a copy"
}
