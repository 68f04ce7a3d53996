//! The one connection that listens: what other servers tell, and who here is to hear it. May not
//! know what is done about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use tokio::sync::{Notify, broadcast};
use uuid::Uuid;

use super::changes::{self, Deaf};
use super::{Db, StoreError, job, queue, run_event};

/// No shorter than a pooled connection is trusted unseen.
const RETRY: Duration = super::pool::TRUSTED_IDLE;

/// Cancellations that may wait to be heard. Whoever misses one sees it when it renews its lease.
const CANCELLATIONS: usize = 256;

/// What is told beside changes of graphs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct News(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    added: Notify,
    cancelled: broadcast::Sender<Uuid>,
    /// Who follows which run.
    followed: Mutex<HashMap<Uuid, Weak<Notify>>>,
}

impl Default for News {
    fn default() -> Self {
        let cancelled = broadcast::Sender::new(CANCELLATIONS);
        Self(Arc::new(Channels { added: Notify::new(), cancelled, followed: Mutex::default() }))
    }
}

impl News {
    /// Waits until work is added to the queue; work that was added since the last wait counts.
    pub async fn work(&self) {
        self.0.added.notified().await;
    }

    /// Tells, while it is held, of events of a run that are added, here or on another server. What
    /// was told while nobody listened goes unsaid: look again from time to time.
    pub fn events_of(&self, run: Uuid) -> Arc<Notify> {
        let mut followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = followed.get(&run).and_then(Weak::upgrade) {
            return known;
        }
        followed.retain(|_, told| told.strong_count() > 0);
        let told = Arc::new(Notify::new());
        followed.insert(run, Arc::downgrade(&told));
        told
    }

    fn tell_events(&self, run: Uuid) {
        let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = followed.get(&run).and_then(Weak::upgrade) {
            told.notify_waiters();
        }
    }

    /// The ids of what is to stop, from now on.
    pub fn cancellations(&self) -> broadcast::Receiver<Uuid> {
        self.0.cancelled.subscribe()
    }
}

impl Db {
    /// What is told beside changes of graphs.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// Listens to other servers, connecting again when the connection is lost. Never ends: run it
    /// as a task, and drop it to stop.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "lost the connection that listens to other servers");
            }
            self.changes.set_listening(false);
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn listen(&self) -> Result<(), StoreError> {
        let _deaf_when_dropped = Deaf(&self.changes);
        // a pool of its own: this connection is held for good
        let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&own.connect_lazy_with(self.options())).await?;
        let channels = [changes::CHANNEL, job::CANCELLED, queue::CHANNEL, run_event::CHANNEL];
        listener.listen_all(channels).await?;
        self.changes.set_listening(true);
        // `None` is a lost connection: what came meanwhile is unknown
        while let Some(told) = listener.try_recv().await? {
            self.hear(&told);
        }
        Ok(())
    }

    fn hear(&self, told: &PgNotification) {
        match told.channel() {
            changes::CHANNEL => self.changes.bump(),
            queue::CHANNEL => self.news.0.added.notify_one(),
            run_event::CHANNEL => {
                if let Ok(run) = Uuid::try_parse(told.payload()) {
                    self.news.tell_events(run);
                }
            }
            _ => {
                if let Ok(id) = Uuid::try_parse(told.payload()) {
                    // Nobody to hear it is no matter.
                    let _ = self.news.0.cancelled.send(id);
                }
            }
        }
    }
}
