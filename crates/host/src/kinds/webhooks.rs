// SPDX-License-Identifier: Apache-2.0
//! ValidatingWebhookConfigurations and MutatingWebhookConfigurations. `generic_apiserver::webhooks` calls the webhooks.
//!
//! The rules are [`domain::defaulting::workload::webhooks`]'s and [`domain::validation::workload::webhooks`]'s.

use apimachinery::DynamicObject;
use apimachinery::field::FieldError;
use domain::defaulting::workload as defaults;
use domain::validation::workload::{self, Url};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use http::Uri;

/// Strategy of both kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookStrategy {
    /// True for MutatingWebhookConfigurations.
    pub(crate) mutating: bool,
}

impl Strategy<DynamicObject> for WebhookStrategy {
    fn default(&self, object: &mut DynamicObject) {
        defaults::webhooks(&mut object.fields, self.mutating);
    }

    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        workload::webhooks(&object.fields, self.mutating, &read)
    }

    fn validate_update(&self, object: &DynamicObject, _: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        workload::webhooks(&object.fields, self.mutating, &read)
    }

    fn generation(&self) -> Generation {
        Generation::Standard
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

/// Parts of a URL; `None`: the text is not a URL.
fn read(url: &str) -> Option<Url> {
    let url = url.parse::<Uri>().ok()?;
    Some(Url {
        scheme: url.scheme_str().unwrap_or_default().to_owned(),
        host: url.host().unwrap_or_default().to_owned(),
        query: url.query().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_in_parts() {
        let parts = |scheme: &str, host: &str, query: Option<&str>| {
            Some(Url { scheme: scheme.to_owned(), host: host.to_owned(), query: query.map(str::to_owned) })
        };
        for (url, expected) in [
            ("https://a:8443/b", parts("https", "a", None)),
            ("http://a/?b=c", parts("http", "a", Some("b=c"))),
            ("/b", parts("", "", None)),
            ("", None),
            ("https://a b", None),
        ] {
            assert_eq!(read(url), expected, "{url}");
        }
    }
}
