//! `decide`: bools, choices and scores that follow from probabilities, by rules that are state (DSPy's `Noul`, `Choice` and
//! `Score`). One predictor, whose outputs are the probabilities. Does not know how rules are found.

mod criteria;
mod prompt;
mod reader;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use self::prompt::{answer_schema, answer_words, evidence_schema, node_schema};
use self::reader::DecisionReader;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{
    Ctx, Decision, DecisionKind, DynPredictor, Evidence, PredictError, SchemaPredictor,
    SignatureChecks,
};
use crate::problem::{At, Problems};
use crate::reflect::ReflectError;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

#[derive(Facet)]
struct DecideConfig {
    /// The outputs that are decided. Default: every `bool`, every enum, every union of literals, and every `int` with
    /// criteria. The others are asked for as `predict` does.
    decisions: Option<Vec<String>>,
    /// What the answers of a decision mean, by output. Of a bool: `{"true": …, "false": …}`; of an enum or literals: a text
    /// for each; of an `int`: the list of its levels from 0, which makes it a score.
    #[facet(default)]
    criteria: IndexMap<String, Payload>,
    /// Where probabilities come from: the LM writes them (`words`), or it writes the answers, and the model's alias has the
    /// capability `logprobs`, so that the probabilities are those of their tokens.
    #[facet(default = EvidenceSource::Words)]
    evidence: EvidenceSource,
}

/// Where the evidence of a node comes from.
#[derive(Clone, Copy, Facet, PartialEq, Eq)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
enum EvidenceSource {
    Words,
    Logprobs,
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "decide"
    }

    fn description(&self) -> &'static str {
        "Asks the LM for probabilities and decides by rules that are state: a bool by a threshold, an enum by weights, a \
         score by cuts. Adds the probabilities as outputs. For decisions whose errors cost differently, or whose rules \
         `threshold_calibration` shall find. One LM call."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<DecideConfig>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[""]
    }

    fn create(
        &self,
        _env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let config: DecideConfig = read_config(config, &at.key("config"))?;
        let reader = DecisionReader { base, named: config.decisions.as_deref() };
        let read = reader.read(&config.criteria, at)?;
        let schema = Arc::new(node_schema(base, &read));
        let words = read.iter().map(|(_, criteria)| answer_words(criteria)).collect();
        let asked = match config.evidence {
            EvidenceSource::Words => evidence_schema(base, &read),
            EvidenceSource::Logprobs => answer_schema(base, &read),
        };
        let decisions: Arc<[Decision]> = read.into_iter().map(|(found, _)| found).collect();
        let predict = SchemaPredictor::new(Arc::new(asked), Arc::from(""));
        let mut predict = predict.with_decisions(decisions.clone());
        if config.evidence == EvidenceSource::Logprobs {
            predict = predict.reading_logprobs(words);
        }
        let checks = SignatureChecks::of(base);
        Ok(Box::new(DecideModule { predict, decisions, schema, checks }))
    }
}

struct DecideModule {
    predict: SchemaPredictor,
    decisions: Arc<[Decision]>,
    schema: Arc<SignatureSchema>,
    checks: SignatureChecks,
}

impl DecideModule {
    /// The value of each decision, and the evidence for it.
    fn decide(&self, found: &Fields) -> Result<Vec<(Evidence, Payload)>, ReflectError> {
        let rules = &self.predict.state().decisions;
        let each = self.decisions.iter().map(|decision| {
            let stated = found.get(&decision.evidence).unwrap_or(&Payload::Null);
            let evidence = decision.evidence(stated)?;
            let value = decision.decide(&evidence, rules.get(&decision.field.name))?;
            Ok((evidence, value))
        });
        each.zip(self.decisions.iter())
            .map(|(decided, decision)| {
                decided.map_err(|why: String| ReflectError::new(why).below(&decision.evidence))
            })
            .collect()
    }

    /// The outputs of the node: those of the predictor, and what is decided.
    fn outputs(&self, mut found: Fields, decided: Vec<(Evidence, Payload)>) -> Fields {
        for (decision, (evidence, value)) in self.decisions.iter().zip(decided) {
            if let DecisionKind::Score(_) = decision.kind {
                found.insert(mean_name(&decision.field.name), Payload::Float(evidence.mean()));
            }
            found.insert(decision.field.name.clone(), value);
        }
        let outputs = self.schema.outputs.iter();
        outputs
            .filter_map(|field| Some((field.name.clone(), found.swap_remove(&field.name)?)))
            .collect()
    }
}

/// The output with the mean level of a score.
fn mean_name(output: &str) -> Arc<str> {
    format!("{output}_mean").into()
}

impl DynModule for DecideModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![("", &self.predict)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![("", &mut self.predict)]
    }

    fn computes_little(&self) -> bool {
        self.predict.state().nearest.is_none()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            let found = self.predict.forward_with(ctx, input, |found| self.decide(found)).await?;
            let outputs = self.outputs(found.0, found.1);
            self.checks.admit_outputs(&outputs)?;
            Ok(outputs)
        })
    }
}
