//! Running a program that a language model wrote: what a sandbox takes, what it gives back, how it
//! refuses, and what the model is told about the language. Knows payloads and nothing of
//! processes: how a program is confined is for who implements [`Sandbox`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::value::{Fields, Payload};

/// Where programs run that nobody trusts.
///
/// Dropping the future ends the program at once.
///
/// ```
/// use dsrs::sandbox::{SandboxFailure, SandboxOutput, Sandbox, SandboxError};
/// use dsrs::value::{Fields, Payload};
/// use futures_util::future::{BoxFuture, FutureExt};
///
/// /// Knows one program.
/// struct Scripted;
///
/// impl Sandbox for Scripted {
///     fn run<'a>(
///         &'a self,
///         code: &'a str,
///         inputs: &'a Fields,
///     ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
///         let ran = match code {
///             "n" => Ok(SandboxOutput { printed: "".into(), value: inputs["n"].clone() }),
///             _ => Err(SandboxError::new(SandboxFailure::Syntax, "line 1: invalid syntax")),
///         };
///         async { ran }.boxed()
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let inputs = Fields::from_iter([("n".into(), Payload::Int(6))]);
/// assert_eq!(Scripted.run("n", &inputs).await.unwrap().value, Payload::Int(6));
/// let refused = Scripted.run("n n", &inputs).await.unwrap_err();
/// assert_eq!(refused.to_string(), "line 1: invalid syntax");
/// # });
/// ```
pub trait Sandbox: Send + Sync {
    /// Runs a program once. Each input is a global variable of its name.
    fn run<'a>(
        &'a self,
        code: &'a str,
        inputs: &'a Fields,
    ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>>;
}

/// What a program left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxOutput {
    /// What it printed.
    pub printed: Arc<str>,
    /// The value of its last line if that is an expression; null otherwise. What JSON does not
    /// have is told in text: whole numbers beyond 64 bits, NaN and infinities, dates, objects.
    pub value: Payload,
}

/// Why a program came to no end of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SandboxFailure {
    /// It is not a program of the dialect.
    Syntax,
    /// It raised an exception.
    Raised,
    /// It ran for too long.
    Time,
    /// It asked for too much memory.
    Memory,
    /// It printed or gave back too much.
    Output,
    /// It asked for what no program may have: a file, the network, a process.
    Denied,
    /// The sandbox failed, not the program.
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

    /// Whether another program could do better, so that it is worth asking the model for one.
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

/// A program that came to no end of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SandboxError {
    /// In which way.
    pub kind: SandboxFailure,
    /// What the model is told, so that it can mend its program: the end of the traceback with its
    /// line, or the limit that was hit. Short.
    pub message: Arc<str>,
}

impl SandboxError {
    /// A failure and what to say about it.
    #[must_use]
    pub fn new(kind: SandboxFailure, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// What one program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Time on the clock, from the start of the program to its end.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of what it prints, and again of its value as JSON.
    pub output: usize,
}

impl Default for SandboxLimits {
    /// Five seconds, 128 MiB, 64 KiB.
    fn default() -> Self {
        Self { time: Duration::from_secs(5), memory: 128 << 20, output: 64 << 10 }
    }
}

/// What a model is told about the language of the sandbox, before it writes a program. It is the
/// dialect of the interpreter in `dsrs-sandbox`, whose tests hold this text to the truth.
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
