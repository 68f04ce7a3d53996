//! Sessions of a sandbox: programs that share variables and call functions of the host while they run. Knows payloads and
//! nothing of processes, models or tools.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::SandboxError;
use crate::value::{Fields, Payload};

/// What the programs of a session find, and how many there may be.
#[derive(Clone, Debug, Default)]
pub struct SessionSetup {
    /// The variables before the first program.
    pub inputs: Fields,
    /// The names of the functions that programs may call.
    pub functions: Vec<Arc<str>>,
    /// The most programs.
    pub programs: usize,
    /// Whether a program of another session waits for this one. Such a session does not wait for a free place, because that
    /// could wait for itself.
    pub is_nested: bool,
}

/// Programs that run one after another over the same variables.
pub trait SandboxSession: Send {
    /// Runs a program with the variables that the inputs and the programs before it left. Its calls of functions are
    /// answered by `host`; the time of an answer is not time of the program.
    ///
    /// Dropping the future ends the session's process; the next program starts with the inputs alone.
    fn run<'a>(
        &'a mut self,
        code: &'a str,
        host: &'a dyn SandboxHost,
    ) -> BoxFuture<'a, SessionOutput>;
}

/// Answers the calls of functions that a program makes.
pub trait SandboxHost: Send + Sync {
    /// Answers one call. The program waits meanwhile.
    fn call(&self, call: HostCall) -> BoxFuture<'_, HostAnswer>;
}

/// A call of a function of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCall {
    /// The name of the function.
    pub name: Arc<str>,
    /// The positional arguments.
    pub args: Vec<Payload>,
    /// The named arguments.
    pub named: Fields,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum HostAnswer {
    /// The call returns this value.
    Return(Payload),
    /// The call raises a `RuntimeError` with this message.
    Raise(Arc<str>),
    /// The program ends here, as if the call was its last line.
    End,
}

/// The end of a program of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOutput {
    /// The beginning of the printed text, followed by the value of the last line if that is an expression.
    pub printed: Arc<str>,
    /// The characters after that beginning, which were left out.
    pub omitted: usize,
    /// Why it failed, if it did.
    pub failure: Option<SandboxError>,
    /// Whether the variables of the programs so far are lost: the next program finds the inputs alone.
    pub variables_lost: bool,
}

impl SessionOutput {
    /// The end of a program that printed nothing.
    #[must_use]
    pub fn failed(failure: SandboxError, variables_lost: bool) -> Self {
        Self { printed: "".into(), omitted: 0, failure: Some(failure), variables_lost }
    }
}
