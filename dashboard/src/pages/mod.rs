// SPDX-License-Identifier: Apache-2.0
//! The pages: each a function from a view to markup.
//!
//! **Tour.** [`clusters`] all Shoots; [`cluster`] one; [`create`] a new one; [`versions`] the life cycle of versions;
//! [`landscape`] Gardener itself; [`time`] the clock and the log; [`forecast`] forecast of maintenance; [`faults`] injected
//! faults; [`inventory`] objects that several pages read, [`maintenance`] the forecast of one Shoot, [`life`] times of an object's
//! existence.

pub mod cluster;
pub mod clusters;
pub mod create;
pub mod faults;
pub mod forecast;
pub mod inventory;
pub mod landscape;
mod life;
pub mod maintenance;
pub mod time;
pub mod versions;

use std::fmt;

use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;

use crate::page::{Page, Region};
use crate::refusal::Refusal;
use crate::view::View;

/// Regions of a page that take long to calculate; they follow the other regions.
pub struct Rest {
    /// Text that is shown until they are complete.
    pub text: &'static str,
    /// Calculates the regions.
    pub regions: BoxFuture<'static, Vec<Region>>,
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("text", &self.text).finish_non_exhaustive()
    }
}

/// Draws the page at a view's path.
///
/// # Errors
/// There is no such page, or its content cannot be read.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let (mut page, rest) = begin(view).await?;
    if let Some(rest) = rest {
        page.regions.extend(rest.regions.await);
    }
    Ok(page)
}

/// Draws the page without the regions that take long.
///
/// # Errors
/// The errors of [`draw`].
pub async fn begin(view: &View) -> Result<(Page, Option<Rest>), Refusal> {
    let path: Vec<String> = view.path.split('/').map(decoded).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let page = match path[..] {
        ["forecast"] => {
            let (page, rest) = forecast::begin(view).await?;
            return Ok((page, Some(rest)));
        }
        ["clusters"] => clusters::draw(view).await,
        ["clusters", project, name] => cluster::draw(view, project, name).await,
        ["create"] => create::draw(view).await,
        ["versions"] => versions::draw(view, None).await,
        ["versions", name] => versions::draw(view, Some(name)).await,
        ["versions", namespace, name] => versions::draw(view, Some(&format!("{namespace}/{name}"))).await,
        ["landscape"] => landscape::draw(view).await,
        ["time"] => time::draw(view).await,
        ["faults"] => faults::draw(view).await,
        _ => Err(Refusal::no_page()),
    };
    Ok((page?, None))
}

/// Decodes a segment of a path.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}
