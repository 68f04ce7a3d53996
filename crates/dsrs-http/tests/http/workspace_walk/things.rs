//! One thing of every kind, as the owner makes them.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::OWNER;
use dsrs_test::{Remote, found, support_reply};

/// In every text of the owner, and in no answer to the stranger.
pub const MARK: &str = "zebra";

/// The idempotency keys that the owner has used: the stranger sends one with requests that fail, and the
/// other with one that succeeds.
pub const KEY: &str = "their-key";
pub const OTHER_KEY: &str = "their-other-key";

/// The things of the owner.
#[derive(Default)]
pub struct Things {
    /// The ids of graphs and datasets, and those behind `{id}`, by the first segment of the path.
    pub ids: BTreeMap<&'static str, Vec<String>>,
    /// The cursors of the lists, by path.
    pub cursors: Vec<(String, String)>,
    /// ETags of the graph, its state and the dataset.
    pub etags: Vec<String>,
}

pub const GRAPH: &str = "theirs";
pub const DATASET: &str = "their-examples";
pub const INDEX: &str = "their-index";
pub const LETTER: &str = "their-letter";
pub const OTHERS: &str = "their-others";

impl Things {
    pub fn all_ids(&self) -> impl Iterator<Item = &str> {
        self.ids.values().flatten().map(String::as_str)
    }

    pub fn add(&mut self, kind: &'static str, id: &Value) -> String {
        let id = id.as_str().unwrap().to_owned();
        self.ids.entry(kind).or_default().push(id.clone());
        id
    }
}

pub fn named(name: &str, mut graph: Value) -> Value {
    graph["name"] = json!(name);
    graph["description"] = json!(MARK);
    graph
}

pub fn examples() -> Value {
    let example =
        |n| json!({"inputs": {"ticket": format!("{MARK} {n}")}, "expected": {"mood": "calm"}});
    (0..6).map(example).collect()
}

pub fn evaluation(dataset: &str) -> Value {
    json!({"dataset": dataset, "metric": {"exact": {"field": "mood"}}})
}

pub fn optimization(dataset: &str) -> Value {
    json!({"optimizer": "labeled_few_shot", "trainset": dataset,
           "metric": {"exact": {"field": "mood"}}, "config": {"k": 2}, "seed": 7})
}

pub fn letter() -> Value {
    json!({
        "name": "letter",
        "inputs": {"ticket": "str"},
        "nodes": {"approve": {"strategy": "await", "signature": "ticket -> approved: bool"}},
        "edges": [{"from": "input.ticket", "to": "approve.ticket"}],
        "outputs": {"approved": "approve.approved"}
    })
}

pub fn asked() -> Value {
    json!({"inputs": {"ticket": MARK}, "trace": true})
}

/// Makes one thing of every kind, and waits until all work has ended or is parked.
pub async fn make_things(owner: &Remote) -> Things {
    let mut things = Things::default();
    let send = |method: Method,
                path: String,
                headers: Vec<(&'static str, &'static str)>,
                body: Option<Value>| async move {
        let body = body.map(|body| body.to_string());
        let answer = owner.send(method.clone(), &path, &headers, body).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text);
        answer
    };
    let post = |path: &str, body: Value| send(Method::POST, path.to_owned(), vec![], Some(body));
    let get = |path: String| send(Method::GET, path, vec![], None);

    let graph = post("/v1/graphs", named(GRAPH, support_reply())).await.json();
    things.add("graphs", &graph["id"]);
    let edits = json!({"edits": [{"op": "rename_node", "name": "triage", "to": "judge"}]});
    send(Method::PATCH, format!("/v1/graphs/{GRAPH}"), vec![], Some(edits)).await;
    let instruction = json!({"instruction": MARK});
    let predictor = format!("/v1/graphs/{GRAPH}/predictors/judge");
    send(Method::PATCH, predictor, vec![], Some(instruction)).await;
    let dataset = json!({"name": DATASET, "description": MARK, "examples": examples()});
    things.add("datasets", &post("/v1/datasets", dataset.clone()).await.json()["id"]);
    let more = json!({"name": DATASET, "description": "more", "examples": examples()});
    send(Method::PUT, format!("/v1/datasets/{DATASET}"), vec![], Some(more)).await;

    let execute = format!("/v1/graphs/{GRAPH}/execute");
    for key in [KEY, OTHER_KEY] {
        let headers = vec![("idempotency-key", key)];
        let run = send(Method::POST, execute.clone(), headers, Some(asked())).await.json();
        things.add("runs", &run["run_id"]);
    }
    let letter_graph = post("/v1/graphs", named(LETTER, letter())).await.json();
    things.add("graphs", &letter_graph["id"]);
    let parked = post(&format!("/v1/graphs/{LETTER}/execute"), asked()).await.json();
    things.add("runs", &parked["id"]);

    let items = json!({"items": [{"ticket": MARK}, {"ticket": "more"}]});
    for (kind, below, body) in [
        ("runs", "runs", asked()),
        ("batches", "batches", items),
        ("evaluations", "evaluations", evaluation(DATASET)),
        ("optimizations", "optimizations", optimization(DATASET)),
    ] {
        let accepted = post(&format!("/v1/graphs/{GRAPH}/{below}"), body).await.json();
        let id = things.add(kind, &accepted["id"]);
        let path = format!("/v1/{kind}/{id}");
        let has_ended = async || {
            Some(get(path.clone()).await.json()).filter(|job| job["finished_at"].is_string())
        };
        let ended = found("the end of the job", has_ended).await;
        assert_eq!(ended["status"], "succeeded", "{ended}");
    }
    let second = json!({"name": OTHERS, "examples": examples()});
    things.add("datasets", &post("/v1/datasets", second).await.json()["id"]);
    let key = json!({"name": format!("{MARK}-reader"), "scopes": ["read"]});
    things.add("keys", &post("/v1/keys", key).await.json()["id"]);
    things.ids.insert("workspaces", vec![OWNER.to_owned()]);
    let index = json!({"name": INDEX, "dataset": DATASET});
    post("/v1/indexes", index).await;
    found("the index to be built", async || {
        let index = get(format!("/v1/indexes/{INDEX}")).await.json();
        (index["build"]["status"] == "succeeded").then_some(())
    })
    .await;
    things.ids.insert("indexes", vec![INDEX.to_owned()]);

    let mut lists: Vec<String> =
        ["graphs", "runs", "datasets", "keys", "audit"].map(|kind| format!("/v1/{kind}")).to_vec();
    lists.push(format!("/v1/graphs/{GRAPH}/versions"));
    lists.push(format!("/v1/graphs/{GRAPH}/state/versions"));
    lists.push(format!("/v1/datasets/{DATASET}/versions"));
    lists.push(format!("/v1/datasets/{DATASET}/examples"));
    lists.push(format!("/v1/batches/{}/results", things.ids["batches"][0]));
    lists.push(format!("/v1/evaluations/{}/results", things.ids["evaluations"][0]));
    for path in lists {
        let page = get(format!("{path}?limit=1")).await.json();
        let cursor = page["next_cursor"].as_str().unwrap_or_else(|| panic!("{path}: {page}"));
        things.cursors.push((path, cursor.to_owned()));
    }
    for path in
        [format!("graphs/{GRAPH}"), format!("graphs/{GRAPH}/state"), format!("datasets/{DATASET}")]
    {
        let etag = get(format!("/v1/{path}")).await.header("etag").to_owned();
        assert!(!etag.is_empty(), "{path}");
        things.etags.push(etag);
    }
    things
}
