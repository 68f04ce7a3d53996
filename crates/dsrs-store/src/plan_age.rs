//! How old the plans of the writer are. Its statements name rows by their ids, and planning one for each group costs more
//! than the rest of it. But Postgres plans for the sizes that tables have then: while a table or a partition is small it
//! reads all of it, or a whole index that has the ids last, and a plan that is never made anew stays so until the
//! statistics of the table change, minutes later. May not know the statements.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a plan is used.
const LONGEST_USE: Duration = Duration::from_secs(1);

/// Set on the connection of the writer: a statement is planned once, whatever the ids.
pub(super) const PLANNED_ONCE: &str = "set plan_cache_mode = force_generic_plan";

/// When the plans were discarded last.
#[derive(Debug, Default)]
pub(super) struct PlanAge(Mutex<Option<Instant>>);

impl PlanAge {
    /// The statements that begin a transaction of the writer.
    pub(super) fn begin(&self) -> &'static str {
        let mut discarded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if discarded.is_some_and(|discarded| now.duration_since(discarded) < LONGEST_USE) {
            return "begin";
        }
        *discarded = Some(now);
        "begin; discard plans"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_made_anew_after_a_while() {
        let age = PlanAge::default();
        assert_eq!((age.begin(), age.begin()), ("begin; discard plans", "begin"));
        *age.0.lock().unwrap() = Instant::now().checked_sub(LONGEST_USE);
        assert_eq!(age.begin(), "begin; discard plans");
    }
}
