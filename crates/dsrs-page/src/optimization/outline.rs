//! The candidates of an optimization in outline: what each scored and used, which is the best so far, and which no
//! other beats in both score and cost.

use serde_json::Value;

use dsrs_store::optimization_candidate::CandidateOutlineRow;

/// What a candidate scored on all examples that candidates are chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FullScore {
    pub(super) score: f64,
    pub(super) objective: f64,
    pub(super) n: i64,
    pub(super) failures: i64,
    pub(super) unmeasured: i64,
    pub(super) lm_calls: f64,
    pub(super) tokens: f64,
    pub(super) cost: Option<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct CandidateOutline {
    pub(super) number: i32,
    pub(super) parents: Vec<i32>,
    pub(super) origin: String,
    pub(super) full: Option<FullScore>,
    /// How often it was tried on a part of the examples.
    pub(super) partial: usize,
    /// The calls of all of its trials.
    pub(super) lm_calls: f64,
    pub(super) changes_graph: bool,
}

impl CandidateOutline {
    /// Reads a stored candidate.
    pub(super) fn read(row: &CandidateOutlineRow) -> Self {
        let scores: Value = serde_json::from_str(&row.scores).unwrap_or_default();
        let partial = scores["partial"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls = |scored: &Value| scored["usage"]["lm_calls"].as_f64().unwrap_or(0.0);
        Self {
            number: row.number,
            parents: row.parents.clone(),
            origin: serde_json::from_str(&row.origin).unwrap_or_default(),
            full: full_score(&scores["full"]),
            partial: partial.len(),
            lm_calls: calls(&scores["full"]) + partial.iter().map(calls).sum::<f64>(),
            changes_graph: row.changes_graph,
        }
    }

    /// What the program cost: money if all prices are known, else tokens.
    pub(super) fn expense(&self, in_money: bool) -> Option<f64> {
        let full = self.full?;
        // Per example, so that candidates on sets of different size compare.
        let n = full.n.max(1) as f64;
        if in_money { full.cost.map(|cost| cost / n) } else { Some(full.tokens / n) }
    }
}

/// A score of a stored candidate.
pub(super) fn full_score(scored: &Value) -> Option<FullScore> {
    let usage = &scored["usage"];
    let tokens = |name: &str| usage[name].as_f64().unwrap_or(0.0);
    Some(FullScore {
        score: scored["score"].as_f64()?,
        objective: scored["objective"].as_f64()?,
        n: scored["n"].as_i64()?,
        failures: scored["failures"].as_i64().unwrap_or(0),
        unmeasured: scored["unmeasured"].as_i64().unwrap_or(0),
        lm_calls: tokens("lm_calls"),
        tokens: tokens("input_tokens") + tokens("output_tokens"),
        cost: usage["cost"].as_f64(),
    })
}

/// The number of the candidate that is best so far; of equals the first.
pub(super) fn best(all: &[CandidateOutline]) -> Option<i32> {
    let mut found: Option<(i32, f64)> = None;
    for (number, full) in all.iter().filter_map(|one| Some((one.number, one.full?))) {
        if found.is_none_or(|(_, objective)| full.objective > objective) {
            found = Some((number, full.objective));
        }
    }
    found.map(|(number, _)| number)
}

/// Whether every score has a cost in money.
pub(super) fn has_prices(all: &[CandidateOutline]) -> bool {
    let mut full = all.iter().filter_map(|one| one.full).peekable();
    full.peek().is_some() && full.all(|full| full.cost.is_some())
}

/// The numbers of candidates that no other beats: at least as good in score and cost, and better in one.
pub(super) fn front(all: &[CandidateOutline], in_money: bool) -> Vec<i32> {
    let point =
        |one: &CandidateOutline| Some((one.number, one.full?.score, one.expense(in_money)?));
    let points: Vec<(i32, f64, f64)> = all.iter().filter_map(point).collect();
    let beats = |one: &(i32, f64, f64), other: &(i32, f64, f64)| {
        one.1 >= other.1 && one.2 <= other.2 && (one.1 > other.1 || one.2 < other.2)
    };
    let unbeaten = points.iter().filter(|own| !points.iter().any(|one| beats(one, own)));
    unbeaten.map(|point| point.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(number: i32, score: f64, tokens: f64) -> CandidateOutline {
        let scores = format!(
            r#"{{"full": {{"n": 1, "score": {score}, "objective": {score}, "failures": 0,
                "usage": {{"lm_calls": 2, "input_tokens": {tokens}, "output_tokens": 0, "cost": null}}}},
                "partial": [{{"usage": {{"lm_calls": 3}}}}]}}"#
        );
        CandidateOutline::read(&CandidateOutlineRow {
            number,
            parents: vec![],
            origin: "\"x\"".into(),
            scores,
            changes_graph: false,
        })
    }

    #[test]
    fn the_front_has_what_no_other_beats_in_score_and_cost() {
        let mut all = vec![
            candidate(0, 0.5, 10.0),
            candidate(1, 0.5, 20.0),
            candidate(2, 0.9, 30.0),
            candidate(3, 0.9, 30.0),
        ];
        assert_eq!(front(&all, false), [0, 2, 3]);
        assert_eq!(best(&all), Some(2), "of equals the first");
        assert!(!has_prices(&all) && front(&all, true).is_empty());
        assert_eq!((all[0].lm_calls, all[0].partial), (5.0, 1));
        all.clear();
        assert_eq!(best(&all), None);
    }
}
