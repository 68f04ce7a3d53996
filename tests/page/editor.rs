//! The editor: text, completion, gestures, and a conflict with a newer version.

use crate::browser::Browser;
use crate::world::server;
use dsrs_test::support_reply;

/// The text of the editor.
const TEXT: &str = "document.querySelector('textarea[name=definition]').value";

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_edge_is_marked_and_a_dragged_one_is_saved_as_one_edit() {
    let Some(mut browser) = Browser::start().await else { return };
    // Validating an invalid definition is answered with 422.
    browser.expect_message("422");
    let api = server().await;
    let mut graph = support_reply();
    graph["edges"].as_array_mut().unwrap().pop();
    graph["nodes"]["reply"]["signature"] = "ticket, mood: Mood = 'calm' -> answer".into();
    graph["nodes"]["reply"]["signature"] = serde_json::json!({
        "inputs": [{"name": "ticket", "type": "str"}, {"name": "mood", "type": "Mood", "default": "calm"}],
        "outputs": [{"name": "answer", "type": "str"}]
    });
    api.post("/v1/graphs", graph).await.expect(201);
    browser.open(&format!("{}/graphs/support-reply/edit", api.url)).await;
    browser.until_text("The definition is valid.").await;
    browser.until("document.querySelectorAll('[data-node]').length === 2", "the picture").await;
    browser.drag("[data-port='triage.mood'] circle", "[data-port='reply.mood'] circle").await;
    browser
        .until(
            &format!("{TEXT}.includes('triage.mood\", \"to\": \"reply.mood')"),
            "the edge in the text",
        )
        .await;
    browser.click("button[value=save]").await;
    browser.until_shown("dialog[open]").await;
    browser.click("dialog[open] button.primary").await;
    browser.until("location.pathname === '/graphs/support-reply'", "the saved graph").await;
    let saved = api.get("/v1/graphs/support-reply").await.expect(200).json();
    assert_eq!(saved["version"], 2);
    assert!(saved["edges"].to_string().contains("reply.mood"), "{saved}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_are_marked_while_typing_and_a_conflict_shows_both() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.expect_message("422");
    browser.expect_message("412");
    let api = server().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    browser.open(&format!("{}/graphs/support-reply/edit", api.url)).await;
    browser.until_text("The definition is valid.").await;
    let replace = |from: &str, to: &str| {
        format!(
            "const field = document.querySelector('textarea[name=definition]'); \
             const at = field.value.indexOf({from:?}); field.focus(); field.setSelectionRange(at, at + {}); \
             document.execCommand('insertText', false, {to:?});",
            from.len()
        )
    };
    browser.run(&replace("\"triage.mood\", \"to\"", "\"triage.topics\", \"to\"")).await;
    browser.until_text("not assignable").await;
    browser.run(&replace("\"triage.topics\", \"to\"", "\"triage.mood\", \"to\"")).await;
    browser.until_text("The definition is valid.").await;
    browser.run(&replace("\"description\": null", "\"description\": \"mine\"")).await;
    let mut theirs = support_reply();
    theirs["description"] = "theirs".into();
    api.put("/v1/graphs/support-reply", theirs).await.expect(200);
    browser.click("button[value=save]").await;
    browser.until_shown("dialog[open]").await;
    browser.click("dialog[open] button.primary").await;
    browser
        .until(
            "document.querySelector('dialog[open]')?.innerText.includes('theirs')",
            "both versions",
        )
        .await;
    browser.close().await;
}
