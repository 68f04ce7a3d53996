//! Feedback on runs: checked against the graph that ran, stored, listed, summed. May not know how the scores of online
//! evaluations are computed.

mod corrected;

use std::collections::HashMap;

use dsrs::problem::{At, Code, Problems};
use dsrs::value::{Map, Payload};
use uuid::Uuid;

use crate::clock::now;
use crate::{AnswerBuilder, App, AppError, Invalid};
use dsrs_api::feedback::FeedbackRequest;
use dsrs_store::feedback::{self, FeedbackOutcome, FeedbackRow, RatedRun};
use dsrs_store::feedback_summary::{self, GraphScoreRow, RunScoreRow, ScorePeriod};
use dsrs_store::graph::GraphRef;
use dsrs_store::{ListQuery, Page, Scope, StoreError};

/// The most feedback on a run.
pub(crate) const MOST_PER_RUN: i64 = 1000;

/// The greatest size of corrected outputs, as JSON text.
const MOST_OUTPUT_BYTES: usize = 1 << 20;

impl App {
    /// Stores feedback on a run, in place of an earlier one of the same name, source and giver. `problems` are those of
    /// the members of the request.
    pub async fn feedback_put(
        &self,
        scope: &Scope,
        run: Uuid,
        (request, mut problems): (FeedbackRequest, Problems),
        answer: AnswerBuilder<FeedbackRow>,
    ) -> Result<FeedbackRow, AppError> {
        let rated = self.rated_run(scope, run).await?;
        request.check(&mut problems);
        let outputs = match request.outputs {
            None => None,
            Some(outputs) => self.corrected_outputs(scope, &rated, &outputs, &mut problems).await?,
        };
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        let comment = request.comment.map(|text| Payload::from(text.as_str()).to_json());
        let row = FeedbackRow {
            name: request.name,
            score: request.score,
            category: request.category,
            comment,
            outputs,
            source: request.source,
            user_id: request.user_id.unwrap_or_default(),
            ..rated.feedback(Uuid::now_v7(), now(), scope)
        };
        self.feedback_store(scope, row, answer).await
    }

    async fn feedback_store(
        &self,
        scope: &Scope,
        row: FeedbackRow,
        answer: AnswerBuilder<FeedbackRow>,
    ) -> Result<FeedbackRow, AppError> {
        let answer = |row: &FeedbackRow| answer.build(row);
        match feedback::put(scope, &self.db, row, MOST_PER_RUN, answer).await? {
            FeedbackOutcome::Stored(row) => {
                if let (Some(name), Some(score)) = (&row.name, row.score) {
                    self.metrics.score(&row.graph_name, name, &row.source, score);
                }
                Ok(*row)
            }
            FeedbackOutcome::TooMany => Err(AppError::TooBusy(format!(
                "the run has {MOST_PER_RUN} pieces of feedback, which is the limit; delete some of them"
            ))),
        }
    }

    /// The run that feedback is about. One in the archive is read only.
    async fn rated_run(&self, scope: &Scope, run: Uuid) -> Result<RatedRun, AppError> {
        if let Some(rated) = feedback::rated_run(scope, &self.db, run).await? {
            return Ok(rated);
        }
        self.run_find(scope, run).await?;
        Err(AppError::RunArchived(format!(
            "the run `{run}` is in the archive, where it takes no more feedback"
        )))
    }

    /// Checks corrected outputs against the types of the graph version that ran. They may be some of the outputs.
    async fn corrected_outputs(
        &self,
        scope: &Scope,
        run: &RatedRun,
        outputs: &Map,
        problems: &mut Problems,
    ) -> Result<Option<String>, AppError> {
        let versions = (run.graph_version, run.state_version);
        let program = self.program_at(scope, run.graph_id, versions.0, versions.1).await?;
        let at = At::Root.key("outputs");
        let Some(corrected) = corrected::admit_outputs(program.graph(), outputs, &at, problems)
        else {
            return Ok(None);
        };
        let text = Payload::map(corrected).to_json();
        if text.len() > MOST_OUTPUT_BYTES {
            let detail = format!("corrected outputs have {MOST_OUTPUT_BYTES} bytes at most");
            problems.add(&at, Code::TooLarge, detail);
        }
        Ok(Some(text))
    }

    /// One page of the feedback on a run, newest first.
    pub async fn feedback_list(
        &self,
        scope: &Scope,
        run: Uuid,
        list: ListQuery,
    ) -> Result<Page<FeedbackRow>, AppError> {
        if feedback::rated_run(scope, &self.db, run).await?.is_none() {
            self.run_find(scope, run).await?;
        }
        Ok(feedback::list(scope, &self.db, run, list).await?)
    }

    /// Removes feedback from a run.
    pub async fn feedback_delete(
        &self,
        scope: &Scope,
        run: Uuid,
        id: Uuid,
    ) -> Result<(), AppError> {
        Ok(feedback::delete(scope, &self.db, run, id).await?)
    }

    /// What the feedback on these runs says, by run.
    pub async fn run_scores(
        &self,
        scope: &Scope,
        runs: &[Uuid],
    ) -> Result<HashMap<Uuid, Vec<RunScoreRow>>, AppError> {
        let mut scores: HashMap<Uuid, Vec<RunScoreRow>> = HashMap::new();
        if !runs.is_empty() {
            for row in feedback_summary::of_runs(scope, &self.db, runs).await? {
                scores.entry(row.run_id).or_default().push(row);
            }
        }
        Ok(scores)
    }

    /// The mean scores of a graph, newest version first.
    pub async fn graph_scores(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        period: ScorePeriod,
    ) -> Result<Vec<GraphScoreRow>, AppError> {
        let name = match graph {
            GraphRef::Name(name) => name.to_string(),
            GraphRef::Id(_) => self.graph_get(scope, graph, None).await?.name,
        };
        if name.contains('\0') {
            return Err(StoreError::not_found("graph", name).into());
        }
        let scores = feedback_summary::of_graphs(scope, &self.db, Some(&name), period).await?;
        if scores.is_empty() {
            // A deleted graph may have scores; one that never was has none.
            self.graph_get(scope, graph, None).await?;
        }
        Ok(scores)
    }
}
