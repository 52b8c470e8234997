// SPDX-License-Identifier: Apache-2.0
//! Handlers of forms: each action sends requests of the session's user, and their answers are shown.
//!
//! **Tour.** [`clock`] moves landscape time, [`clusters`] is about Shoots; the other modules are about the session itself.

mod clock;
mod clusters;
mod faults;
mod landscape;
mod time;

use crate::access::sessions::Scheme;
use crate::input::Fields;
use crate::page::Outcome;
use crate::pages::{cluster, create, versions};
use crate::refusal::Refusal;
use crate::view::View;

/// Returns the page that has the forms of an action; None: there is no such action.
pub(crate) fn form_of(action: &str) -> Option<&'static str> {
    Some(match action {
        "create" => "/dashboard/create",
        "versions" => "/dashboard/versions",
        "fault-inject" | "fault-clear" => "/dashboard/faults",
        "set-version" | "upgrade" => "/dashboard/landscape",
        "time-advance" | "time-until" | "time-steps" | "time-mode" => "/dashboard/time",
        "clock" | "shoots" | "cluster" | "scheme" | "keys" | "logout" => "/dashboard/clusters",
        _ => return None,
    })
}

/// Performs the action of a form.
pub(crate) async fn act(view: &View, action: &str, form: &Fields) -> Result<Outcome, Refusal> {
    match action {
        "clock" => clock::act(view, form).await,
        "shoots" => clusters::annotate(view, form).await,
        "create" => create::act(view, form).await,
        "cluster" => cluster::act::act(view, form).await,
        "versions" => versions::change::act(view, form).await,
        "fault-inject" => faults::inject(view, form).await,
        "fault-clear" => faults::clear(view, form).await,
        "set-version" => landscape::set_version(view, form).await,
        "upgrade" => Ok(landscape::upgrade(view, form)),
        "time-advance" => time::advance(view, form).await,
        "time-until" => time::until(view, form).await,
        "time-steps" => Ok(time::steps(view, form)),
        "time-mode" => time::mode(view, form).await,
        "scheme" => {
            if let Some(scheme) = Scheme::named(form.text("scheme")) {
                view.session.set_scheme(scheme);
            }
            Ok(Outcome::Back(Vec::new()))
        }
        "keys" => {
            view.session.set_keys(form.text("keys") == "on");
            Ok(Outcome::Back(Vec::new()))
        }
        _ => Err(Refusal::no_page()),
    }
}
