// SPDX-License-Identifier: Apache-2.0
//! State from entries, and the hash of a canonical log.
