// SPDX-License-Identifier: Apache-2.0
//! HTTPS listener of the host: authentication of its clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use clock::{Clock, Random};
use generic_apiserver::http::{self, Health};
use process::participant::CLOCK_PATH;
use process::pki::Pair;
use process::transport::ResponseFuture;
use process::{Request, Tasks};

use super::base::Core;
use super::landscape_thread::WayIn;
use super::outside;
use crate::identity::{CertificateAuthenticator, ClusterAuthenticator, OwnAuthorities};
use crate::place::Place;

/// Path of the stream that updates a page.
const PAGE_STREAM_PATH: &str = "/dashboard/stream";
/// Path of a watch on the log.
const LOG_WATCH_PATH: &str = "/log/v1/watch";

/// Parameters of the listener; see [`super::Options`].
pub(super) struct Door {
    pub(super) listen: SocketAddr,
    pub(super) certificate: Pair,
    pub(super) authorities: String,
    pub(super) own_authorities: OwnAuthorities,
    pub(super) random: Random,
    pub(super) start: u64,
}

impl Door {
    /// Listens, and passes requests to the host.
    ///
    /// # Errors
    /// The address is in use, or a certificate cannot be used.
    pub(super) async fn open(self, core: &Core, way_in: WayIn, tasks: &Tasks) -> io::Result<http::Serving> {
        let landscape = CertificateAuthenticator::new(&self.authorities, self.start)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let authenticator = ClusterAuthenticator::new(landscape, core.host.server().clone(), self.own_authorities);
        let authenticator = authenticator.with_tokens(core.tokens.clone());
        let mut options = http::Options::new(self.certificate, authenticator, core.clock.clock(), Clock::wall());
        options.listen = self.listen;
        options.random = self.random;
        options.health = Health::default();
        options.metrics = core.metrics.clone();
        if let Some(rbac) = core.host.rbac() {
            options.authorizer = Arc::new(rbac.clone());
        }
        options.lasting =
            Arc::new(|path| path.starts_with(CLOCK_PATH) || path == LOG_WATCH_PATH || path == PAGE_STREAM_PATH);
        options.outside = Arc::new(|path| !matches!(Place::of(path), Place::InCluster(_)));
        let log = core.log.clone();
        let answer = move |request: Request| -> ResponseFuture {
            let (place, log) = (Place::of(request.uri().path()), log.clone());
            let answer = way_in.call(request);
            Box::pin(async move { outside::durable(&log, &place, answer.await).await })
        };
        http::serve(tasks, answer, options).await
    }
}
