//! Where the value of an output begins in an answer. Does not know what it is.

use super::outputs::Outputs;
use super::sections::{AnswerText, Scanner};
use crate::coerce::Leniencies;

/// The position of the first character of an output's value: below its header, or behind its name in an object.
pub(super) fn value_start(outputs: &Outputs, text: &str, name: &str) -> Option<usize> {
    let index = outputs.iter().position(|output| *output.name == *name)?;
    let source = AnswerText { text, outputs, allowed: Leniencies::ALL, ended: true };
    let mut scanner = Scanner::new(outputs, Leniencies::ALL);
    scanner.advance(&source);
    if let Some(section) = scanner.section(index) {
        return Some(section.body.start);
    }
    let output = outputs.get(index)?;
    let in_object = [&output.lm_name, &output.name].into_iter().find_map(|name| {
        let name = format!("\"{name}\"");
        let behind = text.find(&name)? + name.len();
        let colon = text.get(behind..)?.find(':')?;
        Some(behind + colon + 1)
    });
    let alone = (outputs.len() == 1).then(|| scanner.lead().start);
    let start = in_object.or(alone)?;
    let rest = text.get(start..)?;
    Some(start + (rest.len() - rest.trim_start().len()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::signature::{FieldSchema, SignatureSchema};
    use crate::types::{TypeDefs, TypeIR};

    fn found(text: &str, names: &[&str]) -> Option<String> {
        let outputs = names.iter().map(|name| FieldSchema::of(*name, TypeIR::Bool)).collect();
        let (instructions, inputs, defs) = ("Judge.".into(), vec![], Arc::new(TypeDefs::default()));
        let schema = SignatureSchema { instructions, inputs, outputs, defs };
        let start = value_start(&Outputs::of(&schema), text, "spam")?;
        text.get(start..start + 4).map(str::to_owned)
    }

    #[test]
    fn a_value_begins_below_its_header_or_behind_its_name() {
        let both = ["long", "spam"];
        let text = "[[ ## long ## ]]\nno\n\n[[ ## spam ## ]]\ntrue\n\n[[ ## completed ## ]]";
        assert_eq!(found(text, &both).as_deref(), Some("true"));
        assert_eq!(found(r#"{"long": false, "spam" :  true}"#, &both).as_deref(), Some("true"));
        assert_eq!(found(" true", &["spam"]).as_deref(), Some("true"));
        assert_eq!(found("true", &both), None);
    }
}
