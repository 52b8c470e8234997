// SPDX-License-Identifier: Apache-2.0
//! gardener-operator as a binary: its flags and start-up.

use component::controllers::{Registration, run_registered};
use component::{Binary, Flag};
use domain::garden::components::Program;
use domain::garden::control_plane::Settings;
use domain::profile::Profile;
use process::child::Assignment;
use process::logging::{self, Format};

use crate::{Options, run};

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::Operator,
    build: env!("TERRARIUM_BUILD"),
    flags: &[
        component::PROFILE,
        Flag {
            name: "default-domain",
            value: "DOMAIN",
            help: "Domain of Shoots without a domain of their own (of Terrarium)",
        },
        Flag {
            name: "apiservers",
            value: "N",
            help: "Number of gardener-apiservers of a new Deployment (of Terrarium)",
        },
        Flag {
            name: "skip-landscape-check",
            value: "",
            help: "Start also if components would be left behind by the new gardener-apiserver (of Terrarium)",
        },
    ],
    in_landscape_time: true,
    run: |context, assignment, end| {
        Box::pin(async move {
            let flags = Flags::read(&assignment)?;
            logging::start(&context, context.clock.clone(), Format::default(), tracing::Level::INFO);
            tracing::info!(version = assignment.version.as_str(), "Starting gardener-operator");
            let rules = Registration { profile: flags.profile, operator: Some(flags.looks_ahead) };
            let work = run(context.clone(), Options { settings: flags.settings });
            Ok(run_registered(context, &assignment, end, rules, work).await)
        })
    },
};

/// Arguments of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// Profile of the emulation.
    pub profile: Profile,
    /// Settings that are passed to the components of the control plane.
    pub settings: Settings,
    /// True if the check at start also covers components that the operator's gardener-apiserver would no longer support.
    pub looks_ahead: bool,
}

impl Flags {
    /// Reads the arguments of an assignment.
    ///
    /// # Errors
    /// An unknown flag, or an invalid value.
    pub fn read(assignment: &Assignment) -> Result<Self, String> {
        let mut flags = Self {
            profile: Profile::default(),
            settings: Settings {
                version: assignment.version.clone(),
                profile: "documents".to_owned(),
                default_domain: String::new(),
                apiservers: 1,
            },
            looks_ahead: true,
        };
        for arg in &assignment.args {
            let (name, value) = arg.split_once('=').unwrap_or((arg, "true"));
            let invalid = |reason: String| format!("invalid argument {value:?} for \"{name}\" flag: {reason}");
            match name {
                "--profile" => {
                    let known = Profile::named(value);
                    flags.profile = known.ok_or_else(|| invalid("use documents or upstream".to_owned()))?;
                    value.clone_into(&mut flags.settings.profile);
                }
                "--default-domain" => value.clone_into(&mut flags.settings.default_domain),
                "--apiservers" => {
                    flags.settings.apiservers = value.parse().map_err(|error| invalid(format!("{error}")))?;
                }
                "--skip-landscape-check" => {
                    let skips: bool = value.parse().map_err(|error| invalid(format!("{error}")))?;
                    flags.looks_ahead = !skips;
                }
                _ => return Err(format!("unknown flag: {arg}")),
            }
        }
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_handed_on() {
        let args = ["--profile=upstream", "--default-domain=a.example", "--apiservers=3", "--skip-landscape-check"];
        let mut assignment = Assignment { version: "v1.121.0".to_owned(), ..Assignment::default() };
        assignment.args = args.map(str::to_owned).to_vec();
        let flags = Flags::read(&assignment).expect("flags");
        let settings = Settings {
            version: "v1.121.0".to_owned(),
            profile: "upstream".to_owned(),
            default_domain: "a.example".to_owned(),
            apiservers: 3,
        };
        assert_eq!(flags, Flags { profile: Profile::Upstream, settings, looks_ahead: false });
        assignment.args = vec!["--nonsense".to_owned()];
        assert_eq!(Flags::read(&assignment), Err("unknown flag: --nonsense".to_owned()));
    }
}
