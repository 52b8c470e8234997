// SPDX-License-Identifier: Apache-2.0
//! Tests that use the dashboard in a real browser, over landscapes of real processes.
//!
//! Tests act by pointer, by keyboard alone and, for pages that promise it, without scripts. Every page is checked in both colour
//! schemes and two widths: a screenshot, and a checker of accessibility ([`CHECKER`]) that must find nothing.
//!
//! **Invariants.** Errors that the browser reports (scripts, Content-Security-Policy) fail the test. No fixed ports, no order
//! between tests, nothing is loaded from other servers.
//!
//! **Tour.** This file is the checker; the tests have the rest: the driver of a browser, actions of a user, tests of whole tasks.

/// Script that returns the list of a page's barriers for users without sight or pointer.
pub const CHECKER: &str = include_str!("checker.js");

/// Environment variable with the path of axe-core, `axe.min.js` of its package; if set, axe-core checks every page, too.
pub const AXE_CORE: &str = "AXE_CORE";

/// Script that returns the same list by axe-core, which must have been loaded: its rules for WCAG 2.2 AA and its best practices.
pub const AXE: &str = include_str!("axe.js");
