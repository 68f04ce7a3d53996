//! The loop of `rlm`: the LM writes a program, the sandbox runs it, its calls are answered, until one submits the outputs or
//! the limit is reached.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::prompt::{CODE, HISTORY, ITERATION, REASONING, VARIABLES};
use super::queries::SubQueries;
use super::{LLM_QUERY, LLM_QUERY_BATCHED, RlmModule, SUBMIT, submission, variables};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::sandbox::{HostAnswer, HostCall, SessionSetup};
use crate::strategy::programs::{NO_PROGRAM, OutputLimit, ProgramHost, ProgramSession, code_of};
use crate::strategy::steps::{StepHistory, TRAJECTORY, is_invalid_answer, with_steps};
use crate::value::{Fields, Payload};

/// Inputs over this length, in bytes, are long work to describe and to send.
const LONG_INPUT: usize = 256 << 10;

impl RlmModule {
    /// Has programs written until the outputs are there.
    pub(super) async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        if input.values().any(is_long) {
            ctx.run.begin_long_work().await;
        }
        let described = variables::describe(&self.base, &input, self.limits.preview_chars);
        let shown = Fields::from_iter([(VARIABLES.into(), described.into())]);
        let limit = OutputLimit(self.limits.max_output_chars);
        let (sandbox, setup) = (self.sandbox.as_ref(), self.setup(input));
        let mut session = ProgramSession::open(sandbox, ctx, setup, limit).await?;
        let calls = self.calls();
        let mut steps = StepHistory::default();
        for number in 1..=self.limits.max_iters {
            let mut asked = shown.clone();
            asked.insert(HISTORY.into(), Payload::Null);
            let iteration = format!("{number}/{}", self.limits.max_iters);
            asked.insert(ITERATION.into(), iteration.into());
            let ask = |input| self.action.forward(ctx, input);
            let answer = match with_steps(&mut steps, HISTORY, &asked, ask).await {
                Err(error) if is_invalid_answer(&error) && !steps.is_empty() => break,
                answer => answer?,
            };
            let code = code_of(&answer, CODE);
            let output = match code.trim().is_empty() {
                true => NO_PROGRAM.to_owned(),
                false => session.run(ctx, &code, &calls).await?.0,
            };
            let reasoning = answer.get(REASONING).and_then(Payload::as_str).unwrap_or_default();
            let (reasoning, code) = (reasoning.to_owned(), code.to_string());
            steps.push(vec![("reasoning", reasoning), ("code", code), ("output", output)]);
            if let Some(submitted) = calls.take_submitted() {
                return Ok(self.completed(submitted, &steps));
            }
        }
        drop(session);
        let ask = |input| self.extract.forward(ctx, input);
        let outputs = with_steps(&mut steps, HISTORY, &shown, ask).await?;
        Ok(self.completed(outputs, &steps))
    }

    fn completed(&self, mut outputs: Fields, steps: &StepHistory) -> Fields {
        if self.with_trajectory {
            outputs.insert(TRAJECTORY.into(), steps.whole().into());
        }
        outputs
    }

    fn setup(&self, inputs: Fields) -> SessionSetup {
        let own = [SUBMIT, LLM_QUERY, LLM_QUERY_BATCHED].map(Into::into);
        let functions = own.into_iter().chain(self.functions.names().cloned()).collect();
        SessionSetup { inputs, functions, programs: self.limits.max_iters, is_nested: false }
    }

    fn calls(&self) -> RlmCalls<'_> {
        let (most, at_once) = (self.limits.max_llm_calls, self.limits.max_parallel);
        let queries = SubQueries::new(&self.query, self.sub_lm.as_ref(), most, at_once);
        RlmCalls { module: self, queries, submitted: Mutex::new(None) }
    }
}

fn is_long(value: &Payload) -> bool {
    match value {
        Payload::Str(text) => text.len() > LONG_INPUT,
        Payload::Bytes(bytes) => bytes.len() > LONG_INPUT,
        Payload::List(_) | Payload::Map(_) => true,
        _ => false,
    }
}

/// Answers the calls of the programs.
struct RlmCalls<'m> {
    module: &'m RlmModule,
    queries: SubQueries<'m>,
    submitted: Mutex<Option<Fields>>,
}

impl RlmCalls<'_> {
    fn take_submitted(&self) -> Option<Fields> {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn submit(&self, call: HostCall) -> HostAnswer {
        match submission::read(&self.module.base, call) {
            Ok(outputs) => {
                *self.submitted.lock().unwrap_or_else(PoisonError::into_inner) = Some(outputs);
                HostAnswer::End
            }
            Err(why) => HostAnswer::Raise(why.into()),
        }
    }
}

impl ProgramHost for RlmCalls<'_> {
    fn call<'a>(
        &'a self,
        ctx: &'a Ctx,
        call: HostCall,
    ) -> BoxFuture<'a, Result<HostAnswer, PredictError>> {
        let answer = async move {
            match &*call.name {
                SUBMIT => Ok(self.submit(call)),
                LLM_QUERY => self.queries.one(ctx, &call).await,
                LLM_QUERY_BATCHED => self.queries.batched(ctx, &call).await,
                _ => self.module.functions.call(ctx, call).await,
            }
        };
        answer.boxed()
    }
}
