//! `/parse`, while a person types.

use crate::browser::Browser;
use crate::world::server;

#[tokio::test(flavor = "multi_thread")]
async fn the_reading_follows_the_text_and_its_address_can_be_shared() {
    let Some(browser) = Browser::start().await else { return };
    let api = server().await;
    browser.open(&format!("{}/parse", api.url)).await;
    browser.until_text("9 repairs").await;
    browser.fill("input[name=target]", "list[int]").await;
    browser.fill("textarea[name=types]", "").await;
    browser.fill("textarea[name=text]", "Sure: [1, '2', 3.0,]").await;
    browser.until("document.querySelector('#reading mark')", "marks").await;
    browser.until_text("[\n  1,\n  2,\n  3\n]").await;
    let address = browser.address().await;
    assert!(address.contains("target=list%5Bint%5D"), "{address}");
    browser.open(&address).await;
    browser.until_text("[\n  1,\n  2,\n  3\n]").await;
    browser.fill("input[name=target]", "bool").await;
    browser.until_text("does not fit").await;
    browser.close().await;
}
