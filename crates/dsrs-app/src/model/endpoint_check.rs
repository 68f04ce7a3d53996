//! Asks the endpoint of a model what works: chat, streaming, tools, structured outputs, embeddings. Costs
//! a few short requests. Does not know how the answers are shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dsrs::lm::{
    Chat, DecodingConstraint, DeltaSink, EmbeddingModel, LmError, LmErrorKind, LmParams, LmReply,
    LmRequest, Message, Model, Prefix, ToolSet, ToolSpec,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Enough for an answer of one word, and for the reasoning of a model that cannot do without.
const MOST_TOKENS: u32 = 2048;

/// A feature of an endpoint, and whether it works.
#[derive(Debug)]
pub struct FeatureCheck {
    /// `chat`, `streaming`, `tools`, `json_schema`, `grammar`, `embeddings` or `media`.
    pub feature: &'static str,
    pub outcome: FeatureOutcome,
    /// How long it took.
    pub took: Duration,
}

/// Whether a feature works.
#[derive(Debug)]
pub enum FeatureOutcome {
    /// It does; a remark.
    Works(String),
    /// It does not; why.
    Fails(String),
    /// It was not asked; why.
    Skipped(&'static str),
}

impl FeatureOutcome {
    fn of(result: Result<String, String>) -> Self {
        result.map_or_else(Self::Fails, Self::Works)
    }
}

/// Checks a model that answers.
pub async fn check_model(model: &Model) -> Vec<FeatureCheck> {
    let mut checks = vec![timed("chat", check_chat(model)).await];
    if matches!(checks[0].outcome, FeatureOutcome::Fails(_)) {
        return checks;
    }
    checks.push(timed("streaming", check_streaming(model)).await);
    checks.push(timed("tools", check_tools(model)).await);
    checks.push(timed("json_schema", check_schema(model)).await);
    checks.push(timed("grammar", check_grammar(model)).await);
    let reason = "programs of this server have texts and data as inputs, no media";
    let outcome = FeatureOutcome::Skipped(reason);
    checks.push(FeatureCheck { feature: "media", outcome, took: Duration::ZERO });
    checks
}

pub async fn check_embedding(model: &EmbeddingModel) -> Vec<FeatureCheck> {
    let check = async {
        let texts: [Arc<str>; 2] = ["a lamp".into(), "a lantern".into()];
        let found = model.embedder.embed(&texts, None).await.map_err(|error| error.message)?;
        Ok(format!("vectors of {} numbers", found.dimension().unwrap_or_default()))
    };
    vec![timed("embeddings", check).await]
}

async fn timed(
    feature: &'static str,
    check: impl Future<Output = Result<String, String>>,
) -> FeatureCheck {
    let begun = Instant::now();
    let outcome = FeatureOutcome::of(check.await);
    FeatureCheck { feature, outcome, took: begun.elapsed() }
}

fn question(model: &Model, text: &str) -> LmRequest {
    let prefix = Prefix::of([Message::system("You follow instructions exactly and briefly.")]);
    let chat = Chat { prefix, turns: vec![Message::user(text)] };
    let most = LmParams { max_tokens: Some(MOST_TOKENS), ..LmParams::default() };
    LmRequest::new(chat, model.params.over(&most))
}

async fn ask(model: &Model, request: &LmRequest) -> Result<LmReply, String> {
    model.lm.complete(request, DeltaSink::closed()).await.map_err(shown)
}

fn shown(error: LmError) -> String {
    match error.kind {
        LmErrorKind::ConstraintRefused => format!("refused: {}", error.message),
        _ => error.message,
    }
}

async fn check_chat(model: &Model) -> Result<String, String> {
    let reply = ask(model, &question(model, "Answer with the single word: ready")).await?;
    if reply.text.trim().is_empty() {
        return Err(format!("the answer is empty; its end: {}", end_of(&reply)));
    }
    Ok(remarks(&reply))
}

fn end_of(reply: &LmReply) -> &str {
    reply.finish_reason.as_deref().unwrap_or("not reported")
}

/// What the first answer says about the endpoint.
fn remarks(reply: &LmReply) -> String {
    let usage = &reply.usage;
    let mut remarks = vec![format!("model {}", reply.model)];
    if usage.input_tokens + usage.output_tokens == 0 {
        remarks.push("reports no usage".to_owned());
    }
    if usage.reasoning_tokens > 0 || reply.reasoning.is_some() {
        remarks.push(format!("reasons ({} tokens)", usage.reasoning_tokens));
    }
    if !reply.omitted.is_empty() {
        let names: Vec<_> = reply.omitted.names().collect();
        remarks.push(format!("refuses {}", names.join(", ")));
    }
    remarks.join("; ")
}

async fn check_streaming(model: &Model) -> Result<String, String> {
    let request = question(model, "Count from 1 to 20, separated by spaces.");
    let (mut pieces, mut first, begun) = (0_usize, None, Instant::now());
    let mut receive = |_: &str| {
        pieces += 1;
        first.get_or_insert_with(|| begun.elapsed());
    };
    model.lm.complete(&request, DeltaSink::to(&mut receive)).await.map_err(shown)?;
    match (pieces, first) {
        (0 | 1, _) => Ok("the answer arrives as a whole".to_owned()),
        (_, first) => {
            let first = first.unwrap_or_default().as_millis();
            Ok(format!("{pieces} pieces, the first after {first} ms"))
        }
    }
}

async fn check_tools(model: &Model) -> Result<String, String> {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false
    });
    let tool = ToolSpec {
        name: "weather".into(),
        description: "Returns the present weather of a city.".into(),
        parameters: raw(&parameters)?,
    };
    let text = "Call the tool `weather` for the city Turku.";
    let request = LmRequest { tools: Some(ToolSet::of([tool])), ..question(model, text) };
    let reply = ask(model, &request).await?;
    let call = reply.tool_calls.iter().find(|call| &*call.name == "weather");
    let call = call.ok_or("the model answered with a text instead of a call")?;
    let arguments: Value = serde_json::from_str(&call.arguments)
        .map_err(|_| format!("the arguments are not JSON: {}", call.arguments))?;
    match arguments.get("city").and_then(Value::as_str) {
        Some(_) if model.tools => Ok(String::new()),
        Some(_) => Ok("add `tools` to `capabilities` to use them".to_owned()),
        None => Err(format!("the arguments do not fit the schema: {arguments}")),
    }
}

async fn check_schema(model: &Model) -> Result<String, String> {
    let schema = json!({
        "type": "object",
        "properties": {"legs": {"type": "integer"}},
        "required": ["legs"],
        "additionalProperties": false
    });
    let constraint = DecodingConstraint::JsonSchema { schema: raw(&schema)?, strict: true };
    let reply = constrained(model, constraint, "How many legs has a spider? Explain.").await?;
    let answer: Option<Value> = serde_json::from_str(&reply.text).ok();
    match answer.as_ref().and_then(|answer| answer.get("legs")).and_then(Value::as_i64) {
        Some(_) => Ok(String::new()),
        None => Err("the endpoint accepts the schema and does not enforce it".to_owned()),
    }
}

async fn check_grammar(model: &Model) -> Result<String, String> {
    let constraint = DecodingConstraint::Gbnf(r#"root ::= "yes" | "no""#.into());
    let reply = constrained(model, constraint, "Is water wet? Explain at length.").await?;
    match reply.text.trim() {
        "yes" | "no" => Ok(String::new()),
        _ => Err("the endpoint does not enforce a grammar".to_owned()),
    }
}

async fn constrained(
    model: &Model,
    constraint: DecodingConstraint,
    text: &str,
) -> Result<LmReply, String> {
    let request = LmRequest { constraint: Some(constraint), ..question(model, text) };
    ask(model, &request).await
}

fn raw(schema: &Value) -> Result<Arc<RawValue>, String> {
    let text = RawValue::from_string(schema.to_string()).map_err(|error| error.to_string())?;
    Ok(text.into())
}
