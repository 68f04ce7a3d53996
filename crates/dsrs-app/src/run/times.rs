//! For what a run waited, from the spans of its trace. Knows no clock.

use std::time::Duration;

use dsrs::predict::{Span, SpanKind};

use crate::RunTimes;

/// A time without gaps, relative to the start of the run.
type Interval = (Duration, Duration);

impl RunTimes {
    /// The times of a run that took so long.
    pub(crate) fn of(spans: &[Span], total: Duration) -> Self {
        let (mut models, mut queued, mut tools) = (Vec::new(), Vec::new(), Vec::new());
        for span in spans {
            let end = span.duration.map_or(total, |took| span.started + took);
            match span.kind {
                SpanKind::Lm | SpanKind::Embedding => {
                    models.push((span.started, end));
                    if let Some(wait) = span.queued {
                        queued.push((span.started.saturating_sub(wait), span.started));
                    }
                }
                SpanKind::Tool => tools.push((span.started, end)),
                _ => {}
            }
        }
        let is_models_only = queued.is_empty() && tools.is_empty();
        let parts = [&mut models, &mut queued, &mut tools].map(|part| covered(part));
        let all = match is_models_only {
            true => parts[0],
            false => covered(&mut [models, queued, tools].concat()),
        };
        let [models, queued, tools] = parts;
        Self { total, models, queued, tools, own: total.saturating_sub(all) }
    }
}

/// The time that the intervals cover together.
fn covered(intervals: &mut [Interval]) -> Duration {
    intervals.sort_unstable();
    let (mut sum, mut seen) = (Duration::ZERO, Duration::ZERO);
    for &mut (start, end) in intervals {
        sum += end.saturating_sub(start.max(seen));
        seen = seen.max(end);
    }
    sum
}

#[cfg(test)]
mod tests {
    use dsrs::predict::{SpanStatus, Trace};

    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn spans(given: &[(SpanKind, u64, u64, u64)]) -> Vec<Span> {
        let trace = Trace::new();
        for &(kind, queued, start, end) in given {
            trace.record(kind, &"n".into(), None, |span| {
                span.status = SpanStatus::Succeeded;
                span.queued = Some(millis(queued)).filter(|wait| !wait.is_zero());
                span.started = millis(start);
                span.duration = Some(millis(end - start));
            });
        }
        trace.take()
    }

    #[test]
    fn requests_that_overlap_count_once() {
        use SpanKind::{Lm, Predictor, Tool};
        let spans = spans(&[
            (Predictor, 0, 0, 100),
            (Lm, 5, 10, 30),
            (Lm, 0, 20, 40),
            (Tool, 0, 50, 60),
            (Lm, 0, 55, 57),
        ]);
        let times = RunTimes::of(&spans, millis(100));
        assert_eq!((times.models, times.queued), (millis(32), millis(5)));
        assert_eq!((times.tools, times.own), (millis(10), millis(55)));
    }

    #[test]
    fn a_request_without_an_end_lasts_until_the_end_of_the_run() {
        let mut spans = spans(&[(SpanKind::Lm, 0, 10, 20)]);
        spans[0].duration = None;
        assert_eq!(RunTimes::of(&spans, millis(100)).models, millis(90));
    }
}
