//! The examples of an optimization, read from datasets. The engine divides them. May not know
//! optimizers.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::optimize::{Example, ExampleSets};
use dsrs::problem::{At, Code, Problems};

use crate::dataset::reference::DatasetRef;
use crate::dataset::selection::{DatasetPick, fit};
use crate::item_upload::MOST_PROBLEMS;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::dataset_example::PageLimits;

/// The most examples of a set: they are in memory during the attempt.
pub(crate) const MOST: usize = 10_000;

/// The size of a page.
const PAGE: PageLimits = PageLimits { count: 1000, bytes: 8 << 20 };

/// The members of a request that name the sets: for training, for choosing, for measuring.
const NAMES: [&str; 3] = ["trainset", "valset", "testset"];

/// The requested datasets and their examples, set by set.
pub(crate) struct ExampleSources([Option<(DatasetPick, Vec<Example>)>; 3]);

impl ExampleSources {
    /// Loads the sets that a request names, and reports every problem. `None` if a set is unusable.
    pub(crate) async fn find(
        app: &Arc<App>,
        scope: &Scope,
        program: &Arc<Program>,
        wanted: [Option<DatasetRef>; 3],
        faults: &mut Problems,
    ) -> Result<Option<Self>, AppError> {
        let known = faults.len();
        let mut given = [None, None, None];
        for ((name, wanted), given) in NAMES.into_iter().zip(wanted).zip(&mut given) {
            let Some(wanted) = wanted else { continue };
            let root = At::Root;
            let at = root.key(name);
            let Some(pick) =
                pick_or_problem(app.dataset_pick(scope, &wanted, &at).await, &at, faults)?
            else {
                continue;
            };
            if pick.count > MOST {
                let detail = format!(
                    "{} examples exceed the limit of {MOST}; select some with `limit`",
                    pick.count
                );
                faults.add(&at, Code::TooLarge, detail);
                continue;
            }
            let examples = read(app, scope, &pick, program, &at, faults).await?;
            *given = Some((pick, examples));
        }
        Ok((given[0].is_some() && faults.len() == known).then_some(Self(given)))
    }

    /// Loads the sets of an accepted request.
    pub(crate) async fn reread(
        app: &App,
        scope: &Scope,
        program: &Arc<Program>,
        picks: &[Option<DatasetPick>; 3],
    ) -> Result<Self, AppError> {
        let mut given = [None, None, None];
        let mut problems = Problems::new();
        for (pick, given) in picks.iter().zip(&mut given) {
            let Some(pick) = pick else { continue };
            let examples = read(app, scope, pick, program, &At::Root, &mut problems).await?;
            *given = Some((pick.clone(), examples));
        }
        match problems.is_empty() {
            true => Ok(Self(given)),
            false => Err(AppError::Internal(format!("stored examples: {problems}"))),
        }
    }

    /// Divides the examples by purpose; see [`ExampleSets::of`].
    pub(crate) fn divide(&self, seed: u64, problems: &mut Problems) -> Option<ExampleSets> {
        let given = self.0.each_ref();
        let given = given.map(|given| given.as_ref().map(|(_, examples)| examples.as_slice()));
        ExampleSets::of(given, seed, problems)
    }

    /// The parts of datasets that the sets are.
    pub(crate) fn picks(&self) -> [Option<DatasetPick>; 3] {
        self.0.each_ref().map(|given| given.as_ref().map(|(pick, _)| pick.clone()))
    }
}

/// An unknown dataset in a path is `not_found`; in a body it is a problem of the body.
fn pick_or_problem(
    picked: Result<DatasetPick, AppError>,
    at: &At<'_>,
    faults: &mut Problems,
) -> Result<Option<DatasetPick>, AppError> {
    match picked {
        Ok(pick) => return Ok(Some(pick)),
        Err(AppError::NotFound(detail)) => faults.add(at, Code::InvalidValue, detail),
        Err(AppError::Invalid { problems, .. }) => faults.append(problems),
        Err(other) => return Err(other),
    }
    Ok(None)
}

/// All examples of a part as inputs of the graph, and the problems of those that do not fit.
async fn read(
    app: &App,
    scope: &Scope,
    pick: &DatasetPick,
    program: &Arc<Program>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Result<Vec<Example>, AppError> {
    let (mut examples, mut after, mut wrong) = (Vec::with_capacity(pick.count), -1, 0);
    let place = at.key("examples");
    loop {
        let page = app.dataset_page(scope, pick, after, PAGE).await?;
        for row in &page.rows {
            let position = usize::try_from(row.position).unwrap_or_default();
            let mut set_problems = Problems::new();
            examples.extend(fit(program, row, &place.index(position), &mut set_problems));
            wrong += set_problems.len();
            problems.append(set_problems);
        }
        match page.next {
            Some(next) if wrong < MOST_PROBLEMS => after = next,
            Some(_) => {
                let detail = "the examples after these were not checked";
                problems.add_last(&place, Code::TooLarge, detail);
                return Ok(examples);
            }
            None => return Ok(examples),
        }
    }
}
