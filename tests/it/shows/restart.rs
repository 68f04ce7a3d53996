//! Documents survive a restart byte for byte: with their order of keys, and with U+0000, which
//! `jsonb` and `text` of Postgres refuse.

use serde_json::{Value, json};

use super::{on, text};
use dsrs_test::{Does, FakeLm, Remote, sections, test_database};

const EXECUTE: &str = "/v1/graphs/order/execute";

/// Types, fields, nodes, edges and outputs, none of them sorted.
fn graph() -> Value {
    json!({
        "name": "order",
        "description": "zero: \u{0}",
        "types": {
            "Zebra": {"class": {"stripes": "int", "age": "float?", "name": "str"}},
            "Ant": {"enum": {"worker": "digs \u{0}", "queen": null, "drone": null}}
        },
        "inputs": {"zoo": "dict[str, int]", "animal": "Zebra", "kind": "Ant"},
        "nodes": {
            "second": {"strategy": "predict", "signature": {
                "instructions": "Tell \u{0} of it.",
                "inputs": [{"name": "zoo", "type": "dict[str, int]"},
                           {"name": "animal", "type": "Zebra"}, {"name": "kind", "type": "Ant"}],
                "outputs": [{"name": "tale", "type": "str"}, {"name": "end", "type": "str"}]
            }},
            "first": {"strategy": "chain_of_thought", "signature": "tale -> moral"}
        },
        "edges": [
            {"from": "second.tale", "to": "first.tale"},
            {"from": "input.zoo", "to": "second.zoo"},
            {"from": "input.kind", "to": "second.kind"},
            {"from": "input.animal", "to": "second.animal"}
        ],
        "outputs": {"moral": "first.moral", "end": "second.end"}
    })
}

fn inputs() -> Value {
    json!({
        "zoo": {"wolf": 1, "bear": 2, "\u{0}": 3},
        "animal": {"stripes": 40, "age": 2.0, "name": "Z\u{0}e"},
        "kind": "worker"
    })
}

fn state() -> Value {
    json!({"predictors": {
        "second": {"instruction": "Tell it \u{0} well.", "demos": [{
            "input": {
                "zoo": {"yak": 7, "auk\u{0}": 8},
                "animal": {"stripes": 1, "age": null, "name": "\u{0}"},
                "kind": "queen"
            },
            "output": {"tale": "Once\u{0}", "end": "so"}
        }]},
        "first.predict": {"instruction": null, "demos": []}
    }})
}

/// Every answer that a restart must not change, with its ETag.
async fn readings(api: &Remote, run: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (graph, run) = ("/v1/graphs/order".to_owned(), format!("/v1/runs/{run}"));
    let more = ["/versions/1", "/state", "/state/versions/1", "/predictors"];
    let paths = more.map(|rest| format!("{graph}{rest}"));
    for path in [graph, run].into_iter().chain(paths) {
        let answer = api.get(&path).await.expect(200);
        found.push((answer.text.clone(), answer.header("etag").to_owned()));
    }
    for (node, inputs) in [("second", inputs()), ("first", json!({"tale": "a\u{0}b"}))] {
        let body = json!({"node": node, "inputs": inputs});
        let rendered = api.post("/v1/graphs/order/render", body).await.expect(200);
        found.push((rendered.text, String::new()));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn order_and_u0000_survive_a_restart_and_a_power_cut() {
    let lm = FakeLm::by(|_, _| {
        let fields = [("tale", "Once \u{0} more"), ("end", "\u{0}"), ("reasoning", "why")];
        Does::Say(sections(fields.into_iter().chain([("moral", "be \u{0} kind")])))
    })
    .await;
    let setup = on(&test_database().await, &lm);
    let server = setup.start();
    let api = Remote::new(&server.url);
    let created = api.post("/v1/graphs", graph()).await.expect(201);
    assert_order(&created.text);
    api.put("/v1/graphs/order/state", state()).await.expect(200);
    let run = api.post(EXECUTE, json!({"inputs": inputs()})).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"moral": "be \u{0} kind", "end": "\u{0}"}));
    let before = readings(&api, text(&run, "id")).await;
    assert_eq!(before[0].1, created.header("etag"));
    let (recorded, state) = (&before[1].0, &before[3].0);
    assert!(recorded.contains(r#""zoo":{"wolf":1,"bear":2,"\u0000":3}"#), "{recorded}");
    assert!(state.contains(r#""zoo":{"yak":7,"auk\u0000":8}"#), "{state}");

    assert!(server.stop().success());
    let server = setup.start();
    assert_eq!(readings(&Remote::new(&server.url), text(&run, "id")).await, before);

    server.kill();
    let server = setup.start();
    let api = Remote::new(&server.url);
    assert_eq!(readings(&api, text(&run, "id")).await, before);
    let again = api.post(EXECUTE, json!({"inputs": inputs()})).await.expect(200).json();
    assert_eq!((&again["outputs"], &again["state_version"]), (&run["outputs"], &json!(2)));
    let asked = lm.asked();
    assert_eq!(asked.len(), 4);
    for (one, other) in [(&asked[0], &asked[2]), (&asked[1], &asked[3])] {
        assert_eq!(one.body.to_string(), other.body.to_string());
    }
    let prompt = asked[2].text();
    assert!(prompt.contains("Tell it \u{0} well.") && prompt.contains("Once\u{0}"), "{prompt:?}");
    let rendered: Value = serde_json::from_str(&before[before.len() - 2].0).unwrap();
    assert_eq!(rendered["predictors"]["second"]["messages"], asked[2].body["messages"]);
}

/// Names that sorting or `jsonb` would reorder are in their written order.
fn assert_order(text: &str) {
    let places = [
        &["\"Zebra\"", "\"Ant\""][..],
        &["\"stripes\"", "\"age\"", "\"name\":\"str\""],
        &["\"worker\"", "\"queen\"", "\"drone\""],
        &["\"second\":{", "\"first\":{"],
        &["\"moral\":\"first", "\"end\":\"second"],
    ];
    for names in places {
        let found: Vec<_> = names.iter().map(|name| text.find(name).expect(name)).collect();
        assert!(found.is_sorted(), "{names:?} stand at {found:?} in {text}");
    }
}
