//! The connection that listens to other servers, and the channels that pass their notifications on
//! within the process. May not know what the receivers do.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::PgConnection;
use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use tokio::sync::{Notify, broadcast};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::cancellation::Cancellation;
use super::changes::{self, ListeningGuard};
use super::heartbeat::{self, Heartbeat};
use super::model_demand::{self, AnnouncedLoads};
use super::{Db, StoreError, job, run_event};

/// A pooled connection that was idle for longer is tested before it is used. A busier one is trusted
/// while the listening connection is open: if that one was lost, others may be lost too, and it needs
/// at least this long to come back.
pub(super) const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// The pause before the listening connection is opened again.
const RETRY: Duration = TRUSTED_IDLE;

/// Heartbeats that are sent in the time for which one counts.
const HEARTBEATS: u32 = 5;

/// The connection is given up when a heartbeat takes as long as this many: the time that is left suffices
/// for another connection.
const PATIENT_HEARTBEATS: u32 = 3;

/// How long the first heartbeat may take when the server starts.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(10);

/// Why a server does not start that receives no notifications.
const NO_NOTIFICATIONS: &str = "its notifications do not arrive (LISTEN), as behind a connection pooler in \
     transaction mode; name Postgres itself, or a pooler in session mode";

/// All channels.
const CHANNELS: [&str; 7] = [
    changes::CHANNEL,
    changes::KEYS,
    job::CANCELLED,
    job::QUEUED,
    run_event::CHANNEL,
    heartbeat::CHANNEL,
    model_demand::CHANNEL,
];

/// Cancellations that are buffered. Those that are missed are found in the database (`cancellation`).
const CANCELLATIONS: usize = 256;

/// Announcements of loads that are buffered. A server that misses some announces its own again.
const LOADS: usize = 1024;

/// The shortest time between two transactions that notify: their commits wait for each other, on the whole
/// database server.
const ANNOUNCEMENT_PAUSE: Duration = Duration::from_millis(20);

/// The runs that one notification names; its text has at most 8,000 bytes.
const ANNOUNCED_RUNS: usize = 200;

/// The runs and cancellations that wait to be announced, each. Those beyond it are found by polling.
const PENDING_NEWS: usize = 20_000;

/// Notifications of other servers, other than changes of graphs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Notifications(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    /// Wakes the worker of this process.
    queued: Notify,
    /// Wakes the task that notifies other servers.
    unannounced: Notify,
    news: Mutex<News>,
    cancelled: broadcast::Sender<Cancellation>,
    /// Loads of models, in the order in which all servers receive them.
    loads: broadcast::Sender<AnnouncedLoads>,
    /// The followers of each run.
    followed: Mutex<HashMap<Uuid, Weak<Notify>>>,
}

/// What other servers are to know.
#[derive(Debug, Default)]
struct News {
    /// There are claimable jobs.
    has_jobs: bool,
    /// Runs with new events or another record.
    runs: HashSet<Uuid>,
    cancellations: Vec<Cancellation>,
    /// The loads of models on this server, if they have changed.
    loads: Option<AnnouncedLoads>,
}

impl News {
    /// The notifications, as channels and texts.
    fn notifications(&self) -> (Vec<&'static str>, Vec<String>) {
        let jobs = self.has_jobs.then(|| (job::QUEUED, String::new()));
        let runs: Vec<String> = self.runs.iter().map(Uuid::to_string).collect();
        let runs = runs.chunks(ANNOUNCED_RUNS).map(|some| (run_event::CHANNEL, some.join(" ")));
        let cancelled = self.cancellations.iter().map(|one| (job::CANCELLED, one.payload()));
        let loads = self.loads.iter().flat_map(AnnouncedLoads::payloads);
        let loads = loads.map(|payload| (model_demand::CHANNEL, payload));
        jobs.into_iter().chain(runs).chain(cancelled).chain(loads).unzip()
    }
}

impl Default for Notifications {
    fn default() -> Self {
        let (cancelled, loads) =
            (broadcast::Sender::new(CANCELLATIONS), broadcast::Sender::new(LOADS));
        let (queued, unannounced) = (Notify::new(), Notify::new());
        let (news, followed) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Channels { queued, unannounced, news, cancelled, loads, followed }))
    }
}

impl Notifications {
    /// Waits for a claimable job. Jobs that were added since the last wait count.
    pub async fn job_queued(&self) {
        self.0.queued.notified().await;
    }

    /// Wakes workers, once a claimable job is committed: that of this process at once, others soon.
    pub(super) fn announce_job(&self) {
        self.0.queued.notify_one();
        self.news(|news| news.has_jobs = true);
    }

    /// Wakes the followers of a run, once its events or its record are committed.
    pub(super) fn announce_events(&self, run: Uuid) {
        self.wake_followers(run);
        self.news(|news| {
            // Without a connection they would gather; followers look for themselves from time to time.
            if news.runs.len() < PENDING_NEWS {
                news.runs.insert(run);
            }
        });
    }

    /// Announces a cancellation, once it is committed. This server receives it, too.
    pub(super) fn announce_cancellation(&self, cancelled: Cancellation) {
        self.news(|news| {
            if news.cancellations.len() < PENDING_NEWS {
                news.cancellations.push(cancelled);
            }
        });
    }

    /// Announces the loads of models on this server. It receives them, too. Later ones replace those that are
    /// not announced yet.
    pub fn announce_loads(&self, loads: AnnouncedLoads) {
        self.news(|news| news.loads = Some(loads));
    }

    /// Loads of models on all servers, from now on.
    pub fn loads(&self) -> broadcast::Receiver<AnnouncedLoads> {
        self.0.loads.subscribe()
    }

    fn news<T>(&self, change: impl FnOnce(&mut News) -> T) -> T {
        let changed = change(&mut self.0.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.unannounced.notify_one();
        changed
    }

    /// Notifies, while it exists, of new events of a run on any server. Events are missed while the
    /// connection is lost: look for them from time to time, too.
    pub fn events_of(&self, run: Uuid) -> Arc<Notify> {
        let mut followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = followed.get(&run).and_then(Weak::upgrade) {
            return known;
        }
        followed.retain(|_, followers| followers.strong_count() > 0);
        let followers = Arc::new(Notify::new());
        followed.insert(run, Arc::downgrade(&followers));
        followers
    }

    fn take_news(&self) -> News {
        std::mem::take(&mut self.0.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wake_followers(&self, run: Uuid) {
        let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followers) = followed.get(&run).and_then(Weak::upgrade) {
            followers.notify_waiters();
        }
    }

    /// Cancellations of runs and jobs, from now on. They are requests of clients: what they name may not
    /// exist, or belong to another workspace.
    pub fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.0.cancelled.subscribe()
    }
}

impl Db {
    /// Notifications of other servers, other than changes of graphs.
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Listens to other servers, and notifies them. Reconnects after a lost connection. Looks at the replica, too.
    /// Never ends: run it as a task, and drop it to stop.
    pub async fn watch(&self) {
        let replica = async {
            if let Some(replica) = &self.replica {
                replica.watch(self).await;
            }
        };
        tokio::join!(self.listen_always(), self.announce_always(), replica);
    }

    /// Whether notifications arrive. They do not behind a connection pooler in transaction mode; the locks
    /// of migrations would not hold there, either.
    pub async fn check_notifications(&self) -> Result<(), StoreError> {
        let (mut listener, mut sender) = self.open_listener().await?;
        let heartbeat = Heartbeat::new();
        let arrives = async {
            tokio::select! {
                lost = self.receive_always(&mut listener, &heartbeat) => lost,
                arrived = heartbeat.beat(&mut sender, 1) => arrived,
            }
        };
        match timeout(FIRST_HEARTBEAT, arrives).await {
            Ok(arrived) => arrived,
            Err(_) => Err(StoreError::internal(NO_NOTIFICATIONS)),
        }
    }

    async fn listen_always(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "lost the connection that listens to other servers");
            }
            sleep(RETRY).await;
        }
    }

    async fn listen(&self) -> Result<(), StoreError> {
        let _guard = ListeningGuard(&self.changes);
        let (mut listener, mut sender) = self.open_listener().await?;
        // A change may have been missed without a connection.
        self.changes.interrupt();
        let heartbeat = Heartbeat::new();
        tokio::select! {
            lost = self.receive_always(&mut listener, &heartbeat) => lost,
            silent = self.beat_always(&mut sender, &heartbeat) => silent,
        }
    }

    /// Opens the connection that listens, and one that sends heartbeats to it.
    async fn open_listener(&self) -> Result<(PgListener, PgConnection), StoreError> {
        let listener = async {
            // A pool of its own: this connection is never returned.
            let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
            let own = own.connect_lazy_with(self.options());
            let mut listener = PgListener::connect_with(&own).await?;
            listener.eager_reconnect(false);
            listener.listen_all(CHANNELS).await?;
            Ok::<_, StoreError>(listener)
        };
        let sender = async {
            let mut sender = self.owner_connection().await?;
            // A heartbeat need not survive a crash of Postgres.
            sqlx::raw_sql("set synchronous_commit = off").execute(&mut sender).await?;
            Ok::<_, StoreError>(sender)
        };
        let opening = async { tokio::try_join!(listener, sender) };
        let late = |_| Err(StoreError::unavailable("no listening connection in time"));
        timeout(2 * self.acquire_timeout(), opening).await.unwrap_or_else(late)
    }

    /// Receives notifications until the connection is lost.
    async fn receive_always(
        &self,
        listener: &mut PgListener,
        heartbeat: &Heartbeat,
    ) -> Result<(), StoreError> {
        while let Some(notification) = listener.try_recv().await? {
            self.pass_on(&notification, heartbeat);
        }
        Err(StoreError::unavailable("the listening connection was closed"))
    }

    /// Sends heartbeats until one does not arrive: a connection may be silent without being closed.
    async fn beat_always(
        &self,
        sender: &mut PgConnection,
        heartbeat: &Heartbeat,
    ) -> Result<(), StoreError> {
        let pause = self.changes.max_staleness() / HEARTBEATS;
        for number in 1.. {
            let sent = Instant::now();
            let Ok(arrived) =
                timeout(PATIENT_HEARTBEATS * pause, heartbeat.beat(sender, number)).await
            else {
                tracing::warn!("notifications of other servers do not arrive; connecting again");
                return Err(StoreError::unavailable("a heartbeat did not arrive in time"));
            };
            arrived?;
            self.changes.confirm(sent);
            sleep(pause).await;
        }
        Ok(())
    }

    fn pass_on(&self, notification: &PgNotification, heartbeat: &Heartbeat) {
        match notification.channel() {
            heartbeat::CHANNEL => heartbeat.receive(notification.payload()),
            changes::CHANNEL => self.changes.receive(notification.payload()),
            changes::KEYS => self.changes.bump_keys(),
            job::QUEUED => self.notifications.0.queued.notify_one(),
            run_event::CHANNEL => {
                // Older releases announce one run at a time.
                let runs = notification.payload().split(' ').map(Uuid::try_parse);
                runs.flatten().for_each(|run| self.notifications.wake_followers(run));
            }
            model_demand::CHANNEL => {
                if let Some(loads) = AnnouncedLoads::parse(notification.payload()) {
                    // As for cancellations.
                    let _ = self.notifications.0.loads.send(loads);
                }
            }
            _ => {
                if let Some(cancellation) = Cancellation::parse(notification.payload()) {
                    // An error means that there is no receiver, which is fine.
                    let _ = self.notifications.0.cancelled.send(cancellation);
                }
            }
        }
    }

    /// Notifies other servers, with one transaction for all that happened meanwhile. Notifications that fail
    /// are not repeated: workers and followers look for themselves from time to time, too.
    async fn announce_always(&self) {
        loop {
            self.notifications.0.unannounced.notified().await;
            let news = self.notifications.take_news();
            if let Err(error) = self.announce(&news).await {
                tracing::debug!(%error, "could not notify other servers");
            }
            sleep(ANNOUNCEMENT_PAUSE).await;
        }
    }

    async fn announce(&self, news: &News) -> Result<(), StoreError> {
        let (channels, texts) = news.notifications();
        if channels.is_empty() {
            return Ok(());
        }
        // A notification need not survive a crash of Postgres, so nothing waits for a flush.
        let notify = sqlx::query(
            "select set_config('synchronous_commit', 'off', true), pg_notify(channel, text)
             from unnest($1::text[], $2::text[]) as news (channel, text)",
        );
        let notify = notify.bind(channels).bind(texts);
        notify.execute(&mut *self.unscoped().await?).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_news_fit_into_few_notifications_that_postgres_accepts() {
        let notifications = Notifications::default();
        let runs: HashSet<Uuid> = (0..450).map(|_| Uuid::now_v7()).collect();
        for run in runs.iter().chain(&runs) {
            notifications.announce_events(*run);
            notifications.announce_job();
        }
        let cancelled = Cancellation { run: Uuid::now_v7(), workspace: Uuid::now_v7() };
        notifications.announce_cancellation(cancelled);
        let (channels, texts) = notifications.take_news().notifications();
        let events = run_event::CHANNEL;
        assert_eq!(channels, [job::QUEUED, events, events, events, job::CANCELLED]);
        assert!(texts.iter().all(|text| text.len() < 8000));
        let named = texts[1..4].iter().flat_map(|text| text.split(' '));
        assert_eq!(named.map(|run| run.parse().unwrap()).collect::<HashSet<Uuid>>(), runs);
        assert_eq!(Cancellation::parse(&texts[4]), Some(cancelled));
        assert!(notifications.take_news().notifications().0.is_empty(), "they are announced once");
    }
}
