// SPDX-License-Identifier: Apache-2.0
//! Differences between the requirements documents and the code of Gardener v1.120.0: one table; no other module
//! decides.

/// The rules that a landscape follows; fixed when it is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The requirements documents.
    #[default]
    Documents,
    /// The code of Gardener v1.120.0.
    Upstream,
}

impl Profile {
    /// `documents` or `upstream`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "documents" => Some(Self::Documents),
            "upstream" => Some(Self::Upstream),
            _ => None,
        }
    }

    /// Name of the profile, as [`Profile::named`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Upstream => "upstream",
        }
    }

    /// Row 1: number of minors by which a gardenlet may be behind the newest gardener-apiserver.
    pub const fn gardenlet_minors_behind(self) -> i128 {
        match self {
            Self::Documents => 1,
            Self::Upstream => 2,
        }
    }

    /// Row 2: true if a higher patch alone makes a gardenlet newer than a gardener-apiserver.
    pub const fn gardenlet_newness_counts_patches(self) -> bool {
        matches!(self, Self::Upstream)
    }

    /// Row 3: true if every component refuses to start out of skew, not only those that do upstream.
    pub const fn checks_every_start(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 3, too: true if a running component checks again whenever other instances start or end.
    pub const fn checks_while_running(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 4: true if an extension does not work on a seed while its library is newer than some gardenlet (rule E1).
    pub const fn enforces_extensions(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 5: true if adding an already expired version is refused (else dropped on create, accepted on update).
    pub const fn refuses_new_expired_versions(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 6: default machine creation time-out, in minutes.
    pub const fn machine_creation_timeout_minutes(self) -> i64 {
        match self {
            Self::Documents => 10,
            Self::Upstream => 20,
        }
    }

    /// Row 7: default number of eviction retries.
    pub const fn max_evict_retries(self) -> i32 {
        match self {
            Self::Documents => 10,
            Self::Upstream => 360,
        }
    }

    /// Row 8: default node conditions that make a machine unhealthy.
    pub const fn node_conditions(self) -> &'static [&'static str] {
        match self {
            Self::Documents => &["KernelDeadlock", "ReadonlyFilesystem", "DiskPressure"],
            Self::Upstream => &["KernelDeadlock", "ReadonlyFilesystem", "DiskPressure", "NetworkUnavailable"],
        }
    }

    /// Row 9: true if a Kubernetes version that only a worker pool uses counts as in use.
    pub const fn worker_pool_versions_are_in_use(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 10: true if a window that changed while roll-out is confined counts only after the upcoming maintenance.
    pub const fn confined_window_change_waits(self) -> bool {
        matches!(self, Self::Documents)
    }

    /// Row 11: true if a cluster on a Kubernetes version that the emulated Gardener does not know works.
    pub const fn tolerates_unknown_kubernetes_versions(self) -> bool {
        matches!(self, Self::Documents)
    }
}
