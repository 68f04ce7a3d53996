//! Changing a graph: one writer at a time holds its row from look to commit, so that two writers
//! are serialised and never merged. What to write is computed by the caller in between.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::graph::{self, GraphRef, GraphRow, VersionSelection};
use super::graph_version::{self, NewGraphVersion};
use super::job::{self, Lease};
use super::state::{self, NewState, StateRow};
use super::state_activation::{self, put_in_force};
use super::{Db, Scope, StoreError, exposed_graph};

/// What the caller believes to be current (`If-Match`); checked under the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Whatever is newest.
    #[default]
    Newest,
    /// This graph (an earlier one of the same name is stale) at this version.
    Graph {
        id: Uuid,
        /// The newest graph version.
        version: i32,
    },
    /// This graph, with this state active.
    State {
        /// The graph's id.
        id: Uuid,
        /// The active state version.
        version: i32,
    },
}

/// A graph whose row is locked. Dropping it releases the lock and changes nothing.
pub struct LockedGraph {
    tx: Transaction<'static, Postgres>,
    db: Db,
    scope: Scope,
    head: GraphRow,
    newest_state: i32,
    _place: OwnedSemaphorePermit,
}

/// Locks a graph for one change; waits while another writer holds it.
pub async fn lock(
    scope: &Scope,
    db: &Db,
    graph: &GraphRef,
    expect: ExpectedVersion,
) -> Result<LockedGraph, StoreError> {
    let place = db.graph_place().await?;
    let mut tx = db.begin(scope).await?;
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
    let head =
        graph::find(scope, &mut tx, &GraphRef::Id(locked.id), VersionSelection::NEWEST).await?;
    let head = head.ok_or_else(|| graph.not_found())?;
    check(expect, &head)?;
    let newest_state = locked.state_version;
    let (db, scope) = (db.clone(), scope.clone());
    Ok(LockedGraph { tx, db, scope, head, newest_state, _place: place })
}

fn check(expect: ExpectedVersion, head: &GraphRow) -> Result<(), StoreError> {
    let (current, fresh) = match expect {
        ExpectedVersion::Newest => return Ok(()),
        ExpectedVersion::Graph { id, version } => {
            (head.version, (id, version) == (head.id, head.version))
        }
        ExpectedVersion::State { id, version } => {
            (head.state.version, (id, version) == (head.id, head.state.version))
        }
    };
    if fresh { Ok(()) } else { Err(StoreError::Stale { current }) }
}

impl LockedGraph {
    /// The newest version and the active state, as they stay until this lock is released.
    pub fn head(&self) -> &GraphRow {
        &self.head
    }

    /// Waits until no other graph of the workspace takes names, which lasts until this lock is released.
    pub async fn await_exposure_turn(&mut self) -> Result<(), StoreError> {
        exposed_graph::await_turn(&self.scope, &mut self.tx).await
    }

    /// Writes the next graph version with a state for it, and activates the state. `by` is the
    /// optimization that does it, if no client does.
    pub async fn put_version(
        mut self,
        version: NewGraphVersion<'_>,
        state: NewState<'_>,
        by: Option<Uuid>,
        at: DateTime<Utc>,
    ) -> Result<GraphRow, StoreError> {
        let (id, next, next_state) = (self.head.id, self.head.version + 1, self.newest_state + 1);
        graph_version::insert(&self.scope, &mut self.tx, id, next, &version, at).await?;
        let state =
            state::insert(&self.scope, &mut self.tx, id, next_state, next, &state, at).await?;
        put_in_force(&self.scope, &mut self.tx, id, &state, by, at).await?;
        set_newest(&mut self.tx, id, next, next_state).await?;
        self.record(AuditAction::Change, "graph", Some(next), at).await?;
        self.db.commit_change(self.tx, self.head.id, &self.head.name).await?;
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

    /// Writes the next state version for the newest graph version, and activates it.
    pub async fn put_state(
        mut self,
        new: NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        let state = self.write_state(self.head.version, &new, at).await?;
        let id = self.head.id;
        put_in_force(&self.scope, &mut self.tx, id, &state, new.optimization, at).await?;
        self.record(AuditAction::Change, "state", Some(state.version), at).await?;
        self.db.commit_change(self.tx, self.head.id, &self.head.name).await?;
        Ok(state)
    }

    /// Writes the next state version, for any graph version, without activating it: a
    /// candidate. One that the same optimization has written before is given instead, so that who
    /// begins again writes nothing twice.
    pub async fn add_state(
        mut self,
        graph_version: i32,
        new: NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        let (scope, id) = (&self.scope, self.head.id);
        let made = state::made_by(scope, &mut self.tx, id, graph_version, &new).await?;
        if let Some(version) = made {
            return state::find(scope, &mut self.tx, id, version).await;
        }
        let state = self.write_state(graph_version, &new, at).await?;
        self.record(AuditAction::Create, "state", Some(state.version), at).await?;
        self.db.commit_change(self.tx, self.head.id, &self.head.name).await?;
        Ok(state)
    }

    async fn write_state(
        &mut self,
        graph_version: i32,
        new: &NewState<'_>,
        at: DateTime<Utc>,
    ) -> Result<StateRow, StoreError> {
        let (id, next) = (self.head.id, self.newest_state + 1);
        let tx = &mut self.tx;
        let state = state::insert(&self.scope, tx, id, next, graph_version, new, at).await?;
        set_newest(tx, id, self.head.version, next).await?;
        Ok(state)
    }

    /// A state version, and the active one for the graph version that it was made for.
    pub async fn state(&mut self, version: i32) -> Result<(StateRow, i32), StoreError> {
        let id = self.head.id;
        let state = state::find(&self.scope, &mut self.tx, id, version).await?;
        let now = state_activation::in_force(&mut self.tx, id, state.graph_version).await?;
        Ok((state, now))
    }

    /// The last activation by an optimization: the graph version and the state
    /// version. Whether they still are is not said.
    pub async fn put_by(&mut self, optimization: Uuid) -> Result<Option<(i32, i32)>, StoreError> {
        let (workspace, id) = (self.scope.workspace, self.head.id);
        state_activation::made_by(&mut self.tx, workspace, id, optimization).await
    }

    /// Whether a job is still held; if so it stays with its holder until this lock is let go.
    pub async fn holds(&mut self, lease: Lease) -> Result<bool, StoreError> {
        job::lock(&mut self.tx, lease).await
    }

    /// Activates a state version for the graph version that it was made for: promotion and
    /// rollback are this one act. `optimization` is the one that does it, if no client does.
    pub async fn activate_state(
        mut self,
        state: &StateRow,
        optimization: Option<Uuid>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        put_in_force(&self.scope, &mut self.tx, self.head.id, state, optimization, at).await?;
        self.record(AuditAction::Activate, "state", Some(state.version), at).await?;
        self.db.commit_change(self.tx, self.head.id, &self.head.name).await
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
        self.record(AuditAction::Delete, "graph", None, at).await?;
        self.db.commit_change(self.tx, self.head.id, &self.head.name).await
    }

    /// Adds the change to the audit log.
    async fn record(
        &mut self,
        action: AuditAction,
        kind: &'static str,
        version: Option<i32>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let named = AuditThing::named(kind, self.head.id, &self.head.name);
        let thing = AuditThing { version, ..named };
        audit::add(&self.scope, &mut self.tx, action, thing, at).await
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
