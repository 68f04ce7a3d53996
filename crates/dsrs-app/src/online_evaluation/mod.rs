//! Online evaluations: set, read and removed. `scoring` judges runs in the background. May not know SQL.

mod scoring;

use std::sync::Arc;

use dsrs::optimize::Metric;
use dsrs::problem::{At, Code, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::{Map, Payload};
use uuid::Uuid;

use crate::clock::now;
use crate::precondition::Precondition;
use crate::{App, AppError, Invalid};
use dsrs_api::online_evaluation::OnlineEvaluationRequest;
use dsrs_api::plain_name::PlainName;
use dsrs_store::graph::{GraphRef, VersionSelection};
use dsrs_store::online_evaluation::{self, OnlineEvaluationRow, OnlineEvaluationSettings};
use dsrs_store::{Scope, StoreError};

pub(crate) use scoring::score_always;

/// The most metrics of a graph.
const MOST_METRICS: usize = 8;

impl App {
    /// Sets the online evaluation of a graph. The metrics fit its current version. `problems` are those of the members of
    /// the request.
    pub async fn online_evaluation_put(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        (request, mut problems): (OnlineEvaluationRequest, Problems),
        precondition: &Precondition,
    ) -> Result<OnlineEvaluationRow, AppError> {
        let graph_row = self.graph_get(scope, graph, None).await?;
        let metrics = self.checked_metrics(scope, graph, &request.metrics, &mut problems).await?;
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        let settings = OnlineEvaluationSettings {
            metrics: Payload::map(metrics).to_json(),
            sample: request.sample,
            enabled: request.enabled,
            calls_per_day: request.calls_per_day,
            cost_per_day: request.cost_per_day,
        };
        let graph = (graph_row.id, graph_row.name.as_str());
        let seen = self.online_evaluation_seen(scope, graph_row.id, precondition).await?;
        let stored = online_evaluation::put(scope, &self.db, graph, &settings, seen, now()).await?;
        stored.ok_or(AppError::Stale)
    }

    /// The revision that a change replaces: `None` is any, or none at all.
    async fn online_evaluation_seen(
        &self,
        scope: &Scope,
        graph: Uuid,
        precondition: &Precondition,
    ) -> Result<Option<(Uuid, i32)>, AppError> {
        if *precondition == Precondition::Any {
            return Ok(None);
        }
        let current = self.online_evaluation_of(scope, graph).await?.ok_or(AppError::Stale)?;
        precondition.check(current.id, current.revision)?;
        Ok(Some((current.id, current.revision)))
    }

    /// The metrics with everything filled in. What is wrong is reported.
    async fn checked_metrics(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        written: &Map,
        problems: &mut Problems,
    ) -> Result<Map, AppError> {
        let (_, program) = self.ready(scope, graph, VersionSelection::NEWEST).await?;
        let root = At::Root;
        let at = root.key("metrics");
        if !(1..=MOST_METRICS).contains(&written.len()) {
            problems.add(&at, Code::InvalidValue, format!("expected 1 to {MOST_METRICS} metrics"));
        }
        let mut metrics = Map::new();
        for (name, metric) in written {
            let at = at.key(name);
            if PlainName::parse(name).is_none() {
                let detail = format!("the name of a score: {}", PlainName::EXPECTED);
                problems.add(&at, Code::InvalidValue, detail);
            }
            let read = |env: &dyn BuildEnv| Metric::read(metric, env, &program, &at);
            let references = Metric::references(metric);
            match Box::pin(self.build_new(scope, None, references, read)).await? {
                Ok(read) => drop(metrics.insert(name.clone(), read.to_payload())),
                Err(found) => problems.append(found),
            }
        }
        Ok(metrics)
    }

    /// The online evaluation of a graph.
    pub async fn online_evaluation_get(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<OnlineEvaluationRow, AppError> {
        let found = self.graph_get(scope, graph, None).await?;
        self.online_evaluation_of(scope, found.id).await?.ok_or_else(|| missing(found.name))
    }

    /// The online evaluation of a graph that was found, if it has one.
    pub async fn online_evaluation_of(
        &self,
        scope: &Scope,
        graph: Uuid,
    ) -> Result<Option<OnlineEvaluationRow>, AppError> {
        Ok(online_evaluation::get(scope, &self.db, graph).await?)
    }

    /// Pauses or resumes the online evaluation of a graph.
    pub async fn online_evaluation_enable(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        enabled: bool,
    ) -> Result<(), AppError> {
        let found = self.graph_get(scope, graph, None).await?;
        let changed = (found.id, found.name.as_str());
        match online_evaluation::enable(scope, &self.db, changed, enabled, now()).await? {
            true => Ok(()),
            false => Err(missing(found.name)),
        }
    }

    /// Removes the online evaluation of a graph. Its scores stay.
    pub async fn online_evaluation_delete(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        let found = self.graph_get(scope, graph, None).await?;
        let removed = (found.id, found.name.as_str());
        loop {
            let current = self.online_evaluation_of(scope, found.id).await?;
            let current = current.ok_or_else(|| missing(found.name.clone()))?;
            precondition.check(current.id, current.revision)?;
            let seen = (current.id, current.revision);
            if online_evaluation::delete(scope, &self.db, removed, seen, now()).await? {
                return Ok(());
            }
        }
    }
}

fn missing(graph: String) -> AppError {
    StoreError::not_found("online evaluation of the graph", graph).into()
}
