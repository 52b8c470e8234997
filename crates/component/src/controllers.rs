// SPDX-License-Identifier: Apache-2.0
//! Components that take part in landscape time: they register, follow the versions of the others, and one of several
//! processes of a component works.

use api::cluster;
use api::constants::{label, namespace};
use controller::leadership::{self, Election};
use domain::garden::components::Program;
use domain::profile::Profile;
use futures::future::BoxFuture;
use process::child::{self, Assignment};
use process::{Context, Exit};
use tokio::sync::oneshot;

use crate::{Flags, registered, registration, skew_watch};

/// Runs the controllers of a component until `end` resolves. `start` gets the container's flags; of several processes one
/// runs what it returns.
///
/// # Errors
/// The assignment or the configuration file is wrong.
pub fn run(
    assignment: Assignment,
    end: oneshot::Receiver<()>,
    start: impl FnOnce(Context, &Assignment, Flags) -> Result<BoxFuture<'static, Exit>, String>,
) -> Result<Exit, String> {
    let read = |assignment: &Assignment| {
        let flags = Flags::read(assignment)?;
        Ok(Registration { profile: flags.profile, operator: None })
    };
    run_registered(assignment, end, read, |context, assignment| {
        let flags = Flags::read(assignment)?;
        flags.start_logging(context.clock.clone())?;
        tracing::info!(version = assignment.version.as_str(), "Starting {}", assignment.component);
        let (own, election) = (context.clone(), election(assignment));
        let work = start(context, assignment, flags)?;
        Ok(leadership::run(own, election, || work))
    })
}

/// Rules by which a process is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Rules of the landscape.
    pub profile: Profile,
    /// For gardener-operator: true if it looks ahead ([`registration::register_operator`]); None: another component.
    pub operator: Option<bool>,
}

/// Runs a component that takes part in landscape time until `end` resolves, without an election. `read` reads from its
/// arguments how it is registered.
///
/// # Errors
/// The assignment or the arguments are wrong.
pub fn run_registered<F>(
    assignment: Assignment,
    end: oneshot::Receiver<()>,
    read: impl FnOnce(&Assignment) -> Result<Registration, String> + Send + 'static,
    start: impl FnOnce(Context, &Assignment) -> Result<F, String>,
) -> Result<Exit, String>
where
    F: Future<Output = Exit> + Send + 'static,
{
    let register = |context: Context, assignment: Assignment| async move {
        let Registration { profile, operator } = read(&assignment).map_err(|last_line| Exit { code: 1, last_line })?;
        let me = registered(&assignment, "");
        let now = context.clock.now();
        let enforcement = match operator {
            None => registration::register(&context, &me, profile, now).await?,
            Some(ahead) => registration::register_operator(&context, &me, profile, ahead, now).await?,
        };
        skew_watch::follow(&context, &me, profile, enforcement, context.clock.clone());
        Ok(())
    };
    child::run(env!("CARGO_PKG_VERSION"), assignment, end, register, start)
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
