//! The history of a graph's state for people: a page of versions, what each of them changed in short, and the
//! activations of the same time.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs::graph::GraphState;
use dsrs::predict::PredictState;
use indexmap::IndexSet;
use uuid::Uuid;

use crate::clock::now;
use crate::program::read_state;
use crate::{App, AppError};
use dsrs_store::state::{self, StateSummaryRow};
use dsrs_store::state_activation::{self, ActivationItem};
use dsrs_store::{ListQuery, Page, Scope};

/// The longest document that is compared with that of its parent.
const MOST_BYTES: i32 = 256 * 1024;

/// The most activations beside one page of versions.
const MOST_ACTIVATIONS: i64 = 200;

/// A page of the history, newest first.
pub struct StateHistory {
    pub versions: Page<StateSummaryRow, i32>,
    /// What a version changed from its parent. A version whose document is too long to compare is not here.
    pub outlines: HashMap<i32, Vec<PredictorOutline>>,
    /// Promotions and rollbacks since the oldest version of the page.
    pub activations: Vec<ActivationItem>,
}

/// What a state version changed in one predictor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredictorOutline {
    pub path: Arc<str>,
    pub instruction: bool,
    /// How many demos there were and are, if they changed.
    pub demos: Option<(usize, usize)>,
    /// LM settings, or how demos are chosen.
    pub settings: bool,
}

impl App {
    /// One page of the history of a graph's state.
    pub async fn state_history(
        &self,
        scope: &Scope,
        graph: Uuid,
        list: ListQuery<i32>,
    ) -> Result<StateHistory, AppError> {
        let versions = state::list(scope, &self.db, graph, list).await?;
        let outlines = self.state_outlines(scope, graph, &versions.items).await?;
        let until = self.created_after(scope, graph, list.after).await?;
        let activations = match versions.items.last() {
            Some(oldest) => {
                let since = oldest.created_at;
                let span = (since, until);
                state_activation::moves(scope, &self.db, graph, span, MOST_ACTIVATIONS).await?
            }
            None => Vec::new(),
        };
        Ok(StateHistory { versions, outlines, activations })
    }

    /// When the page ends: with the version before it, which another page shows.
    async fn created_after(
        &self,
        scope: &Scope,
        graph: Uuid,
        after: Option<i32>,
    ) -> Result<DateTime<Utc>, AppError> {
        let Some(after) = after else { return Ok(now() + TimeDelta::days(1)) };
        let list = ListQuery::new(after.checked_add(1), 1);
        let found = state::list(scope, &self.db, graph, list).await?.items;
        Ok(found.first().map_or_else(now, |version| version.created_at))
    }

    async fn state_outlines(
        &self,
        scope: &Scope,
        graph: Uuid,
        items: &[StateSummaryRow],
    ) -> Result<HashMap<i32, Vec<PredictorOutline>>, AppError> {
        let wanted: IndexSet<i32> =
            items.iter().flat_map(|item| [Some(item.version), item.parent]).flatten().collect();
        let wanted: Vec<i32> = wanted.into_iter().collect();
        let texts = state::documents(scope, &self.db, graph, &wanted, MOST_BYTES).await?;
        let read = |(version, text): (i32, String)| Ok((version, read_state(&text)?));
        let states: HashMap<i32, GraphState> =
            texts.into_iter().map(read).collect::<Result<_, AppError>>()?;
        let nothing = GraphState::default();
        let outline = |item: &StateSummaryRow| {
            let before = item.parent.map_or(Some(&nothing), |parent| states.get(&parent))?;
            Some((item.version, outline(before, states.get(&item.version)?)))
        };
        Ok(items.iter().filter_map(outline).collect())
    }
}

fn outline(before: &GraphState, after: &GraphState) -> Vec<PredictorOutline> {
    let paths: IndexSet<&Arc<str>> = after.0.keys().chain(before.0.keys()).collect();
    let nothing = PredictState::default();
    let changed = paths.into_iter().filter_map(|path| {
        let (old, new) =
            (before.0.get(path).unwrap_or(&nothing), after.0.get(path).unwrap_or(&nothing));
        (old != new).then(|| PredictorOutline {
            path: path.clone(),
            instruction: old.instruction != new.instruction,
            demos: (old.demos != new.demos).then_some((old.demos.len(), new.demos.len())),
            settings: old.lm != new.lm
                || old.nearest != new.nearest
                || old.decisions != new.decisions,
        })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_names_what_changed_in_each_predictor() {
        let read = |text: &str| read_state(text).unwrap();
        let before = read(r#"{"a": {"instruction": "x", "demos": []}, "b": {"demos": []}}"#);
        let after = read(
            r#"{"a": {"instruction": "y", "demos": [{"input": {}, "output": {}}]},
                "c": {"lm": {"temperature": 0.5}}}"#,
        );
        let found = outline(&before, &after);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&*found[0].path, found[0].instruction, found[0].demos),
            ("a", true, Some((0, 1)))
        );
        assert!(found[1].settings && !found[1].instruction, "{found:?}");
        assert_eq!(outline(&after, &after), []);
    }
}
