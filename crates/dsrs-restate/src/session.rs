//! What an attempt sees of the engine: a place to store state, and a signal when the attempt does not count any
//! more. May not know the protocol.

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Commands that may wait for the conversation.
const QUEUE: usize = 64;

/// The engine has ended the attempt: nothing of it is stored any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine has ended this attempt")]
pub struct SessionLost;

/// What an attempt asks of the conversation.
pub(super) enum Command {
    /// Store a part of the state.
    Store { name: String, value: Bytes, stored: Option<oneshot::Sender<()>> },
    /// Remove all state.
    Clear { cleared: oneshot::Sender<()> },
}

/// The engine, as an attempt sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EngineSession {
    commands: mpsc::Sender<Command>,
    lost: CancellationToken,
    cancelled: CancellationToken,
}

/// The other end of a session.
pub(super) struct SessionEnd {
    pub(super) commands: mpsc::Receiver<Command>,
    /// Cancelled when the attempt does not count any more.
    pub(super) lost: CancellationToken,
    /// Cancelled when an administrator of the engine cancels the invocation.
    pub(super) cancelled: CancellationToken,
}

impl EngineSession {
    pub(super) fn open() -> (Self, SessionEnd) {
        let (sender, commands) = mpsc::channel(QUEUE);
        let (lost, cancelled) = (CancellationToken::new(), CancellationToken::new());
        let session = Self { commands: sender, lost: lost.clone(), cancelled: cancelled.clone() };
        (session, SessionEnd { commands, lost, cancelled })
    }

    /// Stores a part of the state. When this returns, it and all that was stored before survives the loss of a
    /// minority of the engine's nodes.
    pub async fn store(&self, name: String, value: Bytes) -> Result<(), SessionLost> {
        let (stored, answer) = oneshot::channel();
        self.send(Command::Store { name, value, stored: Some(stored) }).await?;
        self.answered(answer).await
    }

    /// The same without waiting: it is stored before what is stored next.
    pub async fn note(&self, name: String, value: Bytes) -> Result<(), SessionLost> {
        self.send(Command::Store { name, value, stored: None }).await
    }

    /// Removes all state of the object.
    pub async fn clear(&self) -> Result<(), SessionLost> {
        let (cleared, answer) = oneshot::channel();
        self.send(Command::Clear { cleared }).await?;
        self.answered(answer).await
    }

    /// Cancelled when the attempt does not count any more: the connection to the engine is lost.
    #[must_use]
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Cancelled when an administrator of the engine cancels the invocation.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    async fn send(&self, command: Command) -> Result<(), SessionLost> {
        tokio::select! {
            sent = self.commands.send(command) => sent.map_err(|_| SessionLost),
            () = self.lost.cancelled() => Err(SessionLost),
        }
    }

    async fn answered(&self, answer: oneshot::Receiver<()>) -> Result<(), SessionLost> {
        tokio::select! {
            answer = answer => answer.map_err(|_| SessionLost),
            () = self.lost.cancelled() => Err(SessionLost),
        }
    }
}
