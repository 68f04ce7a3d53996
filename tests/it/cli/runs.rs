//! `run` and `runs list`, `show` and `tail`.

use serde_json::json;

use super::Shell;
use super::terminal::on_terminal;
use crate::Api;
use dsrs_test::{Does, FakeLm, ServerSetup, one_node, support_reply, test_database};

async fn api_with_reply() -> (Api, Shell) {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let shell = Shell::at(&api);
    (api, shell)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_receives_the_outputs_as_json() {
    let (_api, shell) = api_with_reply().await;
    let ran = shell.run(&["run", "support-reply", "ticket=Where is it?"]).await.expect(0);
    assert_eq!(ran.json(), json!({"answer": "Dear customer", "mood": "calm"}));
    assert_eq!(ran.stderr, "");
    let record = shell.run(&["run", "support-reply", "ticket=Hm", "--record"]).await.expect(0);
    assert_eq!(record.json()["inputs"], json!({"ticket": "Hm"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_texts_as_they_are_written_then_the_outputs() {
    let (_api, shell) = api_with_reply().await;
    let (code, text) = on_terminal(&shell, &["run", "support-reply", "ticket=Where?"]).await;
    assert_eq!(code, 0, "{text}");
    let plain = text.replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert_ne!(plain, text, "names are bold");
    assert_eq!(
        plain.lines().collect::<Vec<_>>(),
        [
            "triage.mood: calm",
            "triage.topics: [\"parcel\"]",
            "reply.reasoning: They wait.",
            "reply.answer: Dear customer",
            "answer: Dear customer",
            "mood: calm",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_would_command_the_terminal_is_made_visible() {
    let lm = dsrs::lm::ScriptedLm::sections([("answer", "red\u{1b}[2Jgreen")]);
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let (code, text) = on_terminal(&Shell::at(&api), &["run", "ask", "question=x"]).await;
    assert_eq!(code, 0);
    assert!(text.contains("red\u{fffd}[2Jgreen") && !text.contains("\x1b[2J"), "{text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_streams_to_a_pipe_before_the_run_has_ended() {
    use tokio::io::AsyncReadExt;
    let begin = "[[ ## answer ## ]]\nOnce upon a time".to_owned();
    let lm = FakeLm::doing([Does::Begin(begin)]).await;
    let database = test_database().await;
    let server = ServerSetup::new()
        .database(&database)
        .env("OPENAI_API_KEY", "none")
        .env("OPENAI_BASE_URL", &lm.url)
        .start();
    let shell = Shell::with_env(&[("DSRS_URL", &server.url)]);
    shell.write("ask.json", one_node("ask", "question -> answer").to_string());
    shell.run(&["graphs", "push", "ask.json"]).await.expect(0);
    let mut child = shell.command(&["run", "ask", "question=x", "--text"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut text = String::new();
    while !text.contains("ask.answer: Once upon") {
        let mut chunk = [0; 256];
        let length = stdout.read(&mut chunk).await.unwrap();
        assert!(length > 0, "it ended with {text}");
        text.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
    }
    child.kill().await.unwrap();
    // The server cancels the run of a client that has left.
    lm.abandoned(1).await;
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_come_from_stdin_a_file_and_the_command_line() {
    let api = Api::new().await;
    let graph = json!({
        "name": "sum", "inputs": {"name": "str", "count": "int"},
        "nodes": {"ask": {"strategy": "predict", "signature": "name, count: int -> answer"}},
        "edges": [{"from": "input.name", "to": "ask.name"}, {"from": "input.count", "to": "ask.count"}]
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let shell = Shell::at(&api);
    let inputs = json!({"name": "7", "count": 3});
    let document = shell.write("inputs.json", inputs.to_string());
    let document = document.to_str().unwrap();
    let record = ["--record"];
    for args in [
        &["run", "sum", "name=7", "count=3"][..],
        &["run", "sum", "name:=\"7\"", "count:=3"],
        &["run", "sum", "--inputs", document],
    ] {
        let ran = shell.run(&[args, &record].concat()).await.expect(0);
        assert_eq!(ran.json()["inputs"], inputs, "{args:?}");
    }
    for args in [&["run", "sum", "-"][..], &["run", "sum", "--inputs", "-"]] {
        let ran = shell.run_with(&[args, &record].concat(), &inputs.to_string()).await.expect(0);
        assert_eq!(ran.json()["inputs"], inputs, "{args:?}");
    }
    let inputs = inputs.to_string();
    let both = shell.run_with(&["run", "sum", "-", "count=4", "--record"], &inputs);
    assert_eq!(both.await.expect(0).json()["inputs"]["count"], 4);
    shell.run_with(&["run", "sum", "-", "--inputs", document], "{}").await.expect(2);
    let list = shell.run_with(&["run", "sum", "-"], "[1]").await.expect(1);
    assert!(list.stderr.contains("expected a JSON object"), "{}", list.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_input_and_a_failed_run_end_with_code_1_and_print_nothing_to_stdout() {
    let (_api, shell) = api_with_reply().await;
    let wrong = shell.run(&["run", "support-reply", "tiket=x"]).await.expect(1);
    assert!(wrong.stderr.contains("/inputs/tiket: "), "{}", wrong.stderr);
    assert_eq!(wrong.stdout, "");
    let lm = dsrs::lm::ScriptedLm::sections([("other", "x")]);
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let failed = Shell::at(&api).run(&["run", "ask", "question=x"]).await.expect(1);
    assert!(failed.stderr.contains("parse_error"), "{}", failed.stderr);
    assert_eq!(failed.stdout, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_is_followed_shown_and_listed() {
    let (api, shell) = api_with_reply().await;
    let args = ["run", "support-reply", "ticket=x", "--background"];
    let started = shell.run(&args).await.expect(0);
    let id = started.stdout.trim();
    let followed = shell.run(&["runs", "tail", id]).await.expect(0);
    assert_eq!(followed.json()["outputs"]["mood"], "calm");
    api.ended(id).await;
    let shown = shell.run(&["runs", "show", id]).await.expect(0);
    assert_eq!((&shown.json()["id"], &shown.json()["status"]), (&json!(id), &json!("succeeded")));
    let (code, text) = on_terminal(&shell, &["runs", "show", id]).await;
    assert_eq!(code, 0);
    assert!(text.contains("outputs.mood") && text.contains("calm"), "{text}");

    let listed = shell.run(&["runs", "list", "--graph", "support-reply"]).await.expect(0);
    assert_eq!(listed.rows()[0][..4], [id, "support-reply", "1/1", "succeeded"]);
    let none = shell.run(&["runs", "list", "--status", "failed", "--json"]).await.expect(0);
    assert_eq!(none.json(), json!([]));
    shell.run(&["runs", "list", "--status", "done"]).await.expect(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_others_are_printed_as_they_are_recorded() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let (api, shell) = api_with_reply().await;
    let mut child = shell.command(&["runs", "tail"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let run = api.post("/v1/graphs/support-reply/execute", json!({"inputs": {"ticket": "x"}}));
    let id = run.await.expect(200).json()["id"].as_str().unwrap().to_owned();
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.starts_with(&id) && line.contains("succeeded"), "{line}");
    child.kill().await.unwrap();
}
