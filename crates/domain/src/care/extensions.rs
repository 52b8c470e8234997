// SPDX-License-Identifier: Apache-2.0
//! `ExtensionsReady` of a Seed: all its ControllerInstallations are valid, installed, healthy and rolled out.
//!
//! Source: pkg/controllermanager/controller/seed/extensionscheck @ v1.120.0.

use std::collections::BTreeMap;

use api::core::ControllerInstallation;

use super::conditions::Finding;

/// Condition of an installation, the status it must have, and the reason and words when some have not.
const CHECKS: [(&str, &str, &str, &str); 4] = [
    ("Valid", "True", "NotAllExtensionsValid", "Some extensions are not valid"),
    ("Installed", "True", "NotAllExtensionsInstalled", "Some extensions are not installed"),
    ("Healthy", "True", "NotAllExtensionsHealthy", "Some extensions are not healthy"),
    ("Progressing", "False", "SomeExtensionsProgressing", "Some extensions are progressing"),
];

/// The finding for a Seed's installations; none at all is fine.
pub fn extensions_ready<'a>(installations: impl IntoIterator<Item = &'a ControllerInstallation>) -> Finding {
    let installations: Vec<_> = installations.into_iter().collect();
    for (type_, wanted, reason, words) in CHECKS {
        let bad: BTreeMap<&str, &str> = installations
            .iter()
            .filter_map(|installation| {
                let name = installation.metadata.name.as_str();
                match installation.status.conditions.iter().find(|condition| condition.r#type == type_) {
                    Some(condition) if condition.status == wanted => None,
                    Some(condition) => Some((name, condition.message.as_str())),
                    None => Some((name, "extension was not yet installed")),
                }
            })
            .collect();
        if !bad.is_empty() {
            let list: Vec<String> = bad.iter().map(|(name, message)| format!("{name}:{message}")).collect();
            return Finding::failed(reason, format!("{words}: map[{}]", list.join(" ")));
        }
    }
    Finding::passed("AllExtensionsReady", "All extensions installed into the seed cluster are ready and healthy.")
}

#[cfg(test)]
mod tests {
    use api::core::Condition;

    use super::*;

    fn installation(name: &str, statuses: &[(&str, &str)]) -> ControllerInstallation {
        let mut installation = ControllerInstallation::default();
        name.clone_into(&mut installation.metadata.name);
        installation.status.conditions = statuses
            .iter()
            .map(|(type_, status)| Condition {
                r#type: (*type_).to_owned(),
                status: (*status).to_owned(),
                message: "m".to_owned(),
                ..Condition::default()
            })
            .collect();
        installation
    }

    #[track_caller]
    fn check(installations: &[ControllerInstallation], reason: &str, message: &str) {
        let finding = extensions_ready(installations);
        assert_eq!((finding.reason.as_str(), finding.message.as_str()), (reason, message));
    }

    #[test]
    fn extensions_are_ready_when_every_installation_is() {
        let good = [("Valid", "True"), ("Installed", "True"), ("Healthy", "True"), ("Progressing", "False")];
        let text = "All extensions installed into the seed cluster are ready and healthy.";
        check(&[], "AllExtensionsReady", text);
        check(&[installation("a", &good)], "AllExtensionsReady", text);
        check(
            &[installation("b", &[("Valid", "False")]), installation("a", &good)],
            "NotAllExtensionsValid",
            "Some extensions are not valid: map[b:m]",
        );
        check(
            &[installation("a", &[("Valid", "True")])],
            "NotAllExtensionsInstalled",
            "Some extensions are not installed: map[a:extension was not yet installed]",
        );
        let rolling = [("Valid", "True"), ("Installed", "True"), ("Healthy", "True"), ("Progressing", "True")];
        check(&[installation("a", &rolling)], "SomeExtensionsProgressing", "Some extensions are progressing: map[a:m]");
    }
}
