//! The conversation with the engine about one attempt, over the two directions of one request. The state
//! machine of the protocol is `restate-sdk-shared-core`, which does no input and output; this file feeds it.
//! May not know what the attempt does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use restate_sdk_shared_core::{
    AwaitResponse, CANCEL_NOTIFICATION_HANDLE, CoreVM, Error, NonEmptyValue, NotificationHandle,
    PayloadOptions, RetryPolicy, RunExitResult, UnresolvedFuture, VM, Value,
};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::connection_use::ConnectionUse;
use super::session::{Command, EngineSession, SessionEnd};
use super::{INSTALLATION, Invocation, ObjectState, Service, Unfinished, Worker};

/// The code of an error after which the engine starts another attempt.
const UNFINISHED: u16 = 500;

/// How soon the engine tries the next worker after one has declined. It finds a worker by chance, so a delay that
/// grows with each try would leave workers idle.
const NEXT_WORKER: Duration = Duration::from_millis(100);

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handler {
    /// An attempt at the work of an object.
    Work(Service),
    /// The state of an object, while an attempt may be running.
    Progress,
}

/// A conversation about one invocation.
pub(super) struct Conversation {
    vm: CoreVM,
    input: Incoming,
    /// The engine sends nothing more.
    closed: bool,
    output: mpsc::UnboundedSender<Bytes>,
    connection: ConnectionUse,
}

/// What the engine says of the work at first.
struct OpenedWork {
    key: Uuid,
    installation: Option<Uuid>,
    input: Bytes,
    state: ObjectState,
}

/// A running attempt, and what it waits for.
struct RunningAttempt {
    end: SessionEnd,
    /// What is sent and not yet known to be stored.
    pending: Vec<(NotificationHandle, oneshot::Sender<()>)>,
    work: BoxFuture<'static, Result<(), Unfinished>>,
    /// The engine has reported a cancellation, once.
    cancelled: bool,
}

impl Drop for RunningAttempt {
    fn drop(&mut self) {
        self.end.lost.cancel();
    }
}

impl Conversation {
    pub(super) fn new(
        vm: CoreVM,
        input: Incoming,
        output: mpsc::UnboundedSender<Bytes>,
        connection: ConnectionUse,
    ) -> Self {
        Self { vm, input, closed: false, output, connection }
    }

    /// Holds the conversation to its end. If this is dropped, the attempt is lost.
    pub(super) async fn hold(mut self, handler: Handler, worker: Arc<dyn Worker>) {
        let held = match handler {
            Handler::Work(service) => self.work(service, &*worker).await,
            Handler::Progress => self.progress().await,
        };
        if let Err(error) = held
            && !error.is_suspended_error()
        {
            tracing::debug!(%error, "an invocation of the engine ended with an error");
            self.vm.notify_error(error, None);
        }
        self.flush();
        let Self { mut input, output, connection, .. } = self;
        // The engine may not have read everything yet.
        while let Some(Ok(_)) = input.frame().await {}
        connection.end();
        drop(output);
    }

    fn flush(&mut self) {
        let bytes = self.vm.take_output();
        if !bytes.is_empty() {
            // The engine is gone if nothing receives it, which the input says, too.
            let _ = self.output.send(bytes);
        }
    }

    /// Reads what the engine sends next. An error if the connection is lost.
    async fn receive(&mut self) -> Result<(), Error> {
        match self.input.frame().await {
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    self.vm.notify_input(bytes);
                }
            }
            Some(Err(error)) => return Err(Error::new(UNFINISHED, error.to_string())),
            None => {
                self.closed = true;
                self.vm.notify_input_closed();
            }
        }
        Ok(())
    }

    /// Reads the input of the invocation and the state of the object.
    async fn open(&mut self) -> Result<OpenedWork, Error> {
        while !self.vm.is_ready_to_execute()? {
            self.receive().await?;
        }
        let input = self.vm.sys_input()?;
        let key = input.key.parse().map_err(|_| Error::new(UNFINISHED, "the key is no UUID"))?;
        let sender = input.headers.iter().find(|header| header.key == INSTALLATION);
        // One that cannot be read is of no installation that exists.
        let installation = sender.map(|header| header.value.parse().unwrap_or(Uuid::nil()));
        Ok(OpenedWork { key, installation, input: input.input, state: self.state().await? })
    }

    async fn state(&mut self) -> Result<ObjectState, Error> {
        let mut state = ObjectState::new();
        let names = self.vm.sys_state_get_keys(None)?;
        let Some(Value::StateKeys(names)) = self.value(names).await? else { return Ok(state) };
        for name in names {
            let handle = self.vm.sys_state_get(name.clone(), None, PayloadOptions::default())?;
            if let Some(Value::Success(value)) = self.value(handle).await? {
                state.insert(name, value);
            }
        }
        Ok(state)
    }

    /// The value of a handle, which only the engine provides.
    async fn value(&mut self, handle: NotificationHandle) -> Result<Option<Value>, Error> {
        loop {
            match self.vm.do_await(UnresolvedFuture::Single(handle))? {
                AwaitResponse::AnyCompleted => return self.vm.take_notification(handle),
                AwaitResponse::WaitingExternalProgress { .. } => {
                    self.flush();
                    self.receive().await?;
                }
                AwaitResponse::CancelSignalReceived => {}
                other => return Err(unexpected(&other)),
            }
        }
    }

    async fn progress(&mut self) -> Result<(), Error> {
        let OpenedWork { state, .. } = self.open().await?;
        let texts: serde_json::Map<String, serde_json::Value> = state
            .into_iter()
            .map(|(name, value)| (name, String::from_utf8_lossy(&value).into()))
            .collect();
        let answer = serde_json::Value::Object(texts).to_string();
        self.end(answer.into())
    }

    async fn work(&mut self, service: Service, worker: &dyn Worker) -> Result<(), Error> {
        let OpenedWork { key, installation, input, state } = self.open().await?;
        let (session, end) = EngineSession::open();
        let invocation = Invocation { service, key, installation, input, state, session };
        let work = worker.attempt(invocation);
        let pending = Vec::new();
        let mut attempt = RunningAttempt { end, pending, work, cancelled: false };
        match self.advance(&mut attempt).await? {
            Ok(()) => self.end(Bytes::new()),
            Err(Unfinished::Failed(reason)) => Err(Error::new(UNFINISHED, reason)),
            Err(Unfinished::Elsewhere(reason)) => Err(self.leave(reason)),
            Err(Unfinished::Declined(reason)) => {
                Err(self.leave(reason).with_next_retry_delay_override(NEXT_WORKER))
            }
        }
    }

    /// Closes the connection once it is idle, so that the next attempt may reach another worker.
    fn leave(&self, reason: &'static str) -> Error {
        self.connection.retire_next();
        Error::new(UNFINISHED, reason)
    }

    /// Holds the conversation until the attempt is done.
    async fn advance(
        &mut self,
        attempt: &mut RunningAttempt,
    ) -> Result<Result<(), Unfinished>, Error> {
        loop {
            match self.vm.do_await(attempt.waits_for())? {
                AwaitResponse::AnyCompleted => {
                    for stored in attempt.take_stored(&self.vm) {
                        self.vm.take_notification(stored)?;
                    }
                }
                // An action that has nothing to do: it is confirmed when all before it is stored.
                AwaitResponse::ExecuteRun(handle) => {
                    let nothing = RunExitResult::Success(Bytes::new());
                    self.vm.propose_run_completion(handle, nothing, RetryPolicy::default())?;
                }
                AwaitResponse::CancelSignalReceived => {
                    attempt.cancelled = true;
                    attempt.end.cancelled.cancel();
                }
                AwaitResponse::WaitingExternalProgress { .. } => {
                    self.flush();
                    tokio::select! {
                        biased;
                        Some(command) = attempt.end.commands.recv() => {
                            self.obey(command, attempt)?;
                        }
                        done = &mut attempt.work => return Ok(done),
                        received = self.receive(), if !self.closed => received?,
                    }
                }
                other @ AwaitResponse::EphemeralNotificationReady(_) => {
                    return Err(unexpected(&other));
                }
            }
        }
    }

    fn obey(&mut self, command: Command, attempt: &mut RunningAttempt) -> Result<(), Error> {
        let stored = match command {
            Command::Store { name, value, stored } => {
                self.vm.sys_state_set(name, value, None, PayloadOptions::default())?;
                stored
            }
            Command::Clear { cleared } => {
                self.vm.sys_state_clear_all(None)?;
                Some(cleared)
            }
        };
        if let Some(stored) = stored {
            let handle = self.vm.sys_run(String::new())?.handle;
            attempt.pending.push((handle, stored));
        }
        Ok(())
    }

    fn end(&mut self, answer: Bytes) -> Result<(), Error> {
        self.vm.sys_write_output(NonEmptyValue::Success(answer), PayloadOptions::default())?;
        self.vm.sys_end()
    }
}

impl RunningAttempt {
    /// A cancellation, and the confirmation of anything that is stored.
    fn waits_for(&self) -> UnresolvedFuture {
        let pending = self.pending.iter().map(|(handle, _)| *handle);
        let cancellation = (!self.cancelled).then_some(CANCEL_NOTIFICATION_HANDLE);
        let handles = pending.chain(cancellation).map(UnresolvedFuture::Single);
        UnresolvedFuture::FirstCompleted(handles.collect())
    }

    /// Confirms what is stored by now, and returns the handles.
    fn take_stored(&mut self, vm: &CoreVM) -> Vec<NotificationHandle> {
        let done = self.pending.extract_if(.., |(handle, _)| vm.is_completed(*handle));
        done.map(|(handle, stored)| {
            // The attempt may have stopped waiting.
            let _ = stored.send(());
            handle
        })
        .collect()
    }
}

fn unexpected(response: &AwaitResponse) -> Error {
    Error::new(UNFINISHED, format!("the state machine of the engine answered {response:?}"))
}
