//! Parses the prompt of a request: instruction, requested outputs with their types, inputs, demos.

use dsrs::lm::sections::{named_once, open_sections, sections};
use dsrs::lm::{LmRequest, Role};

/// Precedes the instruction in a system message.
const TASK: &str = "\nYour task:\n";
/// Precedes the definitions of types.
const TYPES: &str = "\nTypes:\n";
/// The section with advice for one call.
const HINT: &str = "hint";

/// Values by the names of their sections.
type Sections<'a> = Vec<(&'a str, String)>;

/// A parsed prompt.
pub(crate) struct PromptRequest<'a> {
    /// The instruction and the advice for this call, in lower case.
    pub(crate) guidance: String,
    /// The description of fields and types.
    rules: &'a str,
    /// The requested outputs.
    pub(crate) outputs: Vec<&'a str>,
    /// The inputs of this call.
    pub(crate) inputs: Sections<'a>,
    /// Inputs and outputs of the demos.
    pub(crate) demos: Vec<(Sections<'a>, Sections<'a>)>,
}

impl<'a> PromptRequest<'a> {
    pub(crate) fn read(request: &'a LmRequest) -> Self {
        let system = request.chat.messages().find(|message| message.role == Role::System);
        let system = system.map_or("", |message| &*message.content);
        let (rules, instruction) = system.split_once(TASK).unwrap_or((system, ""));
        let (inputs, demos) = exchanges(request);
        let advice = inputs.iter().filter(|(name, _)| name.trim_end_matches('_') == HINT);
        let guidance = advice.fold(instruction.to_lowercase(), |guidance, (_, advice)| {
            guidance + "\n" + &advice.to_lowercase()
        });
        let mut outputs = named_once(rules);
        if outputs.is_empty() {
            outputs = open_sections(request);
            outputs.retain(|name| *name != "completed");
            outputs.dedup();
        }
        Self { guidance, rules, outputs, inputs, demos }
    }

    /// An input of this call.
    pub(crate) fn input(&self, name: &str) -> Option<&str> {
        value(&self.inputs, name)
    }

    /// The notation of the type of an output and what follows it; `string` if there is none.
    pub(crate) fn type_of(&self, output: &str) -> &'a str {
        let line = format!("\n- `{output}` (");
        let outputs =
            self.rules.rsplit_once("You write these outputs:").map_or("", |(_, text)| text);
        outputs.split_once(&line).map_or("string", |(_, text)| text)
    }

    /// The definitions of the types that have names.
    pub(crate) fn types(&self) -> &'a str {
        let types = self.rules.split_once(TYPES).map_or("", |(_, text)| text);
        types.split("\n\n").next().unwrap_or_default()
    }
}

/// A value of a section.
pub(crate) fn value<'s>(sections: &'s Sections<'_>, name: &str) -> Option<&'s str> {
    sections.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// The inputs of this call and the demos before them. An answer that did not parse and the request to
/// correct it do not count.
fn exchanges(request: &LmRequest) -> (Sections<'_>, Vec<(Sections<'_>, Sections<'_>)>) {
    let mut demos = Vec::new();
    let mut current = Sections::new();
    let mut answer = None;
    for message in request.chat.messages() {
        match message.role {
            Role::User => {
                let inputs = sections(&message.content);
                if !inputs.is_empty() {
                    let before = std::mem::replace(&mut current, inputs);
                    demos.extend(answer.take().map(|outputs| (before, outputs)));
                }
            }
            Role::Assistant => answer = Some(sections(&message.content)),
            Role::System | Role::Tool => {}
        }
    }
    (current, demos)
}
