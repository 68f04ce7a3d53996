//! A request as the synthetic LM reads it: what it is told to do, which outputs of which types are
//! asked for, what stands in the inputs, which demos went before.

use crate::lm::scripted::sections::{outputs_named, sections, wanted_sections};
use crate::lm::{LmRequest, Role};

/// What stands before the instruction in a system message.
const TASK: &str = "\nYour task:\n";
/// What stands before the definitions of types.
const TYPES: &str = "\nTypes:\n";
/// The section with advice for one call.
const HINT: &str = "hint";

/// Values by the names of their sections.
type Sections<'a> = Vec<(&'a str, String)>;

/// A request, taken apart.
pub(super) struct Asked<'a> {
    /// The instruction and the advice for this call, in small letters.
    pub(super) guidance: String,
    /// What is said of fields and types.
    rules: &'a str,
    /// The outputs that are asked for.
    pub(super) wanted: Vec<&'a str>,
    /// The inputs of this call.
    pub(super) inputs: Sections<'a>,
    /// Inputs and outputs of the demos.
    pub(super) demos: Vec<(Sections<'a>, Sections<'a>)>,
}

impl<'a> Asked<'a> {
    pub(super) fn read(request: &'a LmRequest) -> Self {
        let system = request.chat.messages().find(|said| said.role == Role::System);
        let system = system.map_or("", |said| &*said.content);
        let (rules, instruction) = system.split_once(TASK).unwrap_or((system, ""));
        let (inputs, demos) = exchanges(request);
        let advice = inputs.iter().filter(|(name, _)| name.trim_end_matches('_') == HINT);
        let guidance = advice.fold(instruction.to_lowercase(), |guidance, (_, advice)| {
            guidance + "\n" + &advice.to_lowercase()
        });
        let mut wanted = outputs_named(rules);
        if wanted.is_empty() {
            wanted = wanted_sections(request);
            wanted.retain(|name| *name != "completed");
            wanted.dedup();
        }
        Self { guidance, rules, wanted, inputs, demos }
    }

    /// An input of this call.
    pub(super) fn input(&self, name: &str) -> Option<&str> {
        value(&self.inputs, name)
    }

    /// How the type of an output is told, and what follows; `string` if nothing is said.
    pub(super) fn type_of(&self, output: &str) -> &'a str {
        let line = format!("\n- `{output}` (");
        let outputs =
            self.rules.rsplit_once("You write these outputs:").map_or("", |(_, told)| told);
        outputs.split_once(&line).map_or("string", |(_, told)| told)
    }

    /// The definitions of the types that have names.
    pub(super) fn types(&self) -> &'a str {
        let told = self.rules.split_once(TYPES).map_or("", |(_, told)| told);
        told.split("\n\n").next().unwrap_or_default()
    }
}

/// A value of a section.
pub(super) fn value<'s>(sections: &'s Sections<'_>, name: &str) -> Option<&'s str> {
    sections.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// The inputs of this call and the demos before them. What follows, a bad answer and the request
/// to mend it, is neither.
fn exchanges(request: &LmRequest) -> (Sections<'_>, Vec<(Sections<'_>, Sections<'_>)>) {
    let mut demos = Vec::new();
    let mut asked = Sections::new();
    let mut answered = None;
    for said in request.chat.messages() {
        match said.role {
            Role::User => {
                let inputs = sections(&said.content);
                if !inputs.is_empty() {
                    let before = std::mem::replace(&mut asked, inputs);
                    demos.extend(answered.take().map(|outputs| (before, outputs)));
                }
            }
            Role::Assistant => answered = Some(sections(&said.content)),
            Role::System | Role::Tool => {}
        }
    }
    (asked, demos)
}
