//! The built-in tool `search`: passages of an index as the typed result of a node.

use std::sync::{Arc, Mutex};

use dsrs::BoxFuture;
use dsrs::graph::Program;
use dsrs::lm::ScriptedLm;
use dsrs::predict::{Ctx, Passage, PassageIndexes, PassageSearch, SearchRanking, ToolError};
use dsrs::strategy::BuildEnv;

use super::support::{fields, json, outputs, run_on};

/// One index, `docs`, of two passages; notes what it is asked.
#[derive(Default)]
struct Docs(Mutex<Vec<PassageSearch>>);

impl PassageIndexes for Docs {
    fn search<'a>(
        &'a self,
        _: &'a Ctx,
        index: &'a str,
        search: PassageSearch,
    ) -> BoxFuture<'a, Result<Vec<Passage>, ToolError>> {
        assert_eq!(index, "docs");
        self.0.lock().unwrap().push(search);
        let passage =
            |id: &str, text: &str, score| Passage { id: id.into(), text: text.into(), score };
        let found = vec![passage("p1", "A cat.", 2.5), passage("p2", "A dog.", 1.0)];
        Box::pin(std::future::ready(Ok(found)))
    }
}

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn check_index(&self, name: &str, _: Option<SearchRanking>) -> Result<(), String> {
        if name == "docs" { Ok(()) } else { Err(format!("there is no index `{name}`")) }
    }
}

fn graph(config: &str) -> String {
    format!(
        r#"{{"name": "g", "inputs": {{"query": "str"}}, "nodes": {{
            "find": {{"strategy": "call", "config": {{"tool": {{"builtin": "search", "index": "docs"}}{config}}}}}}},
            "edges": [{{"from": "input.query", "to": "find.query"}}]}}"#
    )
}

async fn found(document: &str) -> String {
    let program = Program::from_document(&json(document), &Env).unwrap();
    let lm = Arc::new(ScriptedLm::by(|_| String::new()));
    let mut scope = run_on(&lm);
    Arc::get_mut(&mut scope).unwrap().indexes = Some(Arc::new(Docs::default()));
    outputs(&program.execute(&scope, fields(r#"{"query": "animals"}"#)).await)
}

#[tokio::test]
async fn a_result_is_a_list_of_passages_and_a_selection_has_the_type_of_its_part() {
    let whole = r#"{"result":[{"id":"p1","text":"A cat.","score":2.5},{"id":"p2","text":"A dog.","score":1.0}]}"#;
    assert_eq!(found(&graph("")).await, whole);
    assert_eq!(
        found(&graph(r#", "select": "[*].text""#)).await,
        r#"{"result":["A cat.","A dog."]}"#
    );
    assert_eq!(found(&graph(r#", "select": "[0].score""#)).await, r#"{"result":2.5}"#);
    let typed = |config: &str| {
        let program = Program::from_document(&json(&graph(config)), &Env).unwrap();
        let find = program.document().as_map().unwrap()["nodes"].as_map().unwrap()["find"].clone();
        find.as_map().unwrap()["signature"].as_map().unwrap()["outputs"].to_json()
    };
    assert!(typed(r#", "select": "[*].text""#).contains("list[str]"));
    assert!(typed(r#", "select": "[0].score""#).contains("float"));
    let unknown =
        Program::from_document(&json(&graph(r#", "select": "[*].title""#)), &Env).err().unwrap();
    assert!(unknown.to_string().contains("/nodes/find/config/output"), "{unknown}");
}

#[tokio::test]
async fn the_settings_of_the_tool_go_to_the_index() {
    let document = graph("").replace(
        r#""index": "docs""#,
        r#""index": "docs", "k": 2, "ranking": "hybrid", "name": "look_up", "description": "Looks up.""#,
    );
    let program = Program::from_document(&json(&document), &Env).unwrap();
    let lm = Arc::new(ScriptedLm::by(|_| String::new()));
    let (docs, mut scope) = (Arc::new(Docs::default()), run_on(&lm));
    Arc::get_mut(&mut scope).unwrap().indexes = Some(docs.clone());
    let outcome = program.execute(&scope, fields(r#"{"query": "animals"}"#)).await;
    outcome.outputs.unwrap();
    let asked = docs.0.lock().unwrap().clone();
    let search =
        PassageSearch { query: "animals".into(), k: 2, ranking: Some(SearchRanking::Hybrid) };
    assert_eq!(asked, [search]);
    assert!(outcome.spans.iter().any(|span| span.tool.as_deref() == Some("look_up")));
    let alone = run_on(&lm);
    let error = program.execute(&alone, fields(r#"{"query": "x"}"#)).await.outputs.unwrap_err();
    assert!(error.error.message.contains("this run has none"), "{error}");
}
