// SPDX-License-Identifier: Apache-2.0
//! The pages of `docs/reference`, made from what the program says of itself: a test compares them with the files, and
//! `UPDATE_EXPECT=1` writes them.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use domain::fault::{KINDS, Target};

use crate::Arguments;
use ops::words::WORDS;

const NOTE: &str = "Made from the program (`UPDATE_EXPECT=1 cargo test --package terrarium reference`): do not edit.\n";

/// A cell of a table in Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn command(page: &mut String, command: &clap::Command, before: &str) {
    let name = format!("{before}{}", command.get_name());
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for below in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        self::command(page, below, &format!("{name} "));
    }
}

fn commands() -> String {
    let mut page = format!("# Commands\n\n{NOTE}");
    let mut root = Arguments::command();
    root.build();
    command(&mut page, &root, "");
    page
}

fn faults() -> String {
    let mut page = format!(
        "# Faults\n\n{NOTE}\n`terrarium fault inject KIND` makes one, `terrarium fault clear` ends it. Each is an object of kind \
         Fault in cluster\n`runtime`.\n\n| kind | effect | addressed to | settings |\n| --- | --- | --- | --- |\n"
    );
    for kind in &KINDS {
        let target = match kind.target {
            Target::Shoot => "a Shoot, or any",
            Target::Component => "a component, or one pod of it",
            Target::Seed => "the cluster of a Seed",
            Target::Machine => "machines of a Shoot, a pool, a zone, or a single one",
        };
        let settings: Vec<String> = kind
            .settings
            .iter()
            .map(|it| format!("`{}`{}: {}", it.name, if it.is_required { "" } else { " (optional)" }, it.meaning))
            .collect();
        let _ =
            writeln!(page, "| `{}` | {} | {target} | {} |", kind.name, cell(kind.effect), cell(&settings.join("; ")));
    }
    page
}

fn words() -> String {
    let mut page = format!(
        "# Words\n\n{NOTE}\nWhat `terrarium explain WORD` says; it also explains the tasks of flows and fields of the APIs.\n\n\
         | word | is | means | is set | what to do |\n| --- | --- | --- | --- | --- |\n"
    );
    for word in WORDS {
        let names: Vec<String> = word.names.iter().map(|name| format!("`{name}`")).collect();
        let (means, set, to_do) = (cell(word.means), cell(word.set), cell(word.to_do));
        let _ = writeln!(page, "| {} | {} | {means} | {set} | {to_do} |", cell(&names.join(", ")), word.kind);
    }
    page
}

#[track_caller]
fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, page).expect("the page can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = stored.lines().zip(page.lines()).find(|(stored, made)| stored != made);
    assert!(stored == page, "docs/reference/{name} is out of date (UPDATE_EXPECT=1 writes it): {differs:?}");
}

#[test]
fn pages_of_the_reference_say_what_the_program_says() {
    check("commands.md", &commands());
    check("faults.md", &faults());
    check("words.md", &words());
}
