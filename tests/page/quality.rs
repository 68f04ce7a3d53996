//! Datasets, evaluations and optimizations, started by a person.

use crate::browser::Browser;
use crate::world::{World, server};
use dsrs_test::one_node;

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_dropped_and_what_does_not_fit_is_named_by_its_row() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    browser.open(&format!("{}/datasets", api.url)).await;
    browser.until_shown(".drop").await;
    drop_file(&browser, "questions.csv", "question,answer\nq0?,a0\nq1?,a1,too much\n").await;
    browser.until_shown(".roles select").await;
    browser.click("form[data-upload] button.primary").await;
    browser.until_text("Row 2").await;
    let rows: String = (0..30).map(|number| format!("q{number}?,a{number}\n")).collect();
    drop_file(&browser, "questions.csv", &format!("question,answer\n{rows}")).await;
    browser.until("!document.querySelector('.problems')?.checkVisibility()", "no problems").await;
    browser.click("form[data-upload] button.primary").await;
    browser.until("location.pathname === '/datasets/questions'", "the dataset").await;
    browser.until_text("q29?").await;
    browser.close().await;
}

/// Drops a file on the field for one, as a file manager does.
async fn drop_file(browser: &Browser, name: &str, text: &str) {
    let script = "const data = new DataTransfer(); data.items.add(new File([arguments[1]], arguments[0])); \
                  document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));";
    browser.run_with(script, &[name.into(), text.into()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_is_evaluated_on_a_dataset_and_optimized() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    let api = server().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let example = |n: usize| serde_json::json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    let examples: Vec<_> = (0..30).map(example).collect();
    api.post("/v1/datasets", serde_json::json!({"name": "questions", "examples": examples}))
        .await
        .expect(201);
    let url = &api.url;
    browser.open(&format!("{url}/evaluations/new?graph=ask&dataset=questions")).await;
    browser.until_text("about 30").await;
    browser.click("main button.primary").await;
    browser
        .until(r"/^\/evaluations\/[0-9a-f-]{36}$/.test(location.pathname)", "the evaluation")
        .await;
    browser.until_shown(".badge.good").await;
    browser.open(&format!("{url}/optimizations/new?graph=ask&trainset=questions")).await;
    browser.choose("select[name='/optimizer']", "labeled_few_shot").await;
    browser.until_text("Gives every predictor random examples").await;
    browser.click("main button.primary").await;
    browser
        .until(r"/^\/optimizations\/[0-9a-f-]{36}$/.test(location.pathname)", "the optimization")
        .await;
    browser.until_shown(".badge.good").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_evaluations_are_compared_example_by_example() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::new().await;
    let [before, after] = &world.evaluations;
    browser.open(&format!("{}/evaluations/{after}", world.api.url)).await;
    browser.until_text("Compare with").await;
    browser.open(&format!("{}/evaluations/compare?a={before}&b={after}", world.api.url)).await;
    browser.until_text("the interval excludes zero").await;
    assert!(browser.count("tbody tr").await >= 40);
    browser.close().await;
}
