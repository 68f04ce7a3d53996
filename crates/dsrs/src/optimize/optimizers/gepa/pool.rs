//! The pool: candidates that were evaluated on the whole valset, with their scores and ancestors. Knows
//! nothing of how they were made.

use super::pareto::{Leader, frontier};
use crate::optimize::{Evaluation, TrialId};

/// The candidates to continue from, in order.
#[derive(Debug, Default)]
pub(super) struct CandidatePool(Vec<Member>);

#[derive(Debug)]
struct Member {
    id: TrialId,
    scores: Vec<f64>,
    /// The indices of all its ancestors, in order.
    ancestors: Vec<usize>,
    /// The index of the next predictor to change.
    turn: usize,
}

impl CandidatePool {
    /// Adds a candidate with parents from the pool.
    pub(super) fn take(&mut self, id: TrialId, evaluation: &Evaluation, parents: &[usize]) {
        let of = |parent: &usize| self.0[*parent].ancestors.iter().copied().chain([*parent]);
        let mut ancestors: Vec<usize> = parents.iter().flat_map(of).collect();
        ancestors.sort_unstable();
        ancestors.dedup();
        let turn = parents.first().map_or(0, |parent| self.0[*parent].turn);
        self.0.push(Member { id, scores: evaluation.scores(), ancestors, turn });
    }

    pub(super) fn id(&self, at: usize) -> TrialId {
        self.0[at].id
    }

    pub(super) fn scores(&self, at: usize) -> &[f64] {
        &self.0[at].scores
    }

    pub(super) fn mean(&self, at: usize) -> f64 {
        let scores = self.scores(at);
        scores.iter().sum::<f64>() / scores.len().max(1) as f64
    }

    pub(super) fn holds(&self, id: TrialId) -> bool {
        self.0.iter().any(|member| member.id == id)
    }

    /// Whether a candidate reaches this score on every example.
    pub(super) fn reaches(&self, score: f64) -> bool {
        self.0.iter().any(|member| member.scores.iter().all(|found| *found >= score))
    }

    /// The candidate with the best mean; the first of equals.
    pub(super) fn best(&self) -> usize {
        let means = (0..self.0.len()).map(|at| self.mean(at));
        let better =
            |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
        means.enumerate().fold((0, f64::NEG_INFINITY), better).0
    }

    pub(super) fn frontier(&self) -> Vec<Leader> {
        let scores: Vec<&[f64]> = self.0.iter().map(|member| &*member.scores).collect();
        frontier(&scores)
    }

    /// The common ancestors of two candidates, if neither descends from the other.
    pub(super) fn common_ancestors(&self, one: usize, other: usize) -> Vec<usize> {
        let (ours, theirs) = (&self.0[one].ancestors, &self.0[other].ancestors);
        if ours.contains(&other) || theirs.contains(&one) {
            return Vec::new();
        }
        ours.iter().copied().filter(|ancestor| theirs.contains(ancestor)).collect()
    }

    /// The index of the predictor to change; advances to the next one.
    pub(super) fn turn(&mut self, at: usize, of: usize) -> usize {
        let turn = self.0[at].turn % of.max(1);
        self.0[at].turn = turn + 1;
        turn
    }
}
