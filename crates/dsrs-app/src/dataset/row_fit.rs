//! Which examples of a page fit a graph: the same check as before a job, one result for each example.

use std::sync::Arc;

use dsrs::problem::{At, Problems};
use uuid::Uuid;

use crate::dataset::selection::fit;
use crate::{App, AppError, compute_blocking};
use dsrs_store::Scope;
use dsrs_store::dataset_example::{self, ExampleRow};
use dsrs_store::graph::{GraphRef, VersionSelection};

impl App {
    /// The problems of each example with the newest version of a graph, in their order.
    pub async fn dataset_rows_fit(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        rows: Vec<ExampleRow>,
    ) -> Result<Vec<Problems>, AppError> {
        let newest = VersionSelection { version: None, state_version: None };
        let (_, program) = self.ready(scope, graph, newest).await?;
        let check = compute_blocking(self.limits.run_timeout, move || {
            let of_row = |row| {
                let mut problems = Problems::new();
                fit(&program, row, &At::Root, &mut problems);
                problems
            };
            rows.iter().map(of_row).collect()
        });
        check.await.ok_or_else(|| AppError::Internal("the check of examples panicked".to_owned()))
    }

    /// The examples of a version at these positions, in their order.
    pub async fn dataset_examples_at(
        &self,
        scope: &Scope,
        version: (Uuid, i32),
        positions: &[i32],
    ) -> Result<Vec<ExampleRow>, AppError> {
        Ok(dataset_example::at(scope, &self.db, version, positions).await?)
    }
}
