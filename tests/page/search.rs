//! The search, by keyboard.

use crate::browser::Browser;
use crate::world::server;
use dsrs_test::one_node;

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_searches_and_enter_opens_the_chosen_result() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    api.post("/v1/graphs", one_node("weather-report", "question -> answer")).await.expect(201);
    browser.open(&format!("{}/parse", api.url)).await;
    browser.run("document.activeElement.blur()").await;
    browser.press("/").await;
    browser.until("document.activeElement.name === 'q'", "the focus in the search").await;
    browser.press("weather").await;
    browser.until_shown(".palette a").await;
    // Down, Enter.
    browser.press("\u{E015}\u{E007}").await;
    browser.until("location.pathname === '/graphs/weather-report'", "the graph").await;
    // Control and k, from anywhere.
    browser.press("\u{E009}k\u{E000}").await;
    browser.until("document.activeElement.name === 'q'", "the focus in the search").await;
    browser.close().await;
}
