//! Restate as an engine: it stores work that runs, hands it to workers, and hands it on when a worker dies.
//! `client` sends work to it, `serve` receives the attempts that it starts, `conversation` speaks its protocol
//! for one attempt, `session` is what the attempt sees of that, `connection_use` spreads attempts over workers, `identity`
//! checks who calls, `manifest` is what a worker says about itself, `admin` registers workers.
//!
//! Work is an object with a key. An attempt is an invocation of its exclusive handler, so the engine never runs
//! two at a time. What an attempt stores is state of the object: the next attempt reads it, and nothing is
//! replayed. May not know what the work is, nor the database.

// A build that leaves `restate` out has code that only it uses.
#![cfg_attr(not(feature = "restate"), allow(dead_code, unused_imports))]

mod admin;
mod client;
#[cfg(feature = "restate")]
mod connection_use;
#[cfg(feature = "restate")]
mod conversation;
#[cfg(feature = "restate")]
mod identity;
#[cfg(feature = "restate")]
mod manifest;
#[cfg(feature = "restate")]
mod serve;
#[cfg(not(feature = "restate"))]
mod serve_absent;
mod session;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use uuid::Uuid;

pub use admin::{AdminClient, Deployment, EngineReport};
pub use client::{EngineClient, EngineError, SentWork};
#[cfg(feature = "restate")]
pub use serve::{EngineEndpoint, listen};
#[cfg(not(feature = "restate"))]
pub use serve_absent::{NoEngineEndpoint as EngineEndpoint, listen};
pub use session::{EngineSession, SessionLost};

/// The header of work that names the installation which has sent it.
const INSTALLATION: &str = "x-dsrs-installation";

/// A kind of object in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Work whose progress is in the database. The key is the id of a job.
    Job,
    /// A background run whose progress is in the engine. The key is the id of the run.
    Run,
}

impl Service {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Job, Self::Run];

    /// What its name ends with.
    const fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Run => "run",
        }
    }
}

/// The names of the services of one installation. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceNames(Arc<str>);

impl ServiceNames {
    /// Names with this prefix.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self(Arc::from(prefix))
    }

    /// The name of a service in the engine.
    #[must_use]
    pub fn name(&self, service: Service) -> String {
        format!("{}.{}", self.0, service.word())
    }

    fn find(&self, name: &str) -> Option<Service> {
        let word = name.strip_prefix(&*self.0)?.strip_prefix('.')?;
        Service::ALL.into_iter().find(|service| service.word() == word)
    }
}

/// The state of an object: texts or documents by name.
pub type ObjectState = BTreeMap<String, Bytes>;

/// An attempt that the engine starts.
pub struct Invocation {
    /// The kind of the object.
    pub service: Service,
    /// The key of the object.
    pub key: Uuid,
    /// The installation that has sent it. Earlier releases name none.
    pub installation: Option<Uuid>,
    /// What was sent with the work.
    pub input: Bytes,
    /// What earlier attempts have stored.
    pub state: ObjectState,
    /// Where this attempt stores more.
    pub session: EngineSession,
}

/// An attempt did not finish its work: the engine starts another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It failed, for this reason.
    Failed(String),
    /// This worker does not make the attempt, for this reason; another may, after the delay of the retry policy.
    Elsewhere(&'static str),
    /// The same, and another worker may make it at once.
    Declined(&'static str),
}

/// What makes attempts.
pub trait Worker: Send + Sync + 'static {
    /// Makes one attempt. It ends soon after [`EngineSession::lost`].
    fn attempt(&self, invocation: Invocation) -> BoxFuture<'static, Result<(), Unfinished>>;
}
