//! The evidence of a decision: a probability, or one for each option or level. Knows no rules.

use super::{Decision, DecisionKind};
use crate::value::Payload;

/// The evidence of one decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// The probability that it is true.
    Probability(f64),
    /// The probability of each option or level, in their order, as the LM stated them.
    Distribution(Vec<f64>),
}

impl Evidence {
    /// The mean level of a distribution over levels, whatever its probabilities add up to.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Probability(found) => *found,
            Self::Distribution(found) => {
                let weighted: f64 = found.iter().enumerate().map(|(at, it)| at as f64 * it).sum();
                weighted / found.iter().sum::<f64>()
            }
        }
    }

    /// The evidence as a value of the predictor's output.
    #[must_use]
    pub fn to_payload(&self, decision: &Decision) -> Payload {
        match self {
            Self::Probability(found) => Payload::Float(*found),
            Self::Distribution(found) => {
                let members = decision.labels().into_iter().zip(found);
                Payload::map(members.map(|(label, it)| (label, Payload::Float(*it))).collect())
            }
        }
    }
}

impl Decision {
    /// Reads evidence from a value of the predictor's output.
    ///
    /// # Errors
    /// A probability that is none, or that no option has one.
    pub fn evidence(&self, found: &Payload) -> Result<Evidence, String> {
        if self.kind == DecisionKind::Bool {
            return probability(found).map(Evidence::Probability);
        }
        let members = found.as_map().ok_or("expected the probability of each option")?;
        let each = self.labels().into_iter().map(|label| {
            let found = members.get(&label).ok_or_else(|| format!("`{label}` is missing"))?;
            probability(found).map_err(|why| format!("`{label}`: {why}"))
        });
        let each = each.collect::<Result<Vec<f64>, String>>()?;
        if each.iter().sum::<f64>() <= 0.0 {
            return Err("at least one probability is above 0".to_owned());
        }
        Ok(Evidence::Distribution(each))
    }
}

fn probability(found: &Payload) -> Result<f64, String> {
    let number = match found {
        Payload::Float(number) => *number,
        Payload::Int(number) => *number as f64,
        _ => return Err(format!("expected a number from 0 to 1, found {}", found.to_json())),
    };
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(format!("a probability is a number from 0 to 1, found {number}"))
}
