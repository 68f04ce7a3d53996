//! The loop of `program_of_thought`: the LM writes a program, the sandbox runs it, and the LM repairs it
//! while it fails. The same for signatures as data and typed ones.

use std::sync::Arc;

use super::prompt;
use crate::predict::{
    Ctx, DynPredictor, PredictError, PredictErrorKind, SchemaPredictor, SpanKind, SpanStatus,
};
use crate::sandbox::{Sandbox, SandboxError, SandboxFailure, SandboxOutput};
use crate::strategy::programs::{code_of, sandbox_is_gone};
use crate::value::{Fields, Payload};

/// The name of a program run in the trace.
const TOOL: &str = "python";

/// The sandbox, and how many programs it runs.
#[derive(Clone)]
pub(super) struct Coder {
    /// `None` if a stored graph no longer finds one.
    pub(super) sandbox: Option<Arc<dyn Sandbox>>,
    pub(super) max_iters: usize,
}

/// A program that ran to its end.
pub(super) struct FinishedProgram {
    code: Arc<str>,
    output: String,
}

impl FinishedProgram {
    /// The inputs of the predictor that writes the outputs.
    pub(super) fn shown(self, mut input: Fields) -> Fields {
        input.insert(prompt::FINAL.into(), Payload::Str(self.code));
        input.insert(prompt::OUTPUT.into(), self.output.into());
        input
    }
}

impl Coder {
    /// Has programs written until one runs to its end or the limit is reached.
    pub(super) async fn run(
        &self,
        ctx: &Ctx,
        generate: &SchemaPredictor,
        regenerate: &SchemaPredictor,
        input: &Fields,
    ) -> Result<FinishedProgram, PredictError> {
        let mut answer = generate.forward(ctx, input.clone()).await?;
        for left in (0..self.max_iters).rev() {
            let code = code_of(&answer, prompt::CODE);
            let error = match self.try_once(ctx, &code, input).await? {
                Ok(output) => return Ok(FinishedProgram { code, output }),
                Err(error) => error,
            };
            if left == 0 {
                return Err(self.abandoned(&error));
            }
            let mut again = input.clone();
            again.insert(prompt::PREVIOUS.into(), Payload::Str(code));
            again.insert(prompt::ERROR.into(), Payload::Str(error.message));
            answer = regenerate.forward(ctx, again).await?;
        }
        Err(PredictError::new(PredictErrorKind::Program, "no program was to be tried"))
    }

    /// Runs a program under a span of its own: its result, or how it failed.
    async fn try_once(
        &self,
        ctx: &Ctx,
        code: &Arc<str>,
        input: &Fields,
    ) -> Result<Result<String, SandboxError>, PredictError> {
        let Some(sandbox) = &self.sandbox else {
            return Err(sandbox_is_gone());
        };
        if code.trim().is_empty() {
            let message = format!("`{}` contains no program", prompt::CODE);
            return Ok(Err(SandboxError::new(SandboxFailure::Syntax, message)));
        }
        let span = ctx.trace().open(SpanKind::Tool, &ctx.node.node, ctx.parent, |span| {
            span.tool = Some(TOOL.into());
            span.inputs = Some(Fields::from_iter([("code".into(), Payload::Str(code.clone()))]));
        });
        let ran = tokio::select! {
            biased;
            () = ctx.run.cancelled.cancelled() => {
                ctx.trace().close(span, SpanStatus::Cancelled, |_| {});
                let message = "the run was cancelled";
                return Err(PredictError::new(PredictErrorKind::Cancelled, message));
            }
            ran = sandbox.run(code, input) => ran,
        };
        match ran {
            Ok(ran) => {
                let output = result_text(&ran);
                ctx.trace().close(span, SpanStatus::Succeeded, |span| {
                    let result = ("result".into(), Payload::from(output.as_str()));
                    span.outputs = Some(Fields::from_iter([result]));
                });
                Ok(Ok(output))
            }
            Err(error) => {
                let message = error.message.clone();
                ctx.trace().close(span, SpanStatus::Failed, |span| {
                    span.error = Some(message);
                    span.error_kind = Some("program_failed");
                });
                match error.kind.is_of_the_program() {
                    true => Ok(Err(error)),
                    false => {
                        let kind = PredictErrorKind::Sandbox;
                        Err(PredictError::new(kind, format!("the sandbox failed: {error}")))
                    }
                }
            }
        }
    }

    fn abandoned(&self, error: &SandboxError) -> PredictError {
        let tried = match self.max_iters {
            1 => "the LM's program failed".to_owned(),
            most => format!("{most} programs of the LM failed, the last one"),
        };
        PredictError::new(PredictErrorKind::Program, format!("{tried}: {error}"))
    }
}

/// The result of a program: what it printed, then the value of its last line.
fn result_text(ran: &SandboxOutput) -> String {
    let value = match &ran.value {
        Payload::Null => String::new(),
        Payload::Str(text) => text.to_string(),
        value => value.to_json(),
    };
    match (ran.printed.trim_end(), value.is_empty()) {
        ("", true) => {
            "(no output: the program printed nothing and its last line has no value)".to_owned()
        }
        ("", false) => value,
        (printed, true) => printed.to_owned(),
        (printed, false) => format!("{printed}\n{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_the_printed_text_followed_by_the_value() {
        let out = |printed: &str, value: Payload| {
            result_text(&SandboxOutput { printed: printed.into(), value })
        };
        assert_eq!(out("a\nb\n", Payload::Int(3)), "a\nb\n3");
        assert_eq!(out("a\n", Payload::Null), "a");
        assert_eq!(out("", Payload::from("text")), "text");
        assert!(out("", Payload::Null).starts_with("(no output"));
    }
}
