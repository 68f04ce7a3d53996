//! `switch`: a value of few possible ones chooses a strategy, which alone runs. That every value has a strategy is checked
//! by the type of the value.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use super::arms::{Arm, ArmDrafts};
use super::case_path::case_path;
use super::inner_strategy::{InnerPlace, InnerStrategyConfig};
use super::{failed, invalid, value};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};
use crate::signature::SignatureSchema;
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule, Flow, RecordedCall, Sources};
use crate::types::{Literal, ResolvedType, TypeScope, TypeShape, brief, resolve};
use crate::value::{Fields, Payload, Selection};

const CASES: &str = "cases";
const ELSE: &str = "else";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

#[derive(Facet)]
struct SwitchConfig {
    /// The input that chooses.
    #[facet(dsrs::keywords(r#"{"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,62}$"}"#))]
    on: String,
    /// What runs for each value, by its text: a member of an enum, a literal, a number, `true`, `false` or `null`.
    #[facet(dsrs::keywords(r#"{"minProperties": 1, "maxProperties": 100}"#))]
    cases: IndexMap<String, InnerStrategyConfig>,
    /// What runs for all other values.
    #[facet(rename = "else")]
    otherwise: Option<InnerStrategyConfig>,
}

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn description(&self) -> &'static str {
        "Runs one of several strategies, by the value of the input `on`: a member of an enum, a literal, a bool. Each \
         possible value needs a case, or there is an `else`. Costs what the chosen strategy costs."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<SwitchConfig>()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn predictors(&self) -> &[&'static str] {
        &[ELSE]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategies(CASES), ConfigRef::SignedStrategy(ELSE)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let SwitchConfig { on, cases, otherwise } = read_config(config, &at.key("config"))?;
        let (on, labels): (Arc<str>, Vec<Arc<str>>) =
            (on.into(), cases.keys().map(|label| label.as_str().into()).collect());
        let has_else = otherwise.is_some();
        let cases = cases
            .into_values()
            .zip(&labels)
            .map(|(case, label)| (InnerPlace::entry(CASES, label.clone(), case_path(label)), case));
        let wanted = cases.chain(otherwise.map(|otherwise| (InnerPlace::member(ELSE), otherwise)));
        let arms = ArmDrafts::build(env, wanted, scope, at)?;
        Ok(Box::new(Switch { on, labels, has_else, arms }))
    }
}

struct Switch {
    on: Arc<str>,
    labels: Vec<Arc<str>>,
    has_else: bool,
    arms: ArmDrafts,
}

impl Op for Switch {
    fn inputs(&self) -> Vec<OpInput> {
        self.arms.inputs([OpInput::open(self.on.clone())])
    }

    fn accepts_others(&self) -> bool {
        self.arms.accepts_others()
    }

    fn infer(&self, types: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        self.check_cases(types, at)?;
        self.arms.infer(types, [self.on.clone()], at)
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { on, labels, arms, .. } = *self;
        Box::new(SwitchModule { arms: arms.modules(&schema), schema, on, labels })
    }
}

impl Switch {
    /// Each case must be a value of the type, and each value must have a case.
    fn check_cases(&self, types: &InputTypes<'_>, at: &At<'_>) -> Result<(), Problems> {
        let ty = types.type_of(&self.on);
        let Some(possible) = possible_values(&resolve(&ty.ir, &ty.defs)) else {
            if self.has_else {
                return Ok(());
            }
            let ty = brief(&ty.ir);
            let detail = format!("`{}` is `{ty}`, which has values without a case", self.on);
            return Err(invalid(at, ELSE, Code::MissingField, detail));
        };
        let mut problems = Problems::new();
        let known = || possible.iter().map(String::as_str);
        for label in
            self.labels.iter().filter(|label| !possible.iter().any(|known| **known == ***label))
        {
            let hint = nearest(label, known())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let detail =
                format!("`{}` is never `{label}`{hint}; it is {}", self.on, listed(known()));
            problems.add(&at.key("config").key(CASES).key(label), Code::UnknownField, detail);
        }
        let is_missing = |value: &&str| !self.labels.iter().any(|label| **label == **value);
        let missing: Vec<&str> = known().filter(is_missing).collect();
        if !missing.is_empty() && !self.has_else {
            let detail =
                format!("no case for {}; add it, or an `else`", listed(missing.into_iter()));
            problems.add(&at.key("config").key(CASES), Code::MissingField, detail);
        }
        problems.or(())
    }
}

/// The texts of all values of a type; `None` if there are too many to name.
fn possible_values(ty: &ResolvedType<'_>) -> Option<Vec<String>> {
    Some(match &ty.shape {
        TypeShape::Literal(Literal::Str(text)) => vec![text.to_string()],
        TypeShape::Literal(literal) => vec![literal.to_string()],
        TypeShape::Bool => vec!["true".to_owned(), "false".to_owned()],
        TypeShape::Null => vec!["null".to_owned()],
        TypeShape::Enum(known) => known.members.keys().map(ToString::to_string).collect(),
        TypeShape::Union(members) => {
            let each: Option<Vec<_>> = members.iter().map(possible_values).collect();
            each?.concat()
        }
        _ => return None,
    })
}

struct SwitchModule {
    schema: Arc<SignatureSchema>,
    on: Arc<str>,
    labels: Vec<Arc<str>>,
    /// One for each label, then the one for all other values.
    arms: Vec<Arm>,
}

impl SwitchModule {
    fn chosen(&self, inputs: &Fields) -> Result<&Arm, PredictError> {
        let text = match value(inputs, &self.on) {
            Payload::Str(text) => text.to_string(),
            other => other.to_json(),
        };
        let case = self.labels.iter().position(|label| **label == *text);
        let arm = self.arms.get(case.unwrap_or(self.labels.len()));
        arm.ok_or_else(|| failed(format!("there is no case for `{}` = {text}", self.on)))
    }
}

impl DynModule for SwitchModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.arms.iter().flat_map(Arm::predictors).collect()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.arms.iter_mut().flat_map(Arm::predictors_mut).collect()
    }

    fn attempts(&self) -> usize {
        self.arms.iter().map(Arm::attempts).max().unwrap_or(1)
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let Ok(arm) = self.chosen(call.inputs) else { return Sources::all(&self.schema) };
        let mut sources = arm.sources(call, part);
        sources.flows.push(Flow::input(&self.on));
        sources
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move { self.chosen(&input)?.run(ctx, &input).await })
    }
}
