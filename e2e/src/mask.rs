// SPDX-License-Identifier: Apache-2.0
//! Masks for differences between two runs of the same commands.
//!
//! | mask | for | why it differs |
//! | --- | --- | --- |
//! | `[WALL]`, `[SPEED]` | numbers in `in 2.6 s` and `99,692×` | wall time |
//! | `[HASH]` | a line `hash …` | every change of the product changes it |
//! | `[PORT]` | port in `https://127.0.0.1:…` | a free one is taken |
//! | `[FORM]` | rest of the line `Components:` of `up` | binaries of components may be in the folder of `terrarium` or not |
//! | `[REVISION]` | `Resource Version:` and `resourceVersion:` | processes write in no fixed order |
//! | `[ID]` | 64 hexadecimal digits | a gardenlet's identity is new with every start |
//! | `[AGE]` | column `Age` of the Events that `kubectl describe` shows | kubectl counts it from its own clock |
//! | `[AGE]` | column `LAST SEEN` of a table of Events | an Event that waits for processes may be a second later |
//!
//! Everything else is equal in every run: landscape time is stopped (`--clock stepped`) or follows from the seed, and so do names
//! and uids.

/// Replaces the differences between two runs by masks.
pub fn mask(output: &str) -> String {
    let mut masked = String::new();
    let mut events: Option<Vec<Vec<String>>> = None;
    let mut last_seen = None;
    for line in output.lines() {
        if line.starts_with("LAST SEEN ") {
            last_seen = line.find("TYPE");
        } else if let Some(width) = last_seen
            && line.starts_with(|first: char| first.is_ascii_digit())
            && let Some(rest) = line.get(width..)
        {
            push(&mut masked, &format!("{:width$}{rest}", "[AGE]"));
            continue;
        } else {
            last_seen = None;
        }
        // A table of Events extends to the end of an object's description by `kubectl describe`.
        match &mut events {
            Some(rows) if line.starts_with("  ") => rows.push(event_cells(line)),
            Some(rows) => {
                masked.push_str(&event_table(rows));
                events = None;
                push(&mut masked, &mask_line(line));
            }
            None => push(&mut masked, &mask_line(line)),
        }
        if line == "Events:" {
            events = Some(Vec::new());
        }
    }
    masked + &events.map_or_else(String::new, |rows| event_table(&rows))
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn mask_line(line: &str) -> String {
    if line.starts_with("hash ") {
        return "hash [HASH]".to_owned();
    }
    const COMPONENTS: &str = "  Components:   ";
    if line.starts_with(COMPONENTS) {
        return format!("{COMPONENTS}[FORM]");
    }
    let mut words: Vec<String> = Vec::new();
    let mut is_revision = false;
    for word in line.split(' ') {
        let previous_is_in = words.last().is_some_and(|last| last == "in");
        let seconds = word.trim_end_matches([',', ';', '.']).parse::<f64>().is_ok() && previous_is_in;
        let masked = if seconds {
            "[WALL]".to_owned()
        } else if word.ends_with('×') {
            "[SPEED]".to_owned()
        } else if is_revision && word.trim_matches('"').parse::<u64>().is_ok() {
            is_revision = false;
            "[REVISION]".to_owned()
        } else if word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            "[ID]".to_owned()
        } else {
            mask_port(word)
        };
        is_revision = word == "resourceVersion:"
            || (word == "Version:" && words.last().is_some_and(|last| last == "Resource"))
            || (is_revision && word.is_empty());
        words.push(masked);
    }
    words.join(" ")
}

fn mask_port(word: &str) -> String {
    const HOST: &str = "https://127.0.0.1:";
    let Some((before, after)) = word.split_once(HOST) else { return word.to_owned() };
    let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if rest.len() == after.len() { word.to_owned() } else { format!("{before}{HOST}[PORT]{rest}") }
}

/// Splits a row of Events into its cells: type, reason, age, source, message.
fn event_cells(line: &str) -> Vec<String> {
    const CELLS: usize = 5;
    let mut rest = line.trim_start();
    let mut cells = Vec::new();
    while cells.len() + 1 < CELLS
        && let Some((cell, after)) = rest.split_once("  ")
    {
        cells.push(cell.to_owned());
        rest = after.trim_start();
    }
    cells.push(rest.to_owned());
    if let Some(age) = cells.get_mut(2).filter(|cell| !matches!(cell.as_str(), "Age" | "----")) {
        "[AGE]".clone_into(age);
    }
    cells
}

/// Formats the table as kubectl does, so that the width of the masked cells is not visible.
fn event_table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut table = String::new();
    for row in rows {
        let last = row.len().saturating_sub(1);
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str("  ");
            line.push_str(cell);
            if column < last {
                let missing = width(column).unwrap_or_default() - cell.chars().count();
                line.push_str(&" ".repeat(missing));
            }
        }
        push(&mut table, &line);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_times_and_their_effects_are_masked() {
        assert_eq!(
            mask("3 days of landscape time in 2.6 s (99,692× real time); 412 log entries; hash 9f3c71e2\nhash 9f3c\n"),
            "3 days of landscape time in [WALL] s [SPEED] real time); 412 log entries; hash 9f3c71e2\nhash [HASH]\n"
        );
    }

    #[test]
    fn ports_and_revisions_are_masked() {
        for (text, masked) in [
            ("seed 1 · https://127.0.0.1:40121", "seed 1 · https://127.0.0.1:[PORT]"),
            (
                "    server: https://127.0.0.1:40121/clusters/garden",
                "    server: https://127.0.0.1:[PORT]/clusters/garden",
            ),
            ("see https://127.0.0.1:x", "see https://127.0.0.1:x"),
            ("  Resource Version:    412", "  Resource Version:    [REVISION]"),
            ("    resourceVersion: \"412\"", "    resourceVersion: [REVISION]"),
            ("  Version:  1.27.1", "  Version:  1.27.1"),
            (&format!("    Id:  {}", "0a".repeat(32)), "    Id:  [ID]"),
        ] {
            assert_eq!(mask(text), format!("{masked}\n"));
        }
    }

    #[test]
    fn the_column_last_seen_is_masked() {
        let table = "LAST SEEN   TYPE     REASON\n4m12s       Normal   Reconciled\n\n12s   other\n";
        let masked = "LAST SEEN   TYPE     REASON\n[AGE]       Normal   Reconciled\n\n12s   other\n";
        assert_eq!(mask(table), masked);
    }

    #[test]
    fn ages_of_described_events_are_masked_with_their_widths() {
        let described = |age: &str, pad: &str| {
            format!(
                "Status:\n  Age:  5\nEvents:\n  Type    Reason      Age{pad}  From        Message\n  ----    ------      ----{}  \
                 ----        -------\n  Normal  Scheduled   {age}   controller  Scheduled to  seed\nName:  other  4d\n",
                pad.get(1..).unwrap_or_default()
            )
        };
        let masked = "Status:\n  Age:  5\nEvents:\n  Type    Reason     Age    From        Message\n  ----    ------     ----   \
                      ----        -------\n  Normal  Scheduled  [AGE]  controller  Scheduled to  seed\nName:  other  4d\n";
        assert_eq!(mask(&described("4y9d", " ")), masked);
        assert_eq!(mask(&described("4y129d (x2 over 4y)", "                 ")), masked);
    }
}
