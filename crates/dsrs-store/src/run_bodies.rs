//! The bodies of runs: written with the prefixes and dictionaries that this process knows, and read with those that they
//! name. May not know the columns of a run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dsrs::lm::Prefix;
use sqlx::PgConnection;
use uuid::Uuid;

use super::dictionary_table::DictionaryTable;
use super::prefix_table::PrefixTable;
use super::run::RunRow;
use super::run_body::{
    self, BodyError, Dictionary, NumberedPrefix, OwnDocuments, ReadBody, RunDocuments,
};
use super::{Db, StoreError};

/// What this process knows.
#[derive(Debug, Default)]
pub(crate) struct RunBodies {
    pub(crate) prefixes: PrefixTable,
    pub(crate) dictionaries: DictionaryTable,
}

impl RunBodies {
    /// The body of a run that has ended. Never waits.
    pub(crate) fn write(
        &self,
        workspace: Uuid,
        run: &RunRow,
        documents: &RunDocuments<'_>,
    ) -> Vec<u8> {
        let known = self.prefixes.numbers(workspace, &run.storage.prefixes);
        let prefixes: Vec<NumberedPrefix<'_>> = known.iter().map(numbered).collect();
        let dictionary = self.dictionaries.of_graph(workspace, run.graph_id, &run.graph_name);
        let written = run_body::write(documents, &prefixes, dictionary.as_deref());
        self.dictionaries.count(run.graph_id, written.before, written.body.len());
        written.body
    }

    /// Stores and looks up what runs that ended lacked. What fails is tried again with a later run.
    pub(crate) async fn learn(&self, db: &Db) {
        if self.prefixes.has_wanted()
            && let Err(error) = self.prefixes.store_wanted(db).await
        {
            tracing::warn!(cause = error.cause(), "could not store the prefixes of prompts");
        }
        if self.dictionaries.has_unchecked()
            && let Err(error) = self.dictionaries.check(db).await
        {
            tracing::warn!(cause = error.cause(), "could not look for dictionaries");
        }
    }

    /// The documents of these bodies, in their order, on a connection that sees their workspaces.
    pub(crate) async fn read(
        &self,
        connection: &mut PgConnection,
        bodies: &[&[u8]],
    ) -> Result<Vec<OwnDocuments>, StoreError> {
        let decompressed = self.decompress(connection, bodies).await?;
        let mut numbers = HashSet::new();
        for body in &decompressed {
            numbers.extend(body.prefixes().map_err(unreadable)?);
        }
        let texts: HashMap<i64, Arc<str>> = match numbers.is_empty() {
            true => HashMap::new(),
            false => self.prefixes.texts(connection, numbers).await?,
        };
        let text_of = |number| texts.get(&number).map(AsRef::as_ref);
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
    NumberedPrefix { number: *number, text: prefix.json() }
}

fn unreadable(error: BodyError) -> StoreError {
    StoreError::internal(error.to_string())
}
