//! The parent's side of a session: a child that lives for several programs. It is stopped by the time that a program
//! computes, not by the time that the host takes to answer. Knows nothing of Python.

use std::io;
use std::time::Duration;

use dsrs::sandbox::{
    HostAnswer, SandboxError, SandboxHost, SandboxSession, SessionOutput, SessionSetup,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::parent::{ChildExit, ChildSandbox, GRACE, STDERR_BYTES};
use crate::session_wire::{ChildLine, answer_line, longest_line, read_child_line, run_line};
use crate::{report, wire};

/// How long a child may take to start and to read its inputs.
const START: Duration = Duration::from_secs(60);

/// A session: its child while there is one, and what a new child needs.
pub(crate) struct ChildSession<'s> {
    sandbox: &'s ChildSandbox,
    setup: SessionSetup,
    child: Option<SessionChild>,
    _place: SemaphorePermit<'s>,
}

/// A child with its pipes.
struct SessionChild {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
}

/// Why there is no next line of a child.
enum NoLine {
    /// Its time is over.
    Late,
    /// The line is too long, or it is none.
    Invalid,
    /// It has ended.
    Closed,
    /// A pipe failed.
    Io(io::Error),
}

impl<'s> ChildSession<'s> {
    pub(crate) async fn open(
        sandbox: &'s ChildSandbox,
        setup: SessionSetup,
        place: SemaphorePermit<'s>,
    ) -> Result<Self, SandboxError> {
        let mut session = Self { sandbox, setup, child: None, _place: place };
        session.child = Some(session.start().await?);
        Ok(session)
    }

    /// Starts a child with the inputs.
    async fn start(&self) -> Result<SessionChild, SandboxError> {
        let _turn = self.sandbox.turn().await?;
        let mut child = SessionChild::of(self.sandbox.spawn()?)?;
        let (limits, SessionSetup { inputs, functions, programs, .. }) =
            (&self.sandbox.limits, &self.setup);
        let programs = u32::try_from(*programs).unwrap_or(u32::MAX).max(1);
        // The system counts the processor time of all programs; the parent that of each.
        let processor = limits.time.saturating_mul(programs);
        let ask = wire::ask_session(inputs, functions, limits, processor, &self.sandbox.require);
        let mut left = START;
        match child.exchange(&ask, longest_line(limits), &mut left).await {
            Ok(ChildLine::Ready) => Ok(child),
            Ok(ChildLine::Failed(error)) => Err(error),
            Ok(_) => Err(report::broken("the child does not open the session")),
            Err(why) => Err(self.end(child, why).await),
        }
    }

    /// The failure of a child without a next line. The child is gone then.
    async fn end(&self, child: SessionChild, why: NoLine) -> SandboxError {
        let SessionChild { mut child, stderr, .. } = child;
        let why = match why {
            NoLine::Late => report::out_of_time(&self.sandbox.limits),
            NoLine::Invalid => report::broken("a line of the child cannot be read"),
            NoLine::Io(error) if error.kind() != io::ErrorKind::BrokenPipe => report::broken(error),
            NoLine::Closed | NoLine::Io(_) => return self.judge(child, stderr).await,
        };
        // It may have ended meanwhile.
        let _ = child.kill().await;
        why
    }

    /// Why a child ended by itself.
    async fn judge(&self, mut child: Child, stderr: ChildStderr) -> SandboxError {
        let mut stderr_text = Vec::new();
        let ended = async {
            stderr.take(STDERR_BYTES).read_to_end(&mut stderr_text).await?;
            child.wait().await
        };
        let status = match timeout(GRACE, ended).await {
            Ok(Ok(status)) => status,
            _ => return report::broken("the child closes its pipe and does not end"),
        };
        let ended = ChildExit { status, answer: Vec::new(), stderr_text };
        let by_itself = || report::broken("the child ends before its session");
        self.sandbox.answer_of(&ended).err().unwrap_or_else(by_itself)
    }

    async fn run_program(&mut self, code: &str, host: &dyn SandboxHost) -> SessionOutput {
        let mut child = match self.child.take() {
            Some(child) => child,
            None => match self.start().await {
                Ok(child) => child,
                Err(error) => return SessionOutput::failed(error, true),
            },
        };
        match self.talk(&mut child, code, host).await {
            Ok(output) => {
                self.child = Some(child);
                output
            }
            Err(why) => SessionOutput::failed(self.end(child, why).await, true),
        }
    }

    /// Sends a program and answers its calls until it ends. It occupies a processor only while it computes.
    async fn talk(
        &self,
        child: &mut SessionChild,
        code: &str,
        host: &dyn SandboxHost,
    ) -> Result<SessionOutput, NoLine> {
        let longest = longest_line(&self.sandbox.limits);
        let mut left = self.sandbox.limits.time + GRACE;
        let mut sent = run_line(code);
        loop {
            let turn = self.sandbox.turn().await.map_err(|_| NoLine::Closed)?;
            let line = child.exchange(&sent, longest, &mut left).await?;
            drop(turn);
            let call = match line {
                ChildLine::Ended(output) => return Ok(output),
                ChildLine::Call(call) => call,
                ChildLine::Ready | ChildLine::Failed(_) => return Err(NoLine::Invalid),
            };
            let is_known = self.setup.functions.contains(&call.name);
            let answer = match is_known {
                true => host.call(call).await,
                false => HostAnswer::Raise("there is no such function".into()),
            };
            sent = answer_line(&answer);
        }
    }
}

impl SessionChild {
    fn of(mut child: Child) -> Result<Self, SandboxError> {
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok(Self { child, stdin, stdout: BufReader::new(stdout), stderr })
            }
            _ => Err(report::broken("no pipes")),
        }
    }

    /// Sends a line and receives one, within the time that is left.
    async fn exchange(
        &mut self,
        sent: &[u8],
        longest: usize,
        left: &mut Duration,
    ) -> Result<ChildLine, NoLine> {
        let begun = Instant::now();
        let exchanged = async {
            self.stdin.write_all(sent).await.map_err(NoLine::Io)?;
            self.receive(longest).await
        };
        let received = timeout(*left, exchanged).await.map_err(|_| NoLine::Late)?;
        *left = left.saturating_sub(begun.elapsed());
        received
    }

    async fn receive(&mut self, longest: usize) -> Result<ChildLine, NoLine> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stdout).take(longest as u64);
        limited.read_until(b'\n', &mut line).await.map_err(NoLine::Io)?;
        match line.last() {
            None => Err(NoLine::Closed),
            Some(b'\n') => read_child_line(&line).ok_or(NoLine::Invalid),
            // The child ended within a line, or the line is too long.
            Some(_) if line.len() < longest => Err(NoLine::Closed),
            Some(_) => Err(NoLine::Invalid),
        }
    }
}

impl SandboxSession for ChildSession<'_> {
    fn run<'a>(
        &'a mut self,
        code: &'a str,
        host: &'a dyn SandboxHost,
    ) -> BoxFuture<'a, SessionOutput> {
        self.run_program(code, host).boxed()
    }
}
