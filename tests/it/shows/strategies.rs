//! Every strategy of the registry over HTTP: previewed, checked, run, its predictors tuned and their
//! demos seen in what the LM was sent; and every graph of the guide.

use dsrs::lm::{LmRequest, ScriptedLm};
use serde_json::{Map, Value, json};

use crate::Api;
use dsrs_test::Answer;

const GUIDE: &str = include_str!("../../../docs/strategies.md");

/// A config for each strategy with which every predictor is called once at least.
fn configs() -> Map<String, Value> {
    let inner = json!({"strategy": "predict"});
    let never = json!({"expression": "0"});
    let judge = json!({"judge": {"signature": "answer -> score: float", "score": "score"}});
    let configs = json!({
        "predict": {},
        "chain_of_thought": {},
        "decide": {},
        "react": {"tools": ["calculator"]},
        "program_of_thought": {},
        "code_act": {"tools": ["calculator"]},
        "rlm": {"max_iters": 1},
        "best_of_n": {"module": inner, "n": 2, "reward": never, "threshold": 1},
        "refine": {"module": inner, "n": 2, "reward": judge, "threshold": 1},
        "multi_chain_comparison": {"m": 2},
        "majority": {"module": inner, "n": 3},
        "parallel": {"module": inner, "n": 2},
        "graph": {"graph": "inner"},
        "await": {},
        "call": {"tool": {"graph": "inner"}},
    });
    configs.as_object().unwrap().clone()
}

/// A config for each op, and its inputs with types and values.
fn ops() -> Map<String, Value> {
    let text = json!({"text": ["str", " Text "]});
    let one = json!({"value": ["{a: int?}", {"a": null}]});
    let two = json!({"left": ["int", 6], "right": ["float", 7]});
    let many = json!({"values": ["list[int]", [1, 2]], "more": ["float", 0.5]});
    let ops = json!({
        "render": [{"template": "{{ text }}!"}, text],
        "format": [{"template": "{text:>10}"}, text],
        "concat": [{"separator": "-"}, {"a": ["str", "x"], "b": ["str", "y"]}],
        "strip": [{}, text],
        "lower": [{}, text],
        "upper": [{}, text],
        "select": [{"path": "a", "default": 1}, one],
        "element": [{"index": -1}, {"value": ["list[int]", [1, 2]]}],
        "merge": [{}, {"a": ["{x: int}", {"x": 1}], "b": ["{y: int}", {"y": 2}]}],
        "collect": [{"as": "tuple"}, {"a": ["str", "x"], "b": ["int", 2]}],
        "coerce": [{"type": "str"}, one],
        "parse_structured": [{"type": "str"}, text],
        "add": [{}, two],
        "subtract": [{}, two],
        "multiply": [{}, two],
        "divide": [{}, two],
        "sum": [{}, many],
        "min": [{}, many],
        "max": [{}, many],
        "mean": [{}, many],
        "unwrap_or": [{"default": {"a": 1}}, one],
        "is_error": [{}, one],
        "branch": [{"if": "score > 1"}, {"then": ["int", 1], "else": ["str", "x"], "score": ["int", 2]}],
        "map": [{"module": {"strategy": "strip"}}, {"text": ["list[str]", [" a "]]}],
        "switch": [{"on": "text", "cases": {"a": {"strategy": "lower"}}, "else": {"strategy": "upper"}}, text],
        "loop": [{"module": {"strategy": "strip"}, "max": 2}, text],
        "try": [{"module": {"strategy": "strip"}, "value": {"text": ""}}, text],
        "subgraph": [{"nodes": {"a": {"strategy": "strip"}}, "inputs": {"text": "str"}}, text],
    });
    ops.as_object().unwrap().clone()
}

/// An LM that writes every field that any of the graphs asks for. Its first program fails.
fn lm() -> ScriptedLm {
    ScriptedLm::by(|request: &LmRequest| {
        let asked: String =
            request.chat.turns.iter().map(|turn| turn.content.to_string()).collect();
        let second_try = asked.contains("previous_code");
        let code = if second_try { "6 * 7" } else { "6 * sevn" };
        let fields = [
            ("reasoning", "I think."),
            ("rationale", "They agree."),
            ("next_thought", "I know."),
            ("next_tool_name", "finish"),
            ("next_tool_args", "{}"),
            ("generated_code", code),
            ("finished", "True"),
            // It asks the model and submits nothing, so that each predictor is called.
            ("code", "llm_query('What is 6 * 7?')"),
            ("response", "42"),
            ("reasons", "Too long."),
            ("score", "0.5"),
            ("advice", "{}"),
            ("answer_probability", "0.5"),
            ("urgent_probability", "0.5"),
            ("queue_probabilities", r#"{"money": 0.2, "delivery": 0.7, "rest": 0.1}"#),
            ("anger_probabilities", r#"{"0": 0.6, "1": 0.3, "2": 0.1}"#),
            ("result", "7"),
            ("count", "3"),
            ("total", "3.5"),
            ("currency", "EUR"),
            ("mood", "calm"),
        ];
        let texts = ["answer", "slogan", "reply", "verdict", "title", "best", "summary"];
        let texts = texts.map(|name| (name, "some text"));
        let section = |(name, value): &(&str, &str)| format!("[[ ## {name} ## ]]\n{value}\n\n");
        let all: String = fields.iter().chain(&texts).map(section).collect();
        all + "[[ ## completed ## ]]"
    })
}

fn node(strategy: &str, config: &Value) -> Value {
    match strategy {
        "graph" | "call" => json!({"strategy": strategy, "config": config}),
        "decide" => {
            json!({"strategy": strategy, "config": config, "signature": "question -> answer: bool"})
        }
        _ => json!({"strategy": strategy, "config": config, "signature": "question -> answer"}),
    }
}

/// A value of a type, for demos: texts show the mark.
fn sample(ty: &str, mark: &str) -> Value {
    match ty {
        "int" => json!(7),
        "float" => json!(0.5),
        "bool" => json!(true),
        _ if ty.ends_with('?') => Value::Null,
        "list[str]" => json!([mark]),
        "dict[str, float]" => json!({"tea": 0.5}),
        _ if ty.starts_with("list[") => json!([]),
        _ if ty.starts_with("dict[") => json!({}),
        _ => json!(mark),
    }
}

/// One demo for a predictor that fits its signature.
fn demo(schema: &Value, mark: &str) -> Value {
    let side = |name: &str| -> Map<String, Value> {
        let fields = schema[name].as_array().unwrap().iter();
        let value = |field: &Value| sample(field["type"].as_str().unwrap_or("str"), mark);
        fields.map(|field| (field["name"].as_str().unwrap().to_owned(), value(field))).collect()
    };
    json!({"demos": [{"input": side("inputs"), "output": side("outputs")}]})
}

async fn strategies(api: &Api) -> Vec<String> {
    let listed = api.get("/v1/strategies").await.expect(200).json();
    let items = listed["items"].as_array().unwrap().iter();
    let names = items.map(|item| item["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_strategy_is_previewed_checked_run_and_tuned() {
    let api = Api::with_lm(lm()).await;
    let inner = json!({"name": "inner", "nodes": {"say": node("chain_of_thought", &json!({}))}});
    api.post("/v1/graphs", inner).await.expect(201);
    let configs = configs();
    let ops = ops();
    let mut known: Vec<&String> = configs.keys().chain(ops.keys()).collect();
    known.sort();
    assert_eq!(strategies(&api).await.iter().collect::<Vec<_>>(), known, "each has a config here");
    for (strategy, config) in &configs {
        try_one(&api, strategy, config).await;
    }
}

async fn try_one(api: &Api, strategy: &str, config: &Value) {
    let node = node(strategy, config);
    let mut asked = node.clone();
    asked.as_object_mut().unwrap().remove("strategy");
    let preview =
        api.post(&format!("/v1/strategies/{strategy}/preview"), asked).await.expect(200).json();
    let predictors = preview["predictors"].as_object().unwrap();
    let name = strategy.replace('_', "-");
    let graph = json!({"name": name, "nodes": {"a": node}});
    api.post("/v1/graphs/validate", graph.clone()).await.expect(200);
    api.post("/v1/graphs", graph).await.expect(201);

    let path_of =
        |within: &str| if within.is_empty() { "a".to_owned() } else { format!("a.{within}") };
    let mark = |path: &str| format!("seen by {path}.");
    let tuned: Map<String, Value> = predictors
        .iter()
        .map(|(within, found)| (path_of(within), demo(&found["schema"], &mark(&path_of(within)))))
        .collect();
    let listed = api.get(&format!("/v1/graphs/{name}/predictors")).await.expect(200).text;
    assert!(tuned.keys().all(|path| listed.contains(&format!("\"{path}\""))), "{listed}");
    let state = json!({"predictors": tuned});
    api.put(&format!("/v1/graphs/{name}/state"), state).await.expect(200);

    let request = json!({"inputs": {"question": "What is 6 * 7?"}, "trace": true});
    let run = ended(api, &api.post(&format!("/v1/graphs/{name}/execute"), request).await).await;
    assert_eq!(run["status"], "succeeded", "{strategy}");
    let spans = run["trace"]["spans"].as_array().unwrap();
    let calls = spans.iter().filter(|span| span["kind"] == "lm" && span["raw"].is_string()).count();
    assert_eq!(run["usage"]["lm_calls"], calls, "{strategy}");
    for path in tuned.keys() {
        let sent = spans.iter().find(|span| span["kind"] == "lm" && span["predictor"] == *path);
        let sent = sent.unwrap_or_else(|| panic!("{strategy}: `{path}` was not called"));
        assert!(sent["messages"].to_string().contains(&mark(path)), "{path}: {}", sent["messages"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_op_is_previewed_checked_and_run_without_an_lm() {
    let api = Api::with_lm(lm()).await;
    for (op, example) in ops() {
        let (config, given) = (example[0].clone(), example[1].as_object().unwrap().clone());
        let typed = |(name, found): (&String, &Value)| json!({"name": name, "type": found[0]});
        let typed: Vec<Value> = given.iter().map(typed).collect();
        let signature = json!({"inputs": typed, "outputs": [{"name": "ignored"}]});
        let asked = json!({"config": config, "signature": signature});
        let preview = api.post(&format!("/v1/strategies/{op}/preview"), asked).await.expect(200);
        let output = preview.json()["schema"]["outputs"][0]["name"].as_str().unwrap().to_owned();

        let name = op.replace('_', "-");
        let of = |part: usize| -> Map<String, Value> {
            given.iter().map(|(name, found)| (name.clone(), found[part].clone())).collect()
        };
        let edge =
            |name: &String| json!({"from": format!("input.{name}"), "to": format!("a.{name}")});
        let edges: Vec<Value> = given.keys().map(edge).collect();
        let nodes = json!({"a": {"strategy": op, "config": config}});
        let graph = json!({"name": name, "inputs": of(0), "nodes": nodes, "edges": edges});
        let made = api.post("/v1/graphs", graph).await.expect(201).json();
        assert!(made["nodes"]["a"].get("signature").is_none(), "{op}");
        api.put(&format!("/v1/graphs/{name}"), made.clone()).await.expect(200);

        let request = json!({"inputs": of(1), "trace": true});
        let run = api.post(&format!("/v1/graphs/{name}/execute"), request).await.expect(200).json();
        assert_eq!((&run["status"], &run["usage"]["lm_calls"]), (&json!("succeeded"), &json!(0)));
        assert!(run["outputs"].get(&output).is_some(), "{op}: {run}");
    }
}

/// The run of an execution; a waiting run receives its value.
async fn ended(api: &Api, executed: &Answer) -> Value {
    let run = executed.json();
    if executed.status != 202 {
        assert_eq!(executed.status, 200, "{run}");
        return run;
    }
    let nodes = run["nodes"].as_object().unwrap().iter();
    let waiting = nodes.filter(|(_, node)| node["status"] == "waiting");
    let id = run["id"].as_str().unwrap();
    for (node, _) in waiting {
        let value = if node == "approve" { json!(true) } else { json!("some text") };
        let signal = json!({"node": node, "value": value});
        api.post(&format!("/v1/runs/{id}/signal"), signal).await.expect(202);
    }
    api.ended(id).await
}

/// The graphs of the guide, in order.
fn blocks() -> Vec<Value> {
    let blocks = GUIDE.split("```json\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks
        .map(|(block, _)| serde_json::from_str(block).expect("the guide's blocks are JSON"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_graph_of_the_guide_runs_unchanged() {
    let api = Api::with_lm(lm()).await;
    let mut used: Vec<String> = Vec::new();
    for graph in blocks() {
        let made: Answer = api.post("/v1/graphs", graph.clone()).await.expect(201);
        let made = made.json();
        let inputs = made["inputs"].as_object().unwrap().iter();
        let ty =
            |input: &Value| input.as_str().or(input["type"].as_str()).unwrap_or("str").to_owned();
        let inputs: Map<String, Value> =
            inputs.map(|(name, input)| (name.clone(), sample(&ty(input), "some text"))).collect();
        let name = made["name"].as_str().unwrap();
        let run = api.post(&format!("/v1/graphs/{name}/execute"), json!({"inputs": inputs})).await;
        assert_eq!(ended(&api, &run).await["status"], "succeeded", "{name}");
        let nodes = made["nodes"].as_object().unwrap().values();
        used.extend(nodes.map(|node| node["strategy"].as_str().unwrap().to_owned()));
    }
    for strategy in strategies(&api).await {
        assert!(used.contains(&strategy), "the guide has no graph with `{strategy}`");
        let texts = [format!("## {strategy}\n"), format!("`{strategy}`")];
        assert!(
            texts.iter().all(|text| GUIDE.contains(text)),
            "the guide does not describe `{strategy}`"
        );
    }
}
