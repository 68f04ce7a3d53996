//! Sixteen concurrent clients: none receives the answer of another, and writers are serialized.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{Answer, Asked, Does, FakeLm, Remote, sections, test_database};

const CLIENTS: usize = 16;
const RUNS_EACH: usize = 4;

/// Answers the words after `marker` and `guide` in the prompt.
fn echo(asked: &Asked) -> Does {
    let (question, text) = (asked.question(), asked.text());
    Does::Say(sections([("said", word(&question, "marker")), ("guided", word(&text, "guide"))]))
}

/// The word after the last `NAME=`, or nothing.
fn word<'t>(text: &'t str, name: &str) -> &'t str {
    let rest = text.rsplit_once(&format!("{name}=")).map_or("none", |(_, rest)| rest);
    rest.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap()
}

fn state(guide: &str) -> Value {
    json!({"predictors": {"ask": {"instruction": format!("Obey guide={guide} now."), "demos": []}}})
}

fn graph(name: &str) -> Value {
    one_node(name, "question -> said, guided", json!({}))
}

async fn all<F: Future>(work: impl FnMut(usize) -> F) -> Vec<F::Output> {
    join_all((0..CLIENTS).map(work)).await
}

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_concurrent_clients_receive_correct_answers() {
    let lm = FakeLm::by(|_, asked| echo(asked)).await;
    let server = on(&test_database().await, &lm).start();
    let url = server.url.clone();

    let api = Remote::new(&url);
    let created = all(|_| api.post("/v1/graphs", graph("shared"))).await;
    assert_eq!((count(&created, 201), count(&created, 409)), (1, CLIENTS - 1));

    // Separate connections, like sixteen processes.
    let done = all(|client| client_story(Remote::new(&url), client)).await;
    let versions: BTreeSet<i64> = done.iter().map(|story| story.put).collect();
    assert_eq!(versions, (2..2 + CLIENTS as i64).collect());
    let guides: Vec<(i64, String)> =
        done.iter().map(|story| (story.put, story.guide.clone())).collect();
    for (state_version, guided) in done.iter().flat_map(|story| &story.seen) {
        let wanted = guides.iter().find(|(version, _)| version == state_version);
        assert_eq!(guided, wanted.map_or("none", |(_, guide)| guide), "state {state_version}");
    }
    let ids: BTreeSet<&String> = done.iter().flat_map(|story| &story.runs).collect();
    assert_eq!(ids.len(), CLIENTS * RUNS_EACH * 2);
    assert_eq!(lm.asked().len(), CLIENTS * RUNS_EACH * 2);

    let tag = api.get("/v1/graphs/shared/state").await.expect(200).header("etag").to_owned();
    let puts = all(|client| {
        let body = Some(state(&format!("late-{client}")).to_string());
        let (api, tag) = (api.clone(), tag.clone());
        async move {
            let header = [("if-match", tag.as_str())];
            api.send(Method::PUT, "/v1/graphs/shared/state", &header, body).await
        }
    })
    .await;
    assert_eq!((count(&puts, 200), count(&puts, 412)), (1, CLIENTS - 1));
}

/// The observations of one client.
struct Story {
    guide: String,
    /// The state version that its PUT created.
    put: i64,
    /// On the shared graph: the state version of a run, and the guide in its prompt.
    seen: Vec<(i64, String)>,
    runs: Vec<String>,
}

async fn client_story(api: Remote, client: usize) -> Story {
    let (own, guide) = (format!("own-{client}"), format!("guide-{client}"));
    api.post("/v1/graphs", graph(&own)).await.expect(201);
    let (mut seen, mut runs, mut put) = (Vec::new(), Vec::new(), 0);
    for round in 0..RUNS_EACH {
        if round == RUNS_EACH / 2 {
            let answer = api.put("/v1/graphs/shared/state", state(&guide)).await.expect(200);
            put = answer.json()["version"].as_i64().unwrap();
        }
        for graph in ["shared", own.as_str()] {
            let marker = format!("{graph}-{client}-{round}");
            let body = json!({"inputs": {"question": format!("marker={marker}")}});
            let path = format!("/v1/graphs/{graph}/execute");
            let run = api.post(&path, body).await.expect(200).json();
            assert_eq!((text(&run, "graph"), text(&run["outputs"], "said")), (graph, &*marker));
            let recorded = api.get(&format!("/v1/runs/{}", text(&run, "id"))).await.expect(200);
            assert_eq!(recorded.json()["inputs"], run["inputs"]);
            assert_eq!(recorded.json()["outputs"], run["outputs"]);
            let guided = text(&run["outputs"], "guided").to_owned();
            match graph {
                "shared" => seen.push((run["state_version"].as_i64().unwrap(), guided)),
                _ => assert_eq!(guided, "none"),
            }
            runs.push(text(&run, "id").to_owned());
        }
    }
    Story { guide, put, seen, runs }
}
