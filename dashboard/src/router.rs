// SPDX-License-Identifier: Apache-2.0
//! Routes: from a request to its answer.
//!
//! ```text
//! headers on everything ── Host ── session ── GET page · POST do/ACTION · GET stream · GET assets/HASH/FILE · GET login
//! ```

use std::convert::Infallible;
use std::future::ready;
use std::io::Write;
use std::sync::{Arc, Weak};

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Request, StatusCode, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, LengthLimitError, Limited, StreamBody};
use maud::Markup;
use tower::ServiceExt;

use crate::access::sessions::Session;
use crate::access::{Entrance, host_of, may_post};
use crate::input::{Fields, LARGEST};
use crate::page::{Outcome, Page};
use crate::pages::Rest;
use crate::refusal::Refusal;
use crate::view::{self, View, link};
use crate::{Dashboard, Inner, PREFIX, actions, assets, at, frame, pages, stream};

/// Size in bytes from which on a page is compressed for clients that accept it.
const PACKED_FROM: usize = 16 * 1024;

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types terrarium",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// State that routes share.
#[derive(Clone, Debug)]
pub(crate) struct State(Weak<Inner>);

impl State {
    pub(crate) fn new(dashboard: Weak<Inner>) -> Self {
        Self(dashboard)
    }

    fn dashboard(&self) -> Dashboard {
        Dashboard(self.0.upgrade().expect("its dashboard answers a request"))
    }
}

/// Properties of a request that are known before its route.
#[derive(Clone)]
struct RequestFacts {
    entrance: Entrance,
    host: String,
    secret: Option<String>,
    session: Option<Arc<Session>>,
    /// The decoded query.
    query: Fields,
}

impl Dashboard {
    /// Answers a request for a path below `/dashboard`.
    pub async fn answer(&self, entrance: Entrance, request: Request<Body>) -> Response {
        let mut response = match self.arrive(entrance, request.headers(), request.uri()) {
            Ok(arrived) => {
                let (mut parts, body) = request.into_parts();
                parts.extensions.insert(arrived);
                let routed = self.0.router.clone().oneshot(Request::from_parts(parts, body)).await;
                routed.unwrap_or_else(|never| match never {})
            }
            Err(refusal) => self.refuse(None, &refusal).await,
        };
        for (name, value) in HEADERS {
            response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
        }
        response
    }

    fn arrive(&self, entrance: Entrance, headers: &HeaderMap, uri: &Uri) -> Result<RequestFacts, Refusal> {
        let host = host_of(headers, uri).filter(|host| self.is_its_name(entrance, host)).ok_or_else(|| {
            let sentence = "These pages have another name: `terrarium dashboard` prints it.";
            Refusal::new(StatusCode::MISDIRECTED_REQUEST, "Not this host", sentence)
        })?;
        let secret = cookie(headers, entrance.cookie());
        let session = secret.as_deref().and_then(|secret| self.sessions().find(secret));
        let query = Fields::read(uri.query().unwrap_or_default().as_bytes()).map_err(Refusal::unreadable)?;
        Ok(RequestFacts { entrance, host, secret, session, query })
    }

    /// Returns the answer with the page of a refusal.
    async fn refuse(&self, view: Option<&View>, refusal: &Refusal) -> Response {
        answer(refusal.code, frame::refused(view, self, refusal).await)
    }

    fn view(&self, arrived: &RequestFacts, path: &str) -> Result<View, Refusal> {
        let session = arrived.session.clone().ok_or_else(|| match arrived.entrance {
            Entrance::Loopback => Refusal::not_logged_in(),
            Entrance::Landscape => Refusal::not_logged_in_with_token(None),
        })?;
        Ok(View {
            dashboard: self.clone(),
            session,
            entrance: arrived.entrance,
            path: path.to_owned(),
            query: arrived.query.clone(),
            at: None,
            gardener: self.options().gardener_version.clone(),
            disables_nginx_ingress: false,
        })
    }

    /// Returns a view of a page by its path and query, for a session.
    pub(crate) async fn view_of(
        &self,
        session: &Arc<Session>,
        entrance: Entrance,
        link: &str,
    ) -> Result<View, Refusal> {
        let (path, query) = link.split_once('?').unwrap_or((link, ""));
        let path = path.strip_prefix(PREFIX).ok_or_else(Refusal::no_page)?;
        let query = Fields::read(query.as_bytes()).map_err(Refusal::unreadable)?;
        let view = View {
            dashboard: self.clone(),
            session: session.clone(),
            entrance,
            path: path.to_owned(),
            query,
            at: None,
            gardener: self.options().gardener_version.clone(),
            disables_nginx_ingress: false,
        };
        Ok(view.with_gardener().await)
    }
}

/// Returns the routes.
pub(crate) fn routes(state: State) -> axum::Router<()> {
    axum::Router::new()
        .route("/dashboard", get(first))
        .route("/dashboard/", get(first))
        .route("/dashboard/login", get(login).post(log_in_with_token))
        .route("/dashboard/stream", get(live))
        .route("/dashboard/session", get(session))
        .route("/dashboard/assets/{hash}/{file}", get(asset))
        .route("/dashboard/do/{action}", get(answered).post(act))
        .fallback(page)
        .with_state(state)
}

type RouterState = axum::extract::State<State>;

fn arrived(parts: &mut Parts) -> RequestFacts {
    parts.extensions.remove().expect("every request has arrived")
}

async fn first() -> Response {
    see_other("/dashboard/clusters")
}

async fn page(state: RouterState, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, _) = request.into_parts();
    let arrived = arrived(&mut parts);
    let path = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    // A part of the list of clusters: the script requests it when the user scrolls or types.
    let is_part = path == "rows";
    let path = if is_part { "clusters" } else { path };
    let view = match dashboard.view(&arrived, path) {
        Ok(view) => view,
        Err(refusal) => return dashboard.refuse(None, &refusal).await,
    };
    let view = match at::read(&dashboard, &view.path, &view.query).await {
        Ok(at) => View { at, ..view }.with_gardener().await,
        Err(refusal) => return dashboard.refuse(Some(&view), &refusal).await,
    };
    if !matches!(parts.method, http::Method::GET | http::Method::HEAD) {
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Not in this way", "This address is read only.");
        return dashboard.refuse(Some(&view), &refusal).await;
    }
    // A page without a stream requests repeatedly whether it has changed.
    let tag = format!("\"{}-{}\"", dashboard.options().log.head(), dashboard.now().timestamp_millis());
    let known = parts.headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    if view.at.is_none() && known == Some(tag.as_str()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    if view.path == "forecast.csv" {
        return match pages::forecast::csv(&view).await {
            Ok(text) => csv(text),
            Err(refusal) => dashboard.refuse(Some(&view), &refusal).await,
        };
    }
    let is_packed = takes_gzip(&parts.headers);
    let begun = pages::begin(&view).await;
    let (mut response, is_whole) = match begun {
        Ok((page, None)) if is_part => (answer(page.code, page.parts()), true),
        Ok((page, None)) => (show(&view, Ok(page)).await, true),
        Ok((page, Some(rest))) => (show_in_parts(&view, &page, rest, is_packed).await, false),
        Err(refusal) => (dashboard.refuse(Some(&view), &refusal).await, true),
    };
    if view.at.is_none() && response.status().is_success() {
        set(&mut response, header::ETAG, &tag);
    }
    if is_packed && is_whole { packed(response).await } else { response }
}

/// True if the client accepts gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Compresses the answer if it is long: rows of a list repeat the same texts. An attack that derives a token from the length of
/// answers to requests of another site (BREACH) fails here: session cookies are not sent with requests that another site began.
async fn packed(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // The body is in memory already: reading it cannot fail.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    if bytes.len() < PACKED_FROM {
        return Response::from_parts(parts, Body::from(bytes));
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("memory takes what is written");
    parts.headers.remove(header::CONTENT_LENGTH);
    let mut response = Response::from_parts(parts, Body::from(packed));
    set(&mut response, header::CONTENT_ENCODING, "gzip");
    set(&mut response, header::VARY, "accept-encoding");
    response
}

fn csv(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    set(&mut response, header::CONTENT_TYPE, "text/csv; charset=utf-8");
    set(&mut response, header::CONTENT_DISPOSITION, "attachment; filename=\"forecast.csv\"");
    response
}

async fn show(view: &View, page: Result<Page, Refusal>) -> Response {
    match page {
        Ok(page) => answer(page.code, frame::document(view, &page).await),
        Err(refusal) => view.dashboard.refuse(Some(view), &refusal).await,
    }
}

/// Sends the beginning of a page before its slow regions are calculated, so that a browser shows it meanwhile.
async fn show_in_parts(view: &View, page: &Page, rest: Rest, is_packed: bool) -> Response {
    let text = frame::beginning(view, page, rest.text).await.into_string();
    let (first, end) = text.split_once(frame::REST).expect("the document has a place for the rest");
    let end = end.to_owned();
    let mut encoder = is_packed.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
    let first = match &mut encoder {
        Some(encoder) => {
            let written = encoder.write_all(first.as_bytes()).and_then(|()| encoder.flush());
            written.expect("memory takes what is written");
            std::mem::take(encoder.get_mut())
        }
        None => first.as_bytes().to_vec(),
    };
    let second = async move {
        // The connection flushes the first bytes when the body is pending.
        tokio::task::yield_now().await;
        let regions = rest.regions.await;
        let mut text: String = regions.iter().map(|region| region.markup().into_string()).collect();
        text.push_str(&end);
        match encoder {
            Some(mut encoder) => {
                let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
                written.expect("memory takes what is written")
            }
            None => text.into_bytes(),
        }
    };
    let bytes = futures::stream::once(ready(first)).chain(futures::stream::once(second));
    let frames = bytes.map(|bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(bytes))));
    let mut response = (page.code, Body::new(StreamBody::new(frames))).into_response();
    set(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    if is_packed {
        set(&mut response, header::CONTENT_ENCODING, "gzip");
        set(&mut response, header::VARY, "accept-encoding");
    }
    response
}

async fn login(state: RouterState, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, _) = request.into_parts();
    let arrived = arrived(&mut parts);
    let Some(secret) = dashboard.sessions().log_in(arrived.query.text("code")) else {
        let refusal = Refusal { title: "This link is not good any more".to_owned(), ..Refusal::not_logged_in() };
        return dashboard.refuse(None, &refusal).await;
    };
    let to = "/dashboard/clusters";
    let site = parts.headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    // A request that another document began carries no cookie, even after redirects.
    let mut response = match site {
        None | Some("none" | "same-origin") => see_other(to),
        Some(_) => answer(StatusCode::OK, frame::leading_on(to)),
    };
    set(&mut response, header::SET_COOKIE, &arrived.entrance.set_cookie(&secret));
    response
}

/// Logs in the user of a bearer token that the API accepts. HTTPS only: the other listener has links with login codes.
async fn log_in_with_token(state: RouterState, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, body) = request.into_parts();
    let arrived = arrived(&mut parts);
    if arrived.entrance != Entrance::Landscape || !may_post(arrived.entrance, &arrived.host, &parts.headers) {
        return dashboard.refuse(None, &Refusal::too_old()).await;
    }
    let form = match form(body).await {
        Ok(form) => form,
        Err(refusal) => return dashboard.refuse(None, &refusal).await,
    };
    match view::judged(&dashboard, form.text("bearer")).await {
        Ok(user) => {
            let secret = dashboard.sessions().begin(user);
            let mut response = see_other("/dashboard/clusters");
            set(&mut response, header::SET_COOKIE, &arrived.entrance.set_cookie(&secret));
            response
        }
        Err(why) => dashboard.refuse(None, &Refusal::not_logged_in_with_token(Some(&why))).await,
    }
}

async fn live(state: RouterState, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, _) = request.into_parts();
    let arrived = arrived(&mut parts);
    let Some(session) = &arrived.session else {
        return dashboard.refuse(None, &Refusal::not_logged_in()).await;
    };
    match dashboard.view_of(session, arrived.entrance, arrived.query.text("page")).await {
        Ok(view) => stream::answer(view, arrived.query.text("only") == "time", arrived.query.all("region")),
        Err(refusal) => dashboard.refuse(None, &refusal).await,
    }
}

/// Reports whether the session is valid, for a script whose stream was refused.
async fn session(state: RouterState, request: Request<Body>) -> Response {
    let (mut parts, _) = request.into_parts();
    match arrived(&mut parts).session {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => state.0.dashboard().refuse(None, &Refusal::not_logged_in()).await,
    }
}

async fn asset(state: RouterState, Path((hash, file)): Path<(String, String)>) -> Response {
    match assets::find(&hash, &file) {
        Some((content_type, text)) => {
            let mut response = Response::new(Body::from(text));
            set(&mut response, header::CONTENT_TYPE, content_type);
            set(&mut response, header::CACHE_CONTROL, "public, max-age=31536000, immutable");
            response
        }
        None => state.0.dashboard().refuse(None, &Refusal::no_page()).await,
    }
}

async fn act(state: RouterState, Path(action): Path<String>, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, body) = request.into_parts();
    let arrived = arrived(&mut parts);
    let Some(session) = &arrived.session else {
        return dashboard.refuse(None, &Refusal::not_logged_in()).await;
    };
    let view = dashboard.view(&arrived, &format!("do/{action}"));
    let refuse = async |refusal: Refusal| dashboard.refuse(view.as_ref().ok(), &refusal).await;
    if !may_post(arrived.entrance, &arrived.host, &parts.headers) {
        return refuse(Refusal::too_old()).await;
    }
    let form = match form(body).await {
        Ok(form) => form,
        Err(refusal) => return refuse(refusal).await,
    };
    if !session.is_token(&action, form.get("token").unwrap_or_default()) {
        return refuse(Refusal::too_old()).await;
    }
    if action == "logout" {
        dashboard.sessions().end(arrived.secret.as_deref().unwrap_or_default());
        let mut response = see_other("/dashboard/clusters");
        set(&mut response, header::SET_COOKIE, &arrived.entrance.set_cookie(""));
        return response;
    }
    // The page to return to; never one of another host.
    let back = form.get("back").filter(|back| back.starts_with(PREFIX)).unwrap_or("/dashboard/clusters");
    let view = match dashboard.view_of(session, arrived.entrance, back).await {
        Ok(view) => view,
        Err(refusal) => return refuse(refusal).await,
    };
    match actions::act(&view, &action, &form).await {
        Ok(Outcome::Back(messages)) => {
            for message in messages {
                session.say(message);
            }
            see_other(&view.here())
        }
        Ok(Outcome::To(link, messages)) => {
            for message in messages {
                session.say(message);
            }
            see_other(&link)
        }
        // Reloading the answer or navigating back to it must not send the form again.
        Ok(Outcome::Page(page)) => {
            let query =
                Fields::of([("answer".to_owned(), session.keep(*page).to_string()), ("back".to_owned(), view.here())]);
            see_other(&link(&format!("/dashboard/do/{action}"), &query.with(&[])))
        }
        Err(refusal) => refuse(refusal).await,
    }
}

/// Serves the page in answer to a form; if there is none, or it is no longer kept, the page with the form.
async fn answered(state: RouterState, Path(action): Path<String>, request: Request<Body>) -> Response {
    let dashboard = state.0.dashboard();
    let (mut parts, _) = request.into_parts();
    let arrived = arrived(&mut parts);
    let Some(session) = &arrived.session else {
        return dashboard.refuse(None, &Refusal::not_logged_in()).await;
    };
    let Some(form) = actions::form_of(&action) else {
        let view = dashboard.view(&arrived, &format!("do/{action}"));
        return dashboard.refuse(view.as_ref().ok(), &Refusal::no_page()).await;
    };
    let kept = arrived.query.text("answer").parse().ok().and_then(|number| session.kept(number));
    let Some(page) = kept else { return see_other(form) };
    let back = Some(arrived.query.text("back")).filter(|back| back.starts_with(PREFIX)).unwrap_or(form);
    match dashboard.view_of(session, arrived.entrance, back).await {
        Ok(view) => answer(page.code, frame::document(&view, &page).await),
        Err(refusal) => dashboard.refuse(None, &refusal).await,
    }
}

async fn form(body: Body) -> Result<Fields, Refusal> {
    let body = match Limited::new(body, LARGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(Refusal::too_large()),
        Err(_) => {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "This cannot be read",
                "The form did not come in whole.",
            ));
        }
    };
    Fields::read(&body).map_err(Refusal::unreadable)
}

/// Returns the value of a cookie; None if there are several of this name.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut found = all
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value.to_owned());
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn answer(code: StatusCode, markup: Markup) -> Response {
    let mut response = (code, markup.into_string()).into_response();
    set(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    response
}

fn see_other(to: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    set(&mut response, header::LOCATION, to);
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
