//! Runs one program in the interpreter. Refuses files, clock and environment, which the interpreter
//! requests from its host. Knows no processes.

use dsrs::sandbox::{SandboxError, SandboxLimits, SandboxOutput};
use monty::{FunctionCall, MontyRun, NameLookup, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter, ResourceLimits, ResourceTracker,
};

use crate::failure::{denied, refusal, stopped, unreadable};
use crate::printed::PrintBuffer;
use crate::report;
use crate::values::{to_payload, to_python};
use crate::wire::SandboxRequest;

/// The name of the program in its traceback, which is not shown.
const NAME: &str = "program.py";

/// The most requests of a program to its host. All but [`SUBMIT`] are refused.
pub(crate) const HOST_CALLS: usize = 1_000;

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
    let mut printed = PrintBuffer::refusing(limits.output);
    let ended = run(program, values, &limits, &mut printed);
    if printed.has_overflowed() {
        return Err(report::printed_too_much(&limits));
    }
    let value = ended.map_err(|exception| stopped(&exception, &limits))?;
    let value = to_payload(&value).ok_or_else(|| report::value_too_large(&limits))?;
    if value.to_json().len() > limits.output {
        return Err(report::value_too_large(&limits));
    }
    Ok(SandboxOutput { printed: printed.into_text().into(), value })
}

fn run(
    program: MontyRun,
    inputs: Vec<MontyObject>,
    limits: &SandboxLimits,
    printed: &mut PrintBuffer,
) -> Result<MontyObject, MontyException> {
    let mut progress = program.start(inputs, tracker(limits), PrintWriter::Callback(printed))?;
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

/// The limits of the interpreter.
pub(crate) fn tracker(limits: &SandboxLimits) -> ResourceTracker {
    let memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
    ResourceTracker::new(ResourceLimits::default().max_duration(limits.time).max_memory(memory))
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
