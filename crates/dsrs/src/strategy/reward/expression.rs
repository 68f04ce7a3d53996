//! A reward by an expression over `inputs` and `outputs`.

use super::unjudged;
use crate::expr::Expression;
use crate::predict::PredictError;
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Fields, Payload};

const INPUTS: &str = "inputs";
const OUTPUTS: &str = "outputs";

/// An expression over what went in and what came out.
pub(in crate::strategy) struct Formula(Expression);

impl Formula {
    pub(super) fn read(
        source: &Payload,
        schema: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let expression = Expression::compile(source.as_str().unwrap_or_default());
        let expression = expression.map_err(|error| Problem {
            pointer: at.pointer(),
            code: Code::InvalidConfig,
            detail: format!("the expression cannot be read: {error}"),
        })?;
        let mut asked: Vec<String> = expression.asks_for().into_iter().collect();
        asked.sort_unstable();
        let mut problems = Problems::new();
        for path in asked {
            check(&path, schema, at, &mut problems);
        }
        problems.or(Self(expression))
    }

    pub(super) fn of(&self, inputs: &Fields, outputs: &Fields) -> Result<f64, PredictError> {
        let (inputs, outputs) = (Payload::map(inputs.clone()), Payload::map(outputs.clone()));
        self.0.number([(INPUTS, &inputs), (OUTPUTS, &outputs)]).map_err(|error| {
            unjudged(format!("the reward `{}` of an attempt failed: {error}", self.0.source()))
        })
    }

    pub(super) fn told(&self) -> String {
        format!("the Jinja expression `{}`", self.0.source())
    }
}

/// Reports a name in an expression that nothing has.
fn check(path: &str, schema: Option<&SignatureSchema>, at: &At<'_>, problems: &mut Problems) {
    let mut steps = path.split('.');
    let (root, field) = (steps.next().unwrap_or_default(), steps.next());
    let fields = |side: fn(&SignatureSchema) -> &Vec<FieldSchema>| schema.map(side);
    let fields = match root {
        INPUTS => fields(|schema| &schema.inputs),
        OUTPUTS => fields(|schema| &schema.outputs),
        // Ranges and the like are functions of the language.
        "range" | "dict" | "namespace" | "debug" => return,
        other => {
            let detail = format!("`{other}` is unknown here; a reward sees `inputs` and `outputs`");
            return problems.add(at, Code::UnknownField, detail);
        }
    };
    let (Some(fields), Some(field)) = (fields, field) else { return };
    let known = || fields.iter().map(|field| field.name.as_ref());
    // Methods of objects are no fields.
    if known().any(|name| name == field) || ["items", "keys", "values", "get"].contains(&field) {
        return;
    }
    let hint =
        nearest(field, known()).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let detail = format!("`{root}` has no `{field}`; {hint}known ones: {}", listed(known()));
    problems.add(at, Code::UnknownField, detail);
}
