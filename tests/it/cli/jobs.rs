//! `eval` and `optimize`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrs::lm::{Role, ScriptedAnswer, ScriptedLm};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Shell;
use super::terminal::all_on_terminal;
use crate::Api;
use dsrs_test::one_node;

/// Answers `qN?` with `aN` once it is shown a worked example, and `q0?` always.
fn learns_from_demos() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let turns: Vec<_> = request.chat.messages().collect();
        let asked = turns.last().map(|turn| turn.content.to_string()).unwrap_or_default();
        let question = asked.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
        let number = question.trim_start_matches('q').split('?').next().unwrap_or_default();
        let knows = number == "0" || turns.iter().any(|turn| turn.role == Role::Assistant);
        let answer = if knows { format!("a{number}") } else { "?".to_owned() };
        ScriptedAnswer::from(format!("[[ ## answer ## ]]\n{answer}"))
    })
}

async fn api_with_examples(count: usize) -> (Api, Shell) {
    let api = Api::with_lm(learns_from_demos()).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let example = |n| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    let examples: Vec<_> = (0..count).map(example).collect();
    let body = json!({"name": "easy", "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
    let shell = Shell::at(&api);
    (api, shell)
}

/// Passes requests on to a server, and breaks the connection of the first request for events after the
/// head of its answer. Counts these requests.
struct BreakingProxy {
    url: String,
    followed: Arc<AtomicUsize>,
}

impl BreakingProxy {
    async fn to(url: &str) -> Self {
        let target = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let followed = Arc::new(AtomicUsize::new(0));
        let counter = followed.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(pass(client, server, counter.clone()));
            }
        });
        Self { url, followed }
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, followed: Arc<AtomicUsize>) {
    let (mut asked, mut answered) = ([0; 16_384], [0; 16_384]);
    let mut breaks = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                if asked[..length].windows(8).any(|part| part == b"/events ") {
                    breaks = followed.fetch_add(1, Ordering::SeqCst) == 0;
                }
                server.write_all(&asked[..length]).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                let head = answered[..length].windows(4).position(|part| part == b"\r\n\r\n");
                let length = if breaks { head.map_or(length, |end| end + 4) } else { length };
                if client.write_all(&answered[..length]).await.is_err() || breaks {
                    return;
                }
            }
        }
    }
}

const EVAL: [&str; 6] = ["eval", "q", "--dataset", "easy", "--metric", "exact"];

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_ends_with_a_table_of_the_score_and_the_worst_examples() {
    let (_api, shell) = api_with_examples(4).await;
    let ran = shell.run(&EVAL).await.expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("GRAPH") && lines[1].contains("0.2500"), "{}", ran.stdout);
    assert!(lines[1].starts_with("q 1/1") && lines[1].contains("4/4"), "{}", ran.stdout);
    assert_eq!(lines.len(), 2 + 1 + 3, "three examples are worse than 1: {}", ran.stdout);
    assert!(lines[3].starts_with("0.0000") && lines[3].contains("a1"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("evaluation ") && ran.stderr.contains("of 4 examples"));
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_under_decides_the_exit_code() {
    let (_api, shell) = api_with_examples(4).await;
    shell.run(&[&EVAL[..], &["--fail-under", "0.25"]].concat()).await.expect(0);
    let low = shell.run(&[&EVAL[..], &["--fail-under", "0.8"]].concat()).await.expect(1);
    assert!(low.stderr.ends_with("dsrs-server: score 0.2500 is below 0.8\n"), "{}", low.stderr);
    assert!(low.stdout.contains("0.2500"), "the table is printed all the same: {}", low.stdout);
    shell.run(&[&EVAL[..], &["--fail-under", "80"]].concat()).await.expect(2);
    let part = [&EVAL[..], &["--limit", "1", "--fail-under", "1", "--json"]].concat();
    let json = shell.run(&part).await.expect(0).json();
    assert_eq!((&json["mean_score"], &json["counts"]["total"]), (&json!(1.0), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_that_does_not_fit_is_refused_with_its_pointer() {
    let (_api, shell) = api_with_examples(2).await;
    let args = ["eval", "q", "--dataset", "easy", "--metric", "exactly"];
    let refused = shell.run(&args).await.expect(1);
    assert!(refused.stderr.contains("/metric"), "{}", refused.stderr);
    let none = ["eval", "q", "--dataset", "none", "--metric", "exact"];
    shell.run(&none).await.expect(1);
    shell.run(&["eval", "q", "--metric", "exact"]).await.expect(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_ends_with_both_scores_and_can_be_activated() {
    let (api, shell) = api_with_examples(40).await;
    let args = [
        "optimize",
        "q",
        "--optimizer",
        "labeled_few_shot",
        "--config",
        "{\"k\": 4}",
        "--trainset",
        "easy",
        "--metric",
        "exact",
        "--seed",
        "3",
        "--calls",
        "500",
        "--activate",
    ];
    let ran = shell.run(&[&args[..], &["--fail-under", "1"]].concat()).await.expect(0);
    let rows = ran.rows();
    assert_eq!(rows[0][0], "before", "{}", ran.stdout);
    assert_eq!(rows[1][..4], ["candidate", "1", "1.0000", "10"], "{}", ran.stdout);
    assert!(ran.stdout.contains("\nactivated: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nstate version 2\n"), "{}", ran.stdout);
    let state = api.get("/v1/graphs/q/state").await.expect(200).json();
    assert_eq!(state["version"], 2);
    let wrong = shell.run(&[&args[..3], &["no_such"], &args[6..]].concat()).await.expect(1);
    assert!(wrong.stderr.contains("/optimizer"), "{}", wrong.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_is_opened_again_and_the_command_ends_with_the_result() {
    let (api, _) = api_with_examples(4).await;
    let proxy = BreakingProxy::to(&api.url).await;
    let shell = Shell::with_env(&[("DSRS_URL", &proxy.url)]);
    let ran = shell.run(&EVAL).await.expect(0);
    assert!(ran.stdout.contains("0.2500"), "{}", ran.stdout);
    assert_eq!(proxy.followed.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_a_bar_that_is_gone_at_the_end_and_a_pipe_shows_none() {
    let (_api, shell) = api_with_examples(4).await;
    let (code, text) = all_on_terminal(&shell, &EVAL).await;
    assert_eq!(code, 0, "{text}");
    let bar = text.find("4/4 ").unwrap_or_else(|| panic!("{text:?}"));
    let table = text.find("GRAPH").unwrap();
    assert!(bar < table, "{text:?}");
    assert!(text[..table].ends_with("\x1b[2K"), "the bar is cleared: {text:?}");
    let piped = shell.run(&EVAL).await.expect(0);
    assert_eq!(piped.stderr.lines().count(), 1, "{}", piped.stderr);
}
