//! Runs the programs of a session in one interpreter, so that each finds the variables of those before it. Functions of the
//! host are answered by the caller. Knows no processes and no pipes.

use std::io;
use std::sync::Arc;

use dsrs::sandbox::{HostAnswer, HostCall, SandboxError, SandboxLimits, SessionOutput};
use dsrs::value::{Fields, Payload};
use monty::{MontyRepl, ReplFunctionCall, ReplNameLookup, ReplProgress, ReplStartError};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter,
};
use serde::Serialize;

use crate::failure::{denied, refusal, stopped, unreadable};
use crate::interpret::{HOST_CALLS, tracker};
use crate::printed::PrintBuffer;
use crate::report;
use crate::session_wire::CALL_BYTES;
use crate::values::{to_payload, to_python};

/// Answers a call of a program; fails if there is no host any more.
pub(crate) type AnswerCall<'a> = dyn FnMut(&HostCall) -> io::Result<HostAnswer> + 'a;

/// The interpreter with the variables of the session.
pub(crate) struct InterpreterSession {
    repl: MontyRepl,
    functions: Vec<Arc<str>>,
    limits: SandboxLimits,
}

/// A step of a program: it waits for the host, or it has ended.
type ProgramStep = Result<ReplProgress, Box<ReplStartError>>;

/// The end of a program: the interpreter, and the value of its last line.
struct ProgramEnd {
    repl: MontyRepl,
    ended: Result<MontyObject, SandboxError>,
}

impl InterpreterSession {
    /// A session with these variables.
    ///
    /// # Errors
    /// A name of a variable is none in Python.
    pub(crate) fn open(
        inputs: Fields,
        functions: Vec<Arc<str>>,
        limits: SandboxLimits,
    ) -> Result<Self, SandboxError> {
        let mut repl = MontyRepl::new("session", tracker(&limits), CompileOptions::default());
        let variables = inputs.iter().map(|(name, value)| (name.to_string(), to_python(value)));
        let variables = variables.collect();
        drop(inputs);
        repl.feed_run("None", variables, PrintWriter::Disabled)
            .map_err(|exception| unreadable(&exception))?;
        Ok(Self { repl, functions, limits })
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// There is no host any more.
    pub(crate) fn run(
        self,
        code: &str,
        host: &mut AnswerCall<'_>,
    ) -> io::Result<(Self, SessionOutput)> {
        let Self { mut repl, functions, limits } = self;
        repl.tracker_mut().set_max_duration(limits.time);
        let mut printed = PrintBuffer::leaving_out(limits.output);
        let first = repl.feed_start(code, Vec::new(), PrintWriter::Callback(&mut printed));
        let mut program = ProgramHost { functions: &functions, host, printed: &mut printed };
        let ProgramEnd { repl, ended } = program.run_to_end(first, &limits)?;
        let failure = ended.map(|value| show(&value, &mut printed)).err();
        let omitted = printed.omitted();
        let printed = printed.into_text().into();
        let output = SessionOutput { printed, omitted, failure, variables_lost: false };
        Ok((Self { repl, functions, limits }, output))
    }
}

/// Prints the value of the last line, if there is one.
fn show(value: &MontyObject, printed: &mut PrintBuffer) {
    let text = match value {
        MontyObject::None => return,
        MontyObject::String(text) => text.clone(),
        value => {
            to_payload(value).map_or_else(|| "(nested too deeply)".to_owned(), |v| v.to_json())
        }
    };
    // What does not fit is left out.
    let _ = printed.push(&text);
}

/// What a program finds outside of the interpreter.
struct ProgramHost<'p> {
    functions: &'p [Arc<str>],
    host: &'p mut AnswerCall<'p>,
    printed: &'p mut PrintBuffer,
}

impl ProgramHost<'_> {
    fn run_to_end(&mut self, first: ProgramStep, limits: &SandboxLimits) -> io::Result<ProgramEnd> {
        let mut step = first;
        for _ in 0..HOST_CALLS {
            let progress = match step {
                Ok(ReplProgress::Complete { repl, value }) => {
                    return Ok(ProgramEnd { repl, ended: Ok(value) });
                }
                Ok(progress) => progress,
                Err(failed) => {
                    let ReplStartError { repl, error } = *failed;
                    return Ok(ProgramEnd { repl, ended: Err(stopped(&error, limits)) });
                }
            };
            step = match progress {
                ReplProgress::FunctionCall(call) if self.has(&call) => match self.answer(&call)? {
                    Some(result) => call.resume(result, self.print()),
                    None => {
                        let (repl, ended) = (call.into_repl(), Ok(MontyObject::None));
                        return Ok(ProgramEnd { repl, ended });
                    }
                },
                other => self.refuse(other),
            };
        }
        let repl = match step {
            Ok(progress) => progress.into_repl(),
            Err(failed) => failed.repl,
        };
        Ok(ProgramEnd { repl, ended: Err(report::too_many_calls(HOST_CALLS)) })
    }

    fn print(&mut self) -> PrintWriter<'_> {
        PrintWriter::Callback(self.printed)
    }

    fn has(&self, call: &ReplFunctionCall) -> bool {
        call.object_id.is_none() && self.functions.iter().any(|name| **name == call.function_name)
    }

    /// The result of a call; `None` ends the program.
    fn answer(&mut self, call: &ReplFunctionCall) -> io::Result<Option<ExtFunctionResult>> {
        let sent = match host_call(call) {
            Ok(sent) => sent,
            Err(why) => return Ok(Some(ExtFunctionResult::Error(runtime_error(why)))),
        };
        Ok(match (self.host)(&sent)? {
            HostAnswer::Return(value) => Some(ExtFunctionResult::Return(to_python(&value))),
            HostAnswer::Raise(why) => {
                Some(ExtFunctionResult::Error(runtime_error(why.to_string())))
            }
            HostAnswer::End => None,
        })
    }

    /// Continues a program that wants anything but a function of the host.
    fn refuse(&mut self, progress: ReplProgress) -> ProgramStep {
        match progress {
            ReplProgress::NameLookup(lookup) => {
                let found = self.named(&lookup);
                lookup.resume(found, self.print())
            }
            ReplProgress::FunctionCall(call) => {
                let unknown = ExtFunctionResult::NotFound(call.function_name.clone());
                call.resume(unknown, self.print())
            }
            ReplProgress::OsCall(call) => {
                let denied = denied(call.function_call.name());
                call.resume(ExtFunctionResult::Error(denied), self.print())
            }
            ReplProgress::ResolveFutures(futures) => {
                futures.abort(refusal("nothing to wait for".to_owned()), self.print())
            }
            complete @ ReplProgress::Complete { .. } => Ok(complete),
        }
    }

    fn named(&self, lookup: &ReplNameLookup) -> NameLookupResult {
        let known = self.functions.iter().any(|name| **name == lookup.name);
        if !known || lookup.object_id().is_some() {
            return NameLookupResult::Undefined;
        }
        let name = lookup.name.clone();
        NameLookupResult::Value(MontyObject::Function { name, docstring: None })
    }
}

fn runtime_error(message: String) -> MontyException {
    MontyException::new(ExcType::RuntimeError, Some(message))
}

/// A call as data, or why it is not sent.
fn host_call(call: &ReplFunctionCall) -> Result<HostCall, String> {
    let name = &call.function_name;
    let too_deep = || format!("an argument of {name}() nests too deeply");
    let args: Option<Vec<Payload>> = call.args.iter().map(to_payload).collect();
    let named =
        call.kwargs.iter().map(|(name, value)| Some((name.to_string().into(), to_payload(value)?)));
    let named: Option<Fields> = named.collect();
    let (args, named) = args.zip(named).ok_or_else(too_deep)?;
    let size = size_of(&args) + size_of(&named);
    if size > CALL_BYTES {
        return Err(format!(
            "the arguments of {name}() are {size} bytes long; at most {CALL_BYTES} are allowed: divide them"
        ));
    }
    Ok(HostCall { name: name.as_str().into(), args, named })
}

/// The bytes of a document as JSON, without making it.
fn size_of(document: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // Every payload has a JSON form, and counting does not fail.
    let _ = serde_json::to_writer(&mut count, document);
    count.0
}
