// SPDX-License-Identifier: Apache-2.0
//! Reasons why a cluster waits: the lines of `terrarium why`, each with links to the history of the object and of the field that it
//! was read from.

use api::core::Shoot;
use maud::Markup;

use crate::message::{Message, Severity};
use crate::parts::lines;
use crate::view::View;

/// Draws the lines, now or at a moment of the past.
pub(super) async fn draw(view: &View, shoot: &Shoot, shown: &str) -> Markup {
    let rules = (view.dashboard.options().seed, view.release());
    match ops::why::of(&view.reading_context(), shown, shoot, view.now(), rules, None).await {
        Ok(why) => lines::list(view, &ops::names::name_of(shoot), &[why.present, why.maintenance].concat()),
        Err(error) => Message::new(Severity::Error, error.to_string()).markup(),
    }
}
