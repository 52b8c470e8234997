// SPDX-License-Identifier: Apache-2.0
//! The pages: each a function from a view to what is shown.
//!
//! **Tour.** [`clusters`] all Shoots; [`world`] what several pages read, [`maintenance`] what will happen to a Shoot.

pub mod clusters;
pub mod maintenance;
pub mod world;

use crate::frame::Page;
use crate::refusal::Refusal;
use crate::view::View;

/// Draws the page at a view's path.
///
/// # Errors
/// There is no such page, or what it shows cannot be read.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let path: Vec<String> = view.path.split('/').map(decoded).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path[..] {
        ["clusters"] => clusters::draw(view).await,
        _ => Err(Refusal::no_page()),
    }
}

/// A segment of a path as it was meant.
fn decoded(segment: &str) -> String {
    // A plus sign of a path is one.
    let pair = format!("={}", segment.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}
