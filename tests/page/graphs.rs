//! The list of graphs, as a newcomer meets it.

use crate::browser::Browser;
use crate::world::{execute, server};

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_adds_an_example_with_one_click_and_sees_it() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    browser.open(&api.url).await;
    browser.until_text("No graphs yet").await;
    browser.click("button[value='help-desk']").await;
    browser.until("location.pathname === '/graphs/help-desk'", "the new graph").await;
    browser.open(&api.url).await;
    browser.until_text("Two nodes: read the mood").await;
    assert_eq!(browser.count(".card .thumbnail").await, 1);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_colour_scheme_is_chosen_once_and_stays() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    browser.open(&api.url).await;
    let background = "return getComputedStyle(document.documentElement).backgroundColor";
    let light = browser.run(background).await;
    browser.click("button.scheme").await;
    browser.click("button.scheme").await;
    let dark = browser.run(background).await;
    assert_ne!(light, dark);
    browser.open(&format!("{}/parse", api.url)).await;
    assert_eq!(browser.run(background).await, dark);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_counts_the_runs_of_the_day() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    api.post("/v1/graphs", dsrs_test::one_node("ask", "question -> answer")).await.expect(201);
    for number in 0..3 {
        execute(&api, "ask", serde_json::json!({"question": format!("q{number}?")})).await;
    }
    browser.open(&api.url).await;
    let card = browser.text(".card").await;
    assert!(card.contains("3 runs in 24 h") && card.contains("100 % succeeded"), "{card}");
    assert_eq!(browser.count(".card .spark .bar").await, 1);
    browser.close().await;
}
