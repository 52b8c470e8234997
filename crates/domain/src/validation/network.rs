// SPDX-License-Identifier: Apache-2.0
//! Networks: CIDRs, families, overlaps (pkg/utils/validation/cidr @ v1.120.0 and v1.132.0).

use std::net::{IpAddr, Ipv4Addr};

use apimachinery::field::{FieldError, Path};
use apimachinery::fnv::fnv64;

use super::Errors;

/// Ranges reserved for the connection between Seed and Shoot, each with its name in messages.
pub(crate) const RESERVED: [(&str, &str); 6] = [
    ("default vpn network", "fd8f:6d53:b97a:1::/96"),
    ("reserved kube-apiserver mapping range", "240.0.0.0/8"),
    ("reserved seed pod network mapping range", "241.0.0.0/8"),
    ("reserved shoot node network mapping range", "242.0.0.0/8"),
    ("reserved shoot service network mapping range", "243.0.0.0/8"),
    ("reserved shoot pod network mapping range", "244.0.0.0/8"),
];

/// A network and the path of its field; the text may be invalid.
#[derive(Clone, Debug)]
pub struct Cidr {
    /// Text of the field.
    pub text: String,
    /// Path of the field.
    pub path: Path,
    network: Option<Network>,
}

/// A parsed network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    bits: u128,
    prefix: u32,
    width: u32,
}

impl Network {
    /// Parses `address/prefix`; `None` if it is not a CIDR.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let digits = !prefix.is_empty() && prefix.len() <= 3 && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u32 = digits.then(|| prefix.parse().ok())??;
        let (address, width) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        (prefix <= width).then_some(Self { bits: address, prefix, width })
    }

    /// True for IPv4 addresses.
    pub const fn is_ipv4(self) -> bool {
        self.width == 32
    }

    /// Returns the length of the prefix.
    pub const fn prefix(self) -> u32 {
        self.prefix
    }

    /// Returns the first address and the number of addresses; `None` if they are not IPv4. The last address of the widest
    /// network is not counted.
    pub fn ipv4(self) -> Option<(u32, u32)> {
        let first = u32::try_from(self.base(self.prefix).checked_shl(self.width - self.prefix)?).ok()?;
        let count = 1_u64.checked_shl(self.width - self.prefix)?;
        self.is_ipv4().then(|| (first, u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// Derives an address from a text: equal texts have equal addresses, different texts mostly different ones. `None` if
    /// the network is not IPv4 or too small.
    pub fn address(self, text: &str) -> Option<Ipv4Addr> {
        let (first, count) = self.ipv4()?;
        // Reserved: the network address, the gateway and the broadcast address.
        let room = u64::from(count).checked_sub(3).filter(|room| *room > 0)?;
        let number = u64::from(first) + 2 + fnv64(text.bytes()) % room;
        u32::try_from(number).ok().map(Ipv4Addr::from)
    }

    fn base(self, prefix: u32) -> u128 {
        self.bits.checked_shr(self.width - prefix).unwrap_or(0)
    }

    fn is_canonical(self) -> bool {
        self.base(self.prefix).checked_shl(self.width - self.prefix).unwrap_or(0) == self.bits
    }

    /// True if both networks share an address.
    pub fn overlaps(self, other: Self) -> bool {
        let shorter = self.prefix.min(other.prefix);
        self.width == other.width && self.base(shorter) == other.base(shorter)
    }
}

impl Cidr {
    /// Creates the network of a field.
    pub fn new(text: &str, path: Path) -> Self {
        Self { text: text.to_owned(), path, network: Network::parse(text) }
    }

    /// Returns the network; `None` if the text is invalid.
    pub const fn network(&self) -> Option<Network> {
        self.network
    }

    /// Adds an error if the text is not a network.
    pub fn check_parse(&self, errors: &mut Errors) {
        if self.network.is_none() {
            errors.push(FieldError::invalid(&self.path, &self.text, &format!("invalid CIDR address: {}", self.text)));
        }
    }

    /// Adds an error if the network's family is not `family`.
    pub fn check_family(&self, errors: &mut Errors, family: &str) {
        let Some(network) = self.network else { return };
        if network.is_ipv4() != (family == "IPv4") {
            let address = self.text.split('/').next().unwrap_or_default();
            errors.push(FieldError::invalid(&self.path, address, &format!("must be a valid {family} address")));
        }
    }

    /// Adds an error if bits beyond the prefix are set.
    pub fn check_canonical(&self, errors: &mut Errors) {
        if self.network.is_some_and(|network| !network.is_canonical()) {
            errors.push(FieldError::invalid(&self.path, &self.text, "must be valid canonical CIDR"));
        }
    }

    /// Adds an error, at the path of the other, for each network that overlaps this one.
    pub fn check_no_overlap(&self, errors: &mut Errors, others: &[Self]) {
        let Some(network) = self.network else { return };
        for other in others.iter().filter(|other| !std::ptr::eq(*other, self)) {
            if other.network.is_some_and(|other| network.overlaps(other)) {
                let text = format!("must not overlap with {:?} ({:?})", self.path_text(), self.text);
                errors.push(FieldError::invalid(&other.path, &other.text, &text));
            }
        }
    }

    /// Adds an error for each reserved range that overlaps this network; `kind`: pod, service or node.
    pub fn check_reserved(&self, errors: &mut Errors, kind: &str) {
        let Some(network) = self.network else { return };
        for (name, range) in RESERVED {
            if Network::parse(range).is_some_and(|range| range.overlaps(network)) {
                let text = format!("{kind} network intersects with {name} ({range})");
                errors.push(FieldError::invalid(&self.path, &self.text, &text));
            }
        }
    }

    fn path_text(&self) -> String {
        if self.path == Path::default() { "[]".to_owned() } else { self.path.to_string() }
    }
}

/// True if two networks share an address; invalid networks share none.
pub(crate) fn intersect(one: &str, other: &str) -> bool {
    matches!((Network::parse(one), Network::parse(other)), (Some(one), Some(other)) if one.overlaps(other))
}

/// Checks a list of IP families; if there are errors, checks by family are meaningless.
pub fn ip_families(errors: &mut Errors, families: &[String], path: &Path) {
    for (index, family) in families.iter().enumerate() {
        let path = path.index(index);
        if family != "IPv4" && family != "IPv6" {
            errors.push(FieldError::not_supported(&path, family, &["IPv4", "IPv6"]));
        }
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(&path, family));
        }
    }
}

/// Returns the family of a single network: the first of the list, or IPv4 if the list is empty.
pub fn primary_family(families: &[String]) -> &str {
    families.first().map_or("IPv4", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_overlap_when_one_contains_the_other() {
        let overlap = |a: &str, b: &str| Network::parse(a).unwrap().overlaps(Network::parse(b).unwrap());
        assert!(overlap("10.0.0.0/8", "10.96.0.0/11"));
        assert!(overlap("0.0.0.0/0", "10.96.0.0/11"));
        assert!(!overlap("100.64.0.0/13", "100.96.0.0/11"));
        assert!(!overlap("::/0", "10.0.0.0/8"));
    }

    #[test]
    fn texts_that_are_no_network_are_named() {
        let check = |text: &str, expected: &[&str]| {
            let mut errors = Vec::new();
            let cidr = Cidr::new(text, Path::new("pods"));
            cidr.check_parse(&mut errors);
            cidr.check_family(&mut errors, "IPv4");
            cidr.check_canonical(&mut errors);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        };
        check("10.0.0.0/8", &[]);
        check("10.0.0.0/33", &["pods: Invalid value: \"10.0.0.0/33\": invalid CIDR address: 10.0.0.0/33"]);
        check("10.0.0.1/8", &["pods: Invalid value: \"10.0.0.1/8\": must be valid canonical CIDR"]);
        check("2001:db8::/32", &["pods: Invalid value: \"2001:db8::\": must be a valid IPv4 address"]);
    }

    #[test]
    fn an_address_is_of_its_network() {
        let address = |network: &str, text: &str| Network::parse(network)?.address(text);
        for text in ["a", "b", "c", "d"] {
            assert_eq!(address("10.1.0.7/30", text), Some(Ipv4Addr::new(10, 1, 0, 6)));
            let address = address("10.1.0.0/16", text).expect("an address");
            assert!(address.octets().starts_with(&[10, 1]), "{address}");
        }
        for none in ["", "10.1.0.0", "10.1.0.0/31", "10.1.0.0/33", "fd00::/64", "::/0", "x/8"] {
            assert_eq!(address(none, "a"), None, "{none}");
        }
        assert!(address("0.0.0.0/0", "a").is_some());
        let range = |network: &str| Network::parse(network).and_then(Network::ipv4);
        assert_eq!(range("10.2.3.4/16"), Some((0x0a02_0000, 1 << 16)));
        assert_eq!(range("fd00::/112"), None);
    }
}
