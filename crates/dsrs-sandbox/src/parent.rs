//! The side that asks: starts a child for each program, holds it to the clock and to its output,
//! and makes a plain failure of whatever way it ended. Knows nothing of Python.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use dsrs::sandbox::{Sandbox, SandboxError, SandboxLimits, SandboxOutput};
use dsrs::value::Fields;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::{report, wire};

/// What a child gets beyond its time limit to start and to tell of its end by itself, with the
/// line where it was.
const GRACE: Duration = Duration::from_millis(500);

/// How much is read of what a dying child complains about.
const COMPLAINT: u64 = 4 << 10;

/// A sandbox that runs each program in a child process of its own.
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
    limits: SandboxLimits,
    /// Programs that run at once.
    turns: Semaphore,
}

impl ChildSandbox {
    /// A sandbox whose children are `program` with `args`, which must do what [`crate::child_main`] does. As
    /// many run at once as there are processors; others wait for their turn.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, args: &[&str], limits: SandboxLimits) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            program: program.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            limits,
            turns: Semaphore::new(processors),
        }
    }

    /// Lets this many programs run at once.
    #[must_use]
    pub fn at_once(mut self, programs: usize) -> Self {
        self.turns = Semaphore::new(programs.clamp(1, Semaphore::MAX_PERMITS));
        self
    }

    async fn run_child(&self, code: &str, inputs: &Fields) -> Result<SandboxOutput, SandboxError> {
        let _turn = self.turns.acquire().await.map_err(report::broken)?;
        let mut child = self.start().map_err(|error| {
            report::broken(format_args!("{} does not start: {error}", self.program.display()))
        })?;
        let request = wire::ask(code, inputs, &self.limits);
        let talk = talk(&mut child, request, wire::longest_answer(&self.limits));
        let ended = timeout(self.limits.time + GRACE, talk).await;
        match ended {
            Ok(Ok(Some(ended))) => self.judge(&ended),
            Ok(Ok(None)) => Err(self.kill(child, report::printed_too_much(&self.limits)).await),
            Ok(Err(error)) => Err(self.kill(child, report::broken(error)).await),
            Err(_) => Err(self.kill(child, report::out_of_time(&self.limits)).await),
        }
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

    /// Ends a child before its turn goes to the next.
    async fn kill(&self, mut child: Child, why: SandboxError) -> SandboxError {
        // It may have ended by itself meanwhile.
        let _ = child.kill().await;
        why
    }

    fn judge(&self, ended: &ChildExit) -> Result<SandboxOutput, SandboxError> {
        if ended.status.success() {
            let unreadable = || Err(report::broken("its answer cannot be read"));
            return wire::read_answer(&ended.answer).unwrap_or_else(unreadable);
        }
        let complaint = String::from_utf8_lossy(&ended.complaint);
        Err(if complaint.contains("has overflowed its stack") {
            report::too_deep()
        } else if complaint.contains("memory allocation of") {
            report::out_of_memory(&self.limits)
        } else {
            self.judge_status(ended.status, complaint.lines().find(|line| !line.trim().is_empty()))
        })
    }

    fn judge_status(&self, status: ExitStatus, complaint: Option<&str>) -> SandboxError {
        match status.signal() {
            // The processor's time limit.
            Some(libc::SIGXCPU) => report::out_of_time(&self.limits),
            // Not by us: the system was short of memory.
            Some(libc::SIGKILL) => report::out_of_memory(&self.limits),
            _ => {
                let complaint: String = complaint.unwrap_or_default().chars().take(200).collect();
                report::broken(format_args!("its process ended with {status}: {complaint}"))
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
}

/// A child's last words.
struct ChildExit {
    status: ExitStatus,
    answer: Vec<u8>,
    complaint: Vec<u8>,
}

/// Hands over the request and takes the answer. None when the answer has no end.
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
        // A child that ends before it has read everything says why by its status.
        let _ = stdin.write_all(&request).await;
        drop(stdin);
        io::Result::Ok(())
    };
    let longest = longest as u64;
    let listen = async {
        let answer = read(stdout, longest + 1).await?;
        if answer.len() as u64 > longest { Err(endless()) } else { Ok(answer) }
    };
    let talked = futures_util::future::try_join3(ask, listen, read(stderr, COMPLAINT)).await;
    match talked {
        Ok(((), answer, complaint)) => {
            Ok(Some(ChildExit { status: child.wait().await?, answer, complaint }))
        }
        Err(error) if error.kind() == endless().kind() => Ok(None),
        Err(error) => Err(error),
    }
}

fn endless() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

async fn read(from: impl AsyncRead + Unpin, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(most).read_to_end(&mut text).await?;
    Ok(text)
}
