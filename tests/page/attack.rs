//! Strangers: what they write is shown as text, and what their sites send is refused.

use serde_json::json;

use crate::Api;
use crate::browser::Browser;
use crate::foreign_site;
use crate::world::{execute, server};
use dsrs_test::Remote;

const ROOT: &str = "open-sesame-123456";

/// Texts that would run if a view put them into its HTML or into an address.
const HOSTILE: &str = "</textarea></title></script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=2\">\
    <svg onload=\"window.pwned=3\"></svg><a href=\"javascript:window.pwned=4\">x</a>{{ 7*7 }}'\"`]]>";

#[tokio::test(flavor = "multi_thread")]
async fn what_strangers_write_is_shown_as_text_everywhere() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    let graph = json!({
        "name": "odd", "description": HOSTILE, "types": {"Mood": {"enum": {"calm": HOSTILE, "angry": null}}},
        "nodes": {"ask": {
            "strategy": "predict", "parse_retries": 0, "retries": 0,
            "signature": {"instructions": HOSTILE, "inputs": [{"name": "ticket", "type": "str", "description": HOSTILE}],
                "outputs": [{"name": "mood", "type": "Mood", "description": HOSTILE}]}
        }}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let failed = execute(&api, "odd", json!({"ticket": format!("explode {HOSTILE}")})).await;
    let state = json!({"predictors": {"ask": {
        "instruction": HOSTILE, "demos": [{"input": {"ticket": HOSTILE}, "output": {"mood": "calm"}}]
    }}});
    api.put("/v1/graphs/odd/state", state).await.expect(200);
    let succeeded = execute(&api, "odd", json!({"ticket": HOSTILE})).await;
    let examples =
        json!([{"inputs": {"ticket": HOSTILE}, "expected": {"mood": HOSTILE}, "id": HOSTILE}]);
    api.post("/v1/datasets", json!({"name": "odd", "description": HOSTILE, "examples": examples}))
        .await
        .expect(201);
    let request = json!({"inputs": {"ticket": HOSTILE}, "metadata": {"note": HOSTILE}});
    let schedule = json!({
        "name": "odd", "description": HOSTILE, "cron": "@daily", "graph": "odd", "target": "run", "request": request
    });
    let schedule = api.post("/v1/schedules", schedule).await.expect(201).json();
    let schedule = schedule["id"].as_str().unwrap();
    let webhook = json!({
        "name": "odd", "description": HOSTILE, "url": "http://127.0.0.1:9/", "events": ["score.below"],
        "score": {"metric": "<script>window.pwned=5</script>", "below": 0.5}
    });
    let webhook = api.post("/v1/webhooks", webhook).await.expect(201).json();
    let webhook = webhook["id"].as_str().unwrap();
    let text = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
    for path in [
        "/".to_owned(),
        "/graphs/odd".to_owned(),
        "/graphs/odd?node=ask".to_owned(),
        format!("/graphs/odd?node={text}"),
        "/graphs/odd/edit".to_owned(),
        "/graphs/odd/run".to_owned(),
        format!("/graphs/odd/run?run={failed}"),
        "/graphs/odd/state".to_owned(),
        "/graphs/odd/state/diff?from=1&to=2".to_owned(),
        "/graphs/odd/predictors/ask".to_owned(),
        format!("/schedules/{schedule}"),
        format!("/schedules/{schedule}/edit"),
        format!("/schedules/new?graph={text}&cron={text}&time_zone={text}&name={text}"),
        format!("/webhooks/{webhook}"),
        format!("/webhooks/{webhook}/edit"),
        format!("/webhooks/new?name={text}&url={text}&graph={text}"),
        "/runs".to_owned(),
        format!("/runs/{failed}"),
        format!("/runs/{succeeded}"),
        format!("/runs/compare?a={failed}&b={succeeded}"),
        "/datasets/odd".to_owned(),
        "/datasets/odd?graph=odd".to_owned(),
        format!("/search?q={text}"),
        format!("/parse?as=type&target={text}&text={text}"),
    ] {
        browser.open(&format!("{}{path}", api.url)).await;
        browser.until_shown("main").await;
        browser.until_settled().await;
        assert!(
            browser.run("return window.pwned ?? null").await.is_null(),
            "{path} ran what a stranger wrote"
        );
        let foreign = "return [...document.querySelectorAll('main a[href], main form[action], main img[src]')]\
            .map((element) => new URL(element.getAttribute('href') ?? element.getAttribute('action') ?? element.getAttribute('src'), location.href).href)\
            .filter((address) => !address.startsWith(location.origin))";
        assert_eq!(browser.run(foreign).await, json!([]), "{path} leads elsewhere");
        assert_eq!(browser.count("main script:not([type='application/json'])").await, 0, "{path}");
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_stops_a_script_that_got_into_a_view() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("Content Security Policy");
    let api = server().await;
    browser.open(&api.url).await;
    let inject = "const script = document.createElement('script'); script.textContent = 'window.pwned = 1'; \
        document.body.append(script); const image = new Image(); image.src = 'http://localhost:9/x.png'; \
        document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.pwned = 2\" id=trap>x</p>'); \
        document.getElementById('trap').click(); return window.pwned ?? null";
    assert!(browser.run(inject).await.is_null());
    browser.close().await;
}

/// A site that tries what it can against a server.
fn attacks(url: &str) -> String {
    format!(
        "<!doctype html><head><link rel=icon href=data:,></head><body>
        <form id=form method=post action='{url}/graphs/example' target=out><input name=name value=capital></form>
        <iframe name=out></iframe>
        <script>
        window.results = {{}};
        const note = (name, promise) => promise.then((value) => results[name] = value, (error) => results[name] = 'refused');
        const loaded = (frame) => new Promise((done) => frame.addEventListener('load', () => done('loaded'), {{once: true}}));
        const frame = document.createElement('iframe');
        frame.id = 'frame';
        frame.src = '{url}/';
        window.done = Promise.all([
          note('framed', loaded(frame)), note('submitted', loaded(document.querySelector('iframe[name=out]'))),
          note('read', fetch('{url}/v1/graphs', {{credentials: 'include'}}).then((answer) => answer.text())),
          note('page', fetch('{url}/', {{credentials: 'include', headers: {{Accept: 'text/html'}}}}).then((answer) => answer.text())),
          note('post', fetch('{url}/v1/graphs', {{method: 'POST', mode: 'no-cors', credentials: 'include',
            body: JSON.stringify({{name: 'stolen', nodes: {{a: {{strategy: 'predict', signature: 'q -> a'}}}}}})}}).then((answer) => answer.type)),
        ]);
        document.body.append(frame);
        document.getElementById('form').submit();
        </script>"
    )
}

async fn attacked(browser: &Browser, api: &Api) {
    let site = foreign_site::serve(attacks(&api.url)).await;
    browser.open(&site).await;
    let waited = "const done = arguments[arguments.length - 1]; window.done.then(() => done(window.results))";
    let results = browser.run_async(waited).await;
    assert_eq!(
        (&results["read"], &results["page"]),
        (&json!("refused"), &json!("refused")),
        "{results}"
    );
    let framed = "try { return document.getElementById('frame').contentDocument?.title ?? null } catch (error) { return null }";
    assert!(browser.run(framed).await.is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_can_neither_frame_nor_post_to_nor_read_a_server_without_keys() {
    let Some(mut browser) = Browser::start().await else { return };
    for text in ["CORS policy", "net::ERR", "403", "frame", "X-Frame-Options"] {
        browser.expect_message(text);
    }
    let api = server().await;
    attacked(&browser, &api).await;
    let graphs = api.get("/v1/graphs").await.expect(200).json();
    assert_eq!(graphs["items"], json!([]));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_use_the_session_of_a_person() {
    let Some(mut browser) = Browser::start().await else { return };
    for text in ["CORS policy", "net::ERR", "401", "403", "frame", "X-Frame-Options"] {
        browser.expect_message(text);
    }
    let api = Api::with_settings(&[("DSRS_API_KEYS", ROOT)]).await;
    browser.open(&format!("{}/sign-in", api.url)).await;
    browser.fill("input[name=key]", ROOT).await;
    browser.click("form.sign-in button").await;
    browser.until_text("No graphs yet").await;
    attacked(&browser, &api).await;
    let graphs = Remote::with_key(&api.url, ROOT).get("/v1/graphs").await.expect(200).json();
    assert_eq!(graphs["items"], json!([]));
    browser.close().await;
}
