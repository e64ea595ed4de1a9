//! The routes of the dashboard, who may take them, and the headers of every answer.

use super::auth::{Authenticator, Token, TokenCheck, Transport};
use super::events::events;
use super::metrics::Metrics;
use super::openmetrics::CONTENT_TYPE;
use super::page;
use super::view::DashboardSource;
use crate::transport::{BusyGuard, ConnectionActivity};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use maud::Markup;
use std::sync::Arc;

/// Headers of every answer, beside the content security policy.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// What every route needs.
struct DashboardState {
    source: Arc<dyn DashboardSource>,
    metrics: Arc<Metrics>,
    authenticator: Authenticator,
    policy: HeaderValue,
}

type PageResult = Result<Response, Response>;

/// The dashboard as a service. `/healthz` is open; everything else is for those who show the token.
pub fn router(source: Arc<dyn DashboardSource>, metrics: Arc<Metrics>, token: Token, transport: Transport) -> Router {
    let authenticator = Authenticator::new(token, transport, Arc::clone(&metrics));
    // Digests and constants always make a header. Should they not, a page without style is safer than one without policy.
    let policy = HeaderValue::try_from(page::policy()).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let state = Arc::new(DashboardState { source, metrics, authenticator, policy });
    Router::new()
        .route("/", get(all))
        .route("/fragment", get(all_fragment))
        .route("/events", get(all_events))
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/fragment", get(run_fragment))
        .route("/runs/{id}/events", get(run_events))
        .route("/runs/{id}/posterior.json", get(posterior))
        .route("/runs/{id}/manifest.json", get(manifest))
        .route("/runs/{id}/report.html", get(report))
        .route("/metrics", get(metrics_text))
        .route("/login", get(login))
        .route("/healthz", get(health))
        .fallback(async || missing())
        .layer(middleware::from_fn_with_state(Arc::clone(&state), guard))
        .with_state(state)
}

/// Lets through who may pass, and dresses every answer.
async fn guard(State(state): State<Arc<DashboardState>>, request: Request, next: Next) -> Response {
    let _work = request.extensions().get::<Arc<ConnectionActivity>>().map(ConnectionActivity::hold);
    let mut answer = match state.refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    state.metrics.answered(answer.status().as_u16());
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, state.policy.clone());
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

impl DashboardState {
    /// Why a request is not let through; none if it is.
    fn refusal(&self, request: &Request) -> Option<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let allow = [(header::ALLOW, "GET, HEAD")];
            return Some((StatusCode::METHOD_NOT_ALLOWED, allow, "The dashboard is read-only.\n").into_response());
        }
        match request.uri().path() {
            "/healthz" | "/login" => None,
            _ => denial(self.authenticator.shown(request.headers())),
        }
    }

    /// Looks something up where waiting is allowed.
    async fn look<T: Send + 'static>(
        &self,
        how: impl FnOnce(&dyn DashboardSource) -> T + Send + 'static,
    ) -> Result<T, Response> {
        let source = Arc::clone(&self.source);
        let found = tokio::task::spawn_blocking(move || how(source.as_ref())).await;
        found.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }

    /// The same, for what may not be there.
    async fn find<T: Send + 'static>(
        &self,
        id: String,
        how: impl FnOnce(&dyn DashboardSource, &str) -> Option<T> + Send + 'static,
    ) -> Result<T, Response> {
        self.look(move |source| how(source, &id)).await?.ok_or_else(missing)
    }
}

/// The answer to somebody who has not shown the token.
fn denial(shown: TokenCheck) -> Option<Response> {
    match shown {
        TokenCheck::Right => None,
        TokenCheck::Nothing | TokenCheck::Wrong => {
            let how = [(header::WWW_AUTHENTICATE, "Bearer realm=\"posterity\"")];
            Some((StatusCode::UNAUTHORIZED, how, html(&page::closed())).into_response())
        }
        TokenCheck::TooOften => {
            let words = page::saying("Too many wrong tokens", "Wait one minute, then try again with the right token.");
            Some((StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "60")], html(&words)).into_response())
        }
    }
}

fn missing() -> Response {
    let words = page::saying("Not found", "There is no such run, or it does not have this file yet.");
    (StatusCode::NOT_FOUND, html(&words)).into_response()
}

fn html(markup: &Markup) -> Html<String> {
    Html(markup.0.clone())
}

async fn all(State(state): State<Arc<DashboardState>>) -> PageResult {
    let (runs, waiting) = state.look(|source| (source.runs(), source.waiting())).await?;
    Ok(html(&page::all(&runs, waiting.as_deref(), &state.metrics)).into_response())
}

async fn all_fragment(State(state): State<Arc<DashboardState>>) -> PageResult {
    let (runs, waiting) = state.look(|source| (source.runs(), source.waiting())).await?;
    Ok(html(&page::all_fragment(&runs, waiting.as_deref(), &state.metrics)).into_response())
}

async fn all_events(State(state): State<Arc<DashboardState>>, activity: ConnectionExtension) -> Response {
    events(state.source.changes(), work(activity)).into_response()
}

async fn run(State(state): State<Arc<DashboardState>>, Path(id): Path<String>) -> PageResult {
    let view = state.find(id, |source, id| source.run(id)).await?;
    Ok(html(&page::run(&view, &state.metrics)).into_response())
}

async fn run_fragment(State(state): State<Arc<DashboardState>>, Path(id): Path<String>) -> PageResult {
    let view = state.find(id, |source, id| source.run(id)).await?;
    Ok(html(&page::run_fragment(&view, &state.metrics)).into_response())
}

async fn run_events(
    State(state): State<Arc<DashboardState>>,
    Path(id): Path<String>,
    activity: ConnectionExtension,
) -> PageResult {
    state.find(id, |source, id| source.run(id)).await?;
    Ok(events(state.source.changes(), work(activity)).into_response())
}

/// The place of the connection that a request came by.
type ConnectionExtension = Option<Extension<Arc<ConnectionActivity>>>;

/// A connection works as long as it hears of events.
fn work(activity: ConnectionExtension) -> Option<BusyGuard> {
    activity.map(|Extension(activity)| activity.hold())
}

async fn posterior(State(state): State<Arc<DashboardState>>, Path(id): Path<String>) -> PageResult {
    let text = state.find(id, |source, id| source.posterior_json(id)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

async fn manifest(State(state): State<Arc<DashboardState>>, Path(id): Path<String>) -> PageResult {
    let text = state.find(id, |source, id| source.manifest_json(id)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

async fn report(State(state): State<Arc<DashboardState>>, Path(id): Path<String>) -> PageResult {
    let text = state.find(id, |source, id| source.report_html(id)).await?;
    Ok(Html(text).into_response())
}

async fn metrics_text(State(state): State<Arc<DashboardState>>) -> PageResult {
    let metrics = Arc::clone(&state.metrics);
    let text = state.look(move |source| metrics.text(source)).await?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

/// Exchanges the token for a cookie.
async fn login(State(state): State<Arc<DashboardState>>, request: Request) -> Response {
    match denial(state.authenticator.login(request.uri().query())) {
        Some(denial) => denial,
        None => {
            let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, state.authenticator.set_cookie())];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
    }
}

/// For whoever watches over processes: `ok`, or 503 and one of a few fixed lines. What the database said is for those with the
/// token, and in the log.
async fn health(State(state): State<Arc<DashboardState>>) -> Response {
    let ill = |why: &'static str| (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    if state.metrics.failure().is_some() {
        return ill("the last change could not be stored\n");
    }
    match state.look(|source| source.healthy()).await {
        Ok(true) => "ok".into_response(),
        Ok(false) => ill("the store cannot be read\n"),
        Err(_) => ill("the server cannot check its store\n"),
    }
}
