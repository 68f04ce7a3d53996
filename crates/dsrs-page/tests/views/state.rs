//! The state of a graph: history, differences, activation, import, and the editor of a predictor.

use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, Remote, support_reply};

const STATE: &str = "/graphs/support-reply/state";
const EDITOR: &str = "/graphs/support-reply/predictors/triage";
const V1: &str = "/v1/graphs/support-reply";

async fn with_graph() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api
}

async fn instruct(api: &Remote, text: &str) -> Value {
    let body = json!({"instruction": text});
    api.patch(&format!("{V1}/predictors/triage"), body).await.expect(200).json()
}

fn demo(ticket: &str, mood: &str) -> Value {
    json!({"input": {"ticket": ticket}, "output": {"mood": mood, "topics": []}})
}

async fn view(api: &Remote, path: &str) -> String {
    open(api, path).await.expect(200).text
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untuned_graph_says_how_to_begin() {
    let api = with_graph().await;
    let view = view(&api, STATE).await;
    has(&words(&view), &["Nothing is tuned yet", "State 1 active untuned", "triage untuned"]);
    has(&view, &["aria-current=\"page\">State</a>", &format!("href=\"{EDITOR}\"")]);
    assert_eq!(open(&api, &format!("{STATE}?version=2")).await.status, 404);
    assert_eq!(open(&api, "/graphs/none/state").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_names_changes_authors_branches_and_rollbacks() {
    let api = with_graph().await;
    instruct(&api, "Feel <b>it</b>.").await;
    let demos = json!({"demos": [demo("a", "calm"), demo("b", "angry")]});
    api.patch(&format!("{V1}/predictors/triage"), demos).await.expect(200);
    api.post(&format!("{V1}/state/versions/2/activate"), json!({})).await.expect(200);
    instruct(&api, "Feel it twice.").await;

    let view = view(&api, &format!("{STATE}?version=3")).await;
    let text = words(&view);
    has(
        &text,
        &[
            "State 4 active instruction of triage · from state 2 anonymous · just now · graph version 1",
            "Rolled back to state 2 from 3 · anonymous",
            "State 3 demos 0 → 2 of triage",
            "State 2 instruction of triage",
            "2 demos ticket a",
            "Roll back to this",
            "Changes from 2",
        ],
    );
    let order = ["State 4", "Rolled back", "State 3"].map(|part| text.find(part).unwrap());
    assert!(order.is_sorted(), "{text}");
    has(&view, &["Feel &lt;b&gt;it&lt;/b&gt;.", "lanes-2", "?format=dspy\" download="]);
    assert!(!view.contains("<b>it</b>"), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_has_pages() {
    let api = with_graph().await;
    for edition in 0..52 {
        instruct(&api, &format!("Edition {edition}.")).await;
    }
    let first = view(&api, STATE).await;
    has(&words(&first), &["State 53 active", "State 4 ", "Next page"]);
    assert!(!words(&first).contains("State 3 "), "{first}");
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = words(&view(&api, &next.replace("&amp;", "&")).await);
    has(&second, &["State 3 instruction", "State 1 untuned", "First page"]);
    assert!(!second.contains("State 4 instruction"), "{second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_word_by_word_and_matches_demos_by_content() {
    let api = with_graph().await;
    let state = |instruction: &str, demos: Value, temperature: f64| {
        json!({"predictors": {"triage": {"instruction": instruction, "demos": demos,
            "lm": {"temperature": temperature}}}})
    };
    let demos = json!([demo("a", "calm"), demo("b", "calm"), demo("c", "calm")]);
    api.put(&format!("{V1}/state"), state("Read the ticket slowly.", demos, 0.1)).await.expect(200);
    let demos = json!([demo("b", "angry"), demo("a", "calm"), demo("d", "calm")]);
    api.put(&format!("{V1}/state"), state("Read the letter slowly.", demos, 0.7)).await.expect(200);

    let found = view(&api, &format!("{STATE}/diff?from=2&to=3")).await;
    has(
        &found,
        &[
            "Read the <del>ticket </del><ins>letter </ins>slowly.",
            "<del>calm</del><ins>angry</ins>",
            "<code>temperature</code>",
            &format!("href=\"{STATE}/diff?from=3&amp;to=2\""),
        ],
    );
    let text = words(&found);
    has(&text, &["State 2 → 3", "another instruction", "changed demo 2 → 1", "0.1", "0.7"]);
    let same = words(&view(&api, &format!("{STATE}/diff?from=3&to=3")).await);
    has(&same, &["No difference"]);
    assert_eq!(open(&api, &format!("{STATE}/diff?from=9")).await.status, 404);
    assert_eq!(open(&api, &format!("{STATE}/diff?from=x")).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activation_says_first_what_changes_and_yields_to_a_faster_one() {
    let api = with_graph().await;
    instruct(&api, "One.").await;
    instruct(&api, "Two.").await;
    let address = format!("{STATE}/activate");
    let asked = view(&api, &format!("{address}?version=2")).await;
    has(
        &words(&asked),
        &[
            "Roll back to state 2",
            "get state 2 instead of 3 from their next run on",
            "triage : another instruction",
            "Runs in progress finish with the state that they started with",
            "Other versions of the graph have active states of their own",
            "not measured",
        ],
    );
    has(&asked, &["<del>Two.</del><ins>One.</ins>"]);
    assert_eq!(active(&api).await, 3, "asking changes nothing");

    let late = [("version", "2"), ("seen", "1")];
    let refused = submit(&api, &address, &late).await.expect(412);
    has(&words(&refused.text), &["Somebody was faster", "now it is state 3"]);
    assert_eq!(active(&api).await, 3);
    let done = submit(&api, &address, &[("version", "2"), ("seen", "3")]).await.expect(303);
    assert_eq!(done.header("location"), format!("{STATE}?version=2"));
    assert_eq!(active(&api).await, 2);
    let promoted = view(&api, &format!("{address}?version=3")).await;
    has(&words(&promoted), &["Activate state 3"]);
}

async fn active(api: &Remote) -> i64 {
    api.get(&format!("{V1}/state")).await.expect(200).json()["version"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_imported_in_both_formats() {
    let api = with_graph().await;
    instruct(&api, "Feel it.").await;
    let own = api.get(&format!("{V1}/state")).await.expect(200).text;
    let dspy = api.get(&format!("{V1}/state?format=dspy")).await.expect(200).text;
    instruct(&api, "Forget it.").await;
    let import = |text: String, seen: &'static str| {
        let api = &api;
        async move {
            let fields = [("state", text.as_str()), ("seen", seen)];
            submit(api, &format!("{STATE}/import"), &fields).await
        }
    };
    let done = import(own, "3").await.expect(303);
    assert_eq!(done.header("location"), format!("{STATE}/diff?from=3&to=4"));
    instruct(&api, "Forget it.").await;
    assert_eq!(
        import(dspy, "5").await.expect(303).header("location"),
        format!("{STATE}/diff?from=5&to=6")
    );
    let state = api.get(&format!("{V1}/state")).await.expect(200).json();
    assert_eq!(state["predictors"]["triage"]["effective_instruction"], "Feel it.");

    let unfit = "{\"predictors\": {\"nope<i>\": {}}}";
    let refused = import(unfit.to_owned(), "6").await.expect(422);
    has(&refused.text, &["there is no predictor `nope&lt;i&gt;`", "&quot;nope&lt;i&gt;&quot;"]);
    has(&words(&import("{".to_owned(), "6").await.expect(422).text), &["Import a state"]);
    let late = import("{\"predictors\": {}}".to_owned(), "2").await.expect(422);
    has(&words(&late.text), &["another state was activated meanwhile"]);
    assert_eq!(active(&api).await, 6);
}

/// The fields of the editor for one demo.
fn fields<'f>(instruction: &'f str, ticket: &'f str, mood: &'f str) -> Vec<(&'f str, &'f str)> {
    vec![
        ("instruction", instruction),
        ("lm", ""),
        ("demo", "0"),
        ("demo.0.input.ticket", ticket),
        ("demo.0.output.mood", mood),
        ("demo.0.output.topics", "[\"x\"]"),
        ("in.ticket", "Typed ticket"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_rendered_as_it_is_typed_and_saved_as_a_new_version() {
    let api = with_graph().await;
    let empty = view(&api, EDITOR).await;
    has(&words(&empty), &["No changes to state 1.", "No demos", "Add a demo"]);
    has(&empty, &["placeholder=\"", "<h5>system</h5>"]);

    let edit = fields("Feel <u>it</u>\r\ntwice.", "Where is it?", "calm");
    let typed = submit(&api, EDITOR, &edit).await.expect(200).text;
    let prompt = typed.split("id=\"prompt\"").nth(1).unwrap();
    has(prompt, &["Feel &lt;u&gt;it&lt;/u&gt;\ntwice.", "Where is it?", "Typed ticket"]);
    has(&words(&typed), &["Saves another instruction, 1 demo added as a new state version"]);
    assert_eq!(active(&api).await, 1, "a preview saves nothing");

    let edit = [edit, vec![("seen", "1")]].concat();
    let saved = submit(&api, &format!("{EDITOR}/save"), &edit).await.expect(303);
    assert_eq!(saved.header("location"), format!("{STATE}?version=2"));
    let stored = api.get(&format!("{V1}/predictors/triage")).await.expect(200).json();
    assert_eq!(stored["instruction"], "Feel <u>it</u>\ntwice.");
    assert_eq!(
        stored["demos"],
        json!([{"input": {"ticket": "Where is it?"}, "output": {"mood": "calm", "topics": ["x"]}}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn demos_are_added_moved_and_removed_by_buttons() {
    let api = with_graph().await;
    let demos = json!({"demos": [demo("first", "calm"), demo("second", "angry")]});
    api.patch(&format!("{V1}/predictors/triage"), demos).await.expect(200);
    let two = |act: &'static str| {
        let api = &api;
        let second = [
            ("demo", "1"),
            ("demo.1.input.ticket", "second"),
            ("demo.1.output.mood", "angry"),
            ("demo.1.output.topics", "[]"),
            ("act", act),
        ];
        let fields = [fields("", "first", "calm"), second.to_vec()].concat();
        async move { submit(api, EDITOR, &fields).await.expect(200).text }
    };
    let order = |text: &str| {
        let demos = text.split("id=\"demos\"").nth(1).unwrap();
        demos.find("second").unwrap_or(usize::MAX) < demos.find("first").unwrap_or(usize::MAX)
    };
    assert!(!order(&two("preview").await));
    assert!(order(&two("up.1").await) && order(&two("down.0").await));
    let removed = two("remove.0").await;
    assert!(!words(&removed).contains("Demo 2"), "{removed}");
    let added = two("add").await;
    has(&added, &["name=\"demo.2.output.mood\"", "name=\"absent\" value=\"demo.2.input.ticket\""]);
    for odd in ["up.0", "down.1", "remove.9", "up.x", "remove."] {
        assert!(!order(&two(odd).await), "{odd}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_does_not_fit_names_the_place() {
    let api = with_graph().await;
    let wrong = fields("x", "t", "purple");
    let shown = words(&submit(&api, EDITOR, &wrong).await.expect(200).text);
    has(&shown, &["demo 1, output mood", "purple", "Does not fit yet"]);
    let wrong = [wrong, vec![("seen", "1")]].concat();
    let refused = submit(&api, &format!("{EDITOR}/save"), &wrong).await.expect(422);
    has(&words(&refused.text), &["demo 1, output mood"]);
    let settings = [("instruction", "x"), ("lm", "{\"temperature\": 9}"), ("seen", "1")];
    let refused = submit(&api, &format!("{EDITOR}/save"), &settings).await.expect(422);
    has(&words(&refused.text), &["lm temperature"]);
    assert_eq!(active(&api).await, 1);
    assert_eq!(open(&api, "/graphs/support-reply/predictors/nope").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_shows_both_edits_and_overwrites_nothing() {
    let api = with_graph().await;
    instruct(&api, "Theirs is this.").await;
    let mine = [("instruction", "Mine is that."), ("lm", ""), ("seen", "1")];
    let refused = submit(&api, &format!("{EDITOR}/save"), &mine).await.expect(412).text;
    has(&words(&refused), &["Somebody was faster", "Theirs: state 1 → 2", "Yours: state 2"]);
    has(&refused, &["<ins>Theirs is this.</ins>", "name=\"seen\" value=\"2\""]);
    has(&refused, &["<del>Theirs </del><ins>Mine </ins>is <del>this.</del><ins>that.</ins>"]);
    assert_eq!(active(&api).await, 2);
    let again = [("instruction", "Mine is that."), ("lm", ""), ("seen", "2")];
    submit(&api, &format!("{EDITOR}/save"), &again).await.expect(303);
    assert_eq!(active(&api).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_sees_no_buttons_and_changes_nothing() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "root-key-123456")]).await;
    let root = Remote::with_key(&api.url, "root-key-123456");
    root.post("/v1/graphs", support_reply()).await.expect(201);
    instruct(&root, "One.").await;
    let key = json!({"name": "viewer", "scopes": ["read"]});
    let key = root.post("/v1/keys", key).await.expect(201).json()["key"].clone();
    let viewer = Remote::with_key(&api.url, key.as_str().unwrap());
    let history = view(&viewer, &format!("{STATE}?version=1")).await;
    for forbidden in ["Roll back to this", "Import", ">Edit<", ">Run<"] {
        assert!(!history.contains(forbidden), "{forbidden} in {history}");
    }
    let editor = view(&viewer, EDITOR).await;
    assert!(!editor.contains("name=\"instruction\"") && !editor.contains(">Save<"), "{editor}");
    let rendered = submit(&viewer, EDITOR, &[("in.ticket", "Typed")]).await.expect(200);
    has(&rendered.text, &["Typed", "One."]);
    let changes: [(&str, &[(&str, &str)]); 3] = [
        ("/graphs/support-reply/state/activate", &[("version", "1"), ("seen", "2")]),
        ("/graphs/support-reply/state/import", &[("state", "{}"), ("seen", "2")]),
        ("/graphs/support-reply/predictors/triage/save", &[("instruction", "x"), ("seen", "2")]),
    ];
    for (path, fields) in changes {
        let refused: Answer = submit(&viewer, path, fields).await;
        assert_eq!(refused.status, 403, "{path}");
    }
    assert_eq!(active(&root).await, 2);
}
