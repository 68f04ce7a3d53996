//! `graphs list`, `push`, `pull`, `diff` and `validate`.

use serde_json::{Value, json};

use super::Shell;
use crate::Api;
use dsrs_test::{one_node, support_reply};

fn wrong_edge() -> Value {
    let mut graph = support_reply();
    graph["edges"][2]["from"] = "triage.mod".into();
    graph
}

async fn version(api: &Api, graph: &str) -> Value {
    api.get(&format!("/v1/graphs/{graph}")).await.expect(200).json()["version"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_pushed_once_and_then_unchanged_until_a_file_changes() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("graphs/support.json", support_reply().to_string());
    shell.write("graphs/more/ask.json", one_node("ask", "question -> answer").to_string());
    let state = json!({"predictors": {"ask": {"instruction": "Be short."}}});
    shell.write("graphs/ask.state.json", state.to_string());
    shell.write("graphs/notes.json", r#"{"nothing": "of ours"}"#);

    let first = shell.run(&["graphs", "push", "graphs"]).await.expect(0);
    assert_eq!(
        first.rows(),
        [
            vec!["graphs/more/ask.json", "graph", "ask", "created", "1"],
            vec!["graphs/support.json", "graph", "support-reply", "created", "1"],
            vec!["graphs/ask.state.json", "state", "ask", "changed", "2"],
            vec!["graphs/notes.json", "other", "skipped"],
        ],
        "{}",
        first.stdout
    );
    let again = shell.run(&["graphs", "push", "graphs"]).await.expect(0);
    let results: Vec<&str> = again.rows().iter().map(|row| row[3.min(row.len() - 1)]).collect();
    assert_eq!(results, ["unchanged", "unchanged", "unchanged", "skipped"]);
    assert_eq!(
        (version(&api, "ask").await, version(&api, "support-reply").await),
        (1.into(), 1.into())
    );

    shell.write("graphs/more/ask.json", one_node("ask", "question, tone -> answer").to_string());
    let changed = shell.run(&["graphs", "push", "graphs", "--json"]).await.expect(0).json();
    assert_eq!((&changed[0]["result"], &changed[0]["version"]), (&json!("changed"), &json!(2)));
    assert_eq!(changed[1]["result"], "unchanged");
    assert_eq!(version(&api, "ask").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_edge_is_refused_with_its_file_and_pointer_and_the_others_are_stored() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("g/a.json", wrong_edge().to_string());
    shell.write("g/b.json", one_node("b", "question -> answer").to_string());
    let pushed = shell.run(&["graphs", "push", "g"]).await.expect(1);
    assert_eq!(
        pushed.stderr,
        "dsrs-server: g/a.json: /edges/2/from: `triage.mod`: {mood: Mood, topics: list[str]} has no \
         field `mod`; did you mean `mood`? (unknown_field)\n"
    );
    let results: Vec<Vec<&str>> = pushed.rows();
    assert_eq!(results[0], ["g/b.json", "graph", "b", "created", "1"]);
    assert_eq!(results[1], ["g/a.json", "graph", "support-reply", "refused"]);
    api.get("/v1/graphs/b").await.expect(200);
    api.get("/v1/graphs/support-reply").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_names_a_later_one_is_pushed_after_it() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    let outer = json!({
        "name": "a-outer", "inputs": {"question": "str"},
        "nodes": {"each": {"strategy": "graph", "config": {"graph": "z-inner"}}},
        "edges": [{"from": "input.question", "to": "each.question"}]
    });
    shell.write("a.json", outer.to_string());
    shell.write("z.json", one_node("z-inner", "question -> answer").to_string());
    let pushed = shell.run(&["graphs", "push", "."]).await.expect(0);
    let names: Vec<&str> = pushed.rows().iter().map(|row| row[2]).collect();
    assert_eq!(names, ["z-inner", "a-outer"], "{}", pushed.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn pulled_files_are_what_the_server_has_and_pushing_them_changes_nothing() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api.post("/v1/graphs", one_node("plain", "a -> b")).await.expect(201);
    let state = json!({"predictors": {"triage": {"instruction": "Judge."}}});
    api.put("/v1/graphs/support-reply/state", state).await.expect(200);

    shell.run(&["graphs", "pull", "--to", "out"]).await.expect(0);
    let mut files: Vec<String> = std::fs::read_dir(shell.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["plain.json", "support-reply.json", "support-reply.state.json"]);
    let pulled: Value = serde_json::from_str(&shell.read("out/support-reply.state.json")).unwrap();
    assert_eq!(pulled, json!({"predictors": {"triage": {"instruction": "Judge."}}}));

    let pushed = shell.run(&["graphs", "push", "out"]).await.expect(0);
    assert!(pushed.rows().iter().all(|row| row[3] == "unchanged"), "{}", pushed.stdout);
    let diff = shell.run(&["graphs", "diff", "out"]).await.expect(0);
    assert_eq!(diff.stdout, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_another_notation_stays_as_it_is_when_the_graph_is_pulled() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    let source = one_node("plain", "a -> b").to_string();
    shell.write("plain.json", &source);
    shell.run(&["graphs", "push", "plain.json"]).await.expect(0);
    let pulled = shell.run(&["graphs", "pull", "plain"]).await.expect(0);
    assert_eq!(pulled.rows(), [["./plain.json", "unchanged"]]);
    assert_eq!(shell.read("plain.json"), source);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_shown_line_by_line_with_exit_code_1() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("ask.json", one_node("ask", "question -> answer").to_string());
    let new = shell.run(&["graphs", "diff", "ask.json"]).await.expect(1);
    assert!(new.stdout.starts_with("--- graph ask, not on the server\n+++ ask.json\n"), "{new:?}");
    shell.run(&["graphs", "push", "ask.json"]).await.expect(0);
    shell.run(&["graphs", "diff", "ask.json"]).await.expect(0);

    let mut changed = one_node("ask", "question -> answer");
    changed["nodes"]["ask"]["retries"] = 2.into();
    shell.write("ask.json", changed.to_string());
    let diff = shell.run(&["graphs", "diff", "ask.json"]).await.expect(1);
    assert!(diff.stdout.starts_with("--- graph ask, version 1\n+++ ask.json\n"), "{diff:?}");
    for line in ["-      \"retries\": 0,", "+      \"retries\": 2,"] {
        assert!(diff.stdout.lines().any(|found| found == line), "{}", diff.stdout);
    }
    assert_eq!(diff.stderr, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_stores_nothing_and_names_every_wrong_place() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("good.json", support_reply().to_string());
    let good = shell.run(&["graphs", "validate", "good.json", "--json"]).await.expect(0);
    assert_eq!(good.json()[0]["result"], "valid");
    let mut wrong = wrong_edge();
    wrong["edges"][0]["to"] = "triage.text".into();
    shell.write("bad.json", wrong.to_string());
    let checked = shell.run(&["graphs", "validate", "."]).await.expect(1);
    assert!(checked.stderr.contains("./bad.json: /edges/2/from: "), "{}", checked.stderr);
    assert!(checked.stderr.contains("./bad.json: /edges/0/to: "), "{}", checked.stderr);
    assert_eq!(api.get("/v1/graphs").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_are_listed_as_a_table_or_as_json() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let table = shell.run(&["graphs", "list"]).await.expect(0);
    assert_eq!(table.rows()[0][..3], ["support-reply", "1", "1"]);
    let json = shell.run(&["graphs", "list", "--json"]).await.expect(0).json();
    assert_eq!(json[0]["name"], "support-reply");
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_separate_a_refusal_a_wrong_command_line_and_an_absent_server() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    shell.write("torn.json", "{\n  \"name\": ");
    let torn = shell.run(&["graphs", "push", "torn.json"]).await.expect(1);
    assert!(torn.stderr.starts_with("dsrs-server: torn.json: not valid JSON: "), "{}", torn.stderr);
    let missing = shell.run(&["graphs", "push", "none.json"]).await.expect(2);
    assert!(missing.stderr.starts_with("dsrs-server: cannot read none.json: "), "{missing:?}");
    shell.run(&["graphs", "push"]).await.expect(2);
    let no_url = shell.run(&["graphs", "list", "--server", "localhost:1"]).await.expect(2);
    assert!(no_url.stderr.contains("it begins with http:// or https://"), "{}", no_url.stderr);
    let absent = shell.run(&["graphs", "list", "--server", "http://127.0.0.1:1"]).await.expect(3);
    assert!(
        absent.stderr.starts_with("dsrs-server: http://127.0.0.1:1 cannot be reached: "),
        "{}",
        absent.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_the_environment_is_sent_and_a_missing_one_is_refused() {
    let key = "a-key-of-the-tests-0123456789";
    let api = Api::with_settings(&[("DSRS_API_KEYS", key)]).await;
    let without = Shell::at(&api);
    let refused = without.run(&["graphs", "list"]).await.expect(1);
    assert!(refused.stderr.contains("(unauthenticated)"), "{}", refused.stderr);
    let with = Shell::with_env(&[("DSRS_URL", &api.url), ("DSRS_API_KEY", key)]);
    with.run(&["graphs", "list"]).await.expect(0);
}
