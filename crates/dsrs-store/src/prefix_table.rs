//! Prefixes of prompts that runs share, each stored once in its workspace: under which number a run that ends refers to
//! one, and the texts for runs that are read. May not know the layout of a body.
//!
//! A look-up for a run that ends never waits. What is missing is noted, and stored after the next commit
//! (`store_wanted`); until then runs have the text itself. A prefix is stored once it was seen twice: one that depends on
//! the inputs of a run is worth no row.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dsrs::lm::Prefix;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Db, StoreError};

/// How long a number is used without asking the database again, which notes that it is in use. Rows that were not used for
/// days are removed (`removal`), so this must be shorter.
const TRUSTED: Duration = Duration::from_secs(6 * 3600);

/// A shorter text is not worth a row.
const SHORTEST: usize = 128;

/// The entries of each map in memory.
const KNOWN: usize = 8192;

/// Prefixes that are stored at once.
const WANTED: usize = 64;

/// The texts that are in memory for readers.
const CACHED_BYTES: usize = 4 << 20;

/// A prefix of a workspace by the hash of its text.
type PrefixKey = (Uuid, [u8; 32]);

#[derive(Debug)]
struct KnownPrefix {
    number: i64,
    since: Instant,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<PrefixKey, KnownPrefix>,
    /// Those that were seen once.
    seen: HashSet<PrefixKey>,
    wanted: HashMap<PrefixKey, Arc<Prefix>>,
    texts: HashMap<i64, Arc<str>>,
    text_bytes: usize,
}

/// The prefixes that this process knows.
#[derive(Debug, Default)]
pub(crate) struct PrefixTable(Mutex<State>);

impl PrefixTable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of those prefixes that have one.
    pub(crate) fn numbers(
        &self,
        workspace: Uuid,
        prefixes: &[Arc<Prefix>],
    ) -> Vec<(i64, Arc<Prefix>)> {
        let long = prefixes.iter().filter(|prefix| prefix.json().len() >= SHORTEST);
        let mut state = self.state();
        long.filter_map(|prefix| Some((state.number(workspace, prefix)?, prefix.clone()))).collect()
    }

    /// Whether [`PrefixTable::store_wanted`] has something to do.
    pub(crate) fn has_wanted(&self) -> bool {
        !self.state().wanted.is_empty()
    }

    /// Stores what was looked up in vain, and notes that it is in use.
    pub(crate) async fn store_wanted(&self, db: &Db) -> Result<(), StoreError> {
        let wanted: Vec<(PrefixKey, Arc<Prefix>)> = self.state().wanted.drain().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let since = Instant::now();
        let (workspaces, hashes): (Vec<Uuid>, Vec<&[u8]>) =
            wanted.iter().map(|((workspace, hash), _)| (*workspace, &hash[..])).unzip();
        let texts: Vec<&str> = wanted.iter().map(|(_, prefix)| prefix.json()).collect();
        let stored = sqlx::query_as(
            "insert into prompt_prefixes (workspace_id, hash, text, used_on)
             select workspace_id, hash, text, current_date
             from unnest($1::uuid[], $2::bytea[], $3::text[]) as new (workspace_id, hash, text)
             order by workspace_id, hash
             on conflict (workspace_id, hash) do update set used_on = excluded.used_on
             returning id, workspace_id, hash",
        );
        let stored = stored.bind(workspaces).bind(hashes).bind(texts);
        let stored: Vec<(i64, Uuid, Vec<u8>)> =
            stored.fetch_all(&mut *db.all_workspaces().await?).await?;
        let mut state = self.state();
        if state.known.len() > KNOWN {
            state.known.clear();
        }
        for (number, workspace, hash) in stored {
            if let Ok(hash) = hash.try_into() {
                state.known.insert((workspace, hash), KnownPrefix { number, since });
            }
        }
        Ok(())
    }

    /// The texts of these prefixes, on a connection that sees their workspaces. One that is not stored is missing.
    pub(crate) async fn texts(
        &self,
        connection: &mut PgConnection,
        numbers: HashSet<i64>,
    ) -> Result<HashMap<i64, Arc<str>>, StoreError> {
        let mut found: HashMap<i64, Arc<str>> = HashMap::new();
        let missing: Vec<i64> = {
            let state = self.state();
            let known = |number: &i64| state.texts.get(number).map(|text| (*number, text.clone()));
            found.extend(numbers.iter().filter_map(known));
            numbers.into_iter().filter(|number| !found.contains_key(number)).collect()
        };
        if missing.is_empty() {
            return Ok(found);
        }
        let read = sqlx::query_as("select id, text from prompt_prefixes where id = any($1)");
        let read: Vec<(i64, String)> = read.bind(missing).fetch_all(connection).await?;
        let mut state = self.state();
        for (number, text) in read {
            let text: Arc<str> = text.into();
            state.cache(number, &text);
            found.insert(number, text);
        }
        Ok(found)
    }
}

impl State {
    fn number(&mut self, workspace: Uuid, prefix: &Arc<Prefix>) -> Option<i64> {
        let key = (workspace, *prefix.digest());
        if let Some(known) = self.known.get(&key).filter(|known| known.since.elapsed() < TRUSTED) {
            return Some(known.number);
        }
        if self.seen.len() > KNOWN {
            self.seen.clear();
        }
        if !self.seen.insert(key) && self.wanted.len() < WANTED {
            self.wanted.insert(key, prefix.clone());
        }
        None
    }

    fn cache(&mut self, number: i64, text: &Arc<str>) {
        if self.text_bytes + text.len() > CACHED_BYTES {
            self.texts.clear();
            self.text_bytes = 0;
        }
        if self.texts.insert(number, text.clone()).is_none() {
            self.text_bytes += text.len();
        }
    }
}
