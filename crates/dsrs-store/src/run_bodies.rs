//! The bodies of runs: written with the prefixes and dictionaries that this process knows, and read with those that
//! they name. May not know the columns of a run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsrs::lm::Prefix;
use sqlx::PgConnection;
use tokio::sync::Notify;
use uuid::Uuid;

use super::dictionary_table::DictionaryTable;
use super::prefix_table::{PrefixTable, StoredPrefix, mark_of};
use super::run::RunRow;
use super::run_body::{
    self, BodyError, Dictionary, NumberedPrefix, OwnedDocuments, PrefixMark, ReadBody, RunDocuments,
};
use super::run_progress::RunGraph;
use super::{Db, StoreError};

/// What this process knows.
#[derive(Debug, Default)]
pub(crate) struct RunBodies {
    /// Whether runs are stored in the compact form.
    is_compact: AtomicBool,
    prefixes: PrefixTable,
    pub(crate) dictionaries: DictionaryTable,
    /// Wakes [`RunBodies::refresh_always`].
    stale: Notify,
}

impl RunBodies {
    /// Whether runs are stored in the compact form.
    pub(crate) fn is_compact(&self) -> bool {
        self.is_compact.load(Ordering::Relaxed)
    }

    pub(crate) fn set_compact(&self, is_compact: bool) {
        self.is_compact.store(is_compact, Ordering::Relaxed);
    }

    /// Forgets what the database has said: a new connection may be to another one, after a failover or a restore.
    pub(crate) fn clear(&self) {
        self.prefixes.clear();
        self.dictionaries.clear();
    }

    /// The body of a run that has ended. Never waits.
    pub(crate) fn write(
        &self,
        workspace: Uuid,
        run: &RunRow,
        documents: &RunDocuments<'_>,
    ) -> Vec<u8> {
        let (known, is_pending) = self.prefixes.numbers(workspace, &run.storage.prefixes);
        let prefixes: Vec<NumberedPrefix<'_>> = known.iter().map(numbered).collect();
        let (dictionary, is_unchecked) =
            self.dictionaries.of_graph(workspace, run.graph_id, &run.graph_name);
        if is_pending || is_unchecked {
            self.stale.notify_one();
        }
        let written = run_body::write(documents, &prefixes, dictionary.as_deref());
        self.dictionaries.count(run.graph_id, written.before, written.body.len());
        written.body
    }

    /// The documents of a checkpoint, with what is known of its graph: what a run has alone makes no prefix one that
    /// runs share. Never waits.
    pub(crate) fn write_checkpoint(
        &self,
        workspace: Uuid,
        graph: Option<&RunGraph>,
        prefixes: &[Arc<Prefix>],
        documents: &RunDocuments<'_>,
    ) -> Vec<u8> {
        let known = self.prefixes.known(workspace, prefixes);
        let prefixes: Vec<NumberedPrefix<'_>> = known.iter().map(numbered).collect();
        let found = graph.map(|graph| self.dictionaries.of_graph(workspace, graph.id, &graph.name));
        let (dictionary, is_unchecked) = found.unwrap_or_default();
        if is_unchecked {
            self.stale.notify_one();
        }
        run_body::write(documents, &prefixes, dictionary.as_deref()).body
    }

    /// Waits until a run that ended lacked something.
    pub(crate) async fn stale(&self) {
        self.stale.notified().await;
    }

    /// Stores and looks up what runs that ended lacked. What fails is tried again with a later run.
    pub(crate) async fn refresh(&self, db: &Db) -> Result<(), StoreError> {
        let stored = self.prefixes.store_pending(db).await;
        self.dictionaries.check(db).await.and(stored)
    }

    /// The documents of these bodies, in their order, on a connection that sees their workspaces.
    pub(crate) async fn read(
        &self,
        connection: &mut PgConnection,
        bodies: &[&[u8]],
    ) -> Result<Vec<OwnedDocuments>, StoreError> {
        let decompressed = self.decompress(connection, bodies).await?;
        let mut numbers = HashSet::new();
        for body in &decompressed {
            numbers.extend(body.prefixes().map_err(unreadable)?);
        }
        let texts: HashMap<i64, StoredPrefix> = match numbers.is_empty() {
            true => HashMap::new(),
            false => self.prefixes.texts(connection, numbers).await?,
        };
        let text_of = |number, mark: PrefixMark| {
            texts.get(&number).filter(|stored| stored.mark == mark).map(|stored| &*stored.text)
        };
        let documents = decompressed.iter().map(|body| body.documents(text_of).map_err(unreadable));
        documents.collect()
    }

    async fn decompress(
        &self,
        connection: &mut PgConnection,
        bodies: &[&[u8]],
    ) -> Result<Vec<ReadBody>, StoreError> {
        let named = bodies.iter().map(|body| run_body::dictionary_of(body));
        let named: Vec<Option<i64>> = named.collect::<Result<_, _>>().map_err(unreadable)?;
        let numbers: HashSet<i64> = named.iter().flatten().copied().collect();
        let dictionaries: HashMap<i64, Arc<Dictionary>> = match numbers.is_empty() {
            true => HashMap::new(),
            false => self.dictionaries.load(connection, numbers).await?,
        };
        let read = bodies.iter().zip(named).map(|(body, named)| {
            let dictionary = named.and_then(|number| dictionaries.get(&number));
            ReadBody::new(body, dictionary.map(AsRef::as_ref)).map_err(unreadable)
        });
        read.collect()
    }
}

fn numbered((number, prefix): &(i64, Arc<Prefix>)) -> NumberedPrefix<'_> {
    NumberedPrefix { number: *number, mark: mark_of(prefix.digest()), text: prefix.json() }
}

fn unreadable(error: BodyError) -> StoreError {
    StoreError::internal(error.to_string())
}
