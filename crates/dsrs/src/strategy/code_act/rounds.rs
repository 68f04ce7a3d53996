//! The loop of `code_act`: the LM writes a program, the sandbox runs it, its calls of tools are answered, until the LM has
//! finished or the limit is reached.

use futures_util::future::BoxFuture;

use super::CodeActModule;
use super::prompt::{CODE, FINISHED};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::sandbox::{HostAnswer, HostCall, SessionSetup};
use crate::strategy::programs::{
    NO_PROGRAM, OutputLimit, ProgramFunctions, ProgramHost, ProgramSession, code_of,
};
use crate::strategy::steps::{StepHistory, TRAJECTORY, is_invalid_answer, with_steps};
use crate::value::{Fields, Payload};

impl CodeActModule {
    /// Has programs written until the LM has finished, then the outputs.
    pub(super) async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let mut steps = self.act(ctx, &input).await?;
        let ask = |input| self.extract.forward(ctx, input);
        let mut outputs = with_steps(&mut steps, TRAJECTORY, &input, ask).await?;
        outputs.shift_remove("reasoning");
        if self.with_trajectory {
            outputs.insert(TRAJECTORY.into(), steps.whole().into());
        }
        Ok(outputs)
    }

    async fn act(&self, ctx: &Ctx, input: &Fields) -> Result<StepHistory, PredictError> {
        let limit = OutputLimit(self.limits.max_output_chars);
        let (sandbox, setup) = (self.sandbox.as_ref(), self.setup(input));
        let mut session = ProgramSession::open(sandbox, ctx, setup, limit).await?;
        let mut steps = StepHistory::default();
        for _ in 0..self.limits.max_iters {
            let ask = |input| self.action.forward(ctx, input);
            let answer = match with_steps(&mut steps, TRAJECTORY, input, ask).await {
                Err(error) if is_invalid_answer(&error) && !steps.is_empty() => break,
                answer => answer?,
            };
            let code = code_of(&answer, CODE);
            let finished = answer.get(FINISHED) == Some(&Payload::Bool(true));
            if finished && code.trim().is_empty() {
                break;
            }
            let (output, failed) = match code.trim().is_empty() {
                true => (NO_PROGRAM.to_owned(), true),
                false => session.run(ctx, &code, &self.functions).await?,
            };
            steps.push(vec![("code", code.to_string()), ("output", output)]);
            // The LM corrects the last program, too.
            if finished && !failed {
                break;
            }
        }
        Ok(steps)
    }

    fn setup(&self, inputs: &Fields) -> SessionSetup {
        let functions = self.functions.names().cloned().collect();
        let (inputs, programs) = (inputs.clone(), self.limits.max_iters);
        SessionSetup { inputs, functions, programs, is_nested: false }
    }
}

impl ProgramHost for ProgramFunctions {
    fn call<'a>(
        &'a self,
        ctx: &'a Ctx,
        call: HostCall,
    ) -> BoxFuture<'a, Result<HostAnswer, PredictError>> {
        Box::pin(self.call(ctx, call))
    }
}
