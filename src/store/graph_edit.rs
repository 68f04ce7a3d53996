//! Changing a graph: one writer at a time holds its row from look to commit, so that two writers
//! are serialised and never merged. What to write is computed by the caller in between.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::graph::{self, GraphRef, GraphRow, Pick};
use super::graph_version::{self, NewVersion};
use super::state::{self, NewState, StateRow};
use super::{Db, Scope, StoreError};

/// What the caller believes to be current (`If-Match`); checked under the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is newest.
    #[default]
    Newest,
    /// This graph (an earlier one of the same name is stale) at this version.
    Graph {
        /// The id.
        id: Uuid,
        /// The newest graph version.
        version: i32,
    },
    /// This graph, with this state in force.
    State {
        /// The graph's id.
        id: Uuid,
        /// The state version in force.
        version: i32,
    },
}

/// A graph whose row is locked. Dropping it lets go and changes nothing.
pub struct LockedGraph {
    tx: Transaction<'static, Postgres>,
    db: Db,
    scope: Scope,
    head: GraphRow,
    newest_state: i32,
}

/// Locks a graph for one change; waits while another writer holds it.
pub async fn lock(
    scope: &Scope,
    db: &Db,
    graph: &GraphRef,
    expect: Expect,
) -> Result<LockedGraph, StoreError> {
    let mut tx = db.pool().begin().await?;
    let locked = sqlx::query!(
        "select id, state_version from graphs
         where workspace_id = $1 and deleted_at is null and (id = $2 or name = $3)
         for no key update",
        scope.workspace,
        graph.id(),
        graph.name()
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| graph.not_found())?;
    // a second statement, so that it sees what the writer before us committed
    let head = graph::find(scope, &mut tx, &GraphRef::Id(locked.id), Pick::NEWEST).await?;
    let head = head.ok_or_else(|| graph.not_found())?;
    check(expect, &head)?;
    let newest_state = locked.state_version;
    Ok(LockedGraph { tx, db: db.clone(), scope: scope.clone(), head, newest_state })
}

fn check(expect: Expect, head: &GraphRow) -> Result<(), StoreError> {
    let (current, fresh) = match expect {
        Expect::Newest => return Ok(()),
        Expect::Graph { id, version } => (head.version, (id, version) == (head.id, head.version)),
        Expect::State { id, version } => {
            (head.state.version, (id, version) == (head.id, head.state.version))
        }
    };
    if fresh { Ok(()) } else { Err(StoreError::Stale { current }) }
}

impl LockedGraph {
    /// The newest version and the state in force, as they stay until this lock is let go.
    pub fn head(&self) -> &GraphRow {
        &self.head
    }

    /// Writes the next graph version with the state that carries over to it, in force.
    pub async fn put_version(
        mut self,
        version: NewVersion<'_>,
        state: NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<GraphRow, StoreError> {
        let (id, next, next_state) = (self.head.id, self.head.version + 1, self.newest_state + 1);
        graph_version::insert(&self.scope, &mut self.tx, id, next, &version, at).await?;
        let state =
            state::insert(&self.scope, &mut self.tx, id, next_state, next, &state, at).await?;
        state::put_in_force(&self.scope, &mut self.tx, id, &state, at).await?;
        set_newest(&mut self.tx, id, next, next_state).await?;
        self.db.commit_change(self.tx).await?;
        Ok(GraphRow {
            newest_version: next,
            version: next,
            description: version.description.map(str::to_owned),
            format: version.format,
            definition: version.definition.to_owned(),
            content_hash: version.content_hash.to_owned(),
            updated_at: at,
            created_by: self.scope.actor.to_string(),
            state,
            ..self.head
        })
    }

    /// Writes the next state version for the newest graph version, and puts it in force.
    pub async fn put_state(
        self,
        new: NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        self.write_state(new, at, true).await
    }

    /// Writes the next state version without putting it in force: a candidate.
    pub async fn add_state(
        self,
        new: NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        self.write_state(new, at, false).await
    }

    async fn write_state(
        mut self,
        new: NewState<'_>,
        at: DateTime<Utc>,
        activate: bool,
    ) -> Result<StateRow, StoreError> {
        let (id, version, next) = (self.head.id, self.head.version, self.newest_state + 1);
        let state = state::insert(&self.scope, &mut self.tx, id, next, version, &new, at).await?;
        if activate {
            state::put_in_force(&self.scope, &mut self.tx, id, &state, at).await?;
        }
        set_newest(&mut self.tx, id, version, next).await?;
        self.db.commit_change(self.tx).await?;
        Ok(state)
    }

    /// Puts a state version in force: promotion and rollback are this one act. One that was made
    /// for an older graph version is [`StoreError::StateMismatch`].
    pub async fn activate_state(
        mut self,
        version: i32,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        let state = state::find(&self.scope, &mut self.tx, self.head.id, version).await?;
        graph::fits(version, state.graph_version, self.head.version)?;
        if state.version != self.head.state.version {
            state::put_in_force(&self.scope, &mut self.tx, self.head.id, &state, at).await?;
            self.db.commit_change(self.tx).await?;
        }
        Ok(state)
    }

    /// Deletes the graph softly: its runs stay, its name is free.
    pub async fn delete(mut self, at: DateTime<Utc>) -> Result<(), StoreError> {
        sqlx::query!(
            "update graphs set deleted_at = $2, deleted_by = $3 where id = $1",
            self.head.id,
            at,
            &*self.scope.actor
        )
        .execute(&mut *self.tx)
        .await?;
        self.db.commit_change(self.tx).await
    }
}

async fn set_newest(
    connection: &mut PgConnection,
    graph: Uuid,
    version: i32,
    state_version: i32,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update graphs set version = $2, state_version = $3 where id = $1",
        graph,
        version,
        state_version
    )
    .execute(connection)
    .await?;
    Ok(())
}
