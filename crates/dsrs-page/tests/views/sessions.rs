//! Signing in with a key, and what the session of a browser allows: the page, nothing of another site.

use reqwest::Method;
use serde_json::json;

use super::{HTML, open, submit, submit_with, words};
use crate::Api;
use dsrs_test::{Answer, Remote, one_node};

const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");

async fn guarded() -> Api {
    Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await
}

/// The cookie of a session with a key.
async fn session(api: &Api, key: &str) -> String {
    let signed_in = submit(api, "/sign-in", &[("key", key), ("next", "/parse")]).await.expect(303);
    assert_eq!(signed_in.header("location"), "/parse");
    signed_in.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn send(api: &Remote, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let body = (method == Method::POST).then(|| one_node("ask", "q -> a").to_string());
    api.send(method, path, headers, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_a_browser_is_asked_to_sign_in_and_a_client_is_refused() {
    let api = guarded().await;
    let view = open(&api, "/search?q=a").await.expect(303);
    assert_eq!(view.header("location"), "/sign-in?next=%2Fsearch%3Fq%3Da");
    assert_eq!(open(&api, "/").await.expect(303).header("location"), "/sign-in");
    assert_eq!(api.get("/").await.expect(200).json()["docs"], "/docs/");
    assert_eq!(api.get("/parse").await.expect(401).code(), "unauthenticated");
    let form = words(&open(&api, "/sign-in").await.expect(200).text);
    assert!(form.contains("API key"), "{form}");
    let wrong = submit(&api, "/sign-in", &[("key", "guess")]).await.expect(401);
    assert!(words(&wrong.text).contains("not one of this server's"), "{}", wrong.text);
    assert_eq!(wrong.header("set-cookie"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_opens_the_page_and_the_api_until_it_ends() {
    let api = guarded().await;
    let cookie = session(&api, "open-sesame-123456").await;
    let with = [HTML, ("cookie", &cookie)];
    let view = send(&api, Method::GET, "/", &with).await.expect(200);
    assert!(view.text.contains("Sign out") && !view.text.contains("open-sesame"), "{}", view.text);
    let own = [OWN, ("cookie", &cookie)];
    send(&api, Method::POST, "/v1/graphs", &own).await.expect(201);
    assert_eq!(send(&api, Method::GET, "/v1/graphs", &own).await.status, 200);
    let ended = submit_with(&api, "/sign-out", &[], &own).await.expect(303);
    assert!(ended.header("set-cookie").contains("Max-Age=0"), "{:?}", ended.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_of_no_use_to_another_site() {
    let api = guarded().await;
    let cookie = session(&api, "open-sesame-123456").await;
    let host = api.url.strip_prefix("http://").unwrap();
    let origin = format!("http://{host}");
    let neighbour = "http://127.0.0.1:3";
    for (foreign, what) in [
        (vec![("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")], "another site"),
        (vec![("sec-fetch-site", "same-site"), ("origin", neighbour)], "another port of this host"),
        (vec![("origin", neighbour)], "a browser without fetch metadata"),
        (vec![("origin", "null")], "a sandboxed frame"),
        (vec![], "a request that names no origin"),
    ] {
        let headers = [vec![("cookie", cookie.as_str())], foreign].concat();
        let refused = send(&api, Method::POST, "/v1/graphs", &headers).await.expect(403);
        assert_eq!(refused.code(), "forbidden_origin", "{what}");
        let form = submit_with(&api, "/graphs/example", &[("name", "capital")], &headers).await;
        assert_eq!(form.status, 403, "{what}");
    }
    for foreign in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", neighbour)],
    ] {
        let headers = [vec![("cookie", cookie.as_str())], foreign.to_vec()].concat();
        assert_eq!(
            send(&api, Method::GET, "/v1/graphs", &headers).await.status,
            403,
            "{foreign:?}"
        );
    }
    let own = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    send(&api, Method::POST, "/v1/graphs", &own).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_header_needs_no_origin() {
    let api = guarded().await;
    let root = Remote::with_key(&api.url, "open-sesame-123456");
    let foreign = [("cookie", "dsrs_key=bm9wZQ"), ("origin", "http://evil.example")];
    send(&root, Method::POST, "/v1/graphs", &foreign).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_and_does_what_its_key_may() {
    let api = guarded().await;
    let root = Remote::with_key(&api.url, "open-sesame-123456");
    let key = root
        .post("/v1/keys", json!({"name": "viewer", "scopes": ["read"]}))
        .await
        .expect(201)
        .json();
    let id = key["id"].as_str().unwrap();
    let cookie = session(&api, key["key"].as_str().unwrap()).await;
    let with = [HTML, OWN, ("cookie", &cookie)];
    let view = send(&api, Method::GET, "/", &with).await.expect(200);
    assert!(
        !view.text.contains("New graph") && !view.text.contains("Add capital"),
        "{}",
        view.text
    );
    let refused =
        submit_with(&api, "/graphs/example", &[("name", "capital")], &with[1..]).await.expect(403);
    assert!(
        words(&refused.text).contains("needs a key with the scope `write`"),
        "{}",
        refused.text
    );
    root.delete(&format!("/v1/keys/{id}")).await.expect(204);
    let revoked = send(&api, Method::GET, "/", &with).await.expect(303);
    assert_eq!(revoked.header("location"), "/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_another_site_can_neither_post_nor_read() {
    let api = Api::new().await;
    for foreign in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        let refused =
            submit_with(&api, "/graphs/example", &[("name", "capital")], &[foreign]).await;
        assert_eq!(refused.status, 403, "{foreign:?}");
        assert_eq!(send(&api, Method::GET, "/v1/graphs", &[foreign]).await.status, 403);
    }
    assert_eq!(api.get("/v1/graphs/capital").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_from_another_site_starts_no_session() {
    let api = guarded().await;
    let foreign = [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")];
    let fields = [("key", "open-sesame-123456")];
    let refused = submit_with(&api, "/sign-in", &fields, &foreign).await.expect(403);
    assert_eq!(refused.header("set-cookie"), "");
}
