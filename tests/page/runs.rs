//! Running a graph and looking at what happened, as a person does.

use serde_json::json;

use crate::browser::Browser;
use crate::world::{World, server};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_filled_in_row_by_row_and_the_spans_of_a_long_run_are_loaded_when_they_are_opened()
 {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    let module = json!({"strategy": "predict", "signature": "question -> answer"});
    let graph = json!({
        "name": "many", "inputs": {"questions": "list[str]"},
        "nodes": {"each": {"strategy": "map", "config": {"module": module}}},
        "edges": [{"from": "input.questions", "to": "each.question"}], "outputs": {"answers": "each.answer"}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    browser.open(&format!("{}/graphs/many/run", api.url)).await;
    for (row, question) in ["Where?", "When?", "Why?"].into_iter().enumerate() {
        browser.click("button[data-add-row]").await;
        browser.fill(&format!("textarea[name='/inputs/questions/{row}']"), question).await;
    }
    browser.click(".value-row:nth-of-type(2) button[data-remove-row]").await;
    browser.picture("run-form-rows").await;
    browser.click("#run-form button[type=submit]").await;
    browser.until_shown("#answer .badge.good").await;
    let runs = api.get("/v1/runs?graph=many").await.expect(200).json();
    let id = runs["items"][0]["id"].as_str().unwrap();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    assert_eq!(run["inputs"], json!({"questions": ["Where?", "Why?"]}));

    let questions: Vec<String> = (0..120).map(|number| format!("question {number}")).collect();
    let body = json!({"inputs": {"questions": questions}});
    let run = api.post("/v1/graphs/many/execute", body).await.expect(200).json();
    browser.open(&format!("{}/runs/{}", api.url, run["run_id"].as_str().unwrap())).await;
    assert_eq!(browser.count(".span").await, 1, "only the node");
    browser.click(".span > summary").await;
    browser.until_text("The next of 20 more").await;
    browser.click("#span-2 > summary").await;
    browser
        .until("document.querySelector('#span-2 .span .number')", "what is within an element")
        .await;
    browser.picture("run-long").await;
    browser.close().await;
}
