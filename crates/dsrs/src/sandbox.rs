//! Runs programs that language models write: inputs, outputs and failures of a sandbox, and the
//! description of its language for models. Knows payloads and nothing of processes: implementations of
//! [`Sandbox`] confine the program.

mod session;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::value::{Fields, Payload};

pub use session::{HostAnswer, HostCall, SandboxHost, SandboxSession, SessionOutput, SessionSetup};

/// Runs untrusted programs.
///
/// Dropping the future stops the program at once.
///
/// ```
/// use dsrs::sandbox::{SandboxFailure, SandboxOutput, Sandbox, SandboxError};
/// use dsrs::value::{Fields, Payload};
/// use dsrs::BoxFuture;
///
/// /// Knows one program.
/// struct OneProgram;
///
/// impl Sandbox for OneProgram {
///     fn run<'a>(
///         &'a self,
///         code: &'a str,
///         inputs: &'a Fields,
///     ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
///         let ran = match code {
///             "n" => Ok(SandboxOutput { printed: "".into(), value: inputs["n"].clone() }),
///             _ => Err(SandboxError::new(SandboxFailure::Syntax, "line 1: invalid syntax")),
///         };
///         Box::pin(async { ran })
///     }
/// }
///
/// # dsrs::block_on(async {
/// let inputs = Fields::from_iter([("n".into(), Payload::Int(6))]);
/// assert_eq!(OneProgram.run("n", &inputs).await.unwrap().value, Payload::Int(6));
/// let refused = OneProgram.run("n n", &inputs).await.unwrap_err();
/// assert_eq!(refused.to_string(), "line 1: invalid syntax");
/// # });
/// ```
pub trait Sandbox: Send + Sync {
    /// Runs a program once. Each input is a global variable.
    fn run<'a>(
        &'a self,
        code: &'a str,
        inputs: &'a Fields,
    ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>>;

    /// Opens a session. A sandbox has none by default.
    fn open(
        &self,
        setup: SessionSetup,
    ) -> BoxFuture<'_, Result<Box<dyn SandboxSession + '_>, SandboxError>> {
        drop(setup);
        let message = "this sandbox runs single programs and has no sessions";
        Box::pin(async move { Err(SandboxError::new(SandboxFailure::Broken, message)) })
    }
}

/// The output of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxOutput {
    /// The printed text.
    pub printed: Arc<str>,
    /// The value of the last line if that is an expression; null otherwise. Values that JSON lacks are
    /// text: integers beyond 64 bits, NaN and infinities, dates, objects.
    pub value: Payload,
}

/// The kind of failure of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SandboxFailure {
    /// It is not a valid program of the dialect.
    Syntax,
    /// It raised an exception.
    Raised,
    /// It ran for too long.
    Time,
    /// It needed too much memory.
    Memory,
    /// It printed or returned too much.
    Output,
    /// It tried to use a file, the network or a process.
    Denied,
    /// The sandbox itself failed.
    Broken,
}

impl SandboxFailure {
    /// Its stable name.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Raised => "raised",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Denied => "denied",
            Self::Broken => "broken",
        }
    }

    /// Whether another program may succeed, so that a retry with the model is useful.
    #[must_use]
    pub const fn is_of_the_program(self) -> bool {
        !matches!(self, Self::Broken)
    }
}

impl fmt::Display for SandboxFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The failure of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SandboxError {
    /// The kind of failure.
    pub kind: SandboxFailure,
    /// A short message with which the model can correct its program: the end of the traceback with its
    /// line, or the exceeded limit.
    pub message: Arc<str>,
}

impl SandboxError {
    /// A failure with a message.
    #[must_use]
    pub fn new(kind: SandboxFailure, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The limits of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Wall-clock time from the start of the program to its end.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of the printed text, and of the value as JSON.
    pub output: usize,
}

impl Default for SandboxLimits {
    /// Five seconds, 128 MiB, 64 KiB.
    fn default() -> Self {
        Self { time: Duration::from_secs(5), memory: 128 << 20, output: 64 << 10 }
    }
}

/// The description of the language for models. It is the dialect of the interpreter in `dsrs-sandbox`,
/// whose tests check this text.
pub const DIALECT: &str = "\
The program is Python 3, in a subset. The value of its last line, if that is an expression, is its \
result; what it prints is shown too.
Available: functions, closures, lambdas, simple classes, comprehensions, exceptions, f-strings, \
type hints, and the modules math, re, json, datetime, collections (Counter, defaultdict, deque, \
namedtuple), itertools (accumulate, chain, count, cycle, islice, pairwise, repeat, starmap, \
takewhile, zip_longest), functools (reduce, partial), dataclasses, typing, base64, unicodedata.
Missing: every other module (decimal, random, statistics, string, time, numpy, …), generators \
(`yield`), `match`, `del`, inheritance, @property, @staticmethod, @classmethod, operators of own \
classes, `%` formatting, `|` of dicts, complex numbers, eval, exec and input.
Refused: files, network, environment variables, other processes and the clock.
Time, memory and the length of what is printed are limited.";
