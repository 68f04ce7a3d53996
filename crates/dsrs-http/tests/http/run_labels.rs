//! Labels of runs: tags, a session, a user and metadata, given in bodies or headers, found in lists.

use std::sync::Arc;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, one_node, test_database};

/// Answers every question but `bad`.
async fn api() -> Api {
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.turns.last().map(|turn| turn.content.to_string());
        match asked.unwrap_or_default().contains("bad") {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "no"),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\nyes"),
        }
    });
    let api = Api::start(&test_database().await, Some(Arc::new(lm)), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

fn labelled(question: &str, labels: Value) -> Value {
    let mut body = json!({"inputs": {"question": question}});
    for (name, value) in labels.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

async fn execute(api: &Api, question: &str, labels: Value) -> Value {
    let answer = api.post("/v1/graphs/q/execute", labelled(question, labels)).await;
    answer.expect(200).json()
}

async fn listed(api: &Api, query: &str) -> Vec<Value> {
    let list = api.get(&format!("/v1/runs?{query}")).await.expect(200).json();
    list["items"].as_array().unwrap().clone()
}

async fn ids(api: &Api, query: &str) -> Vec<Value> {
    listed(api, query).await.iter().map(|run| run["id"].clone()).collect()
}

fn labels_of(run: &Value) -> [&Value; 4] {
    ["tags", "session_id", "user_id", "metadata"].map(|name| &run[name])
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_found_by_each_of_their_labels_and_by_all_of_them() {
    let api = api().await;
    let given = json!({"tags": ["nightly", "de"], "session_id": "s 1", "user_id": "ü&1",
                       "metadata": {"ticket": 7, "channel": "mail"}});
    let one = execute(&api, "a", given.clone()).await;
    let two = execute(&api, "b", json!({"tags": ["nightly"], "session_id": "s 2"})).await;
    let none = execute(&api, "c", json!({})).await;
    assert_eq!(labels_of(&one), labels_of(&given));
    assert_eq!(labels_of(&none), [&json!([]), &Value::Null, &Value::Null, &json!({})]);

    let (one, two) = (one["id"].clone(), two["id"].clone());
    for (query, expected) in [
        ("tag=nightly", vec![&two, &one]),
        ("tag=nightly&tag=de", vec![&one]),
        ("tag=absent", vec![]),
        ("session_id=s%202", vec![&two]),
        ("user_id=%C3%BC%261", vec![&one]),
        ("metadata.ticket=7", vec![&one]),
        ("metadata.ticket=7&metadata.channel=mail&tag=de&graph=q&status=succeeded", vec![&one]),
        ("metadata.ticket=8", vec![]),
        ("tag=nightly&until=2020-01-01T00:00:00Z", vec![]),
        ("tag=nightly&since=2020-01-01T00:00:00Z", vec![&two, &one]),
    ] {
        assert_eq!(ids(&api, query).await.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let item = &listed(&api, "tag=de").await[0];
    assert_eq!(labels_of(item), labels_of(&given));
    assert_eq!(item["usage"]["lm_calls"], 1);
    let path = format!("/v1/runs/{}", one.as_str().unwrap());
    assert_eq!(labels_of(&api.get(&path).await.expect(200).json()), labels_of(&given));
    let paged = api.pages("/v1/runs?tag=nightly", "items", 1).await;
    let paged: Vec<&Value> = paged.iter().map(|run| &run["id"]).collect();
    assert_eq!(paged, [&two, &one]);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_give_labels_to_every_kind_of_run_and_bodies_take_precedence() {
    let api = api().await;
    let headers = [
        ("x-dsrs-tags", "edge, nightly"),
        ("x-dsrs-session-id", "s"),
        ("x-dsrs-user-id", "ann"),
        ("x-dsrs-metadata", r#"{"ticket": 7}"#),
    ];
    let send = async |path: &str, body: Value| -> Answer {
        api.send(Method::POST, path, &headers, Some(body.to_string())).await
    };
    let expected = [&json!(["edge", "nightly"]), &json!("s"), &json!("bob"), &json!({"ticket": 7})];
    let own = labelled("a", json!({"user_id": "bob"}));
    let executed = send("/v1/graphs/q/execute", own.clone()).await.expect(200).json();
    assert_eq!(labels_of(&executed), expected);
    let started = send("/v1/graphs/q/runs", own).await.expect(202).json();
    assert_eq!(labels_of(&started), expected);
    let path = format!("/v1/runs/{}", started["id"].as_str().unwrap());
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    assert_eq!(labels_of(&api.until(&path, done).await.json()), expected);

    let items = json!([{"question": "a"}, {"question": "b"}]);
    let body = json!({"items": items, "tags": ["batch"]});
    let batch = send("/v1/graphs/q/batches", body).await.expect(202).json();
    assert_eq!(batch["tags"], json!(["batch"]));
    let path = format!("/v1/batches/{}", batch["id"].as_str().unwrap());
    api.until(&path, done).await;
    let found = listed(&api, "tag=batch&user_id=ann&session_id=s").await;
    assert_eq!(found.len(), 2, "every item of the batch has its labels");

    let chat = json!({"model": "q", "messages": [{"role": "user", "content": "a"}],
                      "user": "carl", "metadata": {"from": "chat"}});
    send("/openai/v1/chat/completions", chat).await.expect(200);
    let asked =
        json!({"model": "q", "input": "a", "user": "carl", "metadata": {"from": "responses"}});
    send("/openai/v1/responses", asked).await.expect(200);
    let found = listed(&api, "user_id=carl&tag=edge").await;
    let from: Vec<&Value> = found.iter().map(|run| &run["metadata"]["from"]).collect();
    assert_eq!(from, ["responses", "chat"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_beyond_their_bounds_are_refused_with_every_place() {
    let api = api().await;
    let body = labelled(
        "a",
        json!({"tags": ["", "x".repeat(65), 1], "session_id": "s\n",
        "user_id": "u".repeat(201), "metadata": {"nested": {}, "long": "v".repeat(513)}}),
    );
    let expected = [
        "/tags/0",
        "/tags/1",
        "/tags/2",
        "/session_id",
        "/user_id",
        "/metadata/nested",
        "/metadata/long",
    ];
    for path in ["/v1/graphs/q/execute", "/v1/graphs/q/runs"] {
        let problem = api.post(path, body.clone()).await.expect(422).json();
        let pointers = problem["errors"].as_array().unwrap().iter();
        let pointers: Vec<&Value> = pointers.map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, expected, "{path}");
    }
    let many: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    let body = labelled("a", json!({"tags": many}));
    let problem = api.post("/v1/graphs/q/execute", body).await.expect(422).json();
    assert_eq!(problem["errors"][0]["code"], "too_large");
    let headers = [("x-dsrs-metadata", "{")];
    let body = labelled("a", json!({})).to_string();
    let answer = api.send(Method::POST, "/v1/graphs/q/execute", &headers, Some(body)).await;
    let problem = answer.expect(400);
    assert_eq!(problem.code(), "invalid_parameter");
    assert!(problem.json()["detail"].as_str().unwrap().contains("x-dsrs-metadata"));
    assert_eq!(ids(&api, "graph=q").await, [] as [Value; 0], "no run was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_found_by_the_codes_of_their_errors_and_by_their_duration() {
    let api = api().await;
    let fine = execute(&api, "a", json!({})).await["id"].clone();
    let path = "/v1/graphs/q/execute";
    let failed = api.post(path, labelled("bad", json!({"tags": ["t"]}))).await.expect(502).json();
    let started =
        api.post("/v1/graphs/q/runs", labelled("bad", json!({}))).await.expect(202).json();
    let path = format!("/v1/runs/{}", started["id"].as_str().unwrap());
    api.until(&path, |answer: &Answer| answer.json()["finished_at"].is_string()).await;
    let (failed, started) = (failed["run_id"].clone(), started["id"].clone());
    assert_eq!(ids(&api, "error_code=lm_error").await, [started.clone(), failed.clone()]);
    assert_eq!(ids(&api, "error_code=lm_error&tag=t").await, std::slice::from_ref(&failed));
    assert_eq!(ids(&api, "error_code=timeout").await, [] as [Value; 0]);
    // A run that continues has ended with nothing.
    api.post(&format!("{path}/resume"), json!({})).await.expect(202);
    api.until(&path, |answer: &Answer| answer.json()["finished_at"].is_string()).await;
    assert_eq!(ids(&api, "error_code=lm_error").await, [started.clone(), failed.clone()]);

    let all = [started, failed, fine];
    assert_eq!(ids(&api, "min_duration_ms=0").await, all);
    assert_eq!(ids(&api, "max_duration_ms=3600000").await, all);
    assert_eq!(ids(&api, "min_duration_ms=3600000").await, [] as [Value; 0]);
    for wrong in ["min_duration_ms=-1", "user_id=", "metadata.=1", "label=1"] {
        let answer = api.get(&format!("/v1/runs?{wrong}")).await.expect(400);
        assert_eq!(answer.code(), "invalid_parameter", "{wrong}");
    }
}

/// A connection that sees one workspace, under the policies, with many runs of which few have a label.
async fn filled() -> PgConnection {
    let mut session = PgConnection::connect(&test_database().await).await.unwrap();
    sqlx::raw_sql(
        "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                           duration_ms, inputs, usage, nodes, trace, created_by)
         select (to_hex(1800000000 + n) || substr(md5(n::text), 1, 24))::uuid, '00000000-0000-7000-8000-000000000001',
                gen_random_uuid(), 'q', 1, 1, 'succeeded', now() - n * interval '1 second', n, '{}', '{}', '{}', '{}', 'ann'
         from generate_series(1, 20000) n;
         insert into run_labels (run_id, workspace_id, name, value, created_at)
         select id, workspace_id, 'tag', 'tag ' || duration_ms % 200, created_at from runs;
         analyze runs; analyze run_labels;
         set enable_seqscan = off; set role dsrs_app; set dsrs.workspace = '00000000-0000-7000-8000-000000000001'",
    )
    .execute(&mut session)
    .await
    .unwrap();
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_by_label_reads_only_the_index_of_labels_in_its_order() {
    let mut session = filled().await;
    let sql = "explain select runs.id from
         (select run_id as id, created_at from run_labels
          where workspace_id = '00000000-0000-7000-8000-000000000001' and name = 'tag' and value = 'tag 7') label
         join runs on runs.id = label.id
         where runs.workspace_id = '00000000-0000-7000-8000-000000000001'
         order by label.created_at desc, label.id desc limit 51";
    let plan: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut session).await.unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("Index Only Scan using run_labels"), "{plan}");
    assert!(!plan.contains("Seq Scan") && !plan.contains("Sort  ("), "{plan}");
}
