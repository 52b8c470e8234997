// SPDX-License-Identifier: Apache-2.0
//! Arguments of the container of a component with a configuration file.

use clock::Clock;
use domain::garden::components::Program;
use domain::profile::Profile;
use process::Context;
use process::child::Assignment;
use process::logging::{self, Format};
use serde_json::Value;

use crate::configuration;

/// A flag that a component honours, for `--help` and the command line of its binary.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name without dashes.
    pub name: &'static str,
    /// Name of its value in `--help`; empty: the flag is a boolean.
    pub value: &'static str,
    /// Description.
    pub help: &'static str,
}

/// Flag `--profile`, which every component has.
pub const PROFILE: Flag =
    Flag { name: "profile", value: "PROFILE", help: "Rules of the landscape: documents or upstream (of Terrarium)" };

/// Arguments of the container of a component with a configuration file.
#[derive(Clone, Debug)]
pub struct Flags {
    /// Rules of the landscape.
    pub profile: Profile,
    /// The configuration file.
    pub config: Value,
}

impl Flags {
    /// Flags in addition to `--config`.
    pub const KNOWN: &'static [Flag] = &[PROFILE];

    /// Returns text at the top of the configuration; empty if it is not set.
    fn text(&self, field: &str) -> &str {
        self.config[field].as_str().unwrap_or_default()
    }

    /// Starts to print the log lines of the component, in the configured `logFormat` and `logLevel`.
    ///
    /// # Errors
    /// There is no such format, or no such level.
    pub fn start_logging(&self, context: &Context, clock: Clock) -> Result<(), String> {
        let unknown = |field: &str| format!("{field}: Unsupported value: {:?}", self.text(field));
        let format = Format::named(self.text("logFormat")).ok_or_else(|| unknown("logFormat"))?;
        let level = logging::level(self.text("logLevel")).ok_or_else(|| unknown("logLevel"))?;
        logging::start(context, clock, format, level);
        Ok(())
    }

    /// Reads the arguments of an assignment, and the file that they name.
    ///
    /// # Errors
    /// An unknown flag, or a file that is missing or wrong.
    pub fn read(assignment: &Assignment) -> Result<Self, String> {
        let program = Program::named(&assignment.component);
        let mut flags = Self { profile: Profile::default(), config: Value::Null };
        for arg in &assignment.args {
            match arg.split_once('=') {
                Some(("--config", path)) => {
                    let text =
                        assignment.files.get(path).ok_or_else(|| format!("open {path}: no such file or directory"))?;
                    let program = program.ok_or_else(|| format!("unknown flag: {arg}"))?;
                    flags.config = configuration::read(program, text, &assignment.version)?;
                }
                Some(("--profile", name)) => {
                    flags.profile = Profile::named(name).ok_or_else(|| format!("there is no profile {name}"))?;
                }
                _ => return Err(format!("unknown flag: {arg}")),
            }
        }
        Ok(flags)
    }
}
