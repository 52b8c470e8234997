// SPDX-License-Identifier: Apache-2.0
//! The log over HTTP.
