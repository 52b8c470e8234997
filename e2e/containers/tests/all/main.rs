// SPDX-License-Identifier: Apache-2.0
//! A landscape in containers: its host in one, gardener-apiservers in others, on one network.

mod apiservers;
mod support;
