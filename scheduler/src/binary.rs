// SPDX-License-Identifier: Apache-2.0
//! gardener-scheduler as a binary: its configuration file and start-up.

use component::configuration::{put, workers};
use component::{Binary, Flags, controllers};
use domain::garden::components::Program;
use domain::placement::Strategy;
use serde_json::{Value, json};

use crate::{Config, Options, run};

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::Scheduler,
    build: env!("TERRARIUM_BUILD"),
    flags: Flags::KNOWN,
    in_landscape_time: true,
    run: |context, assignment, end| {
        Box::pin(controllers::run(context, assignment, end, |context, _, flags| {
            Ok(run(context, Options { config: configuration(&flags.config)? }))
        }))
    },
};

/// Reads the fields of a SchedulerConfiguration that have an effect.
///
/// # Errors
/// Returns an error for a strategy that does not exist.
pub fn configuration(tree: &Value) -> Result<Config, String> {
    let mut config = Config::default();
    let shoot = &tree["schedulers"]["shoot"];
    put(&mut config.concurrent_syncs, workers(&shoot["concurrentSyncs"]));
    match shoot["candidateDeterminationStrategy"].as_str() {
        None | Some("") => {}
        Some("SameRegion") => config.strategy = Strategy::SameRegion,
        Some("MinimalDistance") => config.strategy = Strategy::MinimalDistance,
        Some(other) => {
            return Err(format!(
                "schedulers.shoot.candidateDeterminationStrategy: Unsupported value: {other:?}: supported values: \
                 \"SameRegion\", \"MinimalDistance\""
            ));
        }
    }
    Ok(config)
}

/// Returns the defaults of these fields.
pub fn defaults() -> Value {
    let config = Config::default();
    let strategy = match config.strategy {
        Strategy::SameRegion => "SameRegion",
        Strategy::MinimalDistance => "MinimalDistance",
    };
    json!({ "schedulers": { "shoot": {
        "concurrentSyncs": config.concurrent_syncs,
        "candidateDeterminationStrategy": strategy,
    } } })
}

#[cfg(test)]
mod tests {
    use component::configuration::read;

    use super::*;

    #[test]
    fn a_strategy_is_read() {
        let text = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\nschedulers: {shoot: \
                    {candidateDeterminationStrategy: SameRegion}}";
        let tree = read(Program::Scheduler, text, "v1.120.0").expect("a configuration");
        assert_eq!(configuration(&tree).expect("a strategy").strategy, Strategy::SameRegion);
        let tree = json!({ "schedulers": { "shoot": { "candidateDeterminationStrategy": "Near" } } });
        assert!(configuration(&tree).is_err());
        let own = configuration(&defaults()).expect("a strategy");
        assert_eq!(own.strategy, Config::default().strategy);
    }
}
