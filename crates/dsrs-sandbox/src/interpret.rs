//! Runs one program in the interpreter. Refuses files, clock and environment, which the interpreter
//! requests from its host. Knows no processes.

use std::borrow::Cow;

use dsrs::sandbox::{SandboxError, SandboxFailure, SandboxLimits, SandboxOutput};
use monty::{FunctionCall, MontyRun, NameLookup, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter, PrintWriterCallback, ResourceLimits, ResourceTracker,
};

use crate::values::{to_payload, to_python};
use crate::wire::SandboxRequest;
use crate::{exception, report};

/// The name of the program in its traceback, which is not shown.
const NAME: &str = "program.py";

/// The most requests of a program to its host. All but [`SUBMIT`] are refused.
const HOST_CALLS: usize = 1_000;

/// The function that ends a program with its argument as the result. Instructions and demos of DSPy's
/// `ProgramOfThought` call it.
const SUBMIT: &str = "SUBMIT";

/// Runs a program to its end.
pub(crate) fn interpret(request: SandboxRequest) -> Result<SandboxOutput, SandboxError> {
    let SandboxRequest { code, inputs, limits, .. } = request;
    let names: Vec<String> = inputs.keys().map(|name| name.as_ref().to_owned()).collect();
    let values: Vec<MontyObject> = inputs.values().map(to_python).collect();
    drop(inputs);
    let program = MontyRun::new(code, NAME, names, CompileOptions::default())
        .map_err(|exception| unreadable(&exception))?;
    let mut printed = PrintBuffer { text: String::new(), limit: limits.output, overflowed: false };
    let ended = run(program, values, &limits, &mut printed);
    if printed.overflowed {
        return Err(report::printed_too_much(&limits));
    }
    let value = ended.map_err(|exception| stopped(&exception, &limits))?;
    let value = to_payload(&value).ok_or_else(|| report::value_too_large(&limits))?;
    if value.to_json().len() > limits.output {
        return Err(report::value_too_large(&limits));
    }
    Ok(SandboxOutput { printed: printed.text.into(), value })
}

fn run(
    program: MontyRun,
    inputs: Vec<MontyObject>,
    limits: &SandboxLimits,
    printed: &mut PrintBuffer,
) -> Result<MontyObject, MontyException> {
    let tracker = ResourceTracker::new(
        ResourceLimits::default()
            .max_duration(limits.time)
            .max_memory(usize::try_from(limits.memory).unwrap_or(usize::MAX)),
    );
    let mut progress = program.start(inputs, tracker, PrintWriter::Callback(printed))?;
    for _ in 0..HOST_CALLS {
        let print = PrintWriter::Callback(printed);
        progress = match progress {
            RunProgress::Complete(value) => return Ok(value),
            RunProgress::OsCall(call) => {
                let denied = denied(call.function_call.name());
                call.resume(ExtFunctionResult::Error(denied), print)?
            }
            RunProgress::FunctionCall(call) if is_submit(&call) => match submitted(&call) {
                Some(value) => return Ok(value),
                None => call.resume(ExtFunctionResult::Error(wrong_arguments()), print)?,
            },
            RunProgress::FunctionCall(call) => {
                let unknown = ExtFunctionResult::NotFound(call.function_name.clone());
                call.resume(unknown, print)?
            }
            RunProgress::NameLookup(lookup) => {
                let found = named(&lookup);
                lookup.resume(found, print)?
            }
            RunProgress::ResolveFutures(futures) => {
                futures.abort(MontyException::runtime_error("nothing to wait for"), print)?
            }
        };
    }
    Err(refusal("made too many requests that are refused".to_owned()))
}

fn named(lookup: &NameLookup) -> NameLookupResult {
    if lookup.name != SUBMIT || lookup.object_id().is_some() {
        return NameLookupResult::Undefined;
    }
    NameLookupResult::Value(MontyObject::Function { name: SUBMIT.to_owned(), docstring: None })
}

fn is_submit(call: &FunctionCall) -> bool {
    call.function_name == SUBMIT && call.object_id.is_none()
}

/// The submitted value: the only argument, or the named ones as a dict.
fn submitted(call: &FunctionCall) -> Option<MontyObject> {
    match (call.args.as_slice(), call.kwargs.as_slice()) {
        ([value], []) => Some(value.clone()),
        ([], [(MontyObject::String(name), value)]) if name == "output" => Some(value.clone()),
        ([], [_, ..]) => Some(MontyObject::dict(call.kwargs.clone())),
        _ => None,
    }
}

fn wrong_arguments() -> MontyException {
    let message = "SUBMIT() takes the result: one argument, or named arguments".to_owned();
    MontyException::new(ExcType::TypeError, Some(message))
}

fn denied(what: &str) -> MontyException {
    refusal(format!("`{what}` is refused: a program has no files, no environment and no clock"))
}

fn refusal(message: String) -> MontyException {
    MontyException::new(ExcType::PermissionError, Some(message))
}

fn unreadable(exception: &MontyException) -> SandboxError {
    exception::raised(kind_of(exception, SandboxFailure::Syntax), exception)
}

fn stopped(exception: &MontyException, limits: &SandboxLimits) -> SandboxError {
    match kind_of(exception, SandboxFailure::Raised) {
        SandboxFailure::Time => exception::at(exception, &report::out_of_time(limits)),
        SandboxFailure::Memory => exception::at(exception, &report::out_of_memory(limits)),
        kind => exception::raised(kind, exception),
    }
}

/// The interpreter reports an exceeded limit by exceptions that a program may raise, too. Only their
/// messages differ.
fn kind_of(exception: &MontyException, otherwise: SandboxFailure) -> SandboxFailure {
    let message = exception.message().unwrap_or_default();
    match exception.exc_type() {
        ExcType::TimeoutError if message.starts_with("time limit exceeded") => SandboxFailure::Time,
        ExcType::MemoryError if message.starts_with("memory limit exceeded") => {
            SandboxFailure::Memory
        }
        ExcType::PermissionError | ExcType::ModuleNotFoundError => SandboxFailure::Denied,
        _ => otherwise,
    }
}

/// The printed text, up to its limit.
struct PrintBuffer {
    text: String,
    limit: usize,
    /// Stays true if the program catches the exception.
    overflowed: bool,
}

impl PrintBuffer {
    fn push(&mut self, text: &str) -> Result<(), MontyException> {
        if self.overflowed || self.text.len() + text.len() > self.limit {
            self.overflowed = true;
            return Err(MontyException::new(ExcType::MemoryError, Some("printed too much".into())));
        }
        self.text.push_str(text);
        Ok(())
    }
}

impl PrintWriterCallback for PrintBuffer {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output)
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]))
    }
}
