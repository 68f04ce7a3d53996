//! The line of history: versions newest first with branches by parent, and the activations between them. Computes lanes
//! and draws them; knows no view.

use maud::{Markup, html};

use dsrs_store::state::StateSummaryRow;
use dsrs_store::state_activation::ActivationItem;

/// The width of a lane, and where the mark of a row is.
const LANE: usize = 14;
const MARK: usize = 18;

/// More branches beside each other share the last lane.
const MOST_LANES: usize = 8;

/// One row of the history.
#[derive(Clone, Copy, Debug)]
pub(super) enum HistoryItem<'h> {
    Version(&'h StateSummaryRow),
    Activation(&'h ActivationItem),
}

/// The lines beside one row, from left to right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RowLanes {
    /// The lane of the version of this row.
    own: Option<usize>,
    /// Whether a newer version was made of it.
    has_child: bool,
    /// Whether its line leads further down.
    has_parent: bool,
    /// Lanes that pass by.
    passing: Vec<usize>,
    /// Lanes of other children that end here.
    joining: Vec<usize>,
}

/// Versions and activations in the order of time, newest first.
pub(super) fn interleaved<'h>(
    versions: &'h [StateSummaryRow],
    activations: &'h [ActivationItem],
) -> Vec<HistoryItem<'h>> {
    let mut items = Vec::with_capacity(versions.len() + activations.len());
    let mut moves = activations.iter().peekable();
    for version in versions {
        while let Some(found) = moves.next_if(|found| found.created_at >= version.created_at) {
            items.push(HistoryItem::Activation(found));
        }
        items.push(HistoryItem::Version(version));
    }
    items
}

/// The lines of every row.
pub(super) fn lanes(items: &[HistoryItem<'_>]) -> Vec<RowLanes> {
    // The version at which each lane arrives.
    let mut expected: Vec<Option<i32>> = Vec::new();
    items.iter().map(|item| row(&mut expected, item)).collect()
}

fn row(expected: &mut Vec<Option<i32>>, item: &HistoryItem<'_>) -> RowLanes {
    let HistoryItem::Version(version) = item else {
        return RowLanes { passing: used(expected), ..RowLanes::default() };
    };
    let arriving: Vec<usize> =
        (0..expected.len()).filter(|lane| expected[*lane] == Some(version.version)).collect();
    let own = arriving.first().copied().unwrap_or_else(|| free(expected));
    for lane in &arriving {
        expected[*lane] = None;
    }
    let passing = used(expected);
    expected[own] = version.parent;
    RowLanes {
        own: Some(own),
        has_child: !arriving.is_empty(),
        has_parent: version.parent.is_some(),
        passing,
        joining: arriving.into_iter().skip(1).collect(),
    }
}

fn used(expected: &[Option<i32>]) -> Vec<usize> {
    (0..expected.len()).filter(|lane| expected[*lane].is_some()).collect()
}

fn free(expected: &mut Vec<Option<i32>>) -> usize {
    expected.iter().position(Option::is_none).unwrap_or_else(|| {
        expected.push(None);
        expected.len() - 1
    })
}

/// How many lanes the rows need.
pub(super) fn width(rows: &[RowLanes]) -> usize {
    let most = |row: &RowLanes| row.passing.iter().chain(&row.own).copied().max();
    rows.iter().filter_map(most).max().unwrap_or(0).min(MOST_LANES - 1) + 1
}

/// The lines beside a row, as high as the row.
pub(super) fn lines(row: &RowLanes, width: usize, is_active: bool) -> Markup {
    let x = |lane: usize| lane.min(MOST_LANES - 1) * LANE + LANE / 2;
    html! {
        svg.lanes width=(width * LANE) aria-hidden="true" {
            @for lane in &row.passing { line x1=(x(*lane)) x2=(x(*lane)) y1="0" y2="100%" {} }
            @if let Some(own) = row.own {
                @if row.has_child { line x1=(x(own)) x2=(x(own)) y1="0" y2=(MARK) {} }
                @if row.has_parent { line x1=(x(own)) x2=(x(own)) y1=(MARK) y2="100%" {} }
                @for lane in &row.joining { line x1=(x(*lane)) x2=(x(own)) y1="0" y2=(MARK) {} }
                circle.active[is_active] cx=(x(own)) cy=(MARK) r=(if is_active { "5.5" } else { "4" }) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    fn version(number: i32, parent: Option<i32>) -> StateSummaryRow {
        StateSummaryRow {
            version: number,
            graph_version: 1,
            parent,
            optimization: None,
            score: None,
            dataset_hash: None,
            content_hash: String::new(),
            in_force: false,
            created_at: DateTime::UNIX_EPOCH + TimeDelta::seconds(i64::from(number)),
            created_by: "test".into(),
        }
    }

    fn shown(rows: &[RowLanes]) -> Vec<String> {
        let text = |row: &RowLanes| format!("{:?} {:?} {:?}", row.own, row.passing, row.joining);
        rows.iter().map(text).collect()
    }

    #[test]
    fn branches_run_beside_each_other_and_meet_at_their_parent() {
        let versions =
            [version(4, Some(2)), version(3, Some(2)), version(2, Some(1)), version(1, None)];
        let rows = lanes(&interleaved(&versions, &[]));
        let expected = ["Some(0) [] []", "Some(1) [0] []", "Some(0) [] [1]", "Some(0) [] []"];
        assert_eq!(shown(&rows), expected);
        assert_eq!(width(&rows), 2);
        assert!(!rows[3].has_parent && rows[3].has_child && !rows[1].has_child);
    }

    #[test]
    fn an_activation_is_above_the_versions_that_are_older() {
        let activation = ActivationItem {
            id: 9,
            graph_version: 1,
            before: Some(2),
            state_version: 1,
            optimization: None,
            created_at: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(2_500),
            created_by: "test".into(),
        };
        let versions = [version(3, Some(1)), version(2, Some(1)), version(1, None)];
        let (items, all) = (interleaved(&versions, &[]), [activation]);
        assert_eq!(items.len(), 3);
        let items = interleaved(&versions, &all);
        assert!(matches!(items[1], HistoryItem::Activation(found) if found.id == 9));
        assert_eq!(shown(&lanes(&items))[1], "None [0] []");
    }
}
