//! The connection that listens to other servers, and the channels that pass their notifications on
//! within the process. May not know what the receivers do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use tokio::sync::{Notify, broadcast};
use uuid::Uuid;

use super::changes::{self, ListeningGuard};
use super::{Db, StoreError, job, run_event};

/// No shorter than the time for which a pooled connection is trusted without a ping.
const RETRY: Duration = super::pool::TRUSTED_IDLE;

/// Cancellations that are buffered. A worker that misses one sees it when it renews its leases.
const CANCELLATIONS: usize = 256;

/// The shortest time between two notifications of new jobs: commits that notify wait for each other,
/// on the whole database server.
const ANNOUNCEMENT_PAUSE: Duration = Duration::from_millis(20);

/// Notifications of other servers, other than changes of graphs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Notifications(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    /// Wakes the worker of this process.
    queued: Notify,
    /// Wakes the task that notifies other servers of new jobs.
    unannounced: Notify,
    cancelled: broadcast::Sender<Uuid>,
    /// The followers of each run.
    followed: Mutex<HashMap<Uuid, Weak<Notify>>>,
}

impl Default for Notifications {
    fn default() -> Self {
        let cancelled = broadcast::Sender::new(CANCELLATIONS);
        let (queued, unannounced, followed) = (Notify::new(), Notify::new(), Mutex::default());
        Self(Arc::new(Channels { queued, unannounced, cancelled, followed }))
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
        self.0.unannounced.notify_one();
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

    fn wake_followers(&self, run: Uuid) {
        let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followers) = followed.get(&run).and_then(Weak::upgrade) {
            followers.notify_waiters();
        }
    }

    /// The ids of cancelled runs and jobs, from now on.
    pub fn cancellations(&self) -> broadcast::Receiver<Uuid> {
        self.0.cancelled.subscribe()
    }
}

impl Db {
    /// Notifications of other servers, other than changes of graphs.
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Listens to other servers, and notifies them of new jobs. Reconnects after a lost connection.
    /// Never ends: run it as a task, and drop it to stop.
    pub async fn watch(&self) {
        tokio::join!(self.listen_always(), self.announce_jobs());
    }

    async fn listen_always(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "lost the connection that listens to other servers");
            }
            self.changes.set_listening(false);
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn listen(&self) -> Result<(), StoreError> {
        let _guard = ListeningGuard(&self.changes);
        // A pool of its own: this connection is never returned.
        let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&own.connect_lazy_with(self.options())).await?;
        let channels = [changes::CHANNEL, job::CANCELLED, job::QUEUED, run_event::CHANNEL];
        listener.listen_all(channels).await?;
        self.changes.set_listening(true);
        // `None` is a lost connection: notifications may have been missed.
        while let Some(notification) = listener.try_recv().await? {
            self.pass_on(&notification);
        }
        Ok(())
    }

    fn pass_on(&self, notification: &PgNotification) {
        match notification.channel() {
            changes::CHANNEL => self.changes.bump(),
            job::QUEUED => self.notifications.0.queued.notify_one(),
            run_event::CHANNEL => {
                if let Ok(run) = Uuid::try_parse(notification.payload()) {
                    self.notifications.wake_followers(run);
                }
            }
            _ => {
                if let Ok(id) = Uuid::try_parse(notification.payload()) {
                    // An error means that there is no receiver, which is fine.
                    let _ = self.notifications.0.cancelled.send(id);
                }
            }
        }
    }

    /// Notifies other servers of new jobs, with one notification for all that were added meanwhile. A
    /// notification that fails is not repeated: workers look at the queue from time to time, too.
    async fn announce_jobs(&self) {
        loop {
            self.notifications.0.unannounced.notified().await;
            let notify = sqlx::query!("select pg_notify($1, '')", job::QUEUED);
            if let Err(error) = notify.execute(self.pool()).await {
                tracing::debug!(%error, "could not notify other servers of a job");
            }
            tokio::time::sleep(ANNOUNCEMENT_PAUSE).await;
        }
    }
}
