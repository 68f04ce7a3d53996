//! `state pull`, `push`, `diff` and `activate`.

use serde_json::{Value, json};

use super::Shell;
use crate::Api;
use dsrs_test::support_reply;

async fn api_with_state() -> (Api, Shell) {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let shell = Shell::at(&api);
    (api, shell)
}

fn instruction(text: &str) -> Value {
    json!({"predictors": {"triage": {"instruction": text}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_pushed_once_compared_and_rolled_back() {
    let (api, shell) = api_with_state().await;
    shell.write("s.json", instruction("Judge.").to_string());
    let diff = shell.run(&["state", "diff", "support-reply", "s.json"]).await.expect(1);
    assert!(diff.stdout.contains("+      \"instruction\": \"Judge.\""), "{}", diff.stdout);
    let push = ["state", "push", "support-reply", "s.json"];
    let pushed = shell.run(&push).await.expect(0);
    assert_eq!(pushed.stdout, "support-reply changed, version 2\n");
    let again = shell.run(&push).await.expect(0);
    assert_eq!(again.stdout, "support-reply unchanged, version 2\n");
    shell.run(&["state", "diff", "support-reply", "s.json"]).await.expect(0);
    let versions = shell.run(&["state", "diff", "support-reply", "2"]).await.expect(1);
    assert!(versions.stdout.contains("Judge."), "{}", versions.stdout);
    shell.run(&["state", "diff", "support-reply", "2", "--against", "2"]).await.expect(0);

    let back = shell.run(&["state", "activate", "support-reply", "1"]).await.expect(0);
    assert_eq!(back.stdout, "support-reply: state 1 is active; before: 2\n");
    let state = api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(state["version"], 1);
    shell.run(&["state", "activate", "support-reply", "9"]).await.expect(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_pulled_to_a_file_or_to_stdout_in_two_formats() {
    let (api, shell) = api_with_state().await;
    let put = instruction("Judge.");
    api.put("/v1/graphs/support-reply/state", put.clone()).await.expect(200);
    let own = shell.run(&["state", "pull", "support-reply"]).await.expect(0);
    assert_eq!(own.json(), put);
    let first = shell.run(&["state", "pull", "support-reply", "--version", "1"]).await.expect(0);
    assert_eq!(first.json(), json!({"predictors": {}}));

    let pull = ["state", "pull", "support-reply", "dspy.json", "--dspy"];
    assert_eq!(shell.run(&pull).await.expect(0).stdout, "dspy.json written\n");
    assert_eq!(shell.run(&pull).await.expect(0).stdout, "dspy.json unchanged\n");
    let file: Value = serde_json::from_str(&shell.read("dspy.json")).unwrap();
    assert_eq!(file["triage"]["signature"]["instructions"], "Judge.");
    shell.run(&["state", "activate", "support-reply", "1"]).await.expect(0);
    let push = ["state", "push", "support-reply", "dspy.json", "--dspy"];
    shell.run(&push).await.expect(0);
    let pulled = shell.run(&["state", "pull", "support-reply"]).await.expect(0).json();
    assert_eq!(pulled["predictors"]["triage"]["instruction"], "Judge.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_does_not_fit_is_refused_with_its_file_and_pointer() {
    let (_api, shell) = api_with_state().await;
    shell.write("s.json", json!({"predictors": {"triag": {"instruction": "x"}}}).to_string());
    let refused = shell.run(&["state", "push", "support-reply", "s.json"]).await.expect(1);
    assert!(refused.stderr.starts_with("dsrs-server: s.json: /predictors/triag: "), "{refused:?}");
}
