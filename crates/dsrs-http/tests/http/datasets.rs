//! `/v1/datasets`: uploads in every format, versions, downloads, examples from runs, and checks against
//! a graph.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, one_node, within};

const DATASETS: &str = "/v1/datasets";
const LINES: [(&str, &str); 1] = [("content-type", "application/jsonl")];
const TABLE: [(&str, &str); 1] = [("content-type", "text/csv; charset=utf-8")];

fn example(question: &str, answer: &str) -> Value {
    json!({"inputs": {"question": question}, "expected": {"answer": answer}})
}

fn numbered(count: usize) -> Vec<Value> {
    (0..count).map(|number| example(&format!("number {number}"), "yes")).collect()
}

async fn upload(api: &Api, name: &str, examples: impl Into<Value>) -> Value {
    let body = json!({"name": name, "examples": examples.into()});
    api.post(DATASETS, body).await.expect(201).json()
}

async fn lines(api: &Api, method: Method, path: &str, text: impl ToString) -> Answer {
    api.send(method, path, &LINES, Some(text.to_string())).await
}

async fn table(api: &Api, query: &str, text: &str) -> Answer {
    api.send(Method::POST, &format!("{DATASETS}?{query}"), &TABLE, Some(text.to_owned())).await
}

/// Every example of a path with a query, page by page.
async fn examples(api: &Api, path: &str, limit: usize) -> Vec<Value> {
    api.pages(path, "items", limit).await
}

async fn rows(api: &Api, name: &str) -> i64 {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql = sqlx::AssertSqlSafe(format!("select count(*) from {name}"));
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

async fn assert_nothing_is_stored(api: &Api) {
    for name in ["datasets", "dataset_versions", "dataset_examples", "dataset_contents"] {
        assert_eq!(rows(api, name).await, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_retain_their_order_and_metadata() {
    let api = Api::new().await;
    let mut said = numbered(23);
    said[3]["split"] = json!("train");
    said[4] = json!({"inputs": {"b": 1.0, "a": [2, null]}, "id": "my own", "split": "val"});
    let body = json!({"name": "qa", "description": "of last week", "examples": said});
    let answer = api.post(DATASETS, body).await.expect(201);
    let made = answer.json();
    assert_eq!(answer.header("location"), "/v1/datasets/qa");
    assert_eq!((&made["version"], &made["count"]), (&json!(1), &json!(23)));
    assert_eq!((&made["added"], &made["duplicates"]), (&json!(23), &json!(0)));
    assert_eq!(made["splits"], json!({"train": 1, "val": 1}));
    let read = api.get("/v1/datasets/qa").await.expect(200);
    assert_eq!(read.header("etag"), answer.header("etag"));
    let read = read.json();
    assert_eq!((&read["description"], &read["bytes"]), (&json!("of last week"), &made["bytes"]));
    let found = examples(&api, "/v1/datasets/qa/examples", 7).await;
    let at = |place: usize| found[place].clone();
    assert_eq!((found.len(), &at(22)["inputs"]), (23, &said[22]["inputs"]));
    assert_eq!((&at(3)["split"], &at(5)["split"]), (&json!("train"), &Value::Null));
    assert_eq!((&at(4)["id"], &at(4)["expected"]), (&json!("my own"), &json!({})));
    assert_eq!(at(4)["inputs"].to_string(), r#"{"b":1.0,"a":[2,null]}"#, "as it was written");
    assert_eq!(at(0)["id"].as_str().unwrap().len(), 32);
    let train = examples(&api, "/v1/datasets/qa/examples?split=train", 7).await;
    assert_eq!(train, [at(3)]);
    let known = [("if-none-match", answer.header("etag"))];
    api.send(Method::GET, "/v1/datasets/qa", &known, None).await.expect(304);
    let list = api.get(DATASETS).await.expect(200).json();
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["count"]), (&json!("qa"), &json!(23)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_has_the_content_hash_and_can_be_uploaded_again() {
    let api = Api::new().await;
    let text: String = numbered(1200).iter().map(|example| example.to_string() + "\n").collect();
    let made = lines(&api, Method::POST, "/v1/datasets?name=many", &text).await.expect(201).json();
    assert_eq!(made["count"], 1200);
    let accept = [("accept", "application/x-ndjson")];
    let download = api.send(Method::GET, "/v1/datasets/many/examples", &accept, None).await;
    let download = download.expect(200);
    assert_eq!(download.header("content-type"), "application/jsonl");
    let same = api.get("/v1/datasets/many/examples?format=jsonl").await.expect(200).text;
    assert_eq!((download.text.lines().count(), &download.text), (1200, &same));
    let hash = Sha256::digest(&same).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(made["content_hash"], hash);
    for again in [&same, &text] {
        let put = lines(&api, Method::PUT, "/v1/datasets/many", again).await.expect(200).json();
        assert_eq!((&put["version"], &put["added"]), (&json!(1), &json!(0)), "nothing is new");
    }
    let copy = lines(&api, Method::POST, "/v1/datasets?name=copy", &same).await.expect(201).json();
    assert_eq!(copy["content_hash"], hash);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_immutable_and_share_examples() {
    let api = Api::new().await;
    upload(&api, "qa", numbered(10)).await;
    let first = api.get("/v1/datasets/qa").await;
    let mut changed = numbered(12);
    changed[0]["split"] = json!("test");
    let put = json!({"name": "qa", "examples": changed});
    let headers = [("if-match", first.header("etag"))];
    let second = api.send(Method::PUT, "/v1/datasets/qa", &headers, Some(put.to_string())).await;
    let second = second.expect(200);
    assert_eq!((&second.json()["version"], &second.json()["count"]), (&json!(2), &json!(12)));
    assert_eq!(
        (rows(&api, "dataset_examples").await, rows(&api, "dataset_contents").await),
        (22, 12)
    );
    let old = api.get("/v1/datasets/qa?version=1").await.expect(200);
    assert_eq!((&old.text, old.header("etag")), (&first.text, first.header("etag")));
    assert_eq!(examples(&api, "/v1/datasets/qa/examples?version=1", 200).await.len(), 10);
    let id = |version| {
        let path = format!("/v1/datasets/qa/examples?version={version}");
        let api = &api;
        async move { examples(api, &path, 5).await[0]["id"].clone() }
    };
    assert_eq!(id(1).await, id(2).await, "an example is known again, whatever its split");
    let versions = api.get("/v1/datasets/qa/versions").await.expect(200).json();
    let numbers: Vec<_> =
        versions["items"].as_array().unwrap().iter().map(|v| &v["version"]).collect();
    assert_eq!(numbers, [&json!(2), &json!(1)]);
    let stale = api.send(Method::PUT, "/v1/datasets/qa", &headers, Some(put.to_string())).await;
    assert_eq!(stale.expect(412).code(), "precondition_failed");
    let other = api.put("/v1/datasets/qa", json!({"name": "other", "examples": numbered(1)})).await;
    assert_eq!(other.expect(422).code(), "name_mismatch");
    let more = json!({"name": "other", "examples": [{"inputs": 3}], "odd": 1});
    let more = api.put("/v1/datasets/qa", more).await.expect(422);
    assert_eq!(more.code(), "name_mismatch");
    let wanted = ["/odd unknown_field", "/name name_mismatch", "/examples/0/inputs wrong_type"];
    assert_eq!(more.errors(), wanted);
    assert_eq!(api.get("/v1/datasets/qa?version=3").await.expect(404).code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_unique_and_free_after_deletion() {
    let api = Api::new().await;
    let first = upload(&api, "qa", numbered(1)).await;
    let again = json!({"name": "qa", "examples": numbered(2)});
    assert_eq!(api.post(DATASETS, &again).await.expect(409).code(), "already_exists");
    assert_eq!(api.put("/v1/datasets/none", &again).await.expect(404).code(), "not_found");
    api.delete("/v1/datasets/qa").await.expect(204);
    api.get("/v1/datasets/qa").await.expect(404);
    api.get("/v1/datasets/qa/examples").await.expect(404);
    let second = api.post(DATASETS, &again).await.expect(201).json();
    assert!(second["id"] != first["id"] && second["version"] == 1);
    let key = [("idempotency-key", "once")];
    let body = json!({"name": "other", "examples": numbered(2)}).to_string();
    let made = api.send(Method::POST, DATASETS, &key, Some(body.clone())).await.expect(201);
    let replayed = api.send(Method::POST, DATASETS, &key, Some(body)).await.expect(201);
    assert_eq!(
        (made.text, replayed.header("idempotent-replayed")),
        (replayed.text.clone(), "true")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_are_reported_with_their_lines_and_nothing_is_stored() {
    let api = Api::new().await;
    let text = [
        &example("fine", "yes").to_string(),
        "",
        "{\"inputs\": ",
        r#"{"inputs": [], "expected": 3, "wieght": 1}"#,
        r#"{"inputs": {}, "id": "a", "split": "no way"}"#,
        r#"{"inputs": {}, "id": "b"}"#,
        r#"{"inputs": {"x": 1, "x": 2}, "id": "b"}"#,
        "\u{0}\u{1}",
    ]
    .join("\n");
    let refused = lines(&api, Method::POST, "/v1/datasets?name=Bad", text).await.expect(422);
    assert_eq!(refused.code(), "invalid_request");
    let wanted = [
        "/name invalid_name",
        "/examples/1 invalid_value",
        "/examples/2/inputs wrong_type",
        "/examples/2/expected wrong_type",
        "/examples/2/wieght unknown_field",
        "/examples/3/split invalid_name",
        "/examples/5/inputs/x duplicate_name",
        "/examples/5/id duplicate_name",
        "/examples/6 invalid_value",
    ];
    assert_eq!(refused.errors(), wanted);
    let details = refused.json()["errors"].clone();
    assert!(details[1]["detail"].as_str().unwrap().ends_with("(line 3)"), "{details}");
    assert!(details[8]["detail"].as_str().unwrap().ends_with("(line 8)"), "{details}");
    let many: String = (0..500).map(|_| "[]\n").collect();
    let refused = lines(&api, Method::POST, "/v1/datasets?name=bad", many).await.expect(422);
    assert_eq!(refused.errors().len(), 101, "100 of them, and that there may be more");
    let body = json!({"name": "bad", "examples": []});
    assert_eq!(api.post(DATASETS, body).await.expect(422).errors(), ["/examples invalid_value"]);
    let body = json!({"examples": {}, "expected": ["a"], "odd": 1});
    let errors = api.post(DATASETS, body).await.expect(422).errors();
    assert_eq!(errors, ["/examples wrong_type", "/inputs missing_field", "/odd unknown_field"]);
    assert_nothing_is_stored(&api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_named() {
    let limits = [("DSRS_LIMITS_DATASET_BYTES", "2000"), ("DSRS_LIMITS_DATASET_EXAMPLES", "5")];
    let api = Api::with_settings(&limits).await;
    let text = |count| numbered(count).iter().map(|e| e.to_string() + "\n").collect::<String>();
    let refused = lines(&api, Method::POST, "/v1/datasets?name=a", text(100)).await.expect(413);
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.dataset_bytes"));
    let refused = lines(&api, Method::POST, "/v1/datasets?name=a", text(6)).await.expect(422);
    assert_eq!(refused.errors(), ["/examples too_large"]);
    assert!(refused.text.contains("limits.dataset_examples"), "{}", refused.text);
    assert_nothing_is_stored(&api).await;
    lines(&api, Method::POST, "/v1/datasets?name=a", text(5)).await.expect(201);
    let odd = [("content-type", "text/plain")];
    let refused = api.send(Method::POST, DATASETS, &odd, Some("a".to_owned())).await.expect(415);
    assert!(refused.json()["detail"].as_str().unwrap().contains("text/csv"));
}

#[tokio::test(flavor = "multi_thread")]
async fn flat_rows_need_the_names_of_inputs() {
    let api = Api::new().await;
    let rows = json!([
        {"q": "2+2", "a": "4", "why": "it is", "id": 7, "split": "train"},
        {"q": "3+3", "why": null}
    ]);
    let body = json!({"name": "rest", "inputs": ["q"], "examples": rows});
    api.post(DATASETS, body).await.expect(201);
    let found = examples(&api, "/v1/datasets/rest/examples", 5).await;
    assert_eq!(found[0]["inputs"], json!({"q": "2+2"}));
    assert_eq!(found[0]["expected"], json!({"a": "4", "why": "it is"}));
    assert_eq!((&found[0]["id"], &found[0]["split"]), (&json!("7"), &json!("train")));
    assert_eq!(found[1]["expected"], json!({"why": null}));
    let path = "/v1/datasets?name=some&inputs=q,split&expected=a";
    let text = r#"{"q": "2+2", "a": "4", "why": "it is", "split": "in two"}"#;
    lines(&api, Method::POST, path, text).await.expect(201);
    let found = examples(&api, "/v1/datasets/some/examples", 5).await;
    assert_eq!(found[0]["inputs"], json!({"q": "2+2", "split": "in two"}));
    assert_eq!((&found[0]["expected"], &found[0]["split"]), (&json!({"a": "4"}), &Value::Null));
    let path = "/v1/datasets?name=none&inputs=questoin";
    let refused = lines(&api, Method::POST, path, r#"{"question": "2+2"}"#).await.expect(422);
    assert_eq!(refused.errors(), ["/examples/0/questoin missing_field"]);
    assert!(refused.text.contains("did you mean `question`?"), "{}", refused.text);
    let path = "/v1/datasets?name=none&inputs=q,split&expected=a,b";
    let refused = lines(&api, Method::POST, path, text).await.expect(422);
    assert_eq!(refused.errors(), ["/expected invalid_value"], "a slip, or no row would expect it");
    assert!(refused.text.contains("no row has `b`"), "{}", refused.text);
    let refused = lines(&api, Method::POST, "/v1/datasets?name=none&expected=a", text).await;
    assert_eq!(refused.expect(400).code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_has_a_header_and_an_example_a_row() {
    let api = Api::new().await;
    let text = "\u{feff}question,note,answer,split\r\n\
                \"2 + 2,\r\n\"\"please\"\"\",x,4,train\r\n3+3,,6,\r\n3+3,,6,\r\n";
    let made = table(&api, "name=t&inputs=question&expected=answer", text).await.expect(201).json();
    assert_eq!((&made["count"], &made["duplicates"]), (&json!(2), &json!(1)));
    let found = examples(&api, "/v1/datasets/t/examples", 5).await;
    assert_eq!(found[0]["inputs"], json!({"question": "2 + 2,\r\n\"please\""}));
    assert_eq!(found[0]["expected"], json!({"answer": "4"}), "a cell is a text");
    assert_eq!((&found[0]["split"], &found[1]["split"]), (&json!("train"), &Value::Null));
    assert_eq!(found[0]["cells"], true);
    let download = api.get("/v1/datasets/t/examples?format=jsonl").await.expect(200).text;
    assert!(download.lines().all(|line| line.ends_with(",\"cells\":true}")), "{download}");
    let copy = lines(&api, Method::POST, "/v1/datasets?name=c", &download).await.expect(201).json();
    assert_eq!(copy["content_hash"], made["content_hash"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_tables_are_refused_with_their_lines() {
    let api = Api::new().await;
    for (text, part) in [
        ("", "the table is empty"),
        ("a,b,a\n1,2,3\n", "two columns are named `a`"),
        ("a,,b\n1,2,3\n", "a column has no name"),
        ("a,b\n", "a dataset needs at least one of its examples"),
        ("a,b\n1,2\n3\n", "the row has 1 cells, the header 2 (line 3)"),
        (
            "a,b\n1,\"2\n3,4\n",
            "a cell is not closed, or has a quotation mark that is not doubled (line 2)",
        ),
        ("a,b\n1,\"x\n2,\"y\n", "after its closing quotation mark"),
    ] {
        let refused = table(&api, "name=t&inputs=a", text).await.expect(422);
        assert!(refused.text.contains(part), "{text:?}: {}", refused.text);
    }
    for (query, part) in [
        ("name=t", "the table has a, b"),
        ("name=t&inputs=a,c", "the table has no column `c`"),
        ("name=t&inputs=a&expected=B", "the table has no column `B`"),
        ("name=t&inputs=a,,b", "comma-separated names"),
        ("name=t&inputs=a&odd=1", "there is no parameter `odd` here"),
    ] {
        let refused = table(&api, query, "a,b\n1,2\n").await.expect(400);
        assert!(refused.text.contains(part), "{query}: {}", refused.text);
    }
    assert_nothing_is_stored(&api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_become_examples_with_outputs_or_corrections() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let run = async |question: &str| {
        let body = json!({"inputs": {"question": question}});
        let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
        run["id"].as_str().unwrap().to_owned()
    };
    let (one, other, third) = (run("one").await, run("other").await, run("third").await);
    let body = json!({"runs": [one, other], "split": "train",
        "corrections": {other.clone(): {"answer": "no", "why": "it was wrong"}}});
    let made = api.post("/v1/datasets/reviewed/from-runs", &body).await.expect(201);
    assert_eq!(made.header("location"), "/v1/datasets/reviewed");
    let made = made.json();
    assert_eq!((&made["version"], &made["added"]), (&json!(1), &json!(2)));
    let found = examples(&api, "/v1/datasets/reviewed/examples", 5).await;
    let said = |place: usize| (&found[place]["inputs"], &found[place]["expected"]);
    assert_eq!(said(0), (&json!({"question": "one"}), &json!({"answer": "Dear customer"})));
    let corrected = json!({"answer": "no", "why": "it was wrong"});
    assert_eq!(said(1), (&json!({"question": "other"}), &corrected));
    assert_eq!(found[1]["split"], "train");
    let same = api.post("/v1/datasets/reviewed/from-runs", &body).await.expect(200).json();
    assert_eq!(
        (&same["version"], &same["added"], &same["duplicates"]),
        (&json!(1), &json!(0), &json!(2))
    );
    let more = json!({"runs": [one, third], "expected": "none"});
    let more = api.post("/v1/datasets/reviewed/from-runs", more).await.expect(200).json();
    assert_eq!(
        (&more["version"], &more["count"], &more["added"]),
        (&json!(2), &json!(4), &json!(2))
    );
    let found = examples(&api, "/v1/datasets/reviewed/examples", 5).await;
    assert_eq!(
        (&found[3]["inputs"], &found[3]["expected"]),
        (&json!({"question": "third"}), &json!({}))
    );
    let text = api.get("/v1/datasets/reviewed/examples?format=jsonl").await.expect(200).text;
    let hash = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(more["content_hash"], hash, "what was appended counts like what was uploaded");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_no_examples_are_all_named() {
    let api = Api::new().await;
    for name in ["q", "other"] {
        api.post("/v1/graphs", one_node(name, "question -> answer")).await.expect(201);
    }
    api.post("/v1/graphs", one_node("bad", "question -> unanswered")).await.expect(201);
    let run = async |graph: &str| {
        let body = json!({"inputs": {"question": "x"}});
        let run = api.post(&format!("/v1/graphs/{graph}/execute"), body).await.json();
        run["run_id"].as_str().unwrap().to_owned()
    };
    let (fine, of_other, failed) = (run("q").await, run("other").await, run("bad").await);
    let none = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    let body = json!({"runs": [fine, none, of_other, failed, fine], "corrections": {"x": {}},
        "split": "no way", "odd": 1});
    let refused = api.post("/v1/datasets/reviewed/from-runs", body).await.expect(422);
    let wanted = [
        "/runs/4 duplicate_name",
        "/split invalid_name",
        "/odd unknown_field",
        "/corrections/x invalid_value",
        "/runs/1 invalid_value",
        "/runs/2 invalid_value",
        "/runs/3 invalid_value",
        "/runs/3 invalid_value",
    ];
    assert_eq!(refused.errors(), wanted);
    assert!(refused.text.contains("it is failed") && refused.text.contains("of graph `other`"));
    assert_nothing_is_stored(&api).await;
    let refused = api.post("/v1/datasets/Kept/from-runs", json!({"runs": [fine]})).await;
    assert_eq!(refused.expect(404).code(), "not_found");
}

/// A graph with inputs and outputs of many types that calls no LM.
fn typed() -> Value {
    json!({
        "name": "typed",
        "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
        "inputs": {"text": "str", "times": "int", "loud": "bool?", "tags": {"type": "list[str]", "default": []},
            "mood": "Mood?"},
        "nodes": {"up": {"strategy": "upper"}, "more": {"strategy": "add"}},
        "edges": [{"from": "input.text", "to": "up.text"}, {"from": "input.times", "to": "more.left"},
            {"from": "input.times", "to": "more.right"}],
        "outputs": {"said": "up.text", "sum": "more.value"}
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_can_be_checked_against_a_graph() {
    let api = Api::new().await;
    let graph = api.post("/v1/graphs", typed()).await.expect(201).json();
    assert_eq!(graph["outputs"].as_object().unwrap().len(), 2);
    let inputs = |times: Value| json!({"text": "a", "times": times, "mood": "calm"});
    upload(
        &api,
        "fits",
        json!([
            {"inputs": inputs(json!(1)), "expected": {"said": "A", "rating": 5}, "split": "train"},
            {"inputs": inputs(json!(2)), "expected": {}}
        ]),
    )
    .await;
    let fits =
        api.post("/v1/datasets/fits/check", json!({"graph": "typed"})).await.expect(200).json();
    assert_eq!((&fits["valid"], &fits["dataset"]["count"]), (&json!(true), &json!(2)));
    assert_eq!(fits["beside"], json!(["rating"]), "no output of the graph: for metrics, or a slip");
    upload(
        &api,
        "odd",
        json!([
            {"inputs": inputs(json!("two")), "expected": {"sum": "many"}},
            {"inputs": inputs(json!(2)), "expected": {"said": "A"}},
            {"inputs": {"txet": "a", "times": 1, "mood": "glad"}, "expected": {}}
        ]),
    )
    .await;
    let refused = api.post("/v1/datasets/odd/check", json!({"graph": "typed"})).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    assert_eq!(
        refused.errors(),
        [
            "/examples/0/inputs/times wrong_type",
            "/examples/0/expected/sum wrong_type",
            "/examples/2/inputs/text missing_field",
            "/examples/2/inputs/mood invalid_value",
            "/examples/2/inputs/txet unknown_field",
        ]
    );
    let many: Vec<Value> = (0..300).map(|n| json!({"inputs": {"text": n, "times": 1}})).collect();
    upload(&api, "many", many).await;
    let refused = api.post("/v1/datasets/many/check", json!({"graph": "typed"})).await.expect(422);
    assert_eq!(refused.errors().len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_are_converted_to_the_types_of_the_graph() {
    let api = Api::new().await;
    api.post("/v1/graphs", typed()).await.expect(201);
    let text = "text,times,loud,tags,mood,sum,said\n\
                7,42, True ,\"[\"\"a\"\"]\",angry,84,7\n,-1,,,,,\n";
    let columns = "inputs=text,times,loud,tags,mood&expected=sum,said";
    table(&api, &format!("name=fits&{columns}"), text).await.expect(201);
    api.post("/v1/datasets/fits/check", json!({"graph": "typed"})).await.expect(200);
    let text = "text,times,loud,tags,mood,sum,said\na,1.5,yes,a,sad,\"1,000\",x\n";
    table(&api, &format!("name=odd&{columns}"), text).await.expect(201);
    let refused = api.post("/v1/datasets/odd/check", json!({"graph": "typed"})).await.expect(422);
    assert_eq!(
        refused.errors(),
        [
            "/examples/0/inputs/times wrong_type",
            "/examples/0/inputs/loud wrong_type",
            "/examples/0/inputs/tags wrong_type",
            "/examples/0/inputs/mood invalid_value",
            "/examples/0/expected/sum wrong_type",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_by_seed_is_stable_and_explicit_splits_win() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let mut said = numbered(200);
    for example in &mut said[..50] {
        example["split"] = json!("val");
    }
    upload(&api, "qa", said.clone()).await;
    let count = async |part: Value| {
        let mut body = json!({"graph": "q"});
        body.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let answer = api.post("/v1/datasets/qa/check", body).await.expect(200).json();
        answer["dataset"]["count"].as_u64().unwrap()
    };
    let part =
        |split: &str| json!({"split": split, "seed": 3, "fractions": {"train": 0.8, "val": 0.2}});
    let (train, val) = (count(part("train")).await, count(part("val")).await);
    assert_eq!(train + val, 200);
    assert!((100..140).contains(&train), "{train} of the 150 that name no split");
    assert_eq!(count(json!({"split": "val"})).await, 50);
    assert_eq!(count(json!({"limit": 7})).await, 7);
    let mut limited = part("train");
    limited["limit"] = json!(20);
    assert_eq!(count(limited).await, 20);
    said.reverse();
    api.put("/v1/datasets/qa", json!({"examples": said})).await.expect(200);
    assert_eq!((count(part("train")).await, count(part("val")).await), (train, val));
    let refused = api.post("/v1/datasets/qa/check", json!({"graph": "q", "split": "test"})).await;
    assert!(refused.text.contains("its examples name {\\\"val\\\":50}"), "{}", refused.text);
    assert_eq!(refused.expect(422).errors(), [" invalid_value"]);
    let wrong = json!({"graph": "q", "seed": 1, "limit": 0, "split": "a b", "version": "1"});
    let refused = api.post("/v1/datasets/qa/check", wrong).await.expect(422);
    let wanted = [
        "/version wrong_type",
        "/split invalid_name",
        "/limit invalid_value",
        "/fractions missing_field",
    ];
    assert_eq!(refused.errors(), wanted);
    let wrong = json!({"graph": "q", "split": "x", "fractions": {"train": 0.8, "val": 0.1}});
    let refused = api.post("/v1/datasets/qa/check", wrong).await.expect(422);
    assert_eq!(refused.errors(), ["/fractions invalid_value"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_additions_of_runs_all_succeed() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let mut runs = Vec::new();
    for number in 0..8 {
        let body = json!({"inputs": {"question": number.to_string()}});
        let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
        runs.push(json!({"runs": [run["id"]]}));
    }
    let requests = runs.iter().map(|runs| api.post("/v1/datasets/reviewed/from-runs", runs));
    let mut statuses: Vec<u16> =
        join_all(requests).await.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 201]);
    let dataset = api.get("/v1/datasets/reviewed").await.expect(200).json();
    assert_eq!((&dataset["version"], &dataset["count"]), (&json!(8), &json!(8)));
}

/// How many wait for a lock in the database.
async fn waiting(connection: &mut PgConnection) -> i64 {
    let sql = "select count(*) from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_writers_leave_connections_to_readers() {
    let api = Api::new().await;
    upload(&api, "qa", numbered(1)).await;
    let mut other = PgConnection::connect(&api.database).await.unwrap();
    let mut holder = PgConnection::connect(&api.database).await.unwrap();
    sqlx::raw_sql("begin; select from datasets for no key update")
        .execute(&mut holder)
        .await
        .unwrap();
    let body = json!({"examples": numbered(2)});
    let writers = join_all((0..20).map(|_| api.put("/v1/datasets/qa", &body)));
    let reader = async {
        within("writers that wait", async {
            while waiting(&mut other).await < 4 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        // Time for the other writers to arrive.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let read = api.get("/v1/datasets/qa").await;
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        read
    };
    let (written, read) = tokio::join!(writers, reader);
    assert_eq!(read.expect(200).json()["version"], 1);
    let versions: Vec<Value> =
        written.into_iter().map(|put| put.expect(200).json()["version"].clone()).collect();
    assert!(versions.iter().all(|version| *version == 2), "one wrote, the others said the same");
}
