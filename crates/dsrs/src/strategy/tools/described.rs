//! Tools in prompts. Knows types, and no strategy.

use crate::lm::ToolSpec;
use crate::problem::{At, Problems};
use crate::types::{Type, TypeDef, TypeIR, TypeScope, describe_definitions, describe_type};
use crate::value::Payload;

/// The arguments of a tool, written like types elsewhere in the prompt, or as the JSON Schema itself if
/// it says more than types can. Further lines are indented.
pub(in crate::strategy) fn described_arguments(tool: &ToolSpec) -> String {
    let schema = tool.parameters.get();
    let typed = Payload::from_json(schema).ok().and_then(|schema| typed(&schema));
    typed.unwrap_or_else(|| schema.into()).replace('\n', "\n  ")
}

fn typed(schema: &Payload) -> Option<String> {
    let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
    let ir = scope.read_type(schema, &At::Root, &mut problems)?;
    let defs = scope.finish();
    // The object of the arguments has no name; the reader made one up.
    let ir = match &ir {
        TypeIR::Named(name) => match defs.get(name) {
            Some(TypeDef::Class(class)) => TypeIR::Class(class.clone().into()),
            _ => ir,
        },
        _ => ir,
    };
    let ty = Type::new(ir, defs);
    let named = describe_definitions(std::slice::from_ref(&ty));
    let where_ = if named.is_empty() { String::new() } else { format!("\nwith\n{named}") };
    problems.is_empty().then(|| format!("{}{where_}", describe_type(&ty)))
}
