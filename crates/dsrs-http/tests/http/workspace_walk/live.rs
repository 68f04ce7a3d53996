//! Work in progress and its events: neither is reached from another workspace, on the same server or on
//! another one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use dsrs::lm::{DeltaSink, Lm, LmError, LmReply, LmRequest, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::stranger::{absent, seen};
use super::things::{GRAPH, LETTER, MARK, letter, named};
use super::{Member, OWNER, ROOT, STRANGER};
use crate::Api;
use dsrs_test::{Answer, Remote, one_node, test_database};

/// A question with this text is answered when the test allows it.
const HELD: &str = "hold-this";

struct HeldLm {
    turns: Arc<Semaphore>,
    lm: ScriptedLm,
}

impl Lm for HeldLm {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<LmReply, LmError>> + Send + 'a>> {
        Box::pin(async move {
            if request.chat.turns.iter().any(|turn| turn.content.contains(HELD)) {
                let _turn = self.turns.acquire().await.unwrap();
            }
            self.lm.complete(request, deltas).await
        })
    }
}

/// Two servers on one database, whose model holds some questions.
struct Servers {
    turns: Arc<Semaphore>,
    working: Api,
    idle: Api,
}

impl Servers {
    async fn start() -> Self {
        let (database, turns) = (test_database().await, Arc::new(Semaphore::new(0)));
        let lm = || {
            let lm = ScriptedLm::sections([("answer", "fine"), ("sent", "off")]);
            Some(Arc::new(HeldLm { turns: turns.clone(), lm }) as Arc<dyn Lm>)
        };
        let without_worker = [ROOT.as_slice(), &[("DSRS_WORKER_ENABLED", "false")]].concat();
        let working = Api::start(&database, lm(), &ROOT).await;
        let idle = Api::start(&database, lm(), &without_worker).await;
        Self { turns: turns.clone(), working, idle }
    }
}

fn ask(question: &str) -> Value {
    json!({"inputs": {"question": question}})
}

fn id(answer: &Answer) -> String {
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The answers about a run of another workspace are those about a run that does not exist.
async fn assert_out_of_reach(stranger: &Remote, run: &str) {
    let (none, signal) = (json!({}), json!({"node": "approve", "value": {"approved": false}}));
    let tries = [
        (Method::GET, "", None),
        (Method::GET, "/events", None),
        (Method::POST, "/cancel", None),
        (Method::POST, "/resume", Some(none)),
        (Method::POST, "/signal", Some(signal)),
    ];
    for (method, below, body) in tries {
        let send = |run: String| {
            let body = body.as_ref().map(Value::to_string);
            let method = method.clone();
            async move { stranger.send(method, &format!("/v1/runs/{run}{below}"), &[], body).await }
        };
        let missing = absent(run);
        let (found, expected) = (send(run.to_owned()).await, send(missing.clone()).await);
        assert_eq!(found.status, 404, "{method} {below}: {}", found.text);
        assert_eq!(seen(&found, run), seen(&expected, &missing), "{method} {below}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_in_progress_is_neither_stopped_nor_continued_from_another_workspace() {
    let servers = Servers::start().await;
    let Servers { working, idle, turns } = &servers;
    let (owner, stranger) =
        (Member::join(working, OWNER).await, Member::join(working, STRANGER).await);
    let theirs = owner.remote(working);
    let graph = named(GRAPH, one_node(GRAPH, "question -> answer"));
    theirs.post("/v1/graphs", &graph).await.expect(201);
    theirs.post("/v1/graphs", named(LETTER, letter())).await.expect(201);

    let execute = format!("/v1/graphs/{GRAPH}/execute");
    let body = Some(ask(HELD).to_string());
    let mut stream = theirs.stream(Method::POST, &execute, &[], body).await;
    let started = stream.until("run.started").await;
    let streamed = started.data["run_id"].as_str().unwrap().to_owned();
    let queued = id(&theirs.post(&format!("/v1/graphs/{GRAPH}/runs"), ask(HELD)).await.expect(202));
    let is_running = |answer: &Answer| answer.json()["status"] == "running";
    theirs.until(&format!("/v1/runs/{queued}"), is_running).await;
    let parked = theirs.post(&format!("/v1/graphs/{LETTER}/execute"), ticket()).await.expect(202);
    let parked = id(&parked);

    for server in [working, idle] {
        let stranger = stranger.remote(server);
        for run in [&streamed, &queued, &parked] {
            assert_out_of_reach(&stranger, run).await;
        }
    }
    // A graph of the same name, with another active state, and its end.
    let ours = stranger.remote(idle);
    ours.post("/v1/graphs", &graph).await.expect(201);
    let instruction = json!({"instruction": "Shout."});
    ours.patch(&format!("/v1/graphs/{GRAPH}/predictors/ask"), instruction).await.expect(200);
    for server in [working, idle] {
        let answer = owner.remote(server).post(&execute, ask("now")).await.expect(200).json();
        assert_eq!(answer["state_version"], started.data["state_version"], "{answer}");
    }
    ours.delete(&format!("/v1/graphs/{GRAPH}")).await.expect(204);
    owner.remote(idle).post(&execute, ask("now")).await.expect(200);

    let waiting = theirs.get(&format!("/v1/runs/{parked}")).await.json();
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    turns.add_permits(10);
    assert_eq!(stream.rest().await.last().unwrap().kind, "run.completed");
    assert_eq!(theirs.ended(&queued).await["status"], "succeeded");
    let signal = json!({"node": "approve", "value": {"approved": true}});
    theirs.post(&format!("/v1/runs/{parked}/signal"), signal).await.expect(202);
    assert_eq!(theirs.ended(&parked).await["outputs"]["approved"], true);
}

fn ticket() -> Value {
    json!({"inputs": {"ticket": MARK}})
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_receive_nothing_of_another_workspace() {
    let servers = Servers::start().await;
    let Servers { working, idle, turns } = &servers;
    let (owner, stranger) =
        (Member::join(working, OWNER).await, Member::join(working, STRANGER).await);
    let (theirs, ours) = (owner.remote(working), stranger.remote(idle));
    for caller in [&theirs, &ours] {
        let graph = one_node(GRAPH, "question -> answer");
        caller.post("/v1/graphs", graph).await.expect(201);
    }
    let runs = format!("/v1/graphs/{GRAPH}/runs");
    let own = id(&ours.post(&runs, ask(HELD)).await.expect(202));
    let mut follower = ours.stream(Method::GET, &format!("/v1/runs/{own}/events"), &[], None).await;
    let first = follower.until("run.started").await;
    // Meanwhile runs of the owner start, end, fail to start and are cancelled.
    for n in 0..5 {
        let run = id(&theirs.post(&runs, ask(&format!("{MARK} {n}"))).await.expect(202));
        assert_eq!(theirs.ended(&run).await["status"], "succeeded");
    }
    let held = id(&theirs.post(&runs, ask(&format!("{MARK} {HELD}"))).await.expect(202));
    theirs.post(&format!("/v1/runs/{held}/cancel"), "").await.expect(200);
    turns.add_permits(10);
    let events = follower.rest().await;
    assert_eq!(events.last().unwrap().kind, "run.completed");
    let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (first.id + 1..=first.id + events.len() as u64).collect::<Vec<_>>());
    for event in &events {
        let text = event.data.to_string();
        assert!(!text.contains(MARK) && !text.contains(&held), "{text}");
    }
    assert_eq!(ours.get("/v1/runs").await.json()["items"].as_array().unwrap().len(), 1);
}
