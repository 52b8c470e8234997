// SPDX-License-Identifier: Apache-2.0
//! Tests that use the dashboard in a real browser, over landscapes of real processes.
//!
//! Stories are told by pointer, by keyboard alone and, where a page promises it, without scripts. Every page is looked at in
//! both colour schemes and two widths: a screenshot, and a checker of accessibility ([`CHECKER`]) that is to find nothing.
//!
//! **Invariants.** What the browser reports as an error (scripts, Content-Security-Policy) fails the test. No fixed ports, no
//! order between tests, nothing is loaded from elsewhere.
//!
//! **Tour.** This file is the checker; the tests have the rest: the driver of a browser, what a person does in it, stories.

/// A script that gives the list of what is wrong with a page for people who use it otherwise than by sight and pointer.
pub const CHECKER: &str = include_str!("checker.js");

/// Variable of the environment that names a file of axe-core, `axe.min.js` of its package: then that looks at every page, too.
pub const AXE_CORE: &str = "AXE_CORE";

/// As [`CHECKER`], by axe-core, which has been read before: its rules for WCAG 2.2 AA and those it takes for good practice.
pub const AXE: &str = include_str!("axe.js");
