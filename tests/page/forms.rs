//! Schedules, webhooks and an online evaluation, created by a person.

use crate::axe::assert_accessible;
use crate::browser::{Browser, SCHEMES, SCREENS};
use crate::world::server;
use dsrs_test::one_node;

/// Pictures of a view on every screen, and no serious fault of it.
async fn take_pictures(browser: &mut Browser, name: &str) {
    for screen in SCREENS {
        browser.set_screen(screen).await;
        for scheme in SCHEMES {
            browser.set_scheme(scheme).await;
            browser.picture(name).await;
            assert_accessible(browser).await;
        }
    }
    browser.set_screen(SCREENS[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_written_with_its_next_times_in_view_and_stored_after_its_problem_is_solved()
{
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    api.post("/v1/graphs", one_node("ask", "question, tags: list[str] -> answer"))
        .await
        .expect(201);
    browser.open(&format!("{}/schedules", api.url)).await;
    browser.click("a[href='/schedules/new']").await;
    browser.until_text("Choose a graph: its inputs follow.").await;
    browser.fill("input[name='/name']", "nightly").await;
    browser.fill("input[name='/time_zone']", "Europe/Berlin").await;
    browser.fill("input[name='/cron']", "61 2 * * *").await;
    browser.until_shown("#times .refusal").await;
    browser.choose("select[name='/graph']", "ask").await;
    browser.fill("textarea[name='/request/inputs/question']", "What is new?").await;
    browser.click("[data-add-row]").await;
    browser.fill("textarea[name='/request/inputs/tags/0']", "night").await;
    browser.click("main button.primary").await;
    browser.until("document.activeElement.name === '/cron'", "the focus at the problem").await;
    assert_eq!(browser.count("[aria-invalid]").await, 1);
    take_pictures(&mut browser, "schedule-refused").await;
    browser.fill("input[name='/cron']", "30 2 * * 1-5").await;
    browser.until_text(" 02:30 +0").await;
    browser.click("main button.primary").await;
    browser.until(r"/^\/schedules\/[0-9a-f-]{36}$/.test(location.pathname)", "the schedule").await;
    browser.until_text("What is new?").await;
    let made = api.get("/v1/schedules").await.json()["items"][0].clone();
    let inputs = serde_json::json!({"question": "What is new?", "tags": ["night"]});
    assert_eq!(made["request"]["inputs"], inputs, "{made}");

    browser.click("a[href$='/edit']").await;
    browser.until_text("Nothing is changed yet.").await;
    browser.choose("select[name='/request#']", "json").await;
    browser.until_shown("textarea[name='/request']").await;
    browser.choose("select[name='/overlap']", "queue").await;
    browser.click("main button.primary").await;
    browser.until_text("It has not fired").await;
    let now = api.get("/v1/schedules").await.json()["items"][0].clone();
    assert_eq!((&now["overlap"], &now["request"]), (&"queue".into(), &made["request"]), "{now}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_while_other_fields_are_fetched_stays() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    for (name, signature) in [("ask", "question -> answer"), ("more", "question, tone -> answer")] {
        api.post("/v1/graphs", one_node(name, signature)).await.expect(201);
    }
    browser.open(&format!("{}/schedules/new?graph=ask", api.url)).await;
    let slow = "const send = window.fetch; window.fetch = async (...all) => { const answer = await send(...all); \
                await new Promise((done) => { window.release = done; }); return answer; };";
    browser.run(slow).await;
    browser.choose("select[name='/graph']", "more").await;
    browser.until("window.release", "the answer").await;
    let typed = "const field = document.querySelector(\"[name='/request/inputs/question']\"); field.value = 'typed'; \
                 field.dispatchEvent(new Event('input', { bubbles: true })); window.release();";
    browser.run(typed).await;
    browser.until_shown("textarea[name='/request/inputs/tone']").await;
    let value = "document.querySelector(\"[name='/request/inputs/question']\").value === 'typed'";
    browser.until(value, "the text that was typed").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_created_and_its_secret_is_shown_to_the_person_once() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    browser.open(&format!("{}/webhooks/new", api.url)).await;
    browser.fill("input[name='/name']", "on-call").await;
    browser.fill("input[name='/url']", "http://127.0.0.1:9/hooks").await;
    let threshold = "document.querySelector('.threshold').checkVisibility()";
    browser.until(&format!("!{threshold}"), "no threshold without its event").await;
    browser.click("input[value='score.below']").await;
    browser.until(threshold, "the threshold").await;
    browser.click("main button.primary").await;
    browser
        .until("document.activeElement.name === '/score/metric'", "the focus at the problem")
        .await;
    take_pictures(&mut browser, "webhook-refused").await;
    browser.fill("input[name='/score/metric']", "quality").await;
    browser.fill("input[name='/score/below']", "0.5").await;
    // Two clicks create one webhook, and the secret is shown.
    let twice = "const button = document.querySelector('main button.primary'); button.click(); button.click();";
    browser.run(twice).await;
    browser
        .until("document.getElementById('secret')?.value.startsWith('whsec_')", "the secret")
        .await;
    assert!(browser.text("button[data-copy=secret]").await.contains("Copy"));
    take_pictures(&mut browser, "webhook-created").await;
    browser.click("main a.button").await;
    browser.until_text("Send a test").await;
    let secrets = "document.body.innerHTML.includes('whsec_')";
    assert_eq!(browser.run(&format!("return {secrets}")).await, false);
    let made = api.get("/v1/webhooks").await.json()["items"][0].clone();
    assert_eq!(made["score"], serde_json::json!({"metric": "quality", "below": 0.5}), "{made}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_online_evaluation_of_two_metrics_is_set_on_the_page_of_a_graph() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    browser.open(&format!("{}/graphs/ask", api.url)).await;
    browser.click("a[href='/graphs/ask/online-evaluation']").await;
    browser.fill("input[name='/rows/0/name']", "short").await;
    browser.fill("[name='/rows/0/metric/expression']", "outputs.answer|length < 400").await;
    browser.click("button[name=add]").await;
    browser.fill("input[name='/rows/1/name']", "kind").await;
    browser.choose("select[name='/rows/1/metric#']", "1").await;
    browser.fill("[name='/rows/1/metric/judge/signature']", "answer -> kind: bool").await;
    browser.fill("[name='/rows/1/metric/judge/score']", "kind").await;
    browser.fill("input[name='/sample']", "7").await;
    browser.click("aside button.primary").await;
    browser.until("document.activeElement.name === '/sample'", "the focus at the problem").await;
    take_pictures(&mut browser, "online-evaluation-refused").await;
    browser.fill("input[name='/sample']", "0.2").await;
    browser.press("\u{E007}").await;
    browser.until("location.pathname === '/graphs/ask'", "the graph").await;
    browser.until_text("20 % of the runs that succeed").await;
    take_pictures(&mut browser, "online-evaluation-set").await;
    let set = api.get("/v1/graphs/ask/online-evaluation").await.expect(200).json();
    assert_eq!(set["metrics"].as_object().unwrap().len(), 2, "{set}");
    browser.close().await;
}
