//! Advice after an attempt that was not good enough: an LM sees the parts of the program, its inputs,
//! outputs and reward, and writes what each part should do differently. The advice becomes hints for
//! the next attempt. Does not know how attempts are made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::score::Score;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Fields, Payload};

/// The name of the predictor that writes advice.
pub(super) const ADVICE: &str = "advice";

/// A program attempted a task, and its outputs were not good enough. Find out what went wrong and
/// which parts of the program caused it. Then write advice for the next attempt: for each part that
/// should act differently, say concretely what it should do. Write advice that also helps with other
/// inputs of this kind, not only with these. Leave out parts that did well.
#[derive(dsrs::Signature)]
pub struct OfferAdvice {
    /// the parts of the program by name, each with its inputs, outputs and instruction
    #[input]
    pub program: String,
    /// the inputs of the program
    #[input]
    pub inputs: String,
    /// the outputs of the program
    #[input]
    pub outputs: String,
    /// how the outputs are scored; higher is better
    #[input]
    pub reward_definition: String,
    /// the score of these outputs, and the target
    #[input]
    pub reward: String,
    /// what went wrong, and which part caused it
    #[output]
    pub diagnosis: String,
    /// the advice for each part that should change, under its name exactly as in `program`
    #[output]
    pub advice: BTreeMap<String, String>,
}

/// Advice for predictors by their paths within the node.
pub(super) type AdviceHints = Vec<(Arc<str>, Arc<str>)>;

/// Asks an LM for advice on a program with these inputs.
pub(super) struct Adviser<'a> {
    /// The predictor that writes advice.
    pub(super) predictor: &'a dyn DynPredictor,
    /// Its path within the node; the paths of the program's predictors are beside it.
    pub(super) path: &'a str,
    /// The program's predictors.
    pub(super) parts: Vec<(&'a str, &'a dyn DynPredictor)>,
    /// The inputs of the program.
    pub(super) inputs: &'a Fields,
    /// A description of the reward.
    pub(super) definition: String,
    /// The reward to reach.
    pub(super) threshold: f64,
}

impl Adviser<'_> {
    /// Asks for advice after these outputs.
    pub(super) async fn advise(
        &self,
        ctx: &Ctx,
        reward: &Score,
        outputs: &Fields,
    ) -> Result<AdviceHints, PredictError> {
        let text = |text: String| Payload::Str(text.into());
        let input = [
            ("program", text(self.program())),
            ("inputs", text(written(self.inputs))),
            ("outputs", text(written(outputs))),
            ("reward_definition", text(self.definition.clone())),
            ("reward", text(self.reward(reward))),
        ];
        let input = input.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
        let found = self.predictor.forward(ctx, input).await?;
        let advice = found.get(ADVICE).and_then(Payload::as_map);
        Ok(advice.map_or_else(Vec::new, |advice| self.hints(advice)))
    }

    /// The score for the LM, with the target and with what the reward says of it.
    fn reward(&self, Score { value, feedback }: &Score) -> String {
        let target = match self.threshold.is_finite() {
            true => format!("{value}; the target is at least {}", self.threshold),
            false => format!("{value}; the target is as high as possible"),
        };
        feedback.as_deref().map_or_else(|| target.clone(), |text| format!("{target}\n{text}"))
    }

    /// The description of the parts for the LM.
    fn program(&self) -> String {
        let mut text = String::new();
        for (path, part) in &self.parts {
            let schema = part.schema();
            let (inputs, outputs) = (names(&schema.inputs), names(&schema.outputs));
            let _ = writeln!(text, "{path}: inputs {inputs}; outputs {outputs}; instruction:");
            for line in part.instruction().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    /// The advice for each part that it names. Advice that names no known part applies to all parts.
    fn hints(&self, advice: &Fields) -> AdviceHints {
        let before = self.path.strip_suffix(ADVICE).unwrap_or_default();
        let at = |part: &str| -> Arc<str> { format!("{before}{part}").into() };
        let given = advice.iter().filter_map(|(name, text)| {
            let text = text.as_str().map(str::trim).filter(|text| !text.is_empty())?;
            Some((name.trim_matches(['`', '"', ' ']), text))
        });
        let of = |part: &str| given.clone().find(|(name, _)| *name == part).map(|(_, text)| text);
        let parts = || self.parts.iter().map(|(part, _)| *part);
        let named: AdviceHints =
            parts().filter_map(|part| Some((at(part), Arc::from(of(part)?)))).collect();
        if !named.is_empty() {
            return named;
        }
        let all: Vec<&str> = given.map(|(_, text)| text).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let all: Arc<str> = all.join("\n").into();
        parts().map(|part| (at(part), all.clone())).collect()
    }
}

/// The schema of the predictor that writes advice.
pub(super) fn schema() -> Arc<SignatureSchema> {
    SignatureSchema::of::<OfferAdvice>()
}

fn names(fields: &[FieldSchema]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn written(fields: &Fields) -> String {
    serde_json::to_string_pretty(fields).unwrap_or_default()
}
