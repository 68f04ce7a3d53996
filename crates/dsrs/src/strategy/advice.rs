//! Advice after an attempt that was not good enough: an LM sees the parts of the program, what went
//! in, what came out and what would have been better, and says what each part should do otherwise.
//! It becomes hints for the next attempt. Knows nothing of how attempts are made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Fields, Payload};

/// The name under which the predictor that advises is found.
pub(super) const ADVICE: &str = "advice";

/// A program tried to solve a task and its outcome was not good enough. Find out what went wrong and
/// which of its parts could have done better. Then write advice for the next attempt: for every part
/// that should act differently, say concretely how. Advise what would also help with inputs of this
/// kind, not only with these. A part that did well needs no advice.
#[derive(dsrs::Signature)]
pub struct OfferAdvice {
    /// the parts of the program by name: what each takes, gives and is told to do
    #[input]
    pub program: String,
    /// what went into the program
    #[input]
    pub inputs: String,
    /// what came out
    #[input]
    pub outputs: String,
    /// how the outcome is rewarded; more is better
    #[input]
    pub reward_definition: String,
    /// the reward of this outcome, and what is wanted
    #[input]
    pub reward: String,
    /// what went wrong, and because of which part
    #[output]
    pub diagnosis: String,
    /// advice by the name of the part, as given above
    #[output]
    pub advice: BTreeMap<String, String>,
}

/// Advice for predictors by their paths within the node.
pub(super) type Hinted = Vec<(Arc<str>, Arc<str>)>;

/// Who advises on a program at these inputs.
pub(super) struct Adviser<'a> {
    /// The predictor that writes advice.
    pub(super) predictor: &'a dyn DynPredictor,
    /// Its path within the node, beside which the program's own stand.
    pub(super) path: &'a str,
    /// The program's predictors.
    pub(super) parts: Vec<(&'a str, &'a dyn DynPredictor)>,
    /// What went in.
    pub(super) inputs: &'a Fields,
    /// How the outcome is rewarded.
    pub(super) definition: String,
    /// A reward that is good enough.
    pub(super) threshold: f64,
}

impl Adviser<'_> {
    /// Asks what should be done otherwise after this outcome.
    pub(super) async fn advise(
        &self,
        ctx: &Ctx,
        reward: f64,
        outputs: &Fields,
    ) -> Result<Hinted, PredictError> {
        let wanted = match self.threshold.is_finite() {
            true => format!("{reward}; at least {} is wanted", self.threshold),
            false => format!("{reward}; as much as possible is wanted"),
        };
        let text = |text: String| Payload::Str(text.into());
        let input = [
            ("program", text(self.program())),
            ("inputs", text(written(self.inputs))),
            ("outputs", text(written(outputs))),
            ("reward_definition", text(self.definition.clone())),
            ("reward", text(wanted)),
        ];
        let input = input.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
        let found = self.predictor.forward(ctx, input).await?;
        let advice = found.get(ADVICE).and_then(Payload::as_map);
        Ok(advice.map_or_else(Vec::new, |advice| self.hints(advice)))
    }

    /// The parts, as an LM is told of them.
    fn program(&self) -> String {
        let mut text = String::new();
        for (path, part) in &self.parts {
            let schema = part.schema();
            let (takes, gives) = (names(&schema.inputs), names(&schema.outputs));
            let _ = writeln!(text, "{path}: takes {takes}; gives {gives}; is told:");
            for line in part.instruction().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    /// Advice for the parts that it names. An LM that names none of them means all.
    fn hints(&self, advice: &Fields) -> Hinted {
        let before = self.path.strip_suffix(ADVICE).unwrap_or_default();
        let at = |part: &str| -> Arc<str> { format!("{before}{part}").into() };
        let said = advice.iter().filter_map(|(name, text)| {
            let text = text.as_str().map(str::trim).filter(|text| !text.is_empty())?;
            Some((name.trim_matches(['`', '"', ' ']), text))
        });
        let of = |part: &str| said.clone().find(|(name, _)| *name == part).map(|(_, text)| text);
        let parts = || self.parts.iter().map(|(part, _)| *part);
        let named: Hinted =
            parts().filter_map(|part| Some((at(part), Arc::from(of(part)?)))).collect();
        if !named.is_empty() {
            return named;
        }
        let all: Vec<&str> = said.map(|(_, text)| text).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let all: Arc<str> = all.join("\n").into();
        parts().map(|part| (at(part), all.clone())).collect()
    }
}

/// What a predictor that advises is asked.
pub(super) fn schema() -> Arc<SignatureSchema> {
    SignatureSchema::of::<OfferAdvice>()
}

fn names(fields: &[FieldSchema]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn written(fields: &Fields) -> String {
    serde_json::to_string_pretty(fields).unwrap_or_default()
}
