//! The attempts that servers made, as Postgres recorded them: which requests to the model they explain. Nothing here is
//! a duration: an attempt begins before its requests, and is lost before another one repeats them.

use std::collections::HashMap;

use sqlx::Row;
use uuid::Uuid;

use super::postgres::Postgres;

/// When something was, in seconds since 1970.
pub type Time = f64;

/// All attempts of a test.
pub struct Attempts {
    /// By runs, the server of each attempt and when it began.
    begun: HashMap<Uuid, Vec<(usize, Time)>>,
    /// By batches, evaluations and optimizations, when attempts at them or at their parts were lost.
    lost: HashMap<Uuid, Vec<Time>>,
    /// By marks, the run, or the batch that has the item.
    marked: HashMap<String, Uuid>,
    /// By the graph that they are about, evaluations and optimizations.
    about: HashMap<String, Vec<Uuid>>,
}

impl Attempts {
    pub async fn read(postgres: &Postgres) -> Self {
        let mut begun: HashMap<Uuid, Vec<_>> = HashMap::new();
        let rows = "select run as work, server, extract(epoch from at)::float8 as at from begun";
        for row in postgres.rows(rows).await {
            let server: i32 = row.get("server");
            begun.entry(row.get("work")).or_default().push((server as usize, row.get("at")));
        }
        let mut lost: HashMap<Uuid, Vec<Time>> = HashMap::new();
        let rows = "select work, extract(epoch from at)::float8 as at from lost";
        for row in postgres.rows(rows).await {
            lost.entry(row.get("work")).or_default().push(row.get("at"));
        }
        let mut marked = HashMap::new();
        let rows = "select session_id as mark, id as work from runs where session_id is not null
                    union all select inputs->>'run', batch_id from batch_items";
        for row in postgres.rows(rows).await {
            let mark: String = row.get("mark");
            marked.insert(mark.trim_start_matches("mark-").to_owned(), row.get("work"));
        }
        let mut about: HashMap<String, Vec<Uuid>> = HashMap::new();
        let rows = "select graph_name as graph, id as work from evaluations
                    union all select graph_name, id from optimizations";
        for row in postgres.rows(rows).await {
            about.entry(row.get("graph")).or_default().push(row.get("work"));
        }
        Self { begun, lost, marked, about }
    }

    /// How many attempts at the run of a mark a server had begun by then.
    pub fn begun_by(&self, mark: &str, server: usize, until: Time) -> usize {
        let begun = self.marked.get(mark).and_then(|run| self.begun.get(run));
        let attempts = begun.into_iter().flatten();
        attempts.filter(|(by, at)| *by == server && *at <= until).count()
    }

    /// How often a batch, an evaluation or an optimization may have asked for the same by then: once, and once more for
    /// each attempt that was lost. A request to start it whose answer was lost may have started one more.
    pub fn askable(&self, node: &str, mark: &str, until: Time) -> usize {
        let (works, batch) = (self.about.get(node), self.marked.get(mark));
        let works = works.into_iter().flatten().chain(batch.filter(|_| node == "item"));
        works.map(|work| 1 + self.lost(work).filter(|at| **at <= until).count()).sum()
    }

    /// How many attempts at the work about a graph were lost.
    pub fn lost_about(&self, graph: &str) -> usize {
        self.about[graph].iter().map(|work| self.lost(work).count()).sum()
    }

    fn lost(&self, work: &Uuid) -> impl Iterator<Item = &Time> {
        self.lost.get(work).into_iter().flatten()
    }
}
