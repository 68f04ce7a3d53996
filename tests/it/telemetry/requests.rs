//! The settings of requests to models, as attributes of their spans.

use serde_json::{Value, json};

use super::{answer, check_names, execute, only, server};
use dsrs_test::{Collector, Does, FakeLm, Remote, one_node};

/// The attributes of the settings of a span.
fn settings(span: &dsrs_test::SeenSpan) -> Value {
    let is_setting = |name: &str| {
        (name.starts_with("gen_ai.request.") && name != "gen_ai.request.model")
            || name == "gen_ai.output.type"
    };
    let found = span.attributes.iter().filter(|(name, _)| is_setting(name));
    found
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_shows_the_settings_that_it_has() {
    let said = answer();
    let refusal = json!({"error": {"message": "`top_p` is not supported with this model"}});
    let refuses = Does::Answer(400, vec![], refusal.to_string());
    let (collector, lm) = (Collector::http().await, FakeLm::doing([refuses, said]).await);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("DSRS_MODELS__FAST__TEMPERATURE", "0.5"),
        ("DSRS_MODELS__FAST__MAX_TOKENS", "700"),
        (
            "DSRS_MODELS__FAST__EXTRA_BODY",
            r#"{"top_k": 20, "presence_penalty": 1, "frequency_penalty": 0.25, "min_p": 0.1}"#,
        ),
    ];
    let server = server(&lm, &variables).await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let lm = json!({"top_p": 0.9, "seed": 7, "stop": ["END", "###"]});
    let state = json!({"predictors": {"ask": {"lm": lm}}});
    api.put("/v1/graphs/qa/state", state).await.expect(200);
    execute(&api, &[]).await;
    let spans = collector.arrived(5).await;
    check_names(&spans);
    // The endpoint refuses `top_p`: it is not sent.
    let expected = json!({
        "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 700,
        "gen_ai.request.seed": 7, "gen_ai.request.stop_sequences": ["END", "###"],
        "gen_ai.request.top_k": 20, "gen_ai.request.presence_penalty": 1.0,
        "gen_ai.request.frequency_penalty": 0.25,
    });
    assert_eq!(settings(only(&spans, "chat ")), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_shows_the_form_that_it_asks_for() {
    for (form, said, expected) in [
        ("json_schema", Does::Say(json!({"answer": "Paris"}).to_string()), json!("json")),
        ("gbnf", answer(), json!("text")),
        ("none", answer(), Value::Null),
    ] {
        let (collector, lm) = (Collector::http().await, FakeLm::doing([said]).await);
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("DSRS_MODELS__FAST__CONSTRAIN", form),
            ("DSRS_MODELS__FAST__TOP_P", "0.9"),
        ];
        let server = server(&lm, &variables).await.start();
        let api = Remote::new(&server.url);
        api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
        execute(&api, &[]).await;
        let spans = collector.arrived(5).await;
        check_names(&spans);
        let found = settings(only(&spans, "chat "));
        assert_eq!(found["gen_ai.output.type"], expected, "{form}");
        assert_eq!(found["gen_ai.request.top_p"], 0.9, "{form}");
    }
}
