// SPDX-License-Identifier: Apache-2.0
//! The suite that every implementation of the log passes.
