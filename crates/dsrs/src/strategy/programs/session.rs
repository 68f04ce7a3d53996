//! A session of programs within a run: each program is a span, a cancelled run stops it, and a failure of a call that ends
//! the run ends the program first. Does not know which functions programs call.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::output::OutputLimit;
use super::sandboxed::sandbox_is_gone;
use crate::predict::{Ctx, PredictError, PredictErrorKind, SpanKind, SpanStatus};
use crate::sandbox::{
    HostAnswer, HostCall, Sandbox, SandboxError, SandboxHost, SandboxSession, SessionOutput,
    SessionSetup,
};
use crate::value::{Fields, Payload};

/// The name of a program in the trace.
const TOOL: &str = "python";

/// Answers the calls of programs.
pub(in crate::strategy) trait ProgramHost: Sync {
    /// Answers a call; `ctx` is that of the program. An error ends the run.
    fn call<'a>(
        &'a self,
        ctx: &'a Ctx,
        call: HostCall,
    ) -> BoxFuture<'a, Result<HostAnswer, PredictError>>;
}

/// A session in the sandbox.
pub(in crate::strategy) struct ProgramSession<'s> {
    session: Box<dyn SandboxSession + 's>,
    limit: OutputLimit,
}

impl<'s> ProgramSession<'s> {
    /// Opens a session; `sandbox` is `None` if a stored graph no longer finds one.
    pub(in crate::strategy) async fn open(
        sandbox: Option<&'s Arc<dyn Sandbox>>,
        ctx: &Ctx,
        setup: SessionSetup,
        limit: OutputLimit,
    ) -> Result<Self, PredictError> {
        let sandbox = sandbox.ok_or_else(sandbox_is_gone)?;
        let setup = SessionSetup { is_nested: ctx.in_program, ..setup };
        let opened = unless_cancelled(ctx, sandbox.open(setup)).await?;
        let session = opened.map_err(|error| broken(&error))?;
        Ok(Self { session, limit })
    }

    /// Runs a program and returns what the LM sees of it, and whether it failed.
    pub(in crate::strategy) async fn run(
        &mut self,
        ctx: &Ctx,
        code: &Arc<str>,
        host: &dyn ProgramHost,
    ) -> Result<(String, bool), PredictError> {
        let span = ctx.trace().open(SpanKind::Tool, &ctx.node.node, ctx.parent, |span| {
            span.tool = Some(TOOL.into());
            span.inputs = Some(Fields::from_iter([("code".into(), Payload::Str(code.clone()))]));
        });
        let within = Ctx { in_program: true, ..ctx.under(span) };
        let calls = SpanHost { ctx: within, host, failed: Mutex::new(None) };
        let ran = unless_cancelled(ctx, self.session.run(code, &calls)).await;
        let failed = calls.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ran = ran.and_then(|output| failed.map_or(Ok(output), Err));
        let ran = ran.and_then(|output| match &output.failure {
            Some(error) if !error.kind.is_of_the_program() => Err(broken(error)),
            _ => Ok(output),
        });
        let text = ran.as_ref().map(|output| self.limit.text(output)).unwrap_or_default();
        ctx.trace().close(span, status(&ran), |span| match &ran {
            Ok(output) => {
                let result = ("result".into(), Payload::from(text.as_str()));
                span.outputs = Some(Fields::from_iter([result]));
                span.error = output.failure.as_ref().map(|failure| failure.message.clone());
                span.error_kind = output.failure.is_some().then_some("program_failed");
            }
            Err(error) => span.fail(error),
        });
        ran.map(|output| (text, output.failure.is_some()))
    }
}

fn status(ran: &Result<SessionOutput, PredictError>) -> SpanStatus {
    match ran {
        Ok(output) if output.failure.is_none() => SpanStatus::Succeeded,
        Err(error) if error.kind == PredictErrorKind::Cancelled => SpanStatus::Cancelled,
        _ => SpanStatus::Failed,
    }
}

fn broken(error: &SandboxError) -> PredictError {
    PredictError::new(PredictErrorKind::Sandbox, format!("the sandbox failed: {error}"))
}

async fn unless_cancelled<T>(ctx: &Ctx, work: impl Future<Output = T>) -> Result<T, PredictError> {
    tokio::select! {
        biased;
        () = ctx.run.cancelled.cancelled() => {
            Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled"))
        }
        done = work => Ok(done),
    }
}

/// Passes calls to a host within the span of the program, and ends the program if the run ends.
struct SpanHost<'h> {
    ctx: Ctx,
    host: &'h dyn ProgramHost,
    failed: Mutex<Option<PredictError>>,
}

impl SandboxHost for SpanHost<'_> {
    fn call(&self, call: HostCall) -> BoxFuture<'_, HostAnswer> {
        let answer = async move {
            self.host.call(&self.ctx, call).await.unwrap_or_else(|error| {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                HostAnswer::End
            })
        };
        answer.boxed()
    }
}
