//! Signing in and out, with keys of different scopes.

use serde_json::json;

use crate::Api;
use crate::browser::Browser;
use dsrs_test::Remote;

const ROOT: &str = "open-sesame-123456";

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_a_key_and_sees_what_it_may_do() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("401 (Unauthorized)");
    let api = Api::with_settings(&[("DSRS_API_KEYS", ROOT)]).await;
    let root = Remote::with_key(&api.url, ROOT);
    let viewer = root
        .post("/v1/keys", json!({"name": "viewer", "scopes": ["read"]}))
        .await
        .expect(201)
        .json();
    browser.open(&format!("{}/parse", api.url)).await;
    browser.until("location.pathname === '/sign-in'", "the sign-in").await;
    browser.fill("input[name=key]", "wrong").await;
    browser.click("form.sign-in button").await;
    browser.until_text("not one of this server's").await;
    browser.fill("input[name=key]", viewer["key"].as_str().unwrap()).await;
    browser.click("form.sign-in button").await;
    browser.until_text("Sign out").await;
    browser.open(&api.url).await;
    browser.until_text("No graphs yet").await;
    assert_eq!(browser.count("a[href='/new']").await, 0, "a key that only reads creates nothing");
    assert_eq!(browser.run("return document.cookie").await, "", "scripts cannot read the session");
    browser.click(".tools form button").await;
    browser.until("location.pathname === '/sign-in'", "the end of the session").await;
    browser.fill("input[name=key]", ROOT).await;
    browser.click("form.sign-in button").await;
    browser.until("location.pathname === '/'", "the list").await;
    browser.click("button[value=capital]").await;
    browser.until("location.pathname === '/graphs/capital'", "the new graph").await;
    browser.close().await;
}
