//! `completions`, `man` and `config check`, which call no server.

use std::path::Path;

use serde_json::{Value, json};

use super::Shell;
use dsrs_test::{Does, FakeLm};

#[tokio::test]
async fn completions_of_every_shell_name_every_command() {
    let shell = Shell::with_env(&[]);
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = shell.run(&["completions", name]).await.expect(0).stdout;
        for command in ["serve", "graphs", "validate", "optimize", "--fail-under"] {
            let command = command.trim_start_matches(if name == "fish" { "--" } else { "" });
            assert!(printed.contains(command), "{name} lacks {command}");
        }
        assert!(!printed.contains("sandbox-child"), "{name} names the hidden command");
    }
    shell.run(&["completions", "cmd"]).await.expect(2);
}

#[tokio::test]
async fn bash_accepts_the_completions() {
    let shell = Shell::with_env(&[]);
    let printed = shell.run(&["completions", "bash"]).await.expect(0).stdout;
    let file = shell.write("completions.bash", printed);
    let checked = std::process::Command::new("bash").arg("-n").arg(file).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test]
async fn the_manual_has_a_section_for_each_command() {
    let shell = Shell::with_env(&[]);
    let manual = shell.run(&["man"]).await.expect(0).stdout;
    assert!(manual.contains(".TH dsrs"), "{}", &manual[..200]);
    for section in
        [".SH DSRS\\-SERVER SERVE", ".SH DSRS\\-SERVER GRAPHS PUSH", ".SH DSRS\\-SERVER EVAL"]
    {
        assert!(manual.lines().any(|line| line == section), "{section}");
    }
}

#[tokio::test]
async fn each_setting_is_shown_with_the_place_that_sets_it_and_without_secrets() {
    let env = [("DSRS_LOG", "debug"), ("OPENAI_API_KEY", "hidden-key")];
    let shell = Shell::with_env(&env);
    shell.write("dsrs.toml", "\n[database]\nmax_connections = 4\n");
    let args = ["config", "check", "--bind", "127.0.0.1:9"];
    let checked = shell.run(&args).await.expect(0);
    let line = |path: &str| {
        let found = checked.stdout.lines().find(|line| line.starts_with(path));
        found.unwrap_or_else(|| panic!("{path}: {}", checked.stdout)).split_whitespace().collect()
    };
    let words: Vec<&str> = line("bind ");
    assert_eq!(words, ["bind", "127.0.0.1:9", "flag", "--bind"]);
    let words: Vec<&str> = line("database.max_connections ");
    assert_eq!(words, ["database.max_connections", "4", "dsrs.toml:3"]);
    let words: Vec<&str> = line("log ");
    assert_eq!(words, ["log", "debug", "environment", "variable", "DSRS_LOG"]);
    assert!(checked.stdout.contains("OPENAI_API_KEY") && !checked.stdout.contains("hidden-key"));
    assert!(!checked.stdout.contains("data_dir"), "defaults are left out: {}", checked.stdout);
    let all = shell.run(&["config", "check", "--all", "--json"]).await.expect(0).json();
    let found = |path: &str| -> Value {
        let rows = all.as_array().unwrap();
        rows.iter().find(|row| row["path"] == path).unwrap()["origin"].clone()
    };
    assert_eq!(
        (found("data_dir"), found("database.max_connections")),
        ("default".into(), "dsrs.toml:3".into())
    );
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_reported_with_code_1() {
    let shell = Shell::with_env(&[("DSRS_BIND", "nowhere")]);
    let wrong = shell.run(&["config", "check"]).await.expect(1);
    assert!(wrong.stderr.contains("DSRS_BIND"), "{}", wrong.stderr);
    let open = Shell::with_env(&[("DSRS_BIND", "0.0.0.0:9")]);
    let open = open.run(&["config", "check"]).await.expect(0);
    assert!(open.stderr.contains("can be reached by others"), "{}", open.stderr);
}

#[test]
fn every_command_and_exit_code_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    for word in [
        "graphs list",
        "graphs push",
        "graphs pull",
        "graphs diff",
        "graphs validate",
        "run GRAPH",
        "runs list",
        "runs show",
        "runs tail",
        "state pull",
        "state push",
        "state diff",
        "state activate",
        "datasets push",
        "datasets list",
        "eval GRAPH",
        "optimize GRAPH",
        "completions SHELL",
        "`dsrs-server man`",
        "config check",
        "| 0 |",
        "| 1 |",
        "| 2 |",
        "| 3 |",
    ] {
        assert!(page.contains(word), "docs/cli.md lacks {word}");
    }
}

/// An endpoint that streams, calls tools and knows schemas, and refuses grammars.
fn capable(body: &Value) -> Does {
    if body.get("grammar").is_some() {
        let refusal = r#"{"error": {"message": "Unrecognized request argument: grammar"}}"#;
        return Does::Answer(400, vec![], refusal.to_owned());
    }
    if body.get("tools").is_some() {
        let call = json!({"id": "c1", "type": "function",
            "function": {"name": "weather", "arguments": "{\"city\": \"Turku\"}"}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let answer = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        return Does::Answer(200, vec![], answer.to_string());
    }
    match body.get("response_format") {
        Some(_) => Does::Say(r#"{"legs": 8}"#.to_owned()),
        None => Does::Say("ready".to_owned()),
    }
}

#[tokio::test]
async fn models_test_says_what_works_at_an_endpoint() {
    let lm = FakeLm::by(|_, asked| capable(&asked.body)).await;
    let env = [("OPENAI_BASE_URL", lm.url.as_str()), ("OPENAI_API_KEY", "hidden-key")];
    let shell = Shell::with_env(&env);
    let tested = shell.run(&["models", "test"]).await.expect(0);
    let result = |feature: &str| {
        let rows = tested.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.into_iter().find(|row| row.first() == Some(&feature));
        row.unwrap_or_else(|| panic!("{feature}: {}", tested.stdout))[1].to_owned()
    };
    let features = ["chat", "streaming", "tools", "json_schema", "grammar", "media"];
    assert_eq!(features.map(result), ["works", "works", "works", "works", "fails", "-"]);
    assert!(tested.stdout.contains("add `tools` to `capabilities`"), "{}", tested.stdout);
    assert!(!tested.stdout.contains("hidden-key"));

    let document = shell.run(&["models", "test", "default", "--json"]).await.expect(0).json();
    assert_eq!(document[0]["model"], "default");
    assert_eq!(document[0]["features"][0]["result"], "works");
}

#[tokio::test]
async fn models_test_fails_for_an_endpoint_that_does_not_answer() {
    let shell = Shell::with_env(&[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]);
    let tested = shell.run(&["models", "test"]).await.expect(1);
    assert!(tested.stdout.contains("no connection"), "{}", tested.stdout);
    let unknown = shell.run(&["models", "test", "big"]).await.expect(2);
    assert!(unknown.stderr.contains("no model `big` is configured; known: default"));
    let none = Shell::with_env(&[]).run(&["models", "test"]).await.expect(2);
    assert!(none.stderr.contains("set OPENAI_API_KEY or OPENAI_BASE_URL"), "{}", none.stderr);
}
