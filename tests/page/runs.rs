//! Running a graph and looking at what happened, as a person does.

use crate::browser::Browser;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_person_runs_a_graph_and_follows_the_answer_to_its_origin() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let world = World::new().await;
    let url = &world.api.url;
    browser.open(&format!("{url}/graphs/support-reply/run")).await;
    browser.fill("textarea[name='/inputs/ticket']", "Where is my parcel?").await;
    browser.click("#run-form button[type=submit]").await;
    browser.until_text("Dear customer, it is on its way.").await;
    browser.until_shown("#answer .badge.good").await;
    assert_eq!(
        browser.count("[data-node][data-state='succeeded']").await,
        2,
        "both nodes of the picture"
    );
    let totals = browser.text("#totals").await;
    assert!(totals.contains("2 calls"), "{totals}");
    browser
        .until(
            "document.querySelector('.request-row pre[id^=curl-]').textContent.includes('parcel?')",
            "the request as curl",
        )
        .await;
    browser.click("#answer a").await;
    browser.until("location.pathname.startsWith('/runs/')", "the run").await;
    browser.click("#outputs dt a[href*='output=answer']").await;
    browser.until_text("Where answer comes from").await;
    assert!(browser.count(".span.source").await >= 4);
    browser.click("#provenance a[href='#span-3']").await;
    browser.until("document.getElementById('span-3').open", "the span of the call").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_shows_the_words_of_the_model_and_the_run_starts_again_with_other_inputs() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::new().await;
    let url = &world.api.url;
    browser.open(&format!("{url}/runs?status=failed")).await;
    browser.click("table.runs a.mono").await;
    browser.until_shown(".failure").await;
    browser.click(".failure details summary").await;
    browser.until_text("<script>alert(1)</script>").await;
    browser.click(".head a.primary").await;
    browser
        .until(
            "document.querySelector('textarea')?.value === 'Let it explode'",
            "the inputs of the run",
        )
        .await;
    browser.fill("textarea[name='/inputs/ticket']", "All is well").await;
    browser.click("#run-form button[type=submit]").await;
    browser.until_shown("#answer .badge.good").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_run_is_signalled_and_two_runs_are_compared() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::new().await;
    let url = &world.api.url;
    browser.open(&format!("{url}/runs/{}", world.waiting_run)).await;
    browser.choose("select[name='/value/approved']", "true").await;
    browser.fill("textarea[name='/value/note']", "Send it").await;
    browser.click(".signal button[type=submit]").await;
    browser.until_shown("#facts .badge.good").await;
    browser.until_text("Send it").await;
    browser.open(&format!("{url}/runs?graph=support-reply")).await;
    for run in [&world.run, &world.failed_run] {
        browser.click(&format!("input[value='{run}']")).await;
    }
    browser.click("button[form=comparison]").await;
    browser.until_text("Compare two runs").await;
    browser.until_text("differs").await;
    browser.close().await;
}
