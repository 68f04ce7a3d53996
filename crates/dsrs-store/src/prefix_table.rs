//! Prefixes of prompts that runs share, each stored once in its workspace: under which number a run that ends refers to
//! one, and the texts for runs that are read. May not know the layout of a body.
//!
//! A look-up for a run that ends never waits. A prefix without a number becomes pending, and `store_pending` stores it
//! in the background; until then runs have the text itself. A prefix becomes pending with its second run: one that
//! depends on the inputs is worth no row.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use dsrs::lm::Prefix;
use sqlx::PgConnection;
use uuid::Uuid;

use super::run_body::PrefixMark;
use super::{Db, StoreError};

/// How long a number is used without asking the database, which notes the day. Rows that were not used for days are
/// removed (`run_text_removal`).
const VALIDITY: Duration = Duration::from_secs(6 * 3600);

/// The lengths of texts that are worth a row. A longer one would fill the memory of servers.
const STORED_BYTES: std::ops::RangeInclusive<usize> = 128..=256 << 10;

/// The prefixes of one run that are looked for in its trace.
const RUN_PREFIXES: usize = 32;

/// The entries of each map.
const MAP_CAPACITY: usize = 8192;

/// Prefixes that are stored at once.
const PENDING_CAPACITY: usize = 64;

/// The texts in memory for readers.
const TEXT_BYTES: usize = 4 << 20;

/// A prefix of a workspace by the hash of its text.
type PrefixKey = (Uuid, [u8; 32]);

/// A stored text.
#[derive(Clone, Debug)]
pub(crate) struct StoredPrefix {
    pub(crate) mark: PrefixMark,
    pub(crate) text: Arc<str>,
}

/// A number, and when the database said so.
#[derive(Debug)]
struct KnownNumber {
    number: i64,
    confirmed: SystemTime,
}

#[derive(Debug, Default)]
struct State {
    numbers: HashMap<PrefixKey, KnownNumber>,
    /// Prefixes of one run so far.
    single: HashSet<PrefixKey>,
    pending: HashMap<PrefixKey, Arc<Prefix>>,
    texts: HashMap<i64, StoredPrefix>,
    text_bytes: usize,
}

/// The prefixes that this process knows.
#[derive(Debug, Default)]
pub(crate) struct PrefixTable(Mutex<State>);

impl PrefixTable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of those prefixes of a run that have one. `true` if one has become pending.
    pub(crate) fn numbers(
        &self,
        workspace: Uuid,
        prefixes: &[Arc<Prefix>],
    ) -> (Vec<(i64, Arc<Prefix>)>, bool) {
        let keys = keys(workspace, prefixes);
        let (mut numbers, mut is_pending) = (Vec::new(), false);
        let mut state = self.state();
        for (key, prefix) in keys {
            match state.number(&key) {
                Some(number) => numbers.push((number, prefix.clone())),
                None => is_pending |= state.add_pending(key, prefix),
            }
        }
        (numbers, is_pending)
    }

    /// The same without making one pending.
    pub(crate) fn known(
        &self,
        workspace: Uuid,
        prefixes: &[Arc<Prefix>],
    ) -> Vec<(i64, Arc<Prefix>)> {
        let keys = keys(workspace, prefixes);
        let state = self.state();
        let number = |(key, prefix): (&PrefixKey, &&Arc<Prefix>)| {
            Some((state.number(key)?, Arc::clone(prefix)))
        };
        keys.iter().filter_map(number).collect()
    }

    /// Forgets every number and every text: the database may be another one.
    pub(crate) fn clear(&self) {
        *self.state() = State::default();
    }

    /// Stores what is pending, and notes that it is in use.
    pub(crate) async fn store_pending(&self, db: &Db) -> Result<(), StoreError> {
        let mut pending: Vec<(PrefixKey, Arc<Prefix>)> = self.state().pending.drain().collect();
        if pending.is_empty() {
            return Ok(());
        }
        // Servers that store the same prefixes wait for each other, in one order.
        pending.sort_unstable_by_key(|(key, _)| *key);
        let confirmed = SystemTime::now();
        let stored = store(&mut *db.all_workspaces().await?, &pending).await?;
        let mut state = self.state();
        if state.numbers.len() > MAP_CAPACITY {
            state.numbers.clear();
        }
        for (number, workspace, hash) in stored {
            if let Ok(hash) = hash.try_into() {
                state.numbers.insert((workspace, hash), KnownNumber { number, confirmed });
            }
        }
        Ok(())
    }

    /// The texts of these prefixes, on a connection that sees their workspaces. One that is not stored is missing.
    pub(crate) async fn texts(
        &self,
        connection: &mut PgConnection,
        numbers: HashSet<i64>,
    ) -> Result<HashMap<i64, StoredPrefix>, StoreError> {
        let mut found: HashMap<i64, StoredPrefix> = HashMap::new();
        let missing: Vec<i64> = {
            let state = self.state();
            let known = |number: &i64| state.texts.get(number).map(|text| (*number, text.clone()));
            found.extend(numbers.iter().filter_map(known));
            numbers.into_iter().filter(|number| !found.contains_key(number)).collect()
        };
        if missing.is_empty() {
            return Ok(found);
        }
        let read = sqlx::query_as("select id, hash, text from prompt_prefixes where id = any($1)");
        let read: Vec<(i64, Vec<u8>, String)> = read.bind(missing).fetch_all(connection).await?;
        let mut state = self.state();
        for (number, hash, text) in read {
            let mark = mark_of(&hash);
            let stored = StoredPrefix { mark, text: text.into() };
            state.cache(number, &stored);
            found.insert(number, stored);
        }
        Ok(found)
    }
}

/// The prefixes that may have a row, by their keys. Hashing needs no lock. Equal prefixes of a run count once.
fn keys(workspace: Uuid, prefixes: &[Arc<Prefix>]) -> HashMap<PrefixKey, &Arc<Prefix>> {
    let stored = prefixes.iter().filter(|prefix| STORED_BYTES.contains(&prefix.json().len()));
    stored.take(RUN_PREFIXES).map(|prefix| ((workspace, *prefix.digest()), prefix)).collect()
}

/// The mark of a hash.
pub(crate) fn mark_of(hash: &[u8]) -> PrefixMark {
    hash.first_chunk().copied().unwrap_or_default()
}

/// Adds the prefixes that are missing; returns the numbers of all.
async fn store(
    connection: &mut PgConnection,
    prefixes: &[(PrefixKey, Arc<Prefix>)],
) -> Result<Vec<(i64, Uuid, Vec<u8>)>, StoreError> {
    let (workspaces, hashes): (Vec<Uuid>, Vec<&[u8]>) =
        prefixes.iter().map(|((workspace, hash), _)| (*workspace, &hash[..])).unzip();
    let texts: Vec<&str> = prefixes.iter().map(|(_, prefix)| prefix.json()).collect();
    let added = sqlx::query(
        "insert into prompt_prefixes (workspace_id, hash, text, used_on)
         select workspace_id, hash, text, current_date
         from unnest($1::uuid[], $2::bytea[], $3::text[]) as new (workspace_id, hash, text)
         order by workspace_id, hash
         on conflict (workspace_id, hash) do update set used_on = excluded.used_on
         where prompt_prefixes.used_on < excluded.used_on",
    );
    added.bind(&workspaces).bind(&hashes).bind(texts).execute(&mut *connection).await?;
    // Another one may be removed between the two statements: it is not found then, and becomes pending again.
    let stored = sqlx::query_as(
        "select id, workspace_id, hash
         from prompt_prefixes join unnest($1::uuid[], $2::bytea[]) as new (workspace_id, hash)
              using (workspace_id, hash)
         where used_on = current_date",
    );
    Ok(stored.bind(workspaces).bind(hashes).fetch_all(connection).await?)
}

impl State {
    fn number(&self, key: &PrefixKey) -> Option<i64> {
        // A clock that was set back says nothing of the age.
        let is_valid = |known: &&KnownNumber| {
            known.confirmed.elapsed().is_ok_and(|elapsed| elapsed < VALIDITY)
        };
        self.numbers.get(key).filter(is_valid).map(|known| known.number)
    }

    /// True if it is pending now.
    fn add_pending(&mut self, key: PrefixKey, prefix: &Arc<Prefix>) -> bool {
        if self.single.len() > MAP_CAPACITY {
            self.single.clear();
        }
        let is_repeated = !self.single.insert(key);
        let has_room = self.pending.len() < PENDING_CAPACITY;
        if is_repeated && has_room {
            self.pending.insert(key, prefix.clone());
        }
        is_repeated && has_room
    }

    fn cache(&mut self, number: i64, stored: &StoredPrefix) {
        if self.text_bytes + stored.text.len() > TEXT_BYTES {
            self.texts.clear();
            self.text_bytes = 0;
        }
        if self.texts.insert(number, stored.clone()).is_none() {
            self.text_bytes += stored.text.len();
        }
    }
}
