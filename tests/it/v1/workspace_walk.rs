//! Every operation of the OpenAPI document, called by a stranger with the ids, names, cursors, ETags and
//! keys of another workspace: nothing is seen, changed, counted or hinted at.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use crate::support::{Answer, Api, friendly_lm, support_reply, test_database};

/// In every text of the owner, and in no answer to the stranger.
const MARK: &str = "zebra";

/// The idempotency keys that the owner has used: the stranger sends one with requests that fail, and the
/// other with one that succeeds.
const KEY: &str = "their-key";
const OTHER_KEY: &str = "their-other-key";

/// The headers that authenticate a caller.
type Headers = Vec<(&'static str, String)>;

/// A caller, by its headers.
type Caller = [(&'static str, String)];

/// The owner of the things, and the stranger. Without keys that belong to workspaces there is one caller;
/// [`move_away`] makes it a stranger to what it has made.
fn callers() -> (Headers, Headers) {
    (Vec::new(), Vec::new())
}

/// Moves everything to another workspace; returns that workspace.
async fn move_away(database: &str) -> Uuid {
    let workspace = Uuid::now_v7();
    let mut superuser = PgConnection::connect(database).await.unwrap();
    let mut sql = format!(
        "set session_replication_role = replica;
         insert into workspaces values ('{workspace}', 'theirs', now(), 'test');"
    );
    for table in tables(&mut superuser).await {
        sql += &format!("update {table} set workspace_id = '{workspace}';");
    }
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut superuser).await.unwrap();
    workspace
}

async fn tables(session: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "select table_name::text from information_schema.columns
         where table_schema = 'public' and column_name = 'workspace_id' order by 1",
    )
    .fetch_all(session)
    .await
    .unwrap()
}

/// A digest of every row of a workspace, by table.
async fn rows_of(database: &str, workspace: Uuid) -> BTreeMap<String, String> {
    let mut superuser = PgConnection::connect(database).await.unwrap();
    let mut digests = BTreeMap::new();
    for table in tables(&mut superuser).await {
        let sql = format!(
            "select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '')
             from {table} t where workspace_id = $1"
        );
        let digest: String = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(workspace)
            .fetch_one(&mut superuser)
            .await
            .unwrap();
        digests.insert(table, digest);
    }
    digests
}

async fn ask(
    api: &Api,
    caller: &Caller,
    method: &Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Answer {
    let mut all: Vec<(&str, &str)> = caller.iter().map(|(name, value)| (*name, &**value)).collect();
    all.extend(headers);
    api.send(method.clone(), path, &all, body.map(Value::to_string)).await
}

/// The things of the owner.
#[derive(Default)]
struct Things {
    /// The ids of graphs and datasets, and those behind `{id}`, by the first segment of the path.
    ids: BTreeMap<&'static str, Vec<String>>,
    /// The cursors of the lists, by path.
    cursors: Vec<(String, String)>,
    /// ETags of the graph, its state and the dataset.
    etags: Vec<String>,
}

/// The evaluation that a comparison must name.
const NIL_AGAINST: &str = "?against=00000000-0000-0000-0000-000000000000";

const GRAPH: &str = "theirs";
const DATASET: &str = "their-examples";

impl Things {
    fn all_ids(&self) -> impl Iterator<Item = &str> {
        self.ids.values().flatten().map(String::as_str)
    }

    fn add(&mut self, kind: &'static str, id: &Value) -> String {
        let id = id.as_str().unwrap().to_owned();
        self.ids.entry(kind).or_default().push(id.clone());
        id
    }
}

fn named(name: &str, mut graph: Value) -> Value {
    graph["name"] = json!(name);
    graph["description"] = json!(MARK);
    graph
}

fn examples() -> Value {
    let example =
        |n| json!({"inputs": {"ticket": format!("{MARK} {n}")}, "expected": {"mood": "calm"}});
    (0..6).map(example).collect()
}

fn evaluation(dataset: &str) -> Value {
    json!({"dataset": dataset, "metric": {"exact": {"field": "mood"}}})
}

fn optimization(dataset: &str) -> Value {
    json!({"optimizer": "labeled_few_shot", "trainset": dataset,
           "metric": {"exact": {"field": "mood"}}, "config": {"k": 2}, "seed": 7})
}

fn letter() -> Value {
    json!({
        "name": "letter",
        "inputs": {"ticket": "str"},
        "nodes": {"approve": {"strategy": "await", "signature": "ticket -> approved: bool"}},
        "edges": [{"from": "input.ticket", "to": "approve.ticket"}],
        "outputs": {"approved": "approve.approved"}
    })
}

fn asked() -> Value {
    json!({"inputs": {"ticket": MARK}, "trace": true})
}

/// Makes one thing of every kind, and waits until all work has ended or is parked.
async fn make_things(api: &Api, owner: &Caller) -> Things {
    let mut things = Things::default();
    let send = |method: Method,
                path: String,
                headers: Vec<(&'static str, &'static str)>,
                body: Option<Value>| async move {
        let answer = ask(api, owner, &method, &path, &headers, body.as_ref()).await;
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
    let letter_graph = post("/v1/graphs", named("their-letter", letter())).await.json();
    things.add("graphs", &letter_graph["id"]);
    let parked = post("/v1/graphs/their-letter/execute", asked()).await.json();
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
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(120);
        loop {
            let found = get(path.clone()).await.json();
            if found["finished_at"].is_string() {
                assert_eq!(found["status"], "succeeded", "{found}");
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{found}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    let second = json!({"name": "their-others", "examples": examples()});
    things.add("datasets", &post("/v1/datasets", second).await.json()["id"]);

    let mut lists: Vec<String> =
        ["graphs", "runs", "datasets"].map(|kind| format!("/v1/{kind}")).to_vec();
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

/// An operation of the document.
struct Operation {
    method: Method,
    template: String,
    declaration: Value,
}

fn operations() -> Vec<Operation> {
    let document = dsrs_server::http::openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().filter_map(|(method, declaration)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
            let (template, declaration) = (path.clone(), declaration.clone());
            declaration.is_object().then_some(Operation { method, template, declaration })
        })
    });
    operations.collect()
}

impl Operation {
    fn declares(&self, header: &str) -> bool {
        let declared = self.declaration["parameters"].as_array().into_iter().flatten();
        declared.filter_map(|parameter| parameter["name"].as_str()).any(|name| name == header)
    }

    fn body(&self) -> Option<Value> {
        let content = &self.declaration["requestBody"]["content"]["application/json"];
        Some(content["example"].clone()).filter(|example| !example.is_null())
    }

    /// The first parameter of the path, if it names a thing of a workspace.
    fn thing(&self) -> Option<&'static str> {
        let kinds =
            ["graphs", "runs", "batches", "datasets", "evaluations", "optimizations"].into_iter();
        kinds.into_iter().find(|kind| self.template.starts_with(&format!("/v1/{kind}/{{")))
    }

    /// The path for a thing; the other parameters exist for the things of the owner.
    fn path(&self, thing: &str) -> String {
        let mut segments = Vec::new();
        let mut first = true;
        for segment in self.template.split('/') {
            let parameter = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            segments.push(match parameter {
                None => segment,
                Some(_) if std::mem::take(&mut first) => thing,
                Some("version") => "1",
                Some("number") => "0",
                Some("path") => "judge",
                Some(other) => panic!("{}: {other}", self.template),
            });
        }
        let comparison = self.template.ends_with("/comparison");
        segments.join("/") + if comparison { NIL_AGAINST } else { "" }
    }

    /// All combinations of headers that a stranger might try.
    fn headers<'t>(&self, things: &'t Things) -> Vec<Vec<(&'static str, &'t str)>> {
        let mut variants = vec![Vec::new()];
        for (declared, name) in [("If-Match", "if-match"), ("If-None-Match", "if-none-match")] {
            if self.declares(declared) {
                variants.extend(things.etags.iter().map(|etag| vec![(name, &**etag)]));
            }
        }
        if self.declares("Idempotency-Key") {
            variants.push(vec![("idempotency-key", KEY)]);
        }
        if self.declares("Last-Event-ID") {
            variants.push(vec![("last-event-id", "1")]);
        }
        variants
    }
}

/// What a client sees of an answer, with the thing it asked for made anonymous.
fn seen(answer: &Answer, thing: &str) -> (u16, Vec<String>, String) {
    let ignored = ["date", "x-request-id", "content-length"];
    let names = answer.headers.iter().filter(|(name, _)| !ignored.contains(&name.as_str()));
    let mut headers: Vec<String> = names
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()).replace(thing, "THING"))
        .collect();
    headers.sort();
    let mut text = answer.text.clone();
    if let Ok(mut body) = serde_json::from_str::<Value>(&text) {
        if let Some(object) = body.as_object_mut() {
            object.remove("request_id");
        }
        text = body.to_string();
    }
    (answer.status, headers, text.replace(thing, "THING"))
}

/// A thing that does not exist and looks like one that does.
fn absent(thing: &str) -> String {
    let (rest, last) = thing.split_at(thing.len() - 1);
    format!("{rest}{}", if last == "0" { "1" } else { "0" })
}

/// Everything that is wrong, so that one walk finds all of it.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn check(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        if !holds {
            self.0.push(finding());
        }
    }

    /// An answer to the stranger about `thing`: nothing of the owner is in it.
    fn check_text(&mut self, things: &Things, what: &str, answer: &Answer, thing: &str) {
        let text = answer.text.replace(thing, "THING");
        let names = [GRAPH, DATASET, "their-others", "their-letter"].into_iter();
        for known in things.all_ids().chain(names).chain([MARK]) {
            self.check(!text.contains(known), || format!("{what}: {known} is in {text}"));
        }
    }
}

struct Stranger<'a> {
    api: &'a Api,
    caller: &'a Caller,
    things: &'a Things,
    findings: Findings,
    tried: usize,
}

impl Stranger<'_> {
    async fn ask(
        &mut self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        self.tried += 1;
        ask(self.api, self.caller, method, path, headers, body).await
    }

    /// Two requests, about a thing of the owner and one that does not exist, have the same answer.
    async fn compare(
        &mut self,
        method: &Method,
        thing: &str,
        headers: &[(&str, &str)],
        request: impl Fn(&str) -> (String, Option<Value>),
    ) -> Answer {
        let absent = absent(thing);
        let ((path, body), (absent_path, absent_body)) = (request(thing), request(&absent));
        let answer = self.ask(method, &path, headers, body.as_ref()).await;
        let expected = self.ask(method, &absent_path, headers, absent_body.as_ref()).await;
        let (found, expected_seen) = (seen(&answer, thing), seen(&expected, &absent));
        let what = format!("{method} {path} {headers:?}");
        self.findings.check(found == expected_seen, || {
            format!("{what}: {found:?} instead of {expected_seen:?}")
        });
        self.findings.check_text(self.things, &what, &answer, thing);
        self.findings.check_text(self.things, &format!("{what} (absent)"), &expected, &absent);
        answer
    }

    /// Each operation on a thing answers as if the thing did not exist.
    async fn visit(&mut self, operation: &Operation, kind: &str) {
        let mut names = self.things.ids[kind].clone();
        match kind {
            "graphs" => names.push(GRAPH.to_owned()),
            "datasets" => names = vec![DATASET.to_owned()],
            _ => {}
        }
        for name in &names {
            for headers in operation.headers(self.things) {
                let request = |thing: &str| (operation.path(thing), operation.body());
                let answer = self.compare(&operation.method, name, &headers, request).await;
                let (method, path) = (&operation.method, operation.path(name));
                let names_runs = path.ends_with("/from-runs") && answer.status == 422;
                self.findings.check(answer.status == 404 || names_runs, || {
                    format!("{method} {path} {headers:?}: {} {}", answer.status, answer.text)
                });
            }
        }
    }

    /// A list is empty, with and without what belongs to the owner.
    async fn visit_list(&mut self, operation: &Operation) {
        let path = &operation.template;
        let mut queries = vec![String::new(), "?limit=1".to_owned()];
        let cursors = self.things.cursors.iter().filter(|(list, _)| list == path);
        queries.extend(cursors.map(|(_, cursor)| format!("?cursor={cursor}")));
        if operation.declares("graph") {
            for graph in [GRAPH, &*self.things.ids["graphs"][0]] {
                let request = |graph: &str| (format!("{path}?graph={graph}"), None);
                let answer = self.compare(&Method::GET, graph, &[], request).await;
                let page = answer.json();
                let empty = answer.status == 404 || page["items"] == json!([]);
                self.findings.check(empty, || format!("{path}?graph={graph}: {page}"));
            }
        }
        if operation.declares("status") {
            queries.extend(["succeeded", "waiting"].map(|status| format!("?status={status}")));
        }
        for query in queries {
            let path = format!("{path}{query}");
            let answer = self.ask(&Method::GET, &path, &[], None).await;
            self.findings.check_text(self.things, &path, &answer, "?");
            let page = answer.json();
            let empty = page["items"] == json!([]) && page["next_cursor"].is_null();
            self.findings.check(answer.status == 200 && empty, || format!("{path}: {page}"));
        }
    }

    async fn walk(&mut self) {
        for operation in operations() {
            let Operation { method, template, .. } = &operation;
            if let Some(kind) = operation.thing() {
                self.visit(&operation, kind).await;
            } else if *method == Method::GET && is_list_of_things(template) {
                self.visit_list(&operation).await;
            } else if *method == Method::GET
                && !template.contains('{')
                // Without keys every caller administers all workspaces.
                && template != "/v1/workspaces"
            {
                let answer = self.ask(method, template, &[], None).await;
                self.findings.check_text(self.things, template, &answer, "?");
            }
        }
        for (path, cursor) in &self.things.cursors {
            if path.matches('/').count() > 2 {
                let answer =
                    self.ask(&Method::GET, &format!("{path}?cursor={cursor}"), &[], None).await;
                self.findings.check(answer.status == 404, || format!("{path}: {}", answer.text));
            }
        }
    }

    /// What the stranger makes may have the names that the owner uses, and may not refer to the owner's.
    async fn make_own(&mut self) {
        let post = Method::POST;
        let graph = support_reply();
        let mut graph = graph.clone();
        graph["name"] = json!(GRAPH);
        let made = self.ask(&post, "/v1/graphs", &[], Some(&graph)).await;
        self.findings
            .check(made.status == 201 && made.json()["version"] == 1, || made.text.clone());
        let own = json!([{"inputs": {"ticket": "ours"}, "expected": {"mood": "calm"}}]);
        let dataset = json!({"name": DATASET, "examples": own});
        let made = self.ask(&post, "/v1/datasets", &[], Some(&dataset)).await;
        self.findings
            .check(made.status == 201 && made.json()["version"] == 1, || made.text.clone());

        let execute = format!("/v1/graphs/{GRAPH}/execute");
        let run =
            self.ask(&post, &execute, &[("idempotency-key", OTHER_KEY)], Some(&asked())).await;
        let known = &self.things.ids["runs"];
        let is_new = run.status == 200
            && run.json()["run_id"].as_str().is_some_and(|id| !known.iter().any(|run| run == id));
        self.findings
            .check(is_new && run.header("idempotent-replayed").is_empty(), || run.text.clone());
        for etag in self.things.etags.clone() {
            for path in [format!("/v1/graphs/{GRAPH}"), format!("/v1/datasets/{DATASET}")] {
                let headers = [("if-match", &*etag)];
                let answer = self.ask(&Method::DELETE, &path, &headers, None).await;
                self.findings
                    .check(answer.status == 412, || format!("{path} {etag}: {}", answer.status));
            }
        }
        self.refer().await;
    }

    /// Bodies and queries that name things of the owner are answered as for things that do not exist.
    async fn refer(&mut self) {
        let post = Method::POST;
        let below = |kind: &str| format!("/v1/graphs/{GRAPH}/{kind}");
        let others = "their-others";
        self.compare(&post, others, &[], |name| (below("evaluations"), Some(evaluation(name))))
            .await;
        self.compare(&post, others, &[], |name| (below("optimizations"), Some(optimization(name))))
            .await;
        let within = |graph: &str| {
            let node = json!({"strategy": "graph", "config": {"graph": graph}});
            Some(json!({"name": "desk", "nodes": {"help": node}}))
        };
        for graph in ["their-letter".to_owned(), self.things.ids["graphs"][0].clone()] {
            for path in ["/v1/graphs", "/v1/graphs/validate"] {
                self.compare(&post, &graph, &[], |graph| (path.to_owned(), within(graph))).await;
            }
            let check = format!("/v1/datasets/{DATASET}/check");
            let body = |graph: &str| Some(json!({"graph": graph}));
            self.compare(&post, &graph, &[], |graph| (check.clone(), body(graph))).await;
        }
        for run in self.things.ids["runs"].clone() {
            let path = format!("/v1/datasets/{DATASET}/from-runs");
            let body = |run: &str| Some(json!({"runs": [run]}));
            self.compare(&post, &run, &[], |run| (path.clone(), body(run))).await;
        }
        let own =
            self.ask(&post, &below("evaluations"), &[], Some(&evaluation(DATASET))).await.json();
        let id = own["id"].as_str().unwrap_or_default().to_owned();
        let theirs = self.things.ids["evaluations"][0].clone();
        let against =
            |other: &str| (format!("/v1/evaluations/{id}/comparison?against={other}"), None);
        self.compare(&Method::GET, &theirs, &[], against).await;
    }
}

fn is_list_of_things(template: &str) -> bool {
    let kind = template.strip_prefix("/v1/").unwrap_or_default();
    ["graphs", "runs", "batches", "datasets", "evaluations", "optimizations"].contains(&kind)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_workspace_is_seen_or_changed_from_another() {
    let (owner, stranger) = callers();
    let database = test_database().await;
    let lm = || Some(std::sync::Arc::new(friendly_lm()) as _);
    let api = Api::start(&database, lm(), &[]).await;
    let things = make_things(&api, &owner).await;
    api.stop().await;
    let workspace = move_away(&database).await;

    let api = Api::start(&database, lm(), &[]).await;
    let before = rows_of(&database, workspace).await;
    assert!(before["runs"].starts_with(char::is_numeric) && !before["runs"].starts_with("0 "));
    let findings = Findings::default();
    let mut stranger =
        Stranger { api: &api, caller: &stranger, things: &things, findings, tried: 0 };
    stranger.walk().await;
    stranger.make_own().await;
    let (findings, tried) = (stranger.findings.0, stranger.tried);
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert!(tried > 300, "{tried}");
    assert_eq!(rows_of(&database, workspace).await, before);
}
