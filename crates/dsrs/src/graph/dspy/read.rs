//! A file of DSPy's as a tuned state: everything that does not fit a program is refused with its
//! place, everything that has no meaning here is named.

use std::sync::Arc;

use super::decisions::{FIELDS, file_schema, rules, with_evidence};
use super::names::{described, description, fields, prefix};
use super::python_values::from_python;
use super::{DEMOS, LM, METADATA, Predictors, SIGNATURE};
use crate::graph::{GraphState, Program};
use crate::predict::{Demo, DynPredictor, LmOverrides, PredictState, read_lm};
use crate::problem::{At, Code, Problems};
use crate::read::{self, listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{absent_value, admit};
use crate::value::{Fields, Map, Payload};

/// The LM settings that mean the same here.
const SETTINGS: [&str; 6] =
    ["temperature", "max_tokens", "top_p", "seed", "stop", "reasoning_effort"];

/// What DSPy calls `max_tokens` for OpenAI's reasoning models.
const REASONING_LIMIT: &str = "max_completion_tokens";

/// The content of a DSPy file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DspyImport {
    /// The state.
    pub state: GraphState,
    /// JSON Pointers of the members that have no meaning here. Empty members (null, an empty list
    /// or object) and members that equal the program are not listed.
    pub ignored: Vec<String>,
}

/// Reads a file that `program.save("x.json")` of DSPy 3 wrote. Predictors are found by path, fields by
/// name. Predictors that the file leaves out are at their defaults. As in DSPy, a demo without any
/// input or any output is not used, nor are fields of demos that the predictor does not have.
///
/// # Errors
/// Every path, field and value that does not fit the program, with pointers below `at`.
pub fn from_dspy(file: &Payload, program: &Program, at: &At<'_>) -> Result<DspyImport, Problems> {
    read(file, &Predictors::of(program), at)
}

pub(super) fn read(
    file: &Payload,
    all: &Predictors<'_>,
    at: &At<'_>,
) -> Result<DspyImport, Problems> {
    let mut reader = DspyReader::default();
    let Some(members) = read::map(file, at, &mut reader.problems) else {
        return Err(reader.problems);
    };
    let flat = members.get(DEMOS).is_some_and(|demos| demos.as_list().is_some());
    if flat {
        reader.lone_predict(members, all, at);
    }
    for (path, value) in members {
        let at = at.key(path);
        let found = all.find(path);
        for (path, predictor) in &found {
            reader.predictor(path, *predictor, value, &at);
        }
        if !found.is_empty() {
            continue;
        }
        if path.as_ref() == METADATA {
            reader.ignore(value, &at);
        } else if !flat {
            reader.unknown(path, all, &at);
        }
    }
    let DspyImport { state, ignored } = reader.import;
    reader.problems.or(DspyImport { state, ignored })
}

#[derive(Default)]
struct DspyReader {
    import: DspyImport,
    problems: Problems,
}

impl DspyReader {
    fn ignore(&mut self, value: &Payload, at: &At<'_>) {
        let holds = match value {
            Payload::Null => false,
            Payload::List(items) => !items.is_empty(),
            Payload::Map(members) => !members.is_empty(),
            _ => true,
        };
        if holds {
            self.import.ignored.push(at.pointer());
        }
    }

    fn unknown(&mut self, path: &str, all: &Predictors<'_>, at: &At<'_>) {
        let hint = nearest(path, all.paths())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let known = all.listed();
        let detail = format!("there is no predictor `{path}`; {hint}known ones: {known}");
        self.problems.add(at, Code::UnknownField, detail);
    }

    /// The file of a lone `Predict`: a predictor without a path, possibly with others that have
    /// one.
    fn lone_predict(&mut self, members: &Map, all: &Predictors<'_>, at: &At<'_>) {
        let Some((path, predictor)) = all.find("").into_iter().next() else {
            let known = all.listed();
            let detail = format!(
                "the file is of one `dspy.Predict` without a path, and fits a graph with one \
                 `predict` node, or a `Predict` in Rust; this one has the predictors {known}"
            );
            self.problems.add(at, Code::InvalidValue, detail);
            return;
        };
        let of_it = |name: &&Arc<str>| all.find(name).is_empty() && name.as_ref() != METADATA;
        let own = members.iter().filter(|(name, _)| of_it(name));
        let own: Map = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.predictor(path, predictor, &Payload::map(own), at);
    }

    fn predictor(
        &mut self,
        path: &str,
        predictor: &dyn DynPredictor,
        value: &Payload,
        at: &At<'_>,
    ) {
        let Some(members) = read::map(value, at, &mut self.problems) else { return };
        let schema = file_schema(predictor);
        let mut state = PredictState::default();
        if !members.contains_key(SIGNATURE) {
            let detail = format!("`{SIGNATURE}` is missing");
            self.problems.add(&at.key(SIGNATURE), Code::MissingField, detail);
        }
        for (name, value) in members {
            let at = at.key(name);
            match name.as_ref() {
                SIGNATURE => state.instruction = self.signature(&schema, value, &at),
                DEMOS => state.demos = self.demos(predictor, value, &at),
                FIELDS if !predictor.decisions().is_empty() => {
                    let (rules, ignored) = rules(value, &at, &mut self.problems);
                    state.decisions = rules;
                    self.import.ignored.extend(ignored);
                }
                LM => state.lm = self.lm(value, &at),
                _ => self.ignore(value, &at),
            }
        }
        self.keep(path, state, at);
    }

    /// Stores the entry of a predictor. Two spellings of one predictor must have equal entries.
    fn keep(&mut self, path: &str, state: PredictState, at: &At<'_>) {
        let known = self.import.state.0.get(path);
        if known.is_some_and(|known| *known != state) {
            let detail = format!("the file has two different entries for the predictor `{path}`");
            self.problems.add(at, Code::DuplicateName, detail);
        }
        self.import.state.0.insert(path.into(), state);
    }

    fn signature(
        &mut self,
        schema: &SignatureSchema,
        value: &Payload,
        at: &At<'_>,
    ) -> Option<Arc<str>> {
        let mut instruction = None;
        for (name, value) in read::map(value, at, &mut self.problems)? {
            let at = at.key(name);
            match name.as_ref() {
                "instructions" => {
                    instruction = read::shared_text(value, &at, &mut self.problems);
                }
                "fields" => self.fields(schema, value, &at),
                _ => self.ignore(value, &at),
            }
        }
        instruction.filter(|text| *text != schema.instructions)
    }

    /// Checks that the fields are those of the predictor. The file has no names of fields, but nearly
    /// always the prefixes and descriptions that DSPy derives from them.
    fn fields(&mut self, schema: &SignatureSchema, value: &Payload, at: &At<'_>) {
        let listed_fields = read::list(value, at, &mut self.problems, read::map);
        let Some(listed_fields) = listed_fields else { return };
        let own: Vec<&FieldSchema> = fields(schema).collect();
        if listed_fields.len() != own.len() {
            let names = listed(own.iter().map(|field| &*field.name));
            let (found, wanted) = (listed_fields.len(), own.len());
            let detail = format!("the file has {found} fields, the predictor {wanted}: {names}");
            self.problems.add(at, Code::InvalidValue, detail);
        }
        for (position, (members, by_place)) in listed_fields.into_iter().zip(&own).enumerate() {
            let at = at.index(position);
            let text = |name: &str| members.get(name).and_then(Payload::as_str);
            let named = text("description").and_then(described);
            let field = match named {
                Some(name) => own.iter().find(|field| *field.name == *name),
                None => {
                    own.iter().find(|field| text("prefix") == Some(prefix(&field.name).as_str()))
                }
            };
            if let (Some(name), None) = (named, field) {
                let near = nearest(name, own.iter().map(|field| &*field.name))
                    .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
                let detail = format!("the predictor has no field `{name}`{near}");
                self.problems.add(&at, Code::UnknownField, detail);
            }
            self.ignore_differences(members, field.unwrap_or(by_place), &at);
        }
    }

    fn ignore_differences(&mut self, members: &Map, field: &FieldSchema, at: &At<'_>) {
        for (name, value) in members {
            let same = match (name.as_ref(), value.as_str()) {
                ("prefix", Some(text)) => text == prefix(&field.name),
                ("description", Some(text)) => {
                    text == description(field) || described(text) == Some(&*field.name)
                }
                _ => false,
            };
            if !same {
                self.ignore(value, &at.key(name));
            }
        }
    }

    fn demos(&mut self, predictor: &dyn DynPredictor, value: &Payload, at: &At<'_>) -> Vec<Demo> {
        let (schema, decisions) = (predictor.schema(), predictor.decisions());
        let demos = read::list(value, at, &mut self.problems, |demo, at, problems| {
            Some(read::map(demo, at, problems))
        });
        let demos = demos.unwrap_or_default().into_iter().enumerate();
        let read = demos.filter_map(|(position, demo)| {
            let (demo, at) = (demo?, at.index(position));
            if decisions.is_empty() {
                return self.demo(schema, demo, &at);
            }
            let stated = with_evidence(demo, predictor, &at, &mut self.import.ignored);
            self.demo(schema, &stated, &at)
        });
        read.collect()
    }

    /// One demo, unless DSPy itself would not show it.
    fn demo(&mut self, schema: &SignatureSchema, demo: &Map, at: &At<'_>) -> Option<Demo> {
        let has_any = |side: &[FieldSchema]| {
            side.is_empty() || side.iter().any(|field| given(schema, demo, field).is_some())
        };
        if !has_any(&schema.inputs) || !has_any(&schema.outputs) {
            self.import.ignored.push(at.pointer());
            return None;
        }
        for (name, value) in demo {
            let field = fields(schema).find(|field| field.name == *name);
            if field.is_none_or(|field| given(schema, demo, field).is_none()) {
                self.ignore(value, &at.key(name));
            }
        }
        for field in schema.inputs.iter().filter(|field| given(schema, demo, field).is_none()) {
            if absent_value(&field.ty, &schema.defs, field.default.as_ref()).is_none() {
                let detail = format!("the input `{}` is missing", field.name);
                self.problems.add(&at.key(&field.name), Code::MissingField, detail);
            }
        }
        let mut side = |fields: &[FieldSchema]| {
            let mut admitted = Fields::with_capacity(fields.len());
            for field in fields {
                let Some(value) = given(schema, demo, field) else { continue };
                let at = at.key(&field.name);
                let ty = schema.type_of(field);
                let value = admit(&from_python(value, &ty), &ty, &at, &mut self.problems);
                admitted.extend(value.map(|value| (field.name.clone(), value)));
            }
            admitted
        };
        Some(Demo { input: side(&schema.inputs), output: side(&schema.outputs) })
    }

    fn lm(&mut self, value: &Payload, at: &At<'_>) -> LmOverrides {
        if matches!(value, Payload::Null) {
            return LmOverrides::default();
        }
        let Some(members) = read::map(value, at, &mut self.problems) else {
            return LmOverrides::default();
        };
        let mut settings = Map::new();
        for (name, value) in members {
            if SETTINGS.contains(&name.as_ref()) {
                settings.insert(name.clone(), value.clone());
            } else if name.as_ref() == REASONING_LIMIT {
                settings.entry("max_tokens".into()).or_insert_with(|| value.clone());
            } else {
                self.ignore(value, &at.key(name));
            }
        }
        read_lm(&Payload::map(settings), at, &mut self.problems).unwrap_or_default()
    }
}

/// A demo's value of a field. Null is none, as in DSPy, unless the field may be null.
fn given<'d>(schema: &SignatureSchema, demo: &'d Map, field: &FieldSchema) -> Option<&'d Payload> {
    let may_be_null = || absent_value(&field.ty, &schema.defs, None).is_some();
    demo.get(&field.name).filter(|value| !matches!(value, Payload::Null) || may_be_null())
}
