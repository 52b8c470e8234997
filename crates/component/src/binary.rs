// SPDX-License-Identifier: Apache-2.0
//! The binary of a component: `main` and its command line.
//!
//! | started with | it |
//! | --- | --- |
//! | `--kubeconfig FILE` | joins the landscape of that kubeconfig ([`crate::joining`]); gardener-apiserver only |
//! | `--data-dir DIR`, by the kubelet of a landscape | reads its assignment from standard input ([`process::child`]) |
//! | `--build` | prints the identity of its sources, by which a host recognizes binaries of its own build |
//!
//! Exit codes: 2 usage or an unreadable file; otherwise those of [`process::child`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use domain::garden::components::Program;
use futures::future::BoxFuture;
use process::child::{self, Assignment};
use process::{Context, Exit};
use tokio::sync::oneshot;

use crate::flags::Flag;
use crate::{block_on, joining, wall_context};

/// Exit code for usage and unreadable input.
const USAGE: u8 = 2;

/// Runs a component with its assignment, until it ends by itself or soon after the receiver has resolved.
pub type Run = fn(Context, Assignment, oneshot::Receiver<()>) -> BoxFuture<'static, Result<Exit, String>>;

/// A component as its binary, and `terrarium component NAME`, start it.
#[derive(Clone, Copy, Debug)]
pub struct Binary {
    /// Row of the component in the table of components.
    pub program: Program,
    /// Identity of the sources that it was built from.
    pub build: &'static str,
    /// Flags that it honours in addition to `--config`.
    pub flags: &'static [Flag],
    /// True if it takes part in landscape time.
    pub in_landscape_time: bool,
    /// Runs it.
    pub run: Run,
}

impl Binary {
    /// Runs the component on this thread with an assignment, until `end` resolves.
    ///
    /// # Errors
    /// The assignment or the arguments are wrong, or the landscape cannot be reached.
    pub fn serve(&self, assignment: Assignment, end: oneshot::Receiver<()>) -> Result<Exit, String> {
        let run = self.run;
        if !self.in_landscape_time {
            return block_on(async { run(wall_context(&assignment)?, assignment, end).await });
        }
        child::run(assignment, end, move |context, assignment| async move {
            // `child::run` itself ends the component.
            let (_never, end) = oneshot::channel();
            run(context, assignment, end).await.unwrap_or_else(|reason| child::failure(&reason))
        })
    }

    /// Runs the component as this process, with the assignment from standard input.
    pub fn main(&self) -> ExitCode {
        child::end(child::assignment().and_then(|(assignment, end)| self.serve(assignment, end)))
    }

    /// Answer of the binary to `--build`, without the end of the line.
    pub fn identity(&self) -> String {
        format!("{} {}", self.program.name(), self.build)
    }

    /// The command line.
    fn command(&self) -> Command {
        let name = self.program.name();
        let joins = self.joins();
        let mut command = joining::Arguments::augment_args(Command::new(name))
            .about(format!("{name} of a Terrarium landscape: an emulation of Gardener's component of this name"))
            .after_help(format!("{} Flags of the field that are not listed here are refused.", self.note()))
            .disable_version_flag(true)
            .arg(Arg::new("version").long("version").action(ArgAction::SetTrue).help("Print the emulated release"))
            .arg(Arg::new("data-dir").long("data-dir").value_name("DIR").hide(true))
            .arg(Arg::new("build").long("build").action(ArgAction::SetTrue).hide(true));
        if !joins {
            // Known, so that a request to join is refused with its reason.
            let joining = ["kubeconfig", "join", "instance", "listen", "advertise", "flags"];
            command = joining.iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide(true)));
        }
        if let Some((_, kind)) = self.program.configuration() {
            let config = Arg::new("config").long("config").value_name("FILE");
            command = command.arg(config.help(format!("File with a {kind}")));
        }
        self.flags.iter().fold(command, |command, flag| {
            let arg = Arg::new(flag.name).long(flag.name).help(flag.help);
            let arg = if joins { arg.requires("kubeconfig") } else { arg };
            command.arg(match flag.value {
                "" => arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("BOOL"),
                value => arg.value_name(value),
            })
        })
    }

    /// True if the component may join a running landscape. Every other component runs only together with its host.
    fn joins(&self) -> bool {
        self.program == Program::Apiserver
    }

    /// Way in which the binary is started.
    fn note(&self) -> &'static str {
        if self.joins() {
            "A landscape starts its components by itself; with --kubeconfig a gardener-apiserver joins one that runs."
        } else {
            "A landscape starts this binary by itself: these flags are arguments of the container in its Deployment."
        }
    }

    /// Returns the arguments for the component, as its container would have them.
    fn arguments(&self, matches: &ArgMatches) -> Result<joining::Arguments, clap::Error> {
        let mut arguments = joining::Arguments::from_arg_matches(matches)?;
        for flag in self.flags {
            let value = matches.get_one::<String>(flag.name);
            arguments.add_flags(value.map(|value| format!("--{}={value}", flag.name)));
        }
        Ok(arguments)
    }

    /// Interprets a command line.
    fn act(&self, words: impl IntoIterator<Item = OsString>) -> Result<Action, clap::Error> {
        let mut command = self.command();
        let matches = command.try_get_matches_from_mut(words)?;
        if matches.get_flag("build") {
            return Ok(Action::Print(self.identity()));
        }
        let arguments = self.arguments(&matches)?;
        if matches.get_flag("version") {
            return Ok(Action::Print(format!("Gardener {}", arguments.gardener_version())));
        }
        if self.joins() && arguments.is_given() {
            return Ok(Action::Join(Box::new(arguments)));
        }
        if matches.contains_id("data-dir") {
            return Ok(Action::Run);
        }
        let missing = if self.joins() {
            "--kubeconfig is missing: it names the landscape to join; `terrarium up` starts components by itself"
                .to_owned()
        } else {
            let name = self.program.name();
            format!(
                "{name} runs only together with its host: `terrarium up` starts it, with the flags of its Deployment"
            )
        };
        Err(command.error(ErrorKind::MissingRequiredArgument, missing))
    }
}

/// Action of a command line.
#[derive(Debug)]
enum Action {
    Print(String),
    Join(Box<joining::Arguments>),
    Run,
}

/// Runs the binary of a component: the whole of its `main`.
pub fn main(binary: &Binary) -> ExitCode {
    match binary.act(std::env::args_os()) {
        Ok(Action::Run) => binary.main(),
        Ok(Action::Join(arguments)) => joining::run(binary, &arguments),
        Ok(Action::Print(line)) => print(&line),
        Err(error) if !error.use_stderr() => print(error.render().to_string().trim_end()),
        Err(error) => {
            child::say(&format!("error: {}", reason(&error)));
            child::say(&format!("hint: {} --help lists the flags", binary.program.name()));
            ExitCode::from(USAGE)
        }
    }
}

/// Prints an answer. A reader that has ended is no failure.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
    ExitCode::SUCCESS
}

/// Returns the error of a command line, in one line.
fn reason(error: &clap::Error) -> String {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        // The same text as for unknown flags of a container.
        (ErrorKind::UnknownArgument, Some(flag)) => format!("unknown flag: {flag}"),
        _ => {
            let text = error.render().to_string();
            // The usage follows as another paragraph.
            let first = text.split("\n\n").next().unwrap_or_default();
            let line = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            line.strip_prefix("error: ").unwrap_or(&line).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULER: Binary = Binary {
        program: Program::Scheduler,
        build: "0123",
        flags: &[crate::flags::PROFILE, Flag { name: "skip", value: "", help: "Skips" }],
        in_landscape_time: true,
        run: |_, _, _| Box::pin(async { Ok(Exit::default()) }),
    };
    const APISERVER: Binary = Binary { program: Program::Apiserver, ..SCHEDULER };

    fn act(binary: &Binary, words: &[&str]) -> Result<Action, String> {
        let words = std::iter::once(binary.program.name()).chain(words.iter().copied());
        binary.act(words.map(OsString::from)).map_err(|error| reason(&error))
    }

    #[track_caller]
    fn refused(binary: &Binary, words: &[&str], expected: &str) {
        assert_eq!(act(binary, words).map(|action| format!("{action:?}")), Err(expected.to_owned()), "{words:?}");
    }

    #[test]
    fn version_and_build_are_printed_as_in_the_field() {
        let printed = |words: &[&str]| match act(&SCHEDULER, words) {
            Ok(Action::Print(line)) => line,
            other => panic!("{words:?}: {other:?}"),
        };
        assert_eq!(printed(&["--build"]), "gardener-scheduler 0123");
        assert_eq!(printed(&["--version"]), "Gardener v1.120.0");
        assert_eq!(printed(&["--version", "--gardener-version", "v1.121.3"]), "Gardener v1.121.3");
        assert_eq!(printed(&["--version", "--gardener-version", "1.150"]), "Gardener v1.150.0");
    }

    #[test]
    fn wrong_command_lines_are_refused_in_a_line() {
        let with_host = "gardener-scheduler runs only together with its host: `terrarium up` starts it, with the flags of its \
                         Deployment";
        refused(&SCHEDULER, &["--leader-elect=false"], "unknown flag: --leader-elect");
        for words in [&[][..], &["--config", "x"], &["--kubeconfig", "k"], &["--kubeconfig", "k", "--skip"]] {
            refused(&SCHEDULER, words, with_host);
        }
        refused(
            &APISERVER,
            &[],
            "--kubeconfig is missing: it names the landscape to join; `terrarium up` starts components by itself",
        );
        refused(&APISERVER, &["--skip"], "the following required arguments were not provided: --kubeconfig <FILE>");
        refused(&APISERVER, &["--kubeconfig", "k", "--config", "x"], "unknown flag: --config");
        assert!(act(&APISERVER, &["--kubeconfig", "k", "--listen", "nowhere"]).is_err());
    }

    #[test]
    fn help_lists_joining_only_where_it_is_possible() {
        for (binary, joins) in [(APISERVER, true), (SCHEDULER, false)] {
            let help = act(&binary, &["--help"]).expect_err("it is printed");
            let help = format!("{help}{}", binary.command().render_help());
            for option in ["--kubeconfig", "--join", "--instance", "--listen", "--advertise"] {
                assert_eq!(help.contains(option), joins, "{option}");
            }
            assert_eq!(help.contains("--config"), !joins);
            assert!(help.contains("--gardener-version") && help.contains("--profile"), "{help}");
        }
    }

    #[test]
    fn flags_reach_the_component_as_a_container_has_them() {
        let words = ["--kubeconfig", "k", "--profile", "upstream", "--skip", "--", "--more=1"];
        let Ok(Action::Join(arguments)) = act(&APISERVER, &words) else { panic!("it joins") };
        assert_eq!(arguments.flags(), ["--more=1", "--profile=upstream", "--skip=true"]);
        assert!(matches!(act(&SCHEDULER, &["--data-dir", "/d"]), Ok(Action::Run)));
    }
}
