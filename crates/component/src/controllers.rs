// SPDX-License-Identifier: Apache-2.0
//! Components that take part in landscape time: they register, watch the versions of the others, and elect one
//! process of a component to work.

use api::cluster;
use api::constants::{label, namespace};
use controller::leadership::{self, Election};
use domain::garden::components::Program;
use domain::profile::Profile;
use futures::future::BoxFuture;
use process::child::Assignment;
use process::{Context, Exit};
use tokio::sync::oneshot;

use crate::{Flags, ready, registered, registration, skew_watch};

/// Runs the controllers of a component until they end or `end` resolves. `start` gets the container's flags; of
/// several processes only the elected one runs the future that it returns.
///
/// # Errors
/// The arguments or the configuration file are wrong.
pub async fn run(
    context: Context,
    assignment: Assignment,
    end: oneshot::Receiver<()>,
    start: impl FnOnce(Context, &Assignment, Flags) -> Result<BoxFuture<'static, Exit>, String>,
) -> Result<Exit, String> {
    let flags = Flags::read(&assignment)?;
    flags.start_logging(&context, context.clock.clone())?;
    tracing::info!(version = assignment.version.as_str(), "Starting {}", assignment.component);
    let rules = Registration { profile: flags.profile, operator: None };
    let (own, election) = (context.clone(), election(&assignment));
    let work = start(context.clone(), &assignment, flags)?;
    Ok(run_registered(context, &assignment, end, rules, leadership::run(own, election, || work)).await)
}

/// Rules by which a process is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Rules of the landscape.
    pub profile: Profile,
    /// True if gardener-operator looks ahead ([`registration::register_operator`]); `None` for other components.
    pub operator: Option<bool>,
}

/// Registers a component that takes part in landscape time, reports that it is ready, and runs it until it ends or `end`
/// resolves, without an election.
pub async fn run_registered(
    context: Context,
    assignment: &Assignment,
    end: oneshot::Receiver<()>,
    Registration { profile, operator }: Registration,
    work: impl Future<Output = Exit>,
) -> Exit {
    let me = registered(assignment, "");
    let now = context.clock.now();
    let enforcement = match operator {
        None => registration::register(&context, &me, profile, now).await,
        Some(ahead) => registration::register_operator(&context, &me, profile, ahead, now).await,
    };
    match enforcement {
        Ok(enforcement) => skew_watch::follow(&context, &me, profile, enforcement, context.clock.clone()),
        Err(refused) => return refused,
    }
    context.output.state(ready(""));
    tokio::select! {
        biased;
        exit = work => exit,
        _ = end => Exit::default(),
    }
}

/// Returns the election among the processes of a component.
fn election(assignment: &Assignment) -> Election {
    let name = assignment.component.as_str();
    let is_of_seed = Program::named(name).is_some_and(Program::is_of_seed);
    let lives_in = if is_of_seed { assignment.cluster.as_str() } else { cluster::GARDEN };
    Election {
        cluster: lives_in.to_owned(),
        namespace: namespace::GARDEN.to_owned(),
        name: format!("{name}-leader-election"),
        registry: cluster::GARDEN.to_owned(),
        registrations: namespace::INSTANCES.to_owned(),
        selector: format!("{}={name}", label::COMPONENT),
    }
}
