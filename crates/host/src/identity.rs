// SPDX-License-Identifier: Apache-2.0
//! Who asks the host: users and components by their certificates.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use generic_apiserver::authentication::{
    Authenticator, CertificateError, ClientAuthority, Credentials, FixedAuthenticator, Identity, Judged, Unauthorized,
};
use process::User;

/// Knows users by certificates of one authority, and which of them are components.
#[derive(Debug)]
pub struct CertificateAuthenticator {
    fixed: FixedAuthenticator,
    components: Components,
}

/// A component and its version.
type Named = (Arc<str>, Arc<str>);

/// Component and version of the users that are components. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Components(Arc<Mutex<BTreeMap<String, Named>>>);

impl Components {
    /// Notes that a user is a component.
    pub fn insert(&self, user: &str, component: &str, version: &str) {
        let mut components = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        components.insert(user.to_owned(), (component.into(), version.into()));
    }

    fn get(&self, user: &str) -> Option<Named> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned()
    }
}

impl CertificateAuthenticator {
    /// Believes certificates of the authorities, given as PEM.
    ///
    /// # Errors
    /// Text that holds no certificates.
    pub fn new(authorities: &str, components: Components) -> Result<Self, CertificateError> {
        let users = ClientAuthority::from_pem(authorities)?;
        let fixed = FixedAuthenticator { users: vec![(users, Judged::ByWallTime)], ..FixedAuthenticator::default() };
        Ok(Self { fixed, components })
    }
}

impl Authenticator for CertificateAuthenticator {
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        Box::pin(async move {
            let identity = self.fixed.authenticate(credentials).await?;
            Ok(match identity {
                Identity::User(user) => {
                    let component = self.components.get(&user.name);
                    Identity::User(User { component, ..user })
                }
                other => other,
            })
        })
    }
}
