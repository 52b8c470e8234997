// SPDX-License-Identifier: Apache-2.0
//! `terrarium dashboard`: opens the landscape's pages in a browser.
//!
//! **Tour.** This file is the command; [`mount`] the pages in the host, [`upgrades`] upgrades that are started on a page.

pub(in crate::live) mod mount;
mod upgrades;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chrono::TimeDelta;
use clap::Args;
use clock::{Clock, TimerClass};
use http::Method;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::write_private;
use crate::live::{Which, block_on};
use crate::output::Output;

/// Path at which a host returns a login link.
pub(in crate::live) const LINK_PATH: &str = "/terrarium/dashboard/link";
/// Wall time for which the file with the link is kept: a browser may start slowly, and the link is valid for a minute.
const BROWSER_TIMEOUT: TimeDelta = TimeDelta::seconds(10);

/// Open the landscape's pages in a browser
///
/// Prints a link that logs in once, within a minute, and opens it. The pages are served on the loopback device of the host's
/// machine, from the first use of this command on.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    /// Port of the pages, at the first use [default: any that is free, kept from then on]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Another name in the link, for a browser or resolver that does not know names below `localhost`: 127.0.0.1, [::1] or
    /// localhost
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// Look at the landscape as this user instead of its administrator
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    /// Group of that user; may be repeated
    #[arg(long = "group", value_name = "G", requires = "user")]
    groups: Vec<String>,
    #[arg(long, env = "BROWSER", hide = true, hide_env = true)]
    browser: Option<String>,
}

/// Request for a link.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::live) struct LinkRequest {
    pub(in crate::live) port: Option<u16>,
    pub(in crate::live) host: Option<String>,
    pub(in crate::live) user: Option<String>,
    pub(in crate::live) groups: Vec<String>,
}

/// A login link.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::live) struct Link {
    pub(in crate::live) url: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    if let Some(host) = &arguments.host
        && !mount::is_loopback(host)
    {
        let what = format!("`{host}` is not a name of the loopback device");
        return Err(Failure::input(what, "use 127.0.0.1, [::1], localhost, or a name that ends in .localhost"));
    }
    let asked = LinkRequest {
        port: arguments.port,
        host: arguments.host.clone(),
        user: arguments.user.clone(),
        groups: arguments.groups.clone(),
    };
    let asked = serde_json::to_value(asked).map_err(|error| Failure::Failed(error.to_string()))?;
    let link: Link = block_on(client.send(Method::POST, LINK_PATH, Some(asked)))?;
    output.line(&link.url)?;
    if arguments.host.is_some() {
        output.note(
            "note: under this name the browser sends the session's cookie to every server of this machine that has it",
        );
    }
    if !arguments.no_open
        && let Err(why) = open(&directory.join("dashboard.html"), &link.url, arguments.browser.as_deref())
    {
        output.note(&format!("note: no browser was opened: {why}"));
    }
    Ok(())
}

/// Opens a link in a browser, through a file that only its owner may read: the link logs in, and command lines are visible
/// to all users.
fn open(file: &Path, url: &str, browser: Option<&str>) -> Result<(), String> {
    let escaped = url.replace('&', "&amp;").replace('"', "&quot;");
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={escaped}\"><title>Terrarium</title><a href=\"{escaped}\">Open the pages</a></html>\n"
    );
    write_private(file, &page).map_err(|error| format!("{}: {error}", file.display()))?;
    let started = start(file, browser);
    if started.is_ok() {
        let wait = async {
            Clock::wall().sleep(BROWSER_TIMEOUT, TimerClass::Work).await;
            Ok(())
        };
        let _ = block_on(wait);
    }
    let _ = std::fs::remove_file(file);
    started
}

fn start(file: &Path, browser: Option<&str>) -> Result<(), String> {
    let named = browser.iter().flat_map(|names| names.split(':')).filter(|name| !name.is_empty());
    let programs: Vec<&str> = named.chain(["xdg-open", "open"]).collect();
    let mut last = "there is no program for it".to_owned();
    for program in programs {
        let mut words = program.split_whitespace();
        let Some(name) = words.next() else { continue };
        let mut command = Command::new(PathBuf::from(name));
        command.args(words).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(_) => return Ok(()),
            Err(error) => last = format!("{name}: {error}"),
        }
    }
    Err(last)
}
