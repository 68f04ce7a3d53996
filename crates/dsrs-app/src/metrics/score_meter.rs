//! The scores of runs as metrics. Clients name scores and sources as they like, so the number of series is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Histogram, Label};

use super::catalogue as name;
use super::series::Series;

/// The most combinations of graph, name and source with labels of their own.
const MOST_SERIES: usize = 200;

/// The label of all others.
const OTHER: &str = "other";

/// A graph, the name of a score, its source.
type ScoreLabels = [String; 3];

/// The meters of all scores.
pub(super) struct ScoreMeters {
    series: Arc<Series>,
    known: Mutex<HashMap<ScoreLabels, Histogram>>,
}

impl ScoreMeters {
    pub(super) fn new(series: Arc<Series>) -> Self {
        Self { series, known: Mutex::default() }
    }

    /// Records a score; beyond the bound, as one of all others.
    pub(super) fn record(&self, labels: [&str; 3], score: f64) {
        let labels = labels.map(str::to_owned);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let has_place = known.contains_key(&labels) || known.len() < MOST_SERIES;
        let labels = if has_place { labels } else { [OTHER; 3].map(str::to_owned) };
        let histogram = known.entry(labels).or_insert_with_key(|[graph, score, source]| {
            let labels = [("graph", graph), ("score", score), ("source", source)];
            let labels = labels.map(|(label, value)| Label::new(label, value.clone()));
            self.series.histogram(name::RUN_SCORE, labels.to_vec())
        });
        histogram.record(score);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_beyond_the_bound_are_counted_together() {
        let series = Arc::new(Series::new().unwrap());
        let meters = ScoreMeters::new(series.clone());
        for number in 0..MOST_SERIES + 2 {
            meters.record(["q", &format!("s{number}"), "user"], 0.5);
        }
        let text = series.render();
        assert!(text.contains(r#"dsrs_run_score_sum{graph="q",score="s199",source="user"} 0.5"#));
        assert!(
            text.contains(r#"dsrs_run_score_count{graph="other",score="other",source="other"} 2"#)
        );
    }
}
