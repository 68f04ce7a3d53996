//! `ProgramOfThought<S>`: the strategy for a typed signature.

use std::sync::Arc;

use facet::Facet;

use super::coder::Coder;
use super::prompt::Schemas;
use super::{GENERATE, MAX_ITERS, OUTPUT, REGENERATE};
use crate::module::{Module, Prediction};
use crate::predict::fields;
use crate::predict::{Ctx, Predict, PredictError, PredictErrorKind};
use crate::problem::{At, Problems};
use crate::reflect::from_payload;
use crate::sandbox::Sandbox;
use crate::signature::{Signature, SignatureSchema};
use crate::strategy::{ChainOfThought, WithReasoning};
use crate::value::{Fields, Payload};

/// The signature of the first program.
#[derive(dsrs::Signature)]
pub struct CodeGenerate<I> {
    #[input(flatten)]
    input: I,
    /// the complete program, without explanations
    #[output]
    generated_code: String,
}

/// The signature of a program after one that failed.
#[derive(dsrs::Signature)]
pub struct CodeRegenerate<I> {
    #[input(flatten)]
    input: I,
    /// the program that failed
    #[input]
    previous_code: String,
    /// the error message of the failed program
    #[input]
    error: String,
    /// the complete program, without explanations
    #[output]
    generated_code: String,
}

/// The signature of the outputs, after a program has run.
#[derive(dsrs::Signature)]
pub struct GenerateOutput<I, O> {
    #[input(flatten)]
    input: I,
    /// the program that was written and run for this task
    #[input]
    final_generated_code: String,
    /// the result of the program: what it printed and the value of its last line
    #[input]
    code_output: String,
    #[output(flatten)]
    output: O,
}

/// Has the LM write a program, runs it and derives the outputs from the result.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::sandbox::{SandboxOutput, Sandbox, SandboxError};
/// use dsrs::value::{Fields, Payload};
/// use dsrs::{Ctx, Module, ProgramOfThought, Signature};
/// use dsrs::BoxFuture;
///
/// #[derive(Signature)]
/// struct Sum {
///     #[input]
///     numbers: Vec<i64>,
///     #[output]
///     sum: i64,
/// }
///
/// /// Stands for `dsrs_sandbox::ChildSandbox`.
/// struct Adds;
///
/// impl Sandbox for Adds {
///     fn run<'a>(
///         &'a self,
///         _code: &'a str,
///         _inputs: &'a Fields,
///     ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
///         Box::pin(async { Ok(SandboxOutput { printed: "".into(), value: Payload::Int(6) }) })
///     }
/// }
///
/// let program = ProgramOfThought::<Sum>::new(Arc::new(Adds)).unwrap();
/// # dsrs::block_on(async {
/// let lm = Arc::new(ScriptedLm::sections([
///     ("reasoning", "They are added."),
///     ("generated_code", "sum(numbers)"),
///     ("sum", "6"),
/// ]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let result = program.call(&ctx, SumInput { numbers: vec![1, 2, 3] }).await.unwrap();
/// assert_eq!(result.sum, 6);
/// # });
/// ```
#[derive(Facet)]
pub struct ProgramOfThought<S: Signature> {
    /// Writes a program.
    pub code_generate: ChainOfThought<CodeGenerate<S::Input>>,
    /// Repairs a program that failed.
    pub code_regenerate: ChainOfThought<CodeRegenerate<S::Input>>,
    /// Writes the outputs from the result.
    pub generate_output: ChainOfThought<GenerateOutput<S::Input, S::Output>>,
    #[facet(opaque, dsrs::skip)]
    coder: Coder,
}

impl<S: Signature> ProgramOfThought<S> {
    /// A module whose programs run in this sandbox, at most three in one call.
    ///
    /// # Errors
    /// Fields of the signature with the name of an added field.
    pub fn new(sandbox: Arc<dyn Sandbox>) -> Result<Self, Problems> {
        let schemas = Schemas::of(&SignatureSchema::of::<S>(), &At::Root)?;
        Ok(Self {
            code_generate: ChainOfThought { predict: Predict::over(schemas.generate, GENERATE) },
            code_regenerate: ChainOfThought {
                predict: Predict::over(schemas.regenerate, REGENERATE),
            },
            generate_output: ChainOfThought { predict: Predict::over(schemas.output, OUTPUT) },
            coder: Coder { sandbox: Some(sandbox), max_iters: MAX_ITERS },
        })
    }

    /// The most programs to run.
    #[must_use]
    pub fn max_iters(mut self, most: usize) -> Self {
        self.coder.max_iters = most.max(1);
        self
    }
}

impl<S: Signature> Module for ProgramOfThought<S> {
    type Input = S::Input;
    type Output = S::Output;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<S::Output>, PredictError> {
        let input = fields(&input).map_err(|error| {
            let field = error.path.split(['.', '[']).next().unwrap_or_default().into();
            PredictError::new(PredictErrorKind::InvalidValue { field }, error.to_string())
        })?;
        let generate = &self.code_generate.predict.predictor;
        let regenerate = &self.code_regenerate.predict.predictor;
        let ran = self.coder.run(ctx, generate, regenerate, &input).await?;
        let typed = |found: &Fields| {
            from_payload::<WithReasoning<GenerateOutputOutput<S::Output>>>(&Payload::map(
                found.clone(),
            ))
        };
        let output = &self.generate_output.predict.predictor;
        let found = output.forward_as(ctx, ran.shown(input), typed).await?;
        Ok(Prediction::of(found.inner.output))
    }
}
