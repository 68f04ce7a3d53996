//! The rules that are worth trying: one in each gap between observed numbers, because all rules in a gap decide the same.
//! Knows no scores.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::predict::{DecisionRule, Evidence};

/// The most gaps of one number; more are thinned out evenly.
const GAPS: usize = 500;

/// The least and the greatest weight.
const WEIGHTS: (f64, f64) = (1e-3, 1e3);

/// A rule, and the width of the gap that its number is in.
pub(super) type RuleInGap = (DecisionRule, f64);

/// The thresholds between observed probabilities.
pub(super) fn thresholds(evidence: &[&Evidence]) -> Vec<RuleInGap> {
    let probabilities: Vec<f64> = evidence.iter().map(|found| found.mean()).collect();
    let mut gaps = gaps(&probabilities, (0.0, 1.0), middle);
    // From 0 on means always, which is another decision than from above 0 if 0 was observed.
    if probabilities.contains(&0.0) {
        gaps.push((0.0, 0.0));
    }
    gaps.into_iter().map(|(at, width)| (DecisionRule::Threshold(at), width)).collect()
}

/// Cuts with another number at one position, between its neighbours.
pub(super) fn cuts(evidence: &[&Evidence], now: &[f64], position: usize) -> Vec<RuleInGap> {
    let means: Vec<f64> = evidence.iter().map(|found| found.mean()).collect();
    let low = position.checked_sub(1).and_then(|before| now.get(before)).copied().unwrap_or(0.0);
    let high = now.get(position + 1).copied().unwrap_or(now.len() as f64);
    let with = |cut: f64| {
        let mut cuts = now.to_vec();
        if let Some(place) = cuts.get_mut(position) {
            *place = cut;
        }
        DecisionRule::Cuts(cuts)
    };
    gaps(&means, (low, high), middle).into_iter().map(|(cut, width)| (with(cut), width)).collect()
}

/// Weights with another number for one option: between those at which it wins one more of the observed distributions.
pub(super) fn weights(
    evidence: &[&Evidence],
    labels: &[Arc<str>],
    now: &IndexMap<Arc<str>, f64>,
    position: usize,
) -> Vec<RuleInGap> {
    let weight = |at: usize| labels.get(at).and_then(|it| now.get(it)).copied().unwrap_or(1.0);
    let turns = evidence.iter().filter_map(|found| {
        let Evidence::Distribution(each) = found else { return None };
        let others = each.iter().enumerate().filter(|(at, _)| *at != position);
        let rival = others.map(|(at, it)| it * weight(at)).fold(0.0, f64::max);
        let own = each.get(position).copied().filter(|own| *own > 0.0)?;
        (rival > 0.0).then_some(rival / own)
    });
    let turns: Vec<f64> = turns.collect();
    let least = turns.iter().copied().fold(f64::INFINITY, f64::min) / 4.0;
    let most = turns.iter().copied().fold(0.0, f64::max) * 4.0;
    let range = (least.max(WEIGHTS.0), most.min(WEIGHTS.1));
    let with = |weight: f64| {
        let mut weights = now.clone();
        weights.extend(labels.get(position).map(|label| (label.clone(), weight)));
        DecisionRule::Weights(weights)
    };
    let gaps = gaps(&turns, range, geometric_middle).into_iter();
    gaps.map(|(weight, width)| (with(weight), width)).collect()
}

/// The middle of two numbers, and how far they are apart.
type Middle = fn(f64, f64) -> (f64, f64);

fn middle(low: f64, high: f64) -> (f64, f64) {
    (f64::midpoint(low, high), high - low)
}

fn geometric_middle(low: f64, high: f64) -> (f64, f64) {
    ((low * high).sqrt(), (high / low).ln())
}

/// A number in each gap between the distinct ones that are within a range, and the widths.
fn gaps(numbers: &[f64], (low, high): (f64, f64), middle: Middle) -> Vec<(f64, f64)> {
    let mut inner: Vec<f64> =
        numbers.iter().copied().filter(|it| *it > low && *it < high).collect();
    inner.sort_unstable_by(f64::total_cmp);
    inner.dedup();
    let step = inner.len().div_ceil(GAPS).max(1);
    let ends = std::iter::once(low).chain(inner.into_iter().step_by(step)).chain([high]);
    let ends: Vec<f64> = ends.collect();
    let between = ends.iter().zip(ends.iter().skip(1)).filter(|(low, high)| low < high);
    between
        .map(|(low, high)| {
            let (at, width) = middle(*low, *high);
            // Neighbouring floats have nothing between them; the upper one separates them, too.
            let at = if *low < at && at < *high { shortest(at, *low, *high) } else { *high };
            (at, width)
        })
        .collect()
}

/// The number with the fewest digits near `at` that is still in its gap.
fn shortest(at: f64, low: f64, high: f64) -> f64 {
    let rounded = (1..12).map(|digits| {
        let scale = 10_f64.powi(digits);
        (at * scale).round() / scale
    });
    rounded.into_iter().find(|it| low < *it && *it < high).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(rules: Vec<RuleInGap>) -> Vec<String> {
        rules
            .iter()
            .map(|(rule, width)| format!("{} {width:.2}", rule.to_payload().to_json()))
            .collect()
    }

    #[test]
    fn a_threshold_is_in_each_gap_and_at_0_if_that_was_observed() {
        let seen = [0.9, 0.3, 0.9].map(Evidence::Probability);
        let seen: Vec<&Evidence> = seen.iter().collect();
        assert_eq!(
            numbers(thresholds(&seen)),
            [
                r#"{"threshold":0.2} 0.30"#,
                r#"{"threshold":0.6} 0.60"#,
                r#"{"threshold":0.95} 0.10"#
            ]
        );
        let ends = [0.0, 1.0].map(Evidence::Probability);
        let ends: Vec<&Evidence> = ends.iter().collect();
        assert_eq!(
            numbers(thresholds(&ends)),
            [r#"{"threshold":0.5} 1.00"#, r#"{"threshold":0.0} 0.00"#]
        );
    }

    #[test]
    fn a_cut_moves_between_its_neighbours() {
        let seen = [[0.2, 0.8, 0.0], [0.0, 0.4, 0.6]].map(|it| Evidence::Distribution(it.to_vec()));
        let seen: Vec<&Evidence> = seen.iter().collect();
        let found = numbers(cuts(&seen, &[0.5, 1.5], 1));
        assert_eq!(
            found,
            [
                r#"{"cuts":[0.5,0.7]} 0.30"#,
                r#"{"cuts":[0.5,1.2]} 0.80"#,
                r#"{"cuts":[0.5,1.8]} 0.40"#
            ]
        );
    }

    #[test]
    fn a_weight_is_between_those_that_change_a_choice() {
        let seen = [[0.25, 0.75], [0.5, 0.5]].map(|it| Evidence::Distribution(it.to_vec()));
        let seen: Vec<&Evidence> = seen.iter().collect();
        let labels = ["a", "b"].map(Arc::from);
        let found = numbers(weights(&seen, &labels, &IndexMap::new(), 0));
        assert_eq!(
            found,
            [
                r#"{"weights":{"a":0.5}} 1.39"#,
                r#"{"weights":{"a":1.7}} 1.10"#,
                r#"{"weights":{"a":6.0}} 1.39"#
            ]
        );
        assert!(weights(&[], &labels, &IndexMap::new(), 0).is_empty());
    }
}
