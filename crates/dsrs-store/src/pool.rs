//! The connections: how they are opened, and how long anything may wait for one.
//!
//! It may not know where the address came from. No other file reaches a pool: every connection and every
//! transaction that leaves this one has a setting that says which rows it sees (`isolation`).

use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, Postgres, Transaction};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::StoreError;
use super::changes::Changes;
use super::error::is_lost_connection;
use super::group_writer::GroupWriter;
use super::isolation::{self, Visible};
use super::listen::{Notifications, TRUSTED_IDLE};
use super::plan_age::{PLANNED_ONCE, PlanAge};
use super::replica::Replica;
use super::run_bodies::RunBodies;
use super::run_form;
use super::scope::InWorkspace;

/// Set on every pooled connection, so that no statement and no forgotten transaction of ours can hold a lock for good,
/// and that the triggers of the release before leave the usage of runs to `usage_count`. A session `set` passes
/// connection poolers that refuse start-up options.
const SESSION: &str = "set statement_timeout = '30s'; set lock_timeout = '10s'; \
     set idle_in_transaction_session_timeout = '60s'; set dsrs.counts_usage = 'on'";

/// Set on the connections of the writer and of leases besides. Their transactions wait for no client. If the server
/// is cut off in the middle of one, the writers of other servers, which need the same rows, wait for less than their
/// `lock_timeout`.
const BRIEF_TRANSACTIONS: &str = "set idle_in_transaction_session_timeout = '5s'";

const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a read waits for a connection to the replica.
const REPLICA_PATIENCE: Duration = Duration::from_secs(1);

/// How long an upload waits for a place: the one before it may write very much.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(30);

/// The pool has this many connections for each one of uploads.
const UPLOAD_SHARE: u32 = 4;

/// How the pool is made.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// At most this many connections are open, besides those of [`PoolSettings::connections`].
    pub max_connections: u32,
    /// How long a caller waits for a connection before [`StoreError::Unavailable`].
    pub acquire_timeout: Duration,
    /// Prepared statements cached by each connection.
    pub statement_cache: usize,
    /// How long look-ups may be cached without a confirmation that no change was missed.
    pub max_staleness: Duration,
    /// How long a migration waits for the locks of others.
    pub migration_patience: Duration,
    /// A replica that answers reads of what does not change.
    pub replica: Option<ReplicaSettings>,
}

/// How a replica is used.
#[derive(Clone, Debug)]
pub struct ReplicaSettings {
    /// Where it is.
    pub url: SecretString,
    /// How far it may be behind.
    pub max_lag: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            max_connections: 16,
            acquire_timeout: Duration::from_secs(5),
            statement_cache: 128,
            max_staleness: Duration::from_secs(5),
            migration_patience: Duration::from_secs(60),
            replica: None,
        }
    }
}

impl PoolSettings {
    /// The connections for uploads, besides those of the pool.
    fn uploads(&self) -> u32 {
        (self.max_connections / UPLOAD_SHARE).max(1)
    }

    /// The most connections of one server: the pool, those for uploads, and those for the recorder, for
    /// leases, for listening and for heartbeats.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.max_connections.saturating_add(self.uploads()).saturating_add(4)
    }
}

/// The database, as the rooms above hold it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db {
    pool: PgPool,
    /// One connection for leases. It sees all workspaces.
    leases: PgPool,
    /// One connection for the writer (`group_writer`). It sees all workspaces.
    recorder: PgPool,
    plan_age: Arc<PlanAge>,
    /// The connections for uploads, which hold them for long.
    uploads: PgPool,
    options: PgConnectOptions,
    /// Whether sessions change their role.
    pub(super) changes_role: bool,
    acquire_timeout: Duration,
    pub(super) migration_patience: Duration,
    graph_writers: Arc<Semaphore>,
    upload_writers: Arc<Semaphore>,
    pub(super) changes: Changes,
    pub(super) notifications: Notifications,
    /// The writer of this process, once there is one.
    pub(super) writer: Arc<OnceLock<GroupWriter>>,
    pub(super) replica: Option<Replica>,
    /// The installation, once it was read.
    pub(super) installation: Arc<OnceCell<Uuid>>,
    pub(super) bodies: Arc<RunBodies>,
}

/// The connections of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// What the pool is for.
    pub name: &'static str,
    /// Connections that are open.
    pub open: u32,
    /// Those of them that nobody uses.
    pub idle: u32,
    /// The most that it opens.
    pub max: u32,
}

impl Db {
    /// Opens the database at `url`, making one connection first: its error says what is wrong.
    pub async fn connect(url: &str, settings: &PoolSettings) -> Result<Self, StoreError> {
        let options = connect_options(url, settings)?;
        let changes = Changes::new(settings.max_staleness);
        let acquire_timeout = settings.acquire_timeout;
        let mut first = connect_within(&options, acquire_timeout).await?;
        let change_of_role = isolation::change_of_role(&mut first).await?;
        let bodies = Arc::new(RunBodies::default());
        // Before the migration there is no such column.
        bodies.set_compact(run_form::is_compact(&mut first).await.unwrap_or(false));
        first.close().await?;
        let prepare = |connections, visible: Visible, plans: &str| {
            let role = change_of_role.as_deref().unwrap_or_default();
            let brief = match visible {
                Visible::Everything => BRIEF_TRANSACTIONS,
                _ => "",
            };
            let session = format!("{SESSION}; {brief}; {plans}; {}; {role}", visible.set_session());
            // A new connection of the writer may be to another database, after a failover or a restore.
            let bodies = (visible == Visible::Everything).then(|| bodies.clone());
            pool_options(acquire_timeout, changes.clone(), session, bodies)
                .max_connections(connections)
        };
        let open = |connections, visible| {
            prepare(connections, visible, "").connect_lazy_with(options.clone())
        };
        let places = |count: u32| Arc::new(Semaphore::new(count as usize));
        let role = change_of_role.as_deref().unwrap_or_default();
        let replica =
            settings.replica.as_ref().map(|replica| open_replica(replica, settings, role));
        Ok(Self {
            replica: replica.transpose()?,
            pool: open(settings.max_connections, Visible::Nothing),
            leases: open(1, Visible::Everything),
            recorder: prepare(1, Visible::Everything, PLANNED_ONCE)
                .connect_lazy_with(options.clone()),
            plan_age: Arc::default(),
            uploads: open(settings.uploads(), Visible::Nothing),
            options,
            changes_role: change_of_role.is_some(),
            acquire_timeout,
            migration_patience: settings.migration_patience,
            graph_writers: places((settings.max_connections / 2).max(1)),
            upload_writers: places(settings.uploads()),
            changes,
            notifications: Notifications::default(),
            writer: Arc::default(),
            installation: Arc::default(),
            bodies,
        })
    }

    /// Whether the database answers; says no after two seconds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let ping = async { self.pool.acquire().await?.ping().await };
        match tokio::time::timeout(PING_TIMEOUT, ping).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(StoreError::unavailable("no answer to a ping within 2 s")),
        }
    }

    /// The time of the database's clock. Stored times are compared with this one: the clock of a server may
    /// be wrong.
    pub async fn now(&self) -> Result<DateTime<Utc>, StoreError> {
        let now = sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#);
        Ok(now.fetch_one(&mut *self.unscoped().await?).await?)
    }

    /// Closes every connection; later callers receive [`StoreError::Unavailable`].
    pub async fn close(&self) {
        for pool in [&self.pool, &self.uploads, &self.recorder, &self.leases] {
            pool.close().await;
        }
        if let Some(replica) = &self.replica {
            replica.close().await;
        }
    }

    /// A connection that sees the rows of one workspace. The setting is made before the connection is
    /// given out, whatever its last user left.
    pub(super) async fn scoped(
        &self,
        scope: &impl InWorkspace,
    ) -> Result<PoolConnection<Postgres>, StoreError> {
        self.connection(Visible::Workspace(scope.workspace())).await
    }

    /// A connection to the replica that sees the rows of one workspace. `None` if there is none, or it is not to
    /// be asked now.
    pub(super) async fn replica_scoped(
        &self,
        scope: &impl InWorkspace,
    ) -> Option<PoolConnection<Postgres>> {
        self.replica.as_ref()?.connection(Visible::Workspace(scope.workspace())).await
    }

    /// Sends the replica no queries until its lag is measured again.
    pub(super) fn give_up_replica(&self, error: &StoreError) {
        if let Some(replica) = &self.replica {
            replica.give_up(error);
        }
    }

    /// A transaction that sees the rows of one workspace. The setting needs no round trip of its own.
    pub(super) async fn begin(
        &self,
        scope: &impl InWorkspace,
    ) -> Result<Transaction<'static, Postgres>, StoreError> {
        let begin = Visible::Workspace(scope.workspace()).begin();
        self.first_answer(|| self.pool.begin_with(AssertSqlSafe(begin.clone()))).await
    }

    /// The transaction of an upload, over the connections for uploads: they delay each other and nothing
    /// else. The caller holds an [`Db::upload_place`].
    pub(super) async fn begin_upload(
        &self,
        scope: &impl InWorkspace,
    ) -> Result<Transaction<'static, Postgres>, StoreError> {
        let begin = Visible::Workspace(scope.workspace()).begin();
        Ok(self.uploads.begin_with(AssertSqlSafe(begin)).await?)
    }

    /// The pools with their connections.
    pub fn pool_sizes(&self) -> [PoolSize; 4] {
        let pools = [
            ("requests", &self.pool),
            ("uploads", &self.uploads),
            ("recorder", &self.recorder),
            ("leases", &self.leases),
        ];
        pools.map(|(name, pool)| PoolSize {
            name,
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            max: pool.options().get_max_connections(),
        })
    }

    /// A connection that sees all workspaces: for workers that claim jobs, and for the removal of old rows.
    pub(super) async fn all_workspaces(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.connection(Visible::Everything).await
    }

    /// A connection that sees no workspace: for notifications, and for tables that belong to none.
    pub(super) async fn unscoped(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.connection(Visible::Nothing).await
    }

    async fn connection(&self, visible: Visible) -> Result<PoolConnection<Postgres>, StoreError> {
        let prepare = || async move {
            let mut connection = self.pool.acquire().await?;
            sqlx::raw_sql(AssertSqlSafe(visible.set_session())).execute(&mut *connection).await?;
            Ok(connection)
        };
        self.first_answer(prepare).await
    }

    /// A connection with its first statement, which waits for nothing in the database: if no answer comes, the
    /// connection has turned silent while it was idle. If it was lost while it was idle, so were others perhaps: each
    /// that was idle at that time is tested from now on, and another one is taken.
    async fn first_answer<T, F>(&self, ask: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, sqlx::Error>>,
    {
        let patience = self.acquire_timeout + PING_TIMEOUT;
        let silent = |_| StoreError::unavailable("a connection is silent");
        match tokio::time::timeout(patience, ask()).await.map_err(silent)? {
            Err(error) if is_lost_connection(&error) => self.changes.report_lost_connection(),
            answer => return Ok(answer?),
        }
        Ok(tokio::time::timeout(patience, ask()).await.map_err(silent)??)
    }

    /// Whether Postgres applies row-level security to the sessions of the server. It does not to a
    /// superuser, or a role with BYPASSRLS, that may not change to another role.
    pub async fn is_isolated(&self) -> Result<bool, StoreError> {
        isolation::is_active(&mut *self.unscoped().await?).await
    }

    /// A place among the writers of graphs. A writer holds a connection while it waits for another
    /// writer of the same graph, and may need a second one for the graphs that its own names; as there
    /// are fewer places than connections, it gets that one, and so do all who only read.
    pub(super) async fn graph_place(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        place(&self.graph_writers, self.acquire_timeout).await
    }

    /// A place among the uploads. Each has one of [`Db::uploads`], for as long as it writes.
    pub(super) async fn upload_place(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        place(&self.upload_writers, UPLOAD_PATIENCE).await
    }

    /// The connection for leases, opened when it is first wanted. No request uses it. It sees all
    /// workspaces, without a round trip for the setting.
    pub(super) fn leases(&self) -> &PgPool {
        &self.leases
    }

    /// The connection of the writer. It sees all workspaces: one statement writes runs of many.
    pub(super) fn recorder(&self) -> &PgPool {
        &self.recorder
    }

    /// A transaction of the writer.
    pub(super) async fn begin_group(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        Ok(self.recorder.begin_with(self.plan_age.begin()).await?)
    }

    /// From now on this writer writes what background runs store. The first one stays.
    pub(super) fn use_writer(&self, writer: GroupWriter) {
        // A second one works for its recorder alone.
        let _ = self.writer.set(writer);
    }

    pub(super) fn acquire_timeout(&self) -> Duration {
        self.acquire_timeout
    }

    pub(super) fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// A connection outside the pools, with the role of the URL: for migrations and heartbeats. It reads
    /// and writes no rows of workspaces; row-level security may not hold for it.
    pub(super) async fn owner_connection(&self) -> Result<PgConnection, StoreError> {
        connect_within(&self.options, self.acquire_timeout).await
    }
}

async fn connect_within(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<PgConnection, StoreError> {
    match tokio::time::timeout(patience, options.connect()).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(StoreError::unavailable("no connection in time")),
    }
}

async fn place(
    places: &Arc<Semaphore>,
    patience: Duration,
) -> Result<OwnedSemaphorePermit, StoreError> {
    match tokio::time::timeout(patience, places.clone().acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(StoreError::unavailable("too many write at the same time")),
    }
}

/// `session` prepares every connection.
fn pool_options(
    acquire_timeout: Duration,
    changes: Changes,
    session: String,
    bodies: Option<Arc<RunBodies>>,
) -> PgPoolOptions {
    PgPoolOptions::new()
        .acquire_timeout(acquire_timeout)
        .idle_timeout(Duration::from_secs(600))
        .max_lifetime(Duration::from_secs(3600))
        .test_before_acquire(false)
        .before_acquire(move |connection, about| {
            let trusted = about.idle_for < TRUSTED_IDLE && changes.trusts(about.idle_for);
            Box::pin(async move { Ok(trusted || connection.ping().await.is_ok()) })
        })
        .after_release(|connection, _| Box::pin(answers(connection)))
        .after_connect(move |connection, _| {
            let session = AssertSqlSafe(session.clone());
            if let Some(bodies) = &bodies {
                bodies.clear();
            }
            Box::pin(async move { sqlx::raw_sql(session).execute(connection).await.map(drop) })
        })
}

/// Whether a connection that is returned answers in time. The test that the pool makes itself has no limit: a silent
/// connection would have its place in the pool until the network reports it, after a quarter of an hour.
async fn answers(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let tested = tokio::time::timeout(PING_TIMEOUT, connection.ping()).await;
    tested.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map(|()| true)
}

/// Opens no connection yet: the replica may be away.
fn open_replica(
    replica: &ReplicaSettings,
    settings: &PoolSettings,
    role: &str,
) -> Result<Replica, StoreError> {
    let options = connect_options(replica.url.expose_secret(), settings)?;
    let session = format!("{SESSION}; {}; {role}", Visible::Nothing.set_session());
    // The database itself answers if the replica does not at once.
    let pool = PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(REPLICA_PATIENCE)
        .after_release(|connection, _| Box::pin(answers(connection)))
        .after_connect(move |connection, _| {
            let session = AssertSqlSafe(session.clone());
            Box::pin(async move { sqlx::raw_sql(session).execute(connection).await.map(drop) })
        });
    Ok(Replica::new(pool.connect_lazy_with(options), replica.max_lag))
}

fn connect_options(url: &str, settings: &PoolSettings) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(url)?
        .application_name("dsrs-server")
        .statement_cache_capacity(settings.statement_cache);
    Ok(options.disable_statement_logging())
}
