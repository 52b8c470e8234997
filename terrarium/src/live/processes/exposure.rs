// SPDX-License-Identifier: Apache-2.0
//! Listeners that other machines reach.

use std::net::SocketAddr;

/// Warning about a listener that other machines reach; `None`: only this machine does.
pub(super) fn warning(at: SocketAddr) -> Option<String> {
    // An IPv4 address that is written as IPv6 is one of IPv4 to the system.
    if at.ip().to_canonical().is_loopback() {
        return None;
    }
    Some(format!(
        "warning: the landscape listens on {at}, where other machines reach it; without --bind it listens on this machine only"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_other_machines_reach_is_warned_of() {
        let found = |bind: &str| warning(SocketAddr::new(bind.parse().expect("an address"), 6443));
        for bind in ["127.0.0.1", "127.0.0.2", "127.255.255.255", "::1", "::ffff:127.0.0.2"] {
            assert_eq!(found(bind), None, "{bind}");
        }
        for (bind, shown) in [
            ("0.0.0.0", "0.0.0.0:6443"),
            ("::", "[::]:6443"),
            ("192.0.2.7", "192.0.2.7:6443"),
            ("128.0.0.1", "128.0.0.1:6443"),
            ("2001:db8::7", "[2001:db8::7]:6443"),
            ("::ffff:192.0.2.7", "[::ffff:192.0.2.7]:6443"),
        ] {
            let expected = format!(
                "warning: the landscape listens on {shown}, where other machines reach it; without --bind it listens on this \
                 machine only"
            );
            assert_eq!(found(bind), Some(expected), "{bind}");
        }
    }
}
