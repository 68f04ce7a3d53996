//! The parent: starts a child for each program, enforces the limits of time and output, and translates
//! every way in which a child can end. The child checks that the required walls stand. Knows nothing of
//! Python. `session` has the parent's side of several programs in one child.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use dsrs::sandbox::{
    Sandbox, SandboxError, SandboxLimits, SandboxOutput, SandboxSession, SessionSetup,
};
use dsrs::value::Fields;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::session::ChildSession;
use crate::walls::{Wall, Walls};
use crate::{report, wire};

/// The time beyond the limit in which a child can start, and can report the line at which it was
/// stopped.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// How much is read of the standard error of a failed child.
pub(crate) const STDERR_BYTES: u64 = 4 << 10;

/// The most sessions at once, unless [`ChildSandbox::sessions_at_once`] says otherwise.
const SESSIONS: usize = 32;

/// A sandbox that runs each program, and each session, in its own child process.
///
/// ```no_run
/// use dsrs::sandbox::{Sandbox, SandboxLimits};
/// use dsrs::value::{Fields, Payload};
/// use dsrs_sandbox::ChildSandbox;
///
/// # async fn example() {
/// let sandbox = ChildSandbox::new("dsrs-sandbox", &[], SandboxLimits::default());
/// let inputs = Fields::from_iter([("n".into(), Payload::Int(7))]);
/// let ran = sandbox.run("print('hi')\nn * 6", &inputs).await.unwrap();
/// assert_eq!((&*ran.printed, ran.value), ("hi\n", Payload::Int(42)));
/// # }
/// ```
pub struct ChildSandbox {
    program: PathBuf,
    args: Vec<String>,
    pub(crate) limits: SandboxLimits,
    /// The walls without which no program runs.
    pub(crate) require: Vec<Wall>,
    /// Limits concurrent programs.
    permits: Semaphore,
    /// Limits concurrent sessions, whose children occupy memory while they wait.
    sessions: Semaphore,
}

impl ChildSandbox {
    /// A sandbox whose children run `program` with `args`, which must call [`crate::child_main`]. As many
    /// programs run at once as there are processors; others wait. No program runs without the walls that
    /// this platform can have ([`Wall::of_platform`]).
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, args: &[&str], limits: SandboxLimits) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            program: program.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            limits,
            require: Wall::of_platform().collect(),
            permits: Semaphore::new(processors),
            sessions: Semaphore::new(SESSIONS),
        }
    }

    /// Changes how many programs run at once.
    #[must_use]
    pub fn at_once(mut self, programs: usize) -> Self {
        self.permits = Semaphore::new(programs.clamp(1, Semaphore::MAX_PERMITS));
        self
    }

    /// Changes how many sessions there are at once; 32 by default. Others wait.
    #[must_use]
    pub fn sessions_at_once(mut self, sessions: usize) -> Self {
        self.sessions = Semaphore::new(sessions.clamp(1, Semaphore::MAX_PERMITS));
        self
    }

    /// Changes the walls without which no program runs. The limits are always required.
    #[must_use]
    pub fn require(mut self, walls: impl IntoIterator<Item = Wall>) -> Self {
        self.require = walls.into_iter().collect();
        self
    }

    /// The walls without which no program runs.
    #[must_use]
    pub fn required(&self) -> &[Wall] {
        &self.require
    }

    /// Starts a child to find which walls stand around programs.
    ///
    /// # Errors
    /// The child does not start or does not answer.
    pub async fn walls(&self) -> Result<Walls, SandboxError> {
        let ended = self.ask_child(wire::ask_walls(&self.limits)).await?;
        let answer = self.answer_of(&ended)?;
        wire::read_walls(answer).ok_or_else(|| report::broken("its answer cannot be read"))
    }

    async fn run_child(&self, code: &str, inputs: &Fields) -> Result<SandboxOutput, SandboxError> {
        let request = wire::ask(code, inputs, &self.limits, &self.require);
        let ended = self.ask_child(request).await?;
        let unreadable = || Err(report::broken("its answer cannot be read"));
        wire::read_answer(self.answer_of(&ended)?).unwrap_or_else(unreadable)
    }

    async fn ask_child(&self, request: Vec<u8>) -> Result<ChildExit, SandboxError> {
        let _turn = self.turn().await?;
        let mut child = self.spawn()?;
        let talk = talk(&mut child, request, wire::longest_answer(&self.limits));
        let ended = timeout(self.limits.time + GRACE, talk).await;
        match ended {
            Ok(Ok(Some(ended))) => Ok(ended),
            Ok(Ok(None)) => Err(self.kill(child, report::printed_too_much(&self.limits)).await),
            Ok(Err(error)) => Err(self.kill(child, report::broken(error)).await),
            Err(_) => Err(self.kill(child, report::out_of_time(&self.limits)).await),
        }
    }

    /// The right to compute, until it is dropped.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.permits.acquire().await.map_err(report::broken)
    }

    /// The right to have a session. One that a program of another session waits for does not wait.
    async fn place(&self, is_nested: bool) -> Result<SemaphorePermit<'_>, SandboxError> {
        match is_nested {
            false => self.sessions.acquire().await.map_err(report::broken),
            true => self.sessions.try_acquire().map_err(|_| {
                report::broken(
                    "all sessions are in use (`sandbox.sessions`), and this one is within another",
                )
            }),
        }
    }

    /// Starts a child.
    pub(crate) fn spawn(&self) -> Result<Child, SandboxError> {
        self.start().map_err(|error| {
            report::broken(format_args!("{} does not start: {error}", self.program.display()))
        })
    }

    fn start(&self) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    /// Kills a child before its permit is released.
    async fn kill(&self, mut child: Child, why: SandboxError) -> SandboxError {
        // The child may have ended meanwhile.
        let _ = child.kill().await;
        why
    }

    /// What a child answered, or why it did not.
    pub(crate) fn answer_of<'e>(&self, ended: &'e ChildExit) -> Result<&'e [u8], SandboxError> {
        if ended.status.success() {
            return Ok(&ended.answer);
        }
        let stderr_text = String::from_utf8_lossy(&ended.stderr_text);
        Err(if stderr_text.contains("has overflowed its stack") {
            report::too_deep()
        } else if stderr_text.contains("memory allocation of") {
            report::out_of_memory(&self.limits)
        } else {
            self.judge_status(
                ended.status,
                stderr_text.lines().find(|line| !line.trim().is_empty()),
            )
        })
    }

    fn judge_status(&self, status: ExitStatus, stderr_text: Option<&str>) -> SandboxError {
        match status.signal() {
            // The limit of processor time.
            Some(libc::SIGXCPU) => report::out_of_time(&self.limits),
            // The parent did not send it: the system was out of memory.
            Some(libc::SIGKILL) => report::out_of_memory(&self.limits),
            _ => {
                let stderr_text: String =
                    stderr_text.unwrap_or_default().chars().take(200).collect();
                report::broken(format_args!("its process ended with {status}: {stderr_text}"))
            }
        }
    }
}

impl Sandbox for ChildSandbox {
    fn run<'a>(
        &'a self,
        code: &'a str,
        inputs: &'a Fields,
    ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
        self.run_child(code, inputs).boxed()
    }

    fn open(
        &self,
        setup: SessionSetup,
    ) -> BoxFuture<'_, Result<Box<dyn SandboxSession + '_>, SandboxError>> {
        let open = async move {
            let place = self.place(setup.is_nested).await?;
            let session = ChildSession::open(self, setup, place).await?;
            Ok(Box::new(session) as Box<dyn SandboxSession>)
        };
        open.boxed()
    }
}

/// The end of a child.
pub(crate) struct ChildExit {
    pub(crate) status: ExitStatus,
    pub(crate) answer: Vec<u8>,
    pub(crate) stderr_text: Vec<u8>,
}

/// Sends the request and receives the answer. `None` if the answer is too long.
async fn talk(
    child: &mut Child,
    request: Vec<u8>,
    longest: usize,
) -> io::Result<Option<ChildExit>> {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("no pipes"));
    };
    let ask = async move {
        // If a child ends before it has read everything, its status has the reason.
        let _ = stdin.write_all(&request).await;
        drop(stdin);
        io::Result::Ok(())
    };
    let longest = longest as u64;
    let listen = async {
        let answer = read(stdout, longest + 1).await?;
        if answer.len() as u64 > longest { Err(too_long()) } else { Ok(answer) }
    };
    let talked = futures_util::future::try_join3(ask, listen, read(stderr, STDERR_BYTES)).await;
    match talked {
        Ok(((), answer, stderr_text)) => {
            Ok(Some(ChildExit { status: child.wait().await?, answer, stderr_text }))
        }
        Err(error) if error.kind() == too_long().kind() => Ok(None),
        Err(error) => Err(error),
    }
}

fn too_long() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

async fn read(from: impl AsyncRead + Unpin, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(most).read_to_end(&mut text).await?;
    Ok(text)
}
