// SPDX-License-Identifier: Apache-2.0
//! One request and its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use clock::TimerClass;
use futures::future::{Either, select};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Uri};
use process::transport::TransportError;
use process::{Request, Response, User};
use rustls_pki_types::CertificateDer;

use super::deadlines::Deadlines;
use super::metrics::Labels;
use super::{Shared, guard, gzip, heads, held, impersonation, indent, stream};
use crate::authentication::{Credentials, Identity, UserDetails, anonymous, authenticated, front_proxy};
use crate::authorization::Question;
use crate::request::{Query, Route, Target, verb};
use crate::status::{Failure, Result};

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// Maximum size in bytes of an audit id of a client. The response has it in its head, whose size others limit, too.
const LONGEST_AUDIT_ID: usize = 1024;
/// Subresources whose responses are streams.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Answers a request, with a failure if necessary.
pub(super) async fn answer(
    shared: Arc<Shared>,
    certificates: Arc<[CertificateDer<'static>]>,
    deadlines: Deadlines,
    request: Request,
) -> Response {
    let options = &shared.options;
    let running = options.metrics.begin();
    let begun = options.wall.now();
    let (mut parts, body) = request.into_parts();
    if heads::is_too_large(&parts, &options.limits) {
        options.metrics.end(
            Labels { verb: parts.method.as_str().to_ascii_lowercase(), ..Labels::default() },
            431,
            None,
        );
        return Failure::HeadTooLarge.response();
    }
    let audit_id = audit_id(&shared, &mut parts.headers);
    if let Some(uri) = at_home(&shared, &certificates, &parts).await {
        parts.uri = uri;
    }
    let query = Query::parse(parts.uri.query());
    let route = Route::parse(parts.uri.path());
    let asked = request_of(&parts.uri).to_owned();
    let (labels, lasts) = describe(&parts.method, route.as_ref(), &query);
    let lasts = lasts || (options.lasting)(parts.uri.path());
    let zipped = !lasts && gzip::is_wanted(&parts.headers);
    let is_read = |route| indent::is_wanted(route, &query, &parts.headers);
    let indented = !lasts && route.as_ref().is_some_and(is_read);

    let answered = if route.is_none() && parts.uri.path().trim_matches('/') == "metrics" {
        metrics(&shared, &certificates, &parts).await
    } else if route.is_none()
        && let Some(response) = health(&shared, parts.uri.path(), &query)
    {
        Ok(response)
    } else if lasts && options.metrics.long_running() >= options.limits.long_running {
        Err(Failure::TooMany("too many watches, please try again later".to_owned()))
    } else if !lasts && options.metrics.in_flight() > options.limits.requests {
        Err(Failure::too_many_requests())
    } else {
        let cluster = route.map(|route| route.cluster).unwrap_or_default();
        let patience = if lasts { None } else { Some(patience(&shared, &parts.method, &query)) };
        let what = format!("{} {}", parts.method, parts.uri.path());
        let handled = handle(&shared, &cluster, &certificates, Request::from_parts(parts, body));
        let handled = guard::answer(&what, within(&shared, patience, handled)).await;
        handled.map(|response| response.map(|body| guard::body(body, what)))
    };
    let mut response = answered.unwrap_or_else(|failure| failure.response());
    if indented {
        response = indent::write(response).await;
    }
    if zipped {
        response = gzip::compress(response).await;
    }
    // For a long-running response, only the current chunk is in memory.
    if !lasts {
        let deadline = || deadlines.at(options.wall.now() + options.limits.request);
        let held = shared.held.hold(response, &asked, options.limits.held, deadline).await;
        response = held.unwrap_or_else(|failure| failure.response());
    }
    if let Ok(audit_id) = HeaderValue::try_from(audit_id) {
        response.headers_mut().insert(AUDIT_ID, audit_id);
    }

    let code = response.status().as_u16();
    let labels = if is_known(&response) { labels } else { Labels { verb: labels.verb, ..Labels::default() } };
    let seconds = (options.wall.now() - begun).as_seconds_f64();
    options.metrics.end(labels, code, (!lasts).then_some(seconds));
    if !lasts || code != 200 {
        return response;
    }
    let mut stop = shared.stop.subscribe();
    let stopped = async move {
        // An error would mean that serving has ended.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    response.map(|body| stream::until(stopped, running.lasts(), body))
}

/// Path and query of a request.
fn request_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("", PathAndQuery::as_str)
}

/// Returns the URI in the client's own cluster for a path that names no cluster, and is not served by this process itself.
async fn at_home(shared: &Shared, certificates: &[CertificateDer<'static>], parts: &Parts) -> Option<Uri> {
    let first = parts.uri.path().split('/').nth(1).unwrap_or_default();
    let options = &shared.options;
    if matches!(first, "clusters" | "healthz" | "livez" | "readyz") || (options.outside)(parts.uri.path()) {
        return None;
    }
    let token = bearer_token(&parts.headers);
    let cluster = options
        .authenticator
        .home(Credentials {
            cluster: "",
            certificates,
            bearer_token: token.as_deref(),
            now: options.clock.now(),
            wall: options.wall.now(),
        })
        .await?;
    let rest = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    format!("/clusters/{cluster}{rest}").parse().ok()
}

/// Returns the user, its details, and the stamp of a front proxy.
async fn who(
    shared: &Shared,
    cluster: &str,
    certificates: &[CertificateDer<'static>],
    headers: &mut HeaderMap,
) -> Result<(User, UserDetails, Option<front_proxy::Stamp>)> {
    let options = &shared.options;
    let token = bearer_token(headers);
    let credentials = Credentials {
        cluster,
        certificates,
        bearer_token: token.as_deref(),
        now: options.clock.now(),
        wall: options.wall.now(),
    };
    let identity = options.authenticator.authenticate(credentials).await.map_err(|reason| {
        tracing::debug!(%reason, cluster, "unauthorized");
        Failure::Unauthorized
    })?;
    headers.remove(AUTHORIZATION);
    let (user, details, stamp) = match identity {
        Identity::FrontProxy => {
            let Some((user, details, stamp)) = front_proxy::read(headers) else { return Err(Failure::Unauthorized) };
            (authenticated(user), details, Some(stamp))
        }
        Identity::User(user) => (authenticated(user), UserDetails::default(), None),
        Identity::Anonymous => (anonymous(), UserDetails::default(), None),
    };
    front_proxy::strip(headers);
    let impersonated = impersonation::take(headers, &user, cluster, &*options.authorizer)?;
    let (user, details) = impersonated.unwrap_or((user, details));
    Ok((user, details, stamp))
}

/// Authenticates a request and passes it to the handler.
async fn handle(
    shared: &Shared,
    cluster: &str,
    certificates: &[CertificateDer<'static>],
    mut request: Request,
) -> Result<Response> {
    let (user, details, stamp) = who(shared, cluster, certificates, request.headers_mut()).await?;
    let reader = held::Reader(user.name.clone());
    if *request.method() == Method::GET {
        shared.held.admit(&reader, request_of(request.uri()))?;
    }
    let extensions = request.extensions_mut();
    extensions.insert(user);
    extensions.insert(details);
    extensions.insert(shared.offload.clone());
    if let Some(stamp) = stamp {
        extensions.insert(stamp);
    }
    let mut response = (shared.handler)(request).await.map_err(|error: TransportError| {
        Failure::Unavailable(format!("error trying to reach service: {}", error.reason()))
    })?;
    response.extensions_mut().insert(reader);
    Ok(response)
}

/// Returns the result of a future, or a time-out after `patience`.
async fn within(
    shared: &Shared,
    patience: Option<TimeDelta>,
    answer: impl Future<Output = Result<Response>>,
) -> Result<Response> {
    let Some(patience) = patience else { return answer.await };
    let answer = std::pin::pin!(answer);
    match select(answer, shared.options.wall.sleep(patience, TimerClass::Calendar)).await {
        Either::Left((answered, _)) => answered,
        Either::Right(_) => Err(Failure::Timeout),
    }
}

/// Answers health paths outside of all clusters, for every client.
fn health(shared: &Shared, path: &str, query: &Query) -> Option<Response> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    shared.options.health.answer(&segments, query)
}

/// Answers `/metrics` outside of all clusters, if the user is authorized.
async fn metrics(shared: &Shared, certificates: &[CertificateDer<'static>], parts: &Parts) -> Result<Response> {
    let mut headers = parts.headers.clone();
    let (user, ..) = who(shared, "", certificates, &mut headers).await?;
    let verb = parts.method.as_str().to_ascii_lowercase();
    let question = Question {
        user: &user,
        cluster: "",
        verb: &verb,
        group: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
        path: "/metrics",
    };
    let answer = shared.options.authorizer.authorize(&question);
    answer.map_err(|reason| Failure::denied(&question, &reason))?;
    Ok(shared.options.metrics.answer())
}

/// Returns the request's audit id: the client's, if it has one.
fn audit_id(shared: &Shared, headers: &mut HeaderMap) -> String {
    if let Some(id) = headers.get(AUDIT_ID).and_then(|id| id.to_str().ok()).filter(|id| id.len() <= LONGEST_AUDIT_ID) {
        return id.to_owned();
    }
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    let id = shared.options.random.uid(&format!("audit id {}", shared.started), number);
    if let Ok(value) = HeaderValue::try_from(id.as_str()) {
        // The server behind this one uses the same audit id.
        headers.insert(AUDIT_ID, value);
    }
    id
}

/// Returns the token of the header `Authorization`; other schemes are ignored.
fn bearer_token(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

/// Returns the metric labels of a request, and whether its response may last.
fn describe(method: &Method, route: Option<&Route>, query: &Query) -> (Labels, bool) {
    let Some(Target::Resource(path)) = route.map(|route| &route.target) else {
        return (Labels { verb: method.as_str().to_ascii_lowercase(), ..Labels::default() }, false);
    };
    let verb = verb(method, path, query);
    let lasts = verb == "watch" || STREAMS.contains(&path.subresource.as_str());
    let labels = Labels {
        verb: verb.to_owned(),
        group: path.group.clone(),
        version: path.version.clone(),
        resource: path.plural.clone(),
        subresource: path.subresource.clone(),
    };
    (labels, lasts)
}

/// True if the response shows that the resource in the path exists.
fn is_known(response: &Response) -> bool {
    let text = response.headers().get(CONTENT_TYPE).is_some_and(|type_| type_.as_bytes().starts_with(b"text/plain"));
    match response.status().as_u16() {
        401 | 403 => false,
        404 => !text,
        _ => true,
    }
}

fn patience(shared: &Shared, method: &Method, query: &Query) -> TimeDelta {
    let limits = &shared.options.limits;
    let ours = if matches!(*method, Method::GET | Method::HEAD) { limits.request } else { limits.write };
    let asked = go_duration(query.text("timeout")).filter(|asked| *asked > TimeDelta::zero());
    asked.map_or(ours, |asked| asked.min(ours))
}

/// Parses a duration as Go writes it, of whole or fractional hours, minutes, seconds, milliseconds; `None` for anything else.
fn go_duration(text: &str) -> Option<TimeDelta> {
    let mut rest = text;
    let mut milliseconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|character: char| character.is_ascii_digit()).unwrap_or(rest.len());
        milliseconds += number
            * match &rest[..end] {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1_000.0,
                "ms" => 1.0,
                _ => return None,
            };
        rest = &rest[end..];
    }
    #[expect(clippy::cast_possible_truncation, reason = "beyond a day every number will do")]
    let whole = milliseconds.min(86_400_000.0) as i64;
    (!text.is_empty()).then(|| TimeDelta::milliseconds(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, expected) in [
            ("32s", Some(32_000)),
            ("1m30s", Some(90_000)),
            ("1.5s", Some(1_500)),
            ("100ms", Some(100)),
            ("0s", Some(0)),
            ("", None),
            ("32", None),
            ("s", None),
            ("1y", None),
        ] {
            assert_eq!(go_duration(text).map(|duration| duration.num_milliseconds()), expected, "{text}");
        }
    }

    #[test]
    fn the_scheme_of_a_token_has_any_case() {
        for (text, expected) in
            [("Bearer a", Some("a")), ("bearer  a ", Some("a")), ("Basic a", None), ("Bearer ", None), ("a", None)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(text));
            assert_eq!(bearer_token(&headers).as_deref(), expected, "{text}");
        }
    }
}
