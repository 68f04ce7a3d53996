//! Datasets, evaluations and optimizations, started by a person.

use crate::browser::Browser;
use crate::support::one_node;
use crate::world::{World, server};

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_is_pasted_evaluated_and_optimized() {
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
    browser.until_text("30 examples").await;
    browser.click("main button.primary").await;
    browser
        .until(r"/^\/evaluations\/[0-9a-f-]{36}$/.test(location.pathname)", "the evaluation")
        .await;
    browser.until_shown(".badge.good").await;
    browser.until_text("30 of 30 examples").await;
    browser.open(&format!("{url}/optimizations/new?graph=ask&trainset=questions")).await;
    browser.choose("select[name='/optimizer'], select[name=optimizer]", "labeled_few_shot").await;
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
