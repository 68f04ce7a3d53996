//! Who may call: the key of a request, the scope that its route declares, and the limits of the key. Knows no
//! route.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::protocol::problem::ApiProblem;
use crate::protocol::route::RouteInfo;
use crate::protocol::same_site::admit_session;
use crate::protocol::session::session_key;
use crate::protocol::status::ProblemCode;
use dsrs_app::{Access, AppError, Identity, KeyQuota, QuotaRefusal, Quotas, RunPlace, Start};

/// The metrics, which need a key besides the API.
const METRICS: &str = "/metrics";

/// The limits of the key (draft-ietf-httpapi-ratelimit-headers).
pub(crate) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What is left of them.
pub(crate) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Admits callers.
pub(crate) struct Admission {
    access: Arc<Access>,
    /// `None` only in tests without a database.
    quotas: Option<Arc<Quotas>>,
}

/// What a request shows of its caller.
pub(crate) struct Presented {
    is_guarded: bool,
    key: PresentedKey,
}

/// A key, and how it was presented.
enum PresentedKey {
    Missing,
    Header(HeaderValue),
    /// The key of a session, or why this request may not use it.
    Session(Result<String, Box<ApiProblem>>),
}

impl Presented {
    /// Reads a request.
    pub(crate) fn of(request: &Request, info: Option<RouteInfo>) -> Self {
        let path = request.uri().path();
        let headers = request.headers();
        let is_html = info.is_some_and(|info| info.is_guarded_html(headers));
        let authorization = headers.get(header::AUTHORIZATION).cloned();
        let key = match (authorization, session_key(headers)) {
            (Some(value), _) => PresentedKey::Header(value),
            (None, Some(key)) => PresentedKey::Session(
                admit_session(request.method(), headers).map(|()| key).map_err(Box::new),
            ),
            (None, None) => PresentedKey::Missing,
        };
        Self { is_guarded: is_api(path) || path == METRICS || is_html, key }
    }
}

impl Admission {
    /// With these keys and counts.
    pub(crate) fn new(access: Arc<Access>, quotas: Option<Arc<Quotas>>) -> Self {
        Self { access, quotas }
    }

    /// Whether callers need a key.
    pub(crate) async fn requires_key(&self) -> Result<bool, AppError> {
        self.access.requires_key().await
    }

    /// Who calls. Paths that need no key are answered even if keys cannot be read.
    pub(crate) async fn identify(
        &self,
        presented: Presented,
        requires_key: Result<bool, AppError>,
    ) -> Result<Arc<Identity>, ApiProblem> {
        match requires_key {
            _ if !presented.is_guarded => Ok(self.access.anonymous()),
            Ok(false) => Ok(self.access.anonymous()),
            Ok(true) => self.caller_with(presented.key).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn caller_with(&self, presented: PresentedKey) -> Result<Arc<Identity>, ApiProblem> {
        let (key, detail) = match presented {
            PresentedKey::Missing => (None, "send `Authorization: Bearer <key>`"),
            PresentedKey::Header(value) => (
                value.to_str().ok().and_then(bearer).map(str::to_owned),
                "the key in `Authorization: Bearer <key>` is not one of this server's, was revoked, or has \
                 expired",
            ),
            PresentedKey::Session(key) => (
                Some(key.map_err(|problem| *problem)?),
                "the key of this session was revoked or has expired; sign in with another",
            ),
        };
        let known = match key {
            Some(key) => self.access.identify(&key).await?,
            None => None,
        };
        known.ok_or_else(|| {
            ApiProblem::new(ProblemCode::Unauthenticated, detail)
                .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        })
    }

    /// The counts of a caller's key; `None` if it has no limits.
    pub(crate) fn quota(&self, identity: &Identity) -> Option<Arc<KeyQuota>> {
        self.quotas.as_ref()?.of(identity)
    }

    /// Counts a request. Returns the place of its run, if it starts one; hold it as long as the run.
    pub(crate) async fn count(
        &self,
        quota: Option<&Arc<KeyQuota>>,
        info: Option<RouteInfo>,
    ) -> Result<Option<Arc<RunPlace>>, ApiProblem> {
        let (Some(quotas), Some(quota)) = (&self.quotas, quota) else { return Ok(None) };
        let start = info.and_then(RouteInfo::starts);
        quotas.admit(quota, start).await?.map_err(over_limit)
    }

    /// Shows the limits of a key and what is left of them.
    pub(crate) fn show(&self, quota: Option<&Arc<KeyQuota>>, headers: &mut HeaderMap) {
        let (Some(quotas), Some(quota)) = (&self.quotas, quota) else { return };
        let (mut policies, mut left) = (Vec::new(), Vec::new());
        for status in quotas.status(quota) {
            let name = status.name;
            let unit = if name == "tokens" { ";qu=\"tokens\"" } else { "" };
            policies.push(format!("\"{name}\";q={}{unit};w={}", status.quota, status.window));
            left.push(format!("\"{name}\";r={};t={}", status.left, status.reset));
        }
        for (header, items) in [(RATE_LIMIT_POLICY, policies), (RATE_LIMIT, left)] {
            let text = HeaderValue::from_str(&items.join(", ")).ok();
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                headers.insert(header, text);
            }
        }
    }
}

/// Counts a run that a message begins, after its request was counted. Returns its place; hold it as long as the run.
pub(crate) async fn admit_start(
    quotas: &Quotas,
    identity: &Identity,
) -> Result<Option<Arc<RunPlace>>, ApiProblem> {
    let Some(quota) = quotas.of(identity) else { return Ok(None) };
    quotas.admit_start(&quota, Start::Run).map(Some).map_err(over_limit)
}

fn over_limit(refusal: QuotaRefusal) -> ApiProblem {
    let QuotaRefusal { limit, is_budget, retry_after } = refusal;
    let code = if is_budget { ProblemCode::BudgetExhausted } else { ProblemCode::RateLimited };
    ApiProblem::new(code, format!("the key of this request is limited to {limit}"))
        .retry_after(retry_after)
}

/// Checks the scopes of a caller, and `Accept`.
pub(crate) fn admit(
    request: &Request,
    identity: &Identity,
    info: Option<RouteInfo>,
) -> Result<(), ApiProblem> {
    let path = request.uri().path();
    let is_metrics = path == METRICS;
    let is_html = info.is_some_and(|info| info.is_guarded_html(request.headers()));
    if !is_api(path) && !is_metrics && !is_html {
        return Ok(());
    }
    if let Some(scope) = info.and_then(RouteInfo::scope) {
        identity.require(scope)?;
    }
    if is_metrics && !identity.is_of_default_workspace() {
        let detail = "the metrics are of the whole server; use a key of the workspace `default`";
        return Err(ApiProblem::new(ProblemCode::Forbidden, detail));
    }
    if let Some(info) = info.filter(|info| is_api(path) && !info.is_acceptable(request.headers())) {
        let detail = format!("this route answers {}; allow it in `Accept`", info.media_type());
        return Err(ApiProblem::new(ProblemCode::NotAcceptable, detail));
    }
    Ok(())
}

fn is_api(path: &str) -> bool {
    ["/v1", "/openai", "/mcp"].iter().any(|api| {
        path.strip_prefix(api).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}
