//! Merging: two candidates with a common ancestor that changed different predictors become one with both
//! changes. Knows scores, ancestors and states; calls no LM.

use std::sync::Arc;

use super::pareto::Leader;
use super::pool::CandidatePool;
use crate::optimize::{Candidate, Workbench};

/// The number of examples of the first evaluation of a merged candidate.
const PROBE: usize = 5;

/// Two candidates that can be merged, and the result.
#[derive(Clone, Debug)]
pub(super) struct Merger {
    /// Their indices in the pool, and the index of the common ancestor.
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) ancestor: usize,
    /// The merged candidate.
    pub(super) merged: Candidate,
}

/// All mergers of two candidates on the frontier. Neither may descend from the other, and the common
/// ancestor may not be better than either.
pub(super) fn mergers(
    bench: &Workbench,
    pool: &CandidatePool,
    frontier: &[Leader],
    paths: &[Arc<str>],
) -> Vec<Merger> {
    let mut possible = Vec::new();
    for (number, Leader { at: one, .. }) in frontier.iter().enumerate() {
        for Leader { at: other, .. } in frontier.iter().skip(number + 1) {
            for ancestor in pool.common_ancestors(*one, *other) {
                let least = pool.mean(*one).min(pool.mean(*other));
                if pool.mean(ancestor) > least {
                    continue;
                }
                let candidates = [*one, *other, ancestor].map(|at| bench.candidate(pool.id(at)));
                let first_is_better = pool.mean(*one) >= pool.mean(*other);
                if let Some(merged) = merged(&candidates, paths, first_is_better) {
                    possible.push(Merger { one: *one, other: *other, ancestor, merged });
                }
            }
        }
    }
    possible
}

/// Merges two candidates by predictor: uses the changed state, and that of the better candidate if
/// both changed it. Returns `None` unless each changed something that the other did not.
fn merged(
    [one, other, ancestor]: &[Arc<Candidate>; 3],
    paths: &[Arc<str>],
    first_is_better: bool,
) -> Option<Candidate> {
    let mut merged = if first_is_better { (**one).clone() } else { (**other).clone() };
    let (mut of_one, mut of_other) = (false, false);
    for path in paths {
        let [state, others, before] = [one, other, ancestor]
            .map(|candidate| candidate.state.0.get(path).cloned().unwrap_or_default());
        let (changed, others_changed) = (state != before, others != before);
        of_one |= changed && !others_changed;
        of_other |= others_changed && !changed;
        if changed != others_changed {
            let taken = if changed { state } else { others };
            merged = merged.with(path, |state| *state = taken);
        }
    }
    (of_one && of_other).then_some(merged)
}

/// The examples of the first evaluation of a merged candidate, drawn in turns from those where one
/// parent is better, where the other is, and where they are equal.
pub(super) fn probe(one: &[f64], other: &[f64], rng: &mut fastrand::Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..one.len().min(other.len())).collect();
    rng.shuffle(&mut order);
    let mut groups = [Vec::new(), Vec::new(), Vec::new()];
    for at in order {
        let group = match one[at].total_cmp(&other[at]) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => 2,
        };
        groups[group].push(at);
    }
    let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let in_turns = (0..longest).flat_map(|turn| groups.iter().filter_map(move |g| g.get(turn)));
    let mut chosen: Vec<usize> = in_turns.copied().take(PROBE).collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Payload;

    fn candidate(instructions: [&str; 3]) -> Arc<Candidate> {
        let base = Candidate { document: Arc::new(Payload::Null), state: Default::default() };
        let states = ["a", "b", "c"].into_iter().zip(instructions);
        Arc::new(states.fold(base, |candidate, (path, instruction)| {
            candidate.with(path, |state| {
                state.instruction = (!instruction.is_empty()).then(|| instruction.into());
            })
        }))
    }

    fn merge(one: [&str; 3], other: [&str; 3], ancestor: [&str; 3], first: bool) -> Option<String> {
        let paths = ["a", "b", "c"].map(Arc::from);
        let merged = merged(&[one, other, ancestor].map(candidate), &paths, first)?;
        let instructions =
            paths.map(|path| merged.state.0[&path].instruction.clone().unwrap_or_default());
        Some(instructions.join(" "))
    }

    #[test]
    fn a_merge_uses_changed_states_and_prefers_the_better_parent() {
        let (one, other, ancestor) = (["A", "b", "C"], ["a", "B", "D"], ["a", "b", "c"]);
        assert_eq!(merge(one, other, ancestor, true).as_deref(), Some("A B C"));
        assert_eq!(merge(one, other, ancestor, false).as_deref(), Some("A B D"));
        // A removed state is a change, too.
        assert_eq!(merge(["", "b", "c"], ["a", "B", "c"], ancestor, true).as_deref(), Some(" B c"));
    }

    #[test]
    fn changes_of_only_one_parent_need_no_merge() {
        assert_eq!(merge(["A", "B", "c"], ["C", "b", "c"], ["a", "b", "c"], true), None);
        assert_eq!(merge(["A", "b", "c"], ["B", "b", "c"], ["a", "b", "c"], true), None);
    }

    #[test]
    fn probes_alternate_between_groups_of_examples() {
        let one = [1.0, 1.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.5];
        let other = [0.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5];
        for seed in 0..20 {
            let probe = probe(&one, &other, &mut fastrand::Rng::with_seed(seed));
            let of = |range: std::ops::Range<usize>| {
                probe.iter().filter(move |at| range.contains(at)).count()
            };
            assert_eq!([of(0..3), of(3..4), of(4..8)], [2, 1, 2]);
        }
    }
}
