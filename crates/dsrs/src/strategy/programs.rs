//! What strategies share whose LM writes programs: the program in an answer, tools as functions, sessions in the sandbox
//! and their spans. Knows no strategy by name.

mod code;
mod functions;
mod names;
mod output;
mod sandboxed;
mod session;

pub(super) use code::code_of;
pub(super) use functions::ProgramFunctions;
pub(super) use names::check_variables;
pub(super) use output::{NO_PROGRAM, OutputLimit};
pub(super) use sandboxed::{no_sandbox, sandbox_is_gone};
pub(super) use session::{ProgramHost, ProgramSession};
