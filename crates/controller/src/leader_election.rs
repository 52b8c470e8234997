// SPDX-License-Identifier: Apache-2.0
//! Leader election by a Lease, on wall time.
