// SPDX-License-Identifier: Apache-2.0
//! `terrarium explain`: what a word means that a landscape uses, where it is set, and what to do.
//!
//! Needs no landscape. Words of Gardener are in [`words`], a row each; tasks come from the flows themselves.

mod words;

use clap::Args;
use gardenlet_sim::gardenlet;

use crate::failure::Failure;
use crate::output::Output;
use crate::spelling::distance;
use words::{WORDS, Word};

/// Words that are offered for one that is not known.
const OFFERED: usize = 3;

/// Say what a condition, reason, annotation, rule, phase, error code or task means
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The word, as a landscape shows it: `EveryNodeReady`, `ERR_INFRA_QUOTA_EXCEEDED`, `C2`, `"Deploying Network"`
    #[arg(value_name = "WORD", required = true, num_args = 1..)]
    word: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let wanted = arguments.word.join(" ");
    let is_it = |name: &str| name.eq_ignore_ascii_case(&wanted);
    // `gardener.cloud/operation=reconcile` is a value of an annotation.
    let found: Vec<&Word> = WORDS.iter().filter(|word| word.names.iter().any(|name| is_it(name))).collect();
    let is_task = |task: &gardenlet::TaskInfo| is_it(task.name) || task.while_hibernating.is_some_and(is_it);
    let tasks: Vec<gardenlet::TaskInfo> = gardenlet::tasks().filter(is_task).collect();
    if found.is_empty() && tasks.is_empty() {
        return Err(unknown(&wanted));
    }
    for (number, word) in found.iter().enumerate() {
        if number > 0 {
            output.line("")?;
        }
        output.line(&format!("{} ({})", word.names[0], word.kind))?;
        output.line(&format!("  means  {}", word.means))?;
        output.line(&format!("  set    {}", word.set))?;
        output.line(&format!("  to do  {}", word.to_do))?;
    }
    for task in tasks {
        output.line(&format!("{} (task {} of {} when a Shoot is {})", task.name, task.number, task.of, task.flow))?;
        let after = if task.after.is_empty() { "at the beginning".to_owned() } else { task.after.join(", ") };
        output.line(&format!("  after  {after}"))?;
        output.line("  set    by gardenlet, in .status.lastOperation.description while it runs")?;
        output.line(
            "  to do  nothing while it moves on; `terrarium events shoot/PROJECT/NAME` shows what it waits for",
        )?;
    }
    Ok(())
}

fn unknown(wanted: &str) -> Failure {
    let lower = wanted.to_ascii_lowercase();
    let names = WORDS.iter().flat_map(|word| word.names).copied().chain(gardenlet::tasks().map(|task| task.name));
    let mut near: Vec<(usize, &str)> = names
        .map(|name| {
            let other = name.to_ascii_lowercase();
            let is_part = lower.len() > 2 && other.contains(&lower);
            (if is_part { 1 } else { distance(&lower, &other) }, name)
        })
        .filter(|(far, name)| *far <= 1 + name.len() / 4)
        .collect();
    near.sort_unstable();
    near.dedup();
    let names: Vec<String> = near.iter().take(OFFERED).map(|(_, name)| format!("`{name}`")).collect();
    let hint = if names.is_empty() {
        "names of Kubernetes' own are in `kubectl explain`".to_owned()
    } else {
        format!("near it are {}", names.join(", "))
    };
    Failure::input(format!("`{wanted}` is not known"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_once_and_says_everything() {
        let mut names: Vec<String> =
            WORDS.iter().flat_map(|word| word.names).map(|name| name.to_ascii_lowercase()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands for two things");
        for word in WORDS {
            for text in [word.kind, word.means, word.set, word.to_do] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", word.names[0]);
            }
        }
    }

    #[test]
    fn what_a_landscape_shows_is_explained() {
        let is_known = |name: &str| WORDS.iter().any(|word| word.names.contains(&name));
        for code in ["ERR_INFRA_UNAUTHENTICATED", "ERR_CONFIGURATION_PROBLEM", "ERR_RETRYABLE_INFRA_DEPENDENCIES"] {
            assert!(is_known(code), "{code}");
        }
        for rule in ["V0", "A1", "C1", "C2", "G1", "G2", "O1", "O2", "E1", "T1", "T2", "O3a", "O3b", "P1"] {
            assert!(is_known(rule), "{rule}");
        }
        assert_eq!(
            unknown("EveryNodReady"),
            Failure::input("`EveryNodReady` is not known", "near it are `EveryNodeReady`")
        );
    }
}
