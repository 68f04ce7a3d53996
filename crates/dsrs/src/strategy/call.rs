//! `call`: one call of a tool, with typed inputs and a typed output. No LM decides: the node calls the tool once its
//! inputs exist. Does not know what the tool does, nor how a request is sent.

mod arguments;
mod cache;
mod key;
mod result;
mod schema;
mod signature;

use std::sync::Arc;
use std::time::Duration;

use facet::Facet;
use futures_util::future::{BoxFuture, FutureExt};

use self::cache::ResultCache;
use self::key::{CallKey, hash_of_tool};
use self::result::ResultPath;
use super::registry::StrategyRegistration;
use super::tools::{missing, read_tool, tool_schema};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::lm::retry::backoff;
use crate::predict::{
    CallRecord, CheckedTool, Ctx, DynPredictor, PredictError, PredictErrorKind, Tool, ToolError,
};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Map, Payload};

/// The member of a config with the tool.
const TOOL: &str = "tool";

/// The only output, and its name if an argument has the other one.
const RESULT: &str = "result";
const OUTPUT: &str = "output";

#[derive(Facet)]
struct CallConfig {
    /// The tool: the name of a built-in tool, or an object with exactly one of `builtin`, `http`, `graph` and `mcp`.
    #[facet(dsrs::value_schema(tool_schema))]
    tool: Payload,
    /// Arguments that have the same value in each call. They are no inputs of the node.
    #[facet(dsrs::object)]
    arguments: Option<Payload>,
    /// The path to the part of the result that is the output, such as `hits[*].text`: members, elements, keys, and `[*]`
    /// for each element of a list.
    #[facet(dsrs::keywords(r#"{"maxLength": 2000}"#))]
    select: Option<String>,
    /// The type of the output, as in a signature. Default: the type that the tool names for its results, or else a text.
    #[facet(dsrs::keywords(r#"{"type": ["string", "object"]}"#))]
    output: Option<Payload>,
    /// For how many seconds a result is used again for the same arguments.
    #[facet(default = 0, dsrs::maximum(86_400))]
    cache_seconds: u64,
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "call"
    }

    fn description(&self) -> &'static str {
        "Calls one tool once: an HTTP request, a tool of an MCP server, a stored graph or a built-in tool. The inputs are the \
         arguments, the output `result` is what the tool returns or a part of it. Calls no LM, unless the tool does."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<CallConfig>()
    }

    fn calls_lm(&self) -> bool {
        false
    }

    fn predictors(&self) -> &[&'static str] {
        &[]
    }

    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        // The definition has the signature from when it was written.
        if env.is_stored() {
            return None;
        }
        Some(CallConfig::read(env, config, at).and_then(|(config, tool)| {
            signature::own_signature(&config, &*tool, &at.key("config"))
        }))
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::Within(TOOL, &[ConfigRef::Graph])]
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let (config, tool) = CallConfig::read(env, config, at)?;
        let at = at.key("config");
        let path = config.path(&at)?;
        let tool = checked(env, tool, &at.key(TOOL))?;
        let ttl = Duration::from_secs(config.cache_seconds);
        Ok(Box::new(CallModule {
            schema: base.clone(),
            left_out: arguments::left_out_if_null(tool.spec()),
            is_text: tool.result_schema().is_none(),
            tool_hash: hash_of_tool(&config.tool),
            tool,
            fixed: config.fixed(),
            path,
            cache: (config.cache_seconds > 0).then(|| ResultCache::of(ttl)),
        }))
    }
}

/// A stored definition always loads: a tool whose schema cannot be used any more fails when it is called.
fn checked(env: &dyn BuildEnv, tool: Arc<dyn Tool>, at: &At<'_>) -> Result<CheckedTool, Problems> {
    let name = tool.spec().name.clone();
    CheckedTool::new(tool).or_else(|reason| match env.is_stored() {
        true => CheckedTool::new(missing(name, &reason)).map_err(|reason| invalid(at, reason)),
        false => Err(invalid(at, reason)),
    })
}

fn invalid(at: &At<'_>, detail: String) -> Problems {
    Problem { pointer: at.pointer(), code: Code::InvalidConfig, detail }.into()
}

impl CallConfig {
    fn read(
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<(Self, Arc<dyn Tool>), Problems> {
        let at = at.key("config");
        let config: Self = read_config(config, &at)?;
        let mut problems = Problems::new();
        let tool = read_tool(env, &config.tool, &at.key(TOOL), &mut problems);
        if tool.as_ref().is_some_and(|tool| tool.waits_for_caller()) {
            let detail = "a call of the caller is a node `await`, whose outputs are the result";
            problems.add(&at.key(TOOL), Code::InvalidConfig, detail);
        }
        match tool {
            Some(tool) if problems.is_empty() => Ok((config, tool)),
            _ => Err(problems),
        }
    }

    fn path(&self, at: &At<'_>) -> Result<ResultPath, Problems> {
        let Some(text) = &self.select else { return Ok(ResultPath::default()) };
        ResultPath::parse(text)
            .map_err(|reason| invalid(&at.key("select"), format!("`{text}`: {reason}")))
    }

    fn fixed(&self) -> Map {
        self.arguments.as_ref().and_then(Payload::as_map).cloned().unwrap_or_default()
    }
}

struct CallModule {
    schema: Arc<SignatureSchema>,
    tool: CheckedTool,
    /// Whether all its results are texts.
    is_text: bool,
    /// The arguments that a call leaves out if they are null.
    left_out: Vec<Arc<str>>,
    fixed: Map,
    path: ResultPath,
    cache: Option<ResultCache>,
    /// A hash of the tool.
    tool_hash: [u8; 32],
}

impl CallModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let args = Payload::map(self.arguments(input));
        let key = CallKey::of(&args);
        let value = match &ctx.run.call_record {
            Some(record) => self.recorded(ctx, &**record, &args, key).await?,
            None => self.cached(ctx, &args, key).await?,
        };
        let output = self.schema.outputs.first().map(|output| output.name.clone());
        Ok(output.map(|name| (name, value)).into_iter().collect())
    }

    /// The output for an answer.
    fn value(&self, answer: &Payload) -> Result<Payload, PredictError> {
        self.path.value(answer, self.is_text, &self.schema).map_err(|reason| {
            let tool = &self.tool.spec().name;
            let message = format!("the result of `{tool}` does not fit: {reason}");
            PredictError::new(PredictErrorKind::Tool, message)
        })
    }

    fn arguments(&self, input: Fields) -> Map {
        let is_given = |(name, value): &(Arc<str>, Payload)| {
            !value.is_null() || !self.left_out.iter().any(|left_out| left_out == name)
        };
        input.into_iter().filter(is_given).chain(self.fixed.clone()).collect()
    }

    /// The output, from the memory of this process if it has it.
    async fn cached(
        &self,
        ctx: &Ctx,
        args: &Payload,
        key: CallKey,
    ) -> Result<Payload, PredictError> {
        if let Some(value) = self.cache.as_ref().and_then(|cache| cache.get(key)) {
            return Ok(self.tool.reuse(ctx, args, value));
        }
        let value = self.value(&self.ask(ctx, args, key).await?)?;
        if let Some(cache) = &self.cache {
            cache.insert(key, &value);
        }
        Ok(value)
    }

    /// The output of the recorded answer, or of a new one, which is recorded if it has the type of the node. Of equal calls at
    /// the same time, the answer counts that was recorded first.
    async fn recorded(
        &self,
        ctx: &Ctx,
        record: &dyn CallRecord,
        args: &Payload,
        key: CallKey,
    ) -> Result<Payload, PredictError> {
        let recorded = key.of_tool(&self.tool_hash);
        if let Some(answer) = record.find(recorded).await {
            return self.value(&self.tool.reuse(ctx, args, answer));
        }
        let answer = self.ask(ctx, args, key).await?;
        let value = self.value(&answer)?;
        record.record(recorded, &answer).await;
        match record.find(recorded).await {
            Some(first) if first != answer => self.value(&first),
            _ => Ok(value),
        }
    }

    /// The answer, after as many retries as the node allows while the tool cannot answer.
    async fn ask(&self, ctx: &Ctx, args: &Payload, key: CallKey) -> Result<Payload, PredictError> {
        let key = key.in_run(ctx);
        let mut number = 1;
        loop {
            let (message, retry_after) = match self.tool.call_for_data(ctx, args, key.clone()).await
            {
                Ok(answer) => return Ok(answer),
                Err(ToolError::Fatal(error)) => return Err(error),
                Err(ToolError::Reported(reason)) => {
                    return Err(self.failure(PredictErrorKind::Tool, &reason));
                }
                Err(ToolError::Unanswered(reason)) => {
                    let kind = PredictErrorKind::ToolUnavailable { retry_after: None };
                    return Err(self.failure(kind, &reason));
                }
                Err(ToolError::Unavailable { message, retry_after }) => (message, retry_after),
            };
            let wait = retry_after.unwrap_or_else(|| backoff(number, fastrand::f64()));
            let left = ctx.node.deadline.saturating_duration_since(tokio::time::Instant::now());
            if number > ctx.node.retries || wait >= left {
                return Err(
                    self.failure(PredictErrorKind::ToolUnavailable { retry_after }, &message)
                );
            }
            ctx.pause(wait).await?;
            number += 1;
        }
    }

    fn failure(&self, kind: PredictErrorKind, reason: &str) -> PredictError {
        PredictError::new(kind, format!("the call of `{}` failed: {reason}", self.tool.spec().name))
    }
}

impl DynModule for CallModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        Vec::new()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        Vec::new()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        self.run(ctx, input).boxed()
    }
}
