// SPDX-License-Identifier: Apache-2.0
//! Pages of `docs/reference`, generated from the program: a test compares them with the files, and `UPDATE_EXPECT=1` writes
//! them.
//!
//! Fields of kinds come from their schemas; information that only doc comments have is read from the sources ([`source`]).

mod source;

use std::fmt::Write as _;
use std::path::Path;

use apimachinery::Resource as _;
use apimachinery::schema::{Node, ObjectSchema};
use clap::CommandFactory as _;
use domain::fault::{KINDS, Target};

use crate::Arguments;
use crate::failure::Failure;
use ops::explain::words::WORDS;

use self::source::Item;

const NOTE: &str = "Made from the program (`UPDATE_EXPECT=1 cargo test --package terrarium reference`): do not edit.\n";

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes a cell of a table in Markdown.
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

/// Returns the page about exit codes of commands.
fn exit_codes() -> String {
    let text = String::new;
    let failures = [
        ("OutputClosed", Failure::OutputClosed),
        ("Failed", Failure::Failed(text())),
        ("Unfinished", Failure::Unfinished { what: text(), hint: text() }),
        ("Input", Failure::input("", "")),
        ("Refused", Failure::Refused(text())),
        ("Held", Failure::Held(text())),
        ("Interrupted", Failure::Interrupted(text())),
    ];
    let mut page = format!(
        "# Exit codes\n\n{NOTE}\nOf `terrarium` and of the processes of a landscape. Flags such as `--fail-on` ask for a code of their own; the\n\
         command's help says which.\n\n| exit code | when |\n| --- | --- |\n| 0 | the command did what it was asked for |\n"
    );
    let (_, variants) = source::parts(&source::file("terrarium/src/failure.rs"), "pub(crate) enum Failure");
    for (name, failure) in failures {
        let variant = variants.iter().find(|item| item.name == name).expect("a variant");
        let (when, named) = variant.text.split_once(": exit code ").unwrap_or((&variant.text, ""));
        let code = failure.exit_code();
        assert!(named.is_empty() || named == format!("{code}."), "{name} says exit code {named}");
        let _ = writeln!(page, "| {code} | {} |", cell(&sentence(when)));
    }
    page
}

/// Formats a sentence as a cell: lower case at the start, no full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    let is_word = text.split(' ').next().is_some_and(|word| word.chars().skip(1).all(|letter| !letter.is_uppercase()));
    match letters.next() {
        Some(first) if is_word => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// Returns the page about fields of the kinds of `terrarium.dev`.
fn kinds() -> String {
    let mut page = format!(
        "# Kinds\n\n{NOTE}\nKinds of `terrarium.dev`, in cluster `runtime`. Fields of all other kinds are those of Gardener and Kubernetes: `kubectl\n\
         explain`.\n"
    );
    for row in api::catalogue::all().iter().filter(|row| row.group == api::terrarium::Clock::GROUP) {
        let node = (row.schema)();
        let Some(object) = node.as_object() else { continue };
        let subresources = match row.subresources {
            [] => String::new(),
            some => format!(" Subresources: {}.", some.join(", ")),
        };
        let _ = write!(
            page,
            "\n## {} (`{}.{}/{}`)\n\n{}{subresources}\n\n| field | type | what it is |\n| --- | --- | --- |\n",
            row.kind,
            row.plural,
            row.group,
            row.version,
            one_line(object.description)
        );
        fields(&mut page, object, "");
    }
    page
}

fn fields(page: &mut String, object: &ObjectSchema, before: &str) {
    for field in object.fields.iter().filter(|field| !matches!(field.name, "apiVersion" | "kind" | "metadata")) {
        let (mut node, mut path) = (&field.node, format!("{before}{}", field.name));
        let type_ = type_of(node);
        while let Node::List(inner) | Node::Map(inner) = node {
            path.push_str(if matches!(node, Node::List(_)) { "[]" } else { ".NAME" });
            node = inner;
        }
        let required = if field.required { ", required" } else { "" };
        let _ = writeln!(page, "| `{path}` | {type_}{required} | {} |", cell(field.description));
        if let Some(below) = node.as_object() {
            fields(page, below, &format!("{path}."));
        }
    }
}

fn type_of(node: &Node) -> String {
    match node {
        Node::Object(_) => "object".to_owned(),
        Node::List(inner) => format!("list of {}", type_of(inner)),
        Node::Map(inner) => format!("map of {}", type_of(inner)),
        Node::Boolean => "truth value".to_owned(),
        Node::Integer { .. } => "integer".to_owned(),
        Node::Number => "number".to_owned(),
        Node::Duration => "duration".to_owned(),
        Node::Time | Node::MicroTime => "time".to_owned(),
        Node::Quantity => "quantity".to_owned(),
        Node::IntOrString => "integer or text".to_owned(),
        Node::Bytes => "base64".to_owned(),
        Node::Raw => "any JSON".to_owned(),
        Node::String => "text".to_owned(),
    }
}

/// Returns the page about the contract between a process of a landscape and its parent.
fn processes() -> String {
    let contract = source::file("crates/process/src/child.rs");
    let mut page = format!("# Processes\n\n{NOTE}\n{}\n", source::module(&contract));
    for name in ["Assignment", "Serving", "Joining", "Ready", "Unready"] {
        let (text, fields) = source::parts(&contract, &format!("pub struct {name}"));
        let _ = write!(page, "\n## {name}\n\n{text}\n\n| field | type | what it is |\n| --- | --- | --- |\n");
        for field in fields {
            let _ = writeln!(page, "| `{}` | `{}` | {} |", camel_case(&field.name), field.type_, cell(&field.text));
        }
    }
    page
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name.push_str(&initial.to_uppercase());
        name.push_str(rest);
        name
    })
}

/// Returns the page about annotations and labels with a meaning for a component.
fn annotations() -> String {
    let of = |file: &str| source::constants(&source::file(&format!("crates/api/src/constants/{file}.rs")));
    let (mut annotations, labels, operations) = (of("annotation"), of("label"), of("operation"));
    let tasks = source::constants(&source::unindented(&source::file("crates/api/src/constants/mod.rs"), "task"));
    let all: Vec<Item> = [&annotations, &labels, &operations].into_iter().flatten().cloned().collect();
    let set = |item: &mut Item| match item.text.strip_suffix(" Users set it.") {
        Some(text) => {
            item.text = text.to_owned();
            true
        }
        None => false,
    };
    let users: Vec<Item> = annotations.extract_if(.., set).collect();
    let mut page =
        format!("# Annotations and labels\n\n{NOTE}\nThose that end with `/` or `-` are prefixes: a name follows.\n");
    let mut table = |title: &str, about: &str, column: &str, items: Vec<Item>| {
        let _ = write!(page, "\n## {title}\n\n{about}| {column} | what it means |\n| --- | --- |\n");
        for item in items {
            let _ = writeln!(page, "| `{}` | {} |", item.name, cell(&with_keys(&item.text, &all)));
        }
    };
    let by_key = |mut items: Vec<Item>| {
        // Drops keys that are built from others, and constants that are no keys.
        items.retain(|item| item.name.contains(['.', '/', '-']) && !item.name.contains(['(', ' ']));
        items.sort_by(|left, right| left.name.cmp(&right.name));
        items
    };
    table("Annotations that users set", "With these, users ask a component for something.\n\n", "key", by_key(users));
    let about = "Values of `gardener.cloud/operation` and `maintenance.gardener.cloud/operation`. Each kind knows some of them.\n\n";
    table("Operations", about, "value", operations);
    table("Tasks", "Values of `shoot.gardener.cloud/tasks`.\n\n", "value", tasks);
    let about = "Components set them, read them, and may set them again.\n\n";
    table("Annotations that components set", about, "key", by_key(annotations));
    table("Labels", "", "key", by_key(labels));
    page
}

/// Replaces names of constants in a text by their values.
fn with_keys(text: &str, all: &[Item]) -> String {
    let key = |name: &str| all.iter().find(|item| item.constant == name).map(|item| item.name.as_str());
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| if index % 2 == 1 { key(part).unwrap_or(part) } else { part });
    let text = parts.collect::<Vec<_>>().join("`");
    ["operation", "task"]
        .iter()
        .fold(text, |text, name| text.replace(&format!("(super::{name})"), &format!("(#{name}s)")))
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
fn pages_of_the_reference_match_the_program() {
    check("commands.md", &commands());
    check("faults.md", &faults());
    check("words.md", &words());
    check("exit-codes.md", &exit_codes());
    check("kinds.md", &kinds());
    check("processes.md", &processes());
    check("annotations.md", &annotations());
}
