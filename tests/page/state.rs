//! The state: a demo edited in place, what changes, activation and roll-back.

use crate::browser::Browser;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_instruction_is_edited_beside_its_prompt_and_rolled_back() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::new().await;
    let url = &world.api.url;
    browser.open(&format!("{url}/graphs/support-reply/predictors/triage")).await;
    browser.fill("textarea[name=instruction]", "Name the mood in one word.").await;
    browser.until("[...document.querySelectorAll('.message')].some((part) => part.innerText.includes('Name the mood in one word.'))", "the prompt").await;
    browser.click("main form button.primary").await;
    browser
        .until(
            "location.pathname.endsWith('/state') || location.pathname.includes('/state')",
            "the history",
        )
        .await;
    let state = world.api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(state["version"], 3, "{state}");
    browser.open(&format!("{url}/graphs/support-reply/state/diff?from=2&to=3")).await;
    browser.until_shown("ins").await;
    browser.open(&format!("{url}/graphs/support-reply/state/activate?version=2")).await;
    browser.until_text("Name the mood in one word.").await;
    browser.click("main form button.primary").await;
    browser.until("location.pathname === '/graphs/support-reply/state'", "the history").await;
    let state = world.api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(state["version"], 2, "{state}");
    browser.close().await;
}
