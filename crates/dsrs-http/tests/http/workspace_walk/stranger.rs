//! A caller of another workspace, who tries every operation on the things of the owner.

use reqwest::Method;
use serde_json::{Value, json};

use super::operation::{Operation, operations};
use super::things::{
    DATASET, GRAPH, INDEX, LETTER, MARK, OTHER_KEY, OTHERS, Things, asked, evaluation, optimization,
};
use dsrs_test::{Answer, Remote, support_reply};

/// What a client sees of an answer, with the thing it asked for made anonymous.
pub fn seen(answer: &Answer, thing: &str) -> (u16, Vec<String>, String) {
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
pub fn absent(thing: &str) -> String {
    let (rest, last) = thing.split_at(thing.len() - 1);
    format!("{rest}{}", if last == "0" { "1" } else { "0" })
}

/// Everything that is wrong, so that one walk finds all of it.
#[derive(Default)]
pub struct Findings(pub Vec<String>);

impl Findings {
    pub fn check(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        if !holds {
            self.0.push(finding());
        }
    }

    /// An answer to the stranger about `thing`: nothing of the owner is in it.
    pub fn check_text(&mut self, things: &Things, what: &str, answer: &Answer, thing: &str) {
        let text = answer.text.replace(thing, "THING");
        let names = [GRAPH, DATASET, INDEX, OTHERS, LETTER].into_iter();
        for known in things.all_ids().chain(names).chain([MARK]) {
            self.check(!text.contains(known), || format!("{what}: {known} is in {text}"));
        }
    }
}

pub struct Stranger<'a> {
    pub remote: &'a Remote,
    pub things: &'a Things,
    pub findings: Findings,
    pub tried: usize,
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
        self.remote.send(method.clone(), path, headers, body.map(Value::to_string)).await
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
                // Whether a workspace exists is not shown.
                let expected = if kind == "workspaces" { 403 } else { 404 };
                self.findings.check(answer.status == expected || names_runs, || {
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

    /// A list that has something of the stranger has nothing else, with and without what belongs to the owner.
    async fn visit_own_list(&mut self, path: &str) {
        let all = self.ask(&Method::GET, path, &[], None).await.json()["items"].clone();
        let cursors = self.things.cursors.iter().filter(|(list, _)| list == path);
        let mut queries: Vec<String> =
            cursors.map(|(_, cursor)| format!("cursor={cursor}")).collect();
        queries.extend(["limit=1".to_owned(), "limit=200".to_owned()]);
        let own = all.as_array().cloned().unwrap_or_default();
        self.findings.check(!own.is_empty(), || format!("{path}: {all}"));
        for query in queries {
            let path = format!("{path}?{query}");
            let answer = self.ask(&Method::GET, &path, &[], None).await;
            self.findings.check_text(self.things, &path, &answer, "?");
            let page = answer.json();
            let items = page["items"].as_array().cloned().unwrap_or_default();
            let is_own = answer.status == 200 && items.iter().all(|item| own.contains(item));
            self.findings.check(is_own, || format!("{path}: {page}"));
        }
    }

    pub async fn walk(&mut self) {
        for operation in operations() {
            let Operation { method, template, .. } = &operation;
            if let Some(kind) = operation.thing() {
                self.visit(&operation, kind).await;
            } else if *method == Method::GET && is_list_of_things(template) {
                self.visit_list(&operation).await;
            } else if *method == Method::GET && matches!(&**template, "/v1/keys" | "/v1/audit") {
                self.visit_own_list(template).await;
            } else if *method == Method::GET && !template.contains('{') {
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
    pub async fn make_own(&mut self) {
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
        self.compare(&post, OTHERS, &[], |name| (below("evaluations"), Some(evaluation(name))))
            .await;
        self.compare(&post, OTHERS, &[], |name| (below("optimizations"), Some(optimization(name))))
            .await;
        let within = |graph: &str| {
            let node = json!({"strategy": "graph", "config": {"graph": graph}});
            Some(json!({"name": "desk", "nodes": {"help": node}}))
        };
        for graph in [LETTER.to_owned(), self.things.ids["graphs"][0].clone()] {
            for path in ["/v1/graphs", "/v1/graphs/validate"] {
                self.compare(&post, &graph, &[], |graph| (path.to_owned(), within(graph))).await;
            }
            let check = format!("/v1/datasets/{DATASET}/check");
            let body = |graph: &str| Some(json!({"graph": graph}));
            self.compare(&post, &graph, &[], |graph| (check.clone(), body(graph))).await;
        }
        let key = |name: &str| Some(json!({"name": "k", "scopes": ["read"], "workspace": name}));
        let workspace = self.things.ids["workspaces"][0].clone();
        self.compare(&post, &workspace, &[], |name| ("/v1/keys".to_owned(), key(name))).await;
        let named = |name: &str| ("/v1/workspaces".to_owned(), Some(json!({"name": name})));
        self.compare(&post, &workspace, &[], named).await;
        let list = |name: &str| (format!("/v1/keys?workspace={name}"), None);
        self.compare(&Method::GET, &workspace, &[], list).await;
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
