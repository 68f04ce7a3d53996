//! Requests that a web page in a browser sends: of a foreign origin they are refused without API
//! keys; CORS answers only the origins of the setting.

use crate::Api;
use dsrs_test::{Answer, raw_request};

const CANCEL: &str = "POST /v1/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f/cancel HTTP/1.1";
const HOST: (&str, &str) = ("host", "localhost:8080");
const APP: &str = "https://app.example.com";
const KEY: &str = "open-sesame-123456";
const ALLOW_ORIGIN: &str = "access-control-allow-origin";

async fn send(api: &Api, first: &str, headers: &[(&str, &str)]) -> Answer {
    raw_request(&api.url, first, &[&[HOST], headers].concat()).await
}

/// The code of the refusal of a request without a body that would cancel a run.
async fn cancelled(api: &Api, headers: &[(&str, &str)]) -> String {
    send(api, CANCEL, headers).await.code()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_a_foreign_origin_is_refused() {
    let api = Api::new().await;
    for own in ["http://localhost:8080", "HTTP://LocalHost:8080", "https://localhost:8080"] {
        assert_eq!(cancelled(&api, &[("origin", own)]).await, "not_found", "{own}");
    }
    let long = format!("http://{}", "x".repeat(20_000));
    for foreign in [
        "http://evil.example",
        "null",
        "",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:8080",
        "http://localhost:8080.evil.example",
        "http://localhost:8080@evil.example",
        "http://localhost:8080/path",
        "file://localhost:8080",
        "nonsense",
        &long,
    ] {
        assert_eq!(cancelled(&api, &[("origin", foreign)]).await, "forbidden_origin", "{foreign}");
    }
    let two = [("origin", "http://localhost:8080"), ("origin", "http://evil.example")];
    assert_eq!(cancelled(&api, &two).await, "forbidden_origin");
    assert_eq!(cancelled(&api, &[]).await, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_is_compared_with_the_host_that_the_request_names() {
    let api = Api::new().await;
    for (host, origin, code) in [
        ("localhost", "http://localhost", "not_found"),
        ("localhost", "http://localhost:80", "not_found"),
        ("localhost:80", "http://localhost", "not_found"),
        ("localhost", "https://localhost", "not_found"),
        ("[::1]:8080", "http://[::1]:8080", "not_found"),
        ("[0:0::1]:8080", "http://[::1]:8080", "not_found"),
        ("localhost.:8080", "http://localhost:8080", "not_found"),
        ("localhost:8080", "http://localhost", "forbidden_origin"),
        ("[::1]:8080", "http://[::1]:3000", "forbidden_origin"),
        ("[::1]:8080", "http://localhost:8080", "forbidden_origin"),
    ] {
        let answer = raw_request(&api.url, CANCEL, &[("host", host), ("origin", origin)]).await;
        assert_eq!(answer.code(), code, "{host} {origin}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_origin_learns_which_setting_admits_it() {
    let api = Api::new().await;
    let answer = send(&api, CANCEL, &[("origin", APP)]).await.expect(403);
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for part in [APP, "http.allowed_origins"] {
        assert!(detail.contains(part), "{part} is not in {detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_a_request_that_a_browser_sends_for_another_site_is_refused() {
    let api = Api::new().await;
    for (site, status) in [
        ("cross-site", 403),
        ("same-site", 403),
        ("Cross-Site", 403),
        ("new-word", 403),
        ("same-origin", 200),
        ("none", 200),
    ] {
        let answer = send(&api, "GET /v1/graphs HTTP/1.1", &[("sec-fetch-site", site)]).await;
        assert_eq!(answer.status, status, "{site}");
    }
    let cross = ("sec-fetch-site", "cross-site");
    assert_eq!(cancelled(&api, &[cross]).await, "forbidden_origin");
    // The probes show nothing.
    send(&api, "GET /healthz HTTP/1.1", &[cross]).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_another_site_opens_a_page_and_nothing_else() {
    let api = Api::new().await;
    let link = |dest| {
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", dest)]
    };
    send(&api, "GET /docs/ HTTP/1.1", &link("document")).await.expect(200);
    send(&api, "GET /docs/ HTTP/1.1", &link("iframe")).await.expect(403);
    assert_eq!(cancelled(&api, &link("document")).await, "forbidden_origin");
}

const PREFLIGHT: [(&str, &str); 2] = [
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "authorization,content-type,idempotency-key"),
];

async fn preflight(api: &Api, origin: &str) -> Answer {
    let origin = [("origin", origin), ("sec-fetch-site", "cross-site")];
    send(api, "OPTIONS /v1/graphs HTTP/1.1", &[&origin[..], &PREFLIGHT[..]].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_preflight_is_granted_by_default() {
    let api = Api::new().await;
    let answer = preflight(&api, APP).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden_origin"));
    assert_eq!(answer.header(ALLOW_ORIGIN), "");
    let api = Api::with_settings(&[("DSRS_API_KEYS", KEY)]).await;
    let answer = preflight(&api, APP).await;
    assert_eq!((answer.status, answer.header(ALLOW_ORIGIN)), (401, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_origins_of_the_setting_are_answered() {
    let listed = "https://app.example.com:443, http://localhost:3000";
    let api = Api::with_settings(&[("DSRS_HTTP_ALLOWED_ORIGINS", listed)]).await;
    for origin in [APP, "http://localhost:3000"] {
        let granted = preflight(&api, origin).await;
        assert!(granted.status < 300, "{}", granted.text);
        assert_eq!(granted.header(ALLOW_ORIGIN), origin);
        assert!(granted.header("access-control-allow-methods").contains("PATCH"));
        assert!(granted.header("access-control-allow-headers").contains("idempotency-key"));
        assert_ne!(granted.header("x-request-id"), "");
        let cross = [("origin", origin), ("sec-fetch-site", "cross-site")];
        let answer = send(&api, "GET /v1/graphs HTTP/1.1", &cross).await.expect(200);
        assert_eq!(answer.header(ALLOW_ORIGIN), origin);
        let exposed = answer.header("access-control-expose-headers");
        assert!(exposed.contains("etag") && exposed.contains("x-request-id"), "{exposed}");
        assert!(answer.header("vary").contains("origin"));
        assert_eq!(cancelled(&api, &cross).await, "not_found");
    }
    for foreign in ["https://evil.example", "null", "http://app.example.com"] {
        let answer = preflight(&api, foreign).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden_origin"));
        assert_eq!(answer.header(ALLOW_ORIGIN), "");
    }
    // Another origin of the same site has to be listed itself.
    let site = [("sec-fetch-site", "cross-site")];
    send(&api, "GET /v1/graphs HTTP/1.1", &site).await.expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_cors_answers_only_the_origins_of_the_setting() {
    let settings = [("DSRS_API_KEYS", KEY), ("DSRS_HTTP_ALLOWED_ORIGINS", APP)];
    let api = Api::with_settings(&settings).await;
    let bearer = format!("Bearer {KEY}");
    let list = "GET /v1/graphs HTTP/1.1";
    // A preflight has no key.
    assert_eq!(preflight(&api, APP).await.header(ALLOW_ORIGIN), APP);
    assert_eq!(preflight(&api, "https://evil.example").await.header(ALLOW_ORIGIN), "");
    let refused = send(&api, list, &[("origin", APP)]).await;
    assert_eq!((refused.code().as_str(), refused.header(ALLOW_ORIGIN)), ("unauthenticated", APP));
    for (origin, granted) in [(APP, APP), ("https://evil.example", "")] {
        let headers = [("origin", origin), ("authorization", bearer.as_str())];
        let answer = send(&api, list, &headers).await.expect(200);
        assert_eq!(answer.header(ALLOW_ORIGIN), granted);
    }
    let without = Api::with_settings(&settings[..1]).await;
    let headers = [("origin", APP), ("authorization", bearer.as_str())];
    let answer = send(&without, list, &headers).await.expect(200);
    assert_eq!((answer.header(ALLOW_ORIGIN), answer.header("vary")), ("", ""));
}
