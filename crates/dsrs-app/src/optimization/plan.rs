//! The complete request of an optimization: stored as JSON text, shown to clients as it is, and read by
//! every attempt. May not know how the work is done.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::Budget;
use dsrs::optimize::MAX_UNMEASURED;
use dsrs::value::{Map, Payload};

use crate::dataset::selection::DatasetPick;
use crate::json::JsonObject;

/// When the result is activated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activate {
    /// Only by a client.
    #[default]
    Never,
    /// By the optimization, if the gain on held-out examples is certain.
    IfBetter,
}

impl Activate {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Never, Self::IfBetter];

    /// The name in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::IfBetter => "if_better",
        }
    }

    /// The value of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.as_str() == word)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OptimizationPlan {
    /// The config of the optimizer, as requested.
    pub(crate) config: Option<Payload>,
    /// The metric, with its defaults.
    pub(crate) metric: Payload,
    /// The datasets: trainset, valset, testset.
    pub(crate) picks: [Option<DatasetPick>; 3],
    /// How many examples each set has.
    pub(crate) counts: [usize; 3],
    pub(crate) budget: Budget,
    /// When the result is activated.
    pub(crate) activate: Activate,
    /// The seed of everything random.
    pub(crate) seed: u64,
    /// The number of rollouts at a time.
    pub(crate) concurrency: u32,
    /// The share of the examples of an evaluation that may stay without a score.
    pub(crate) max_unmeasured: f64,
    /// The model for proposals.
    pub(crate) prompt_model: Option<Arc<str>>,
    /// The time limit of the graph on one example, if shorter than that of the server.
    pub(crate) timeout: Option<Duration>,
}

const SETS: [&str; 3] = ["trainset", "valset", "testset"];

const PARTS: [&str; 3] = ["train", "val", "held_out"];

impl OptimizationPlan {
    /// The plan as JSON text.
    pub(crate) fn to_json(&self) -> String {
        let config = self.config.clone().unwrap_or_else(|| Payload::map(Map::new()));
        let mut object = JsonObject::new();
        object.raw("config", &config.to_json()).raw("metric", &self.metric.to_json());
        for (name, pick) in SETS.into_iter().zip(&self.picks) {
            object.raw_or_null(name, pick.as_ref().map(DatasetPick::to_json).as_deref());
        }
        let mut parts = JsonObject::new();
        for (name, count) in PARTS.into_iter().zip(self.counts) {
            parts.shown(name, count);
        }
        object.raw("examples", &parts.finish()).raw("budget", &budget_json(&self.budget));
        object.text("activate", self.activate.as_str()).shown("seed", self.seed);
        object.shown("concurrency", self.concurrency);
        object.raw("max_unmeasured", &Payload::Float(self.max_unmeasured).to_json());
        object.text_or_null("prompt_model", self.prompt_model.as_deref());
        object.shown_or_null("timeout_ms", self.timeout.map(|timeout| timeout.as_millis()));
        object.finish()
    }

    /// Reads the text of [`OptimizationPlan::to_json`].
    pub(crate) fn read(json: &str) -> Option<Self> {
        let payload = Payload::from_json(json).ok()?;
        let members = payload.as_map()?;
        let pick = |name: &str| match members.get(name)? {
            Payload::Null => Some(None),
            pick => Some(Some(DatasetPick::read(&pick.to_json())?)),
        };
        let parts = members.get("examples")?.as_map()?;
        let part = |name: &str| usize::try_from(whole(parts.get(name)?)?).ok();
        let [train, val, test] = SETS.map(pick);
        let [few, some, rest] = PARTS.map(part);
        Some(Self {
            config: Some(members.get("config")?.clone()),
            metric: members.get("metric")?.clone(),
            picks: [train?, val?, test?],
            counts: [few?, some?, rest?],
            budget: read_budget(members.get("budget")?.as_map()?),
            activate: Activate::parse(members.get("activate")?.as_str()?)?,
            seed: whole(members.get("seed")?)?,
            concurrency: u32::try_from(whole(members.get("concurrency")?)?).ok()?,
            // Of an older server, there is none.
            max_unmeasured: float(members, "max_unmeasured").unwrap_or(MAX_UNMEASURED),
            prompt_model: members.get("prompt_model")?.as_str().map(Arc::from),
            timeout: members.get("timeout_ms").and_then(whole).map(Duration::from_millis),
        })
    }
}

/// A budget as JSON text.
pub(crate) fn budget_json(budget: &Budget) -> String {
    let mut object = JsonObject::new();
    let float = |number: Option<f64>| number.map(|number| Payload::Float(number).to_json());
    object.shown_or_null("lm_calls", budget.lm_calls).shown_or_null("tokens", budget.tokens);
    object.raw_or_null("cost", float(budget.cost).as_deref());
    object.raw_or_null("seconds", float(budget.seconds).as_deref());
    object.finish()
}

/// Reads the members of [`budget_json`].
pub(crate) fn read_budget(members: &Map) -> Budget {
    Budget {
        lm_calls: members.get("lm_calls").and_then(whole),
        tokens: members.get("tokens").and_then(whole),
        cost: float(members, "cost"),
        seconds: float(members, "seconds"),
    }
}

fn float(members: &Map, name: &str) -> Option<f64> {
    match members.get(name)? {
        Payload::Float(found) => Some(*found),
        Payload::Int(found) => Some(*found as f64),
        _ => None,
    }
}

fn whole(payload: &Payload) -> Option<u64> {
    match payload {
        Payload::Int(found) => u64::try_from(*found).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::dataset::reference::DatasetPart;

    #[test]
    fn a_plan_reads_back_as_written() {
        let pick = DatasetPick {
            id: Uuid::from_u128(7),
            name: "tickets".into(),
            version: 2,
            content_hash: "abc".into(),
            part: DatasetPart { split: Some("train".into()), ..DatasetPart::default() },
            count: 12,
            last: 11,
        };
        let plan = OptimizationPlan {
            config: Some(Payload::from_json(r#"{"k": 3}"#).unwrap()),
            metric: Payload::from_json(r#"{"exact": {}}"#).unwrap(),
            picks: [Some(pick), None, None],
            counts: [6, 3, 3],
            budget: Budget { lm_calls: Some(100), cost: Some(2.0), ..Budget::default() },
            activate: Activate::IfBetter,
            seed: 7,
            concurrency: 4,
            max_unmeasured: 0.2,
            prompt_model: Some("big".into()),
            timeout: Some(Duration::from_millis(1500)),
        };
        assert_eq!(OptimizationPlan::read(&plan.to_json()), Some(plan));
    }
}
