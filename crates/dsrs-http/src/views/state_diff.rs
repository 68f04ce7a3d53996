//! The difference between two state versions.

use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::predictor_state::DemoView;
use super::{Json, example};

/// The difference between two state versions.
#[derive(Serialize, ToSchema)]
#[schema(as = StateDiff, examples(json!(StateDiffView::example())))]
pub struct StateDiffView {
    /// The state version that the difference starts from.
    pub from: i32,
    /// The state version that it leads to.
    pub to: i32,
    /// The graph versions of the two state versions.
    pub graph_versions: FromToView,
    /// The predictors that differ, by path.
    #[schema(value_type = IndexMap<String, PredictorDiffView>)]
    pub predictors: Payload,
    /// The same for people: one line per change, with `+`, `-` or `~` in front.
    pub text: String,
}

impl From<&dsrs_app::StateComparison> for StateDiffView {
    fn from(found: &dsrs_app::StateComparison) -> Self {
        let (from, to) = (found.from.graph_version, found.to.graph_version);
        Self {
            from: found.from.version,
            to: found.to.version,
            graph_versions: FromToView { from, to },
            predictors: found.diff.to_payload(),
            text: found.diff.text(),
        }
    }
}

impl StateDiffView {
    fn example() -> Self {
        let instruction = json!({
            "before": null,
            "after": example::INSTRUCTION,
            "effective_before": example::OWN_INSTRUCTION,
            "effective_after": example::INSTRUCTION
        });
        let predictors = json!({"triage": {"change": "changed", "instruction": instruction}});
        let (before, after) = (example::OWN_INSTRUCTION, example::INSTRUCTION);
        Self {
            from: 1,
            to: 2,
            graph_versions: FromToView { from: 1, to: 1 },
            predictors: example::payload(&predictors),
            text: format!("~ triage instruction: {before:?} -> {after:?}\n"),
        }
    }
}

/// The start and the end of a difference.
#[derive(Serialize, ToSchema)]
#[schema(as = FromTo)]
pub struct FromToView {
    /// The start.
    pub from: i32,
    /// The end.
    pub to: i32,
}

/// The difference in one predictor.
#[derive(ToSchema)]
#[schema(as = PredictorDiff)]
pub struct PredictorDiffView {
    /// Whether both graph versions have the predictor, only the new one, or only the old one.
    #[schema(value_type = String, example = "changed", pattern = "^(changed|added|removed)$")]
    pub change: String,
    /// The instruction, if it differs.
    pub instruction: Option<InstructionDiff>,
    /// The steps from the old demos to the new ones, if they differ.
    pub demos: Option<Vec<DemoDiff>>,
    /// The LM settings that differ, by name.
    pub lm: Option<IndexMap<String, BeforeAfter>>,
    /// The choice of the demos of each call, if it differs: `model`, `k`, the number of `demos`,
    /// `dimensions`, and in `vectors` the first digits of a hash.
    pub nearest: Option<BeforeAfter>,
    /// The rules of decisions that differ, by output.
    pub decisions: Option<IndexMap<String, BeforeAfter>>,
}

/// An instruction before and after.
#[derive(ToSchema)]
pub struct InstructionDiff {
    /// The previous override; null for the instruction of the signature.
    pub before: Option<String>,
    /// The new override.
    pub after: Option<String>,
    /// The instruction that calls used; null if there was no such predictor.
    pub effective_before: Option<String>,
    /// The instruction that calls use now.
    pub effective_after: Option<String>,
}

/// A step from the old demos to the new ones.
#[derive(ToSchema)]
pub struct DemoDiff {
    /// `removed`, `added`, `moved` or `changed`.
    #[schema(value_type = String, example = "changed", pattern = "^(removed|added|moved|changed)$")]
    pub change: String,
    /// The position in the old list, from 0; absent for an added demo.
    pub from: Option<u32>,
    /// The position in the new list, from 0; absent for a removed demo.
    pub to: Option<u32>,
    /// The demo that was added or removed.
    pub demo: Option<DemoView>,
    /// The values that differ.
    pub fields: Option<Vec<DemoFieldDiff>>,
}

/// A value of a demo before and after.
#[derive(ToSchema)]
pub struct DemoFieldDiff {
    /// `input.` or `output.`, and the field.
    pub field: String,
    /// The value before and after.
    #[serde(flatten)]
    pub value: BeforeAfter,
}

/// A value before and after; absent where there is none.
#[derive(ToSchema)]
pub struct BeforeAfter {
    /// The value before.
    pub before: Option<Json>,
    /// The value after.
    pub after: Option<Json>,
}
