// SPDX-License-Identifier: Apache-2.0
//! Arguments with which `up` starts the host of a landscape.

/// Start of the host of a landscape.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Start {
    /// Process that the host ends with
    #[arg(long)]
    pub(crate) owner: Option<u32>,
    /// The mode of the clock is set once the landscape is ready: time goes to near work only until then
    #[arg(long)]
    pub(crate) awaits_clock: bool,
    #[command(flatten)]
    pub(crate) losses: Losses,
}

/// Losses that a start accepts.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Losses {
    /// Begin again with an empty landscape if the log is missing
    #[arg(long)]
    pub(crate) start_empty: bool,
    /// Give up what is damaged in the log and found nowhere else; the damaged files are kept in its folder `damaged`
    #[arg(long)]
    pub(crate) discard_damaged: bool,
}

impl Losses {
    /// Returns the flags for a process that accepts these losses.
    pub(in crate::live) fn flags(self) -> impl Iterator<Item = &'static str> {
        let flags = [(self.start_empty, "--start-empty"), (self.discard_damaged, "--discard-damaged")];
        flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag)
    }
}
