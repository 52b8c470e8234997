// SPDX-License-Identifier: Apache-2.0
//! Words of a command line: their order, and errors about them, in the form of all failures: the problem and the remedy.

use std::ffi::OsString;

use clap::{Command, Error};

use ops::instant::negative_duration;

use crate::failure::Failure;

/// Converts an error of `clap` to a failure. Its text has several paragraphs, such as the usage; only the first one is kept
/// as a line, with a tip or the command that prints more.
pub(crate) fn failure(error: &Error, root: &Command, words: &[OsString]) -> Failure {
    let more = || format!("`{} --help` says more", command(root, words));
    // `clap` treats `-5m` as options; no option of a command is a digit.
    let texts: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let mut previous = "";
    for word in texts {
        let Some(why) = negative(word) else {
            previous = word;
            continue;
        };
        let is_of_option = [word, previous].iter().any(|word| word.len() > 2 && word.starts_with("--"));
        let moves_time = ["clock advance", "clock until"].iter().any(|name| command(root, words).ends_with(name));
        if moves_time && !is_of_option {
            let ago = word.trim_start_matches('-');
            let hint = format!("`terrarium at {ago} get shoots -A` shows what there was {ago} ago");
            return Failure::input(format!("`{word}` is negative, and landscape time does not go back"), hint);
        }
        return Failure::input(why, more());
    }
    let text = error.render().to_string();
    let line = |paragraph: &str| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let what = line(text.split("\n\n").next().unwrap_or_default());
    let tip = text.split("\n\n").map(line).find_map(|line| Some(line.strip_prefix("tip: ")?.to_owned()));
    Failure::input(what.strip_prefix("error: ").unwrap_or(&what), tip.unwrap_or_else(more))
}

/// Error for a word that is a negative duration, or that gives one to an option: `-5m`, `--for=-5m`.
fn negative(word: &str) -> Option<String> {
    let value = word.strip_prefix("--").and_then(|option| option.split_once('=')).map_or(word, |(_, value)| value);
    negative_duration(value)
}

/// Moves words that select the landscape after the command, if they precede it. They are options of the commands about a
/// landscape; other commands refuse them by name.
pub(crate) fn in_order(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut command = 1;
    while let Some(word) = words.get(command).and_then(|word| word.to_str()) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if !matches!(name, "--landscape" | "--data-dir") {
            break;
        }
        command += if value.is_some() { 1 } else { 2 };
    }
    if let Some(before) = words.get_mut(1..=command) {
        before.rotate_right(1);
    }
    words
}

/// The command that the words name, as far as they do.
fn command(root: &Command, words: &[OsString]) -> String {
    let (mut at, mut name) = (root, root.get_name().to_owned());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(next) = at.find_subcommand(word) {
            at = next;
            name.push(' ');
            name.push_str(word);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Arguments;

    #[track_caller]
    fn check(line: &str, what: &str, hint: &str) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Arguments::try_parse_from(&words).expect_err("it is wrong");
        let failure = failure(&error, &Arguments::command(), &words);
        assert_eq!((failure.to_string().as_str(), failure.hint(), failure.exit_code()), (what, hint, 2), "{line}");
    }

    #[test]
    fn which_landscape_may_stand_before_the_command() {
        let check = |line: &str, expected: &str| {
            let words = in_order(line.split(' ').map(OsString::from).collect());
            assert_eq!(words.join(" ".as_ref()), expected, "{line}");
        };
        check("terrarium --landscape a status", "terrarium status --landscape a");
        check(
            "terrarium --data-dir=/d --landscape a clock advance 1d",
            "terrarium clock --data-dir=/d --landscape a advance 1d",
        );
        check("terrarium status --landscape a", "terrarium status --landscape a");
        check("terrarium --version", "terrarium --version");
        check("terrarium --landscape", "terrarium --landscape");
        check("terrarium --landscape a", "terrarium --landscape a");
    }

    #[test]
    fn errors_have_one_line_and_hints_another() {
        check(
            "terrarium clock advance",
            "the following required arguments were not provided: <D>",
            "`terrarium clock advance --help` says more",
        );
        check("terrarium --sed", "unexpected argument '--sed' found", "`terrarium --help` says more");
        check("terrarium up --sed 2", "unexpected argument '--sed' found", "a similar argument exists: '--seed'");
        check(
            "terrarium completion tcsh",
            "invalid value 'tcsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]",
            "a similar value exists: 'zsh'",
        );
        check("terrarium stats", "unrecognized subcommand 'stats'", "a similar subcommand exists: 'status'");
        check(
            "terrarium clock until soon",
            "invalid value 'soon' for '<TIME|D|window|shoot/P/N=STATE>': `soon` is no time as 2027-01-31T00:00:00Z or 90d, \
             nor `window`, nor shoot/PROJECT/NAME=STATE",
            "`terrarium clock until --help` says more",
        );
    }

    #[test]
    fn years_are_no_lengths_of_time() {
        check(
            "terrarium forecast --until 1y",
            "invalid value '1y' for '--until <T>': `1y` is no instant: use 2027-01-31, 2027-01-31T10:00:00Z, now, or a duration \
             as 90s, 24h or 2w",
            "`terrarium forecast --help` says more",
        );
        check(
            "terrarium clock advance 1y",
            "invalid value '1y' for '<D>': `1y` is no duration: use ms, s, m, h, d and w, as in 90s, 1h30m or 2w",
            "`terrarium clock advance --help` says more",
        );
    }

    #[test]
    fn negative_durations_are_explained_as_typed() {
        for (line, command) in [
            ("clock advance 1h --max -5m", "clock advance"),
            ("clock until 1h --max=-5m", "clock until"),
            ("fault inject node-unhealthy --for -5m", "fault inject"),
            ("fault inject node-unhealthy --for=-5m", "fault inject"),
            ("log --since -5m", "log"),
            ("events --since -5m", "events"),
            ("forecast --until -5m", "forecast"),
            ("up --event-ttl -5m", "up"),
        ] {
            let words: Vec<OsString> = format!("terrarium {line}").split(' ').map(OsString::from).collect();
            let error = Arguments::try_parse_from(&words).expect_err("it is wrong");
            let failure = failure(&error, &Arguments::command(), &words);
            assert_eq!(
                failure.to_string(),
                "`-5m` is negative: a duration counts back or on as its option says, so use 5m",
                "{line}"
            );
            assert_eq!(failure.hint(), format!("`terrarium {command} --help` says more"), "{line}");
        }
        for line in ["clock advance -5m", "clock advance -- -5m", "clock until -5m", "clock -o json advance -5m"] {
            let hint = "`terrarium at 5m get shoots -A` shows what there was 5m ago";
            check(&format!("terrarium {line}"), "`-5m` is negative, and landscape time does not go back", hint);
        }
        let words = ["terrarium", "clock", "advance", "-x"].map(OsString::from);
        let error = Arguments::try_parse_from(&words).expect_err("it is wrong");
        assert_eq!(failure(&error, &Arguments::command(), &words).to_string(), "unexpected argument '-x' found");
    }
}
