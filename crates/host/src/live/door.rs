// SPDX-License-Identifier: Apache-2.0
//! HTTPS listener of the host: authentication of its clients.

use std::io;
use std::sync::Arc;

use clock::Clock;
use generic_apiserver::http::{self, Health};
use process::participant::CLOCK_PATH;
use process::transport::ResponseFuture;
use process::{Request, Tasks};

use super::Options;
use super::base::Core;
use super::landscape_thread::WayIn;
use super::outside;
use crate::front::place::Place;
use crate::identity::{CertificateAuthenticator, ClusterAuthenticator};

/// Path of the stream that updates a page.
const PAGE_STREAM_PATH: &str = "/dashboard/stream";
/// Path of a watch on the log.
const LOG_WATCH_PATH: &str = "/log/v1/watch";

/// Listens, and passes requests to the host.
///
/// # Errors
/// The address is in use, or a certificate cannot be used.
pub(super) async fn open(options: &Options, core: &Core, way_in: WayIn, tasks: &Tasks) -> io::Result<http::Serving> {
    let landscape = CertificateAuthenticator::new(&options.authorities, options.start)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
    let authenticator =
        ClusterAuthenticator::new(landscape, core.host.server().clone(), options.own_authorities.clone());
    let authenticator = authenticator.with_tokens(core.tokens.clone());
    let mut served = http::Options::new(options.certificate.clone(), authenticator, core.clock.clock(), Clock::wall());
    served.listen = options.listen;
    served.random = options.random.clone();
    served.health = Health::default();
    served.metrics = core.metrics.clone();
    if let Some(rbac) = core.host.rbac() {
        served.authorizer = Arc::new(rbac.clone());
    }
    served.lasting =
        Arc::new(|path| path.starts_with(CLOCK_PATH) || path == LOG_WATCH_PATH || path == PAGE_STREAM_PATH);
    served.outside = Arc::new(|path| !matches!(Place::of(path), Place::InCluster(_)));
    let log = core.log.clone();
    let answer = move |request: Request| -> ResponseFuture {
        let (place, log) = (Place::of(request.uri().path()), log.clone());
        let answer = way_in.call(request);
        Box::pin(async move { outside::durable(&log, &place, answer.await).await })
    };
    http::serve(tasks, answer, served).await
}
