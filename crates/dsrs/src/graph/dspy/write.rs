//! A tuned program as a file that DSPy loads.

use std::sync::Arc;

use super::decisions::{FIELDS, file_output, file_rules, file_schema};
use super::names::{description, fields, prefix};
use super::python_values::{has_bytes, to_python};
use super::{DEMOS, LM, METADATA, Predictors, SIGNATURE};
use crate::graph::Program;
use crate::predict::{Decision, Demo, DynPredictor, lm_to_payload};
use crate::problem::{At, Code, Problems};
use crate::value::{Map, Payload};

/// The member of a state that selects demos for each call; DSPy has none.
const NEAREST: &str = "nearest";

/// The attributes of a `dspy.Predict` (3.0 to 3.4). Loading a file as a lone `Predict` sets every
/// member as an attribute, so such a file must not contain a path of such a name.
const PREDICT_ATTRIBUTES: [&str; 36] = [
    "acall",
    "aforward",
    "batch",
    "callbacks",
    "config",
    "deepcopy",
    "demos",
    "dump_state",
    "extended_signature",
    "fields",
    "forward",
    "get_config",
    "get_criteria",
    "get_lm",
    "history",
    "inspect_history",
    "lm",
    "load",
    "load_state",
    "map_named_predictors",
    "metadata",
    "named_parameters",
    "named_predictors",
    "named_sub_modules",
    "parameters",
    "predictors",
    "reset",
    "reset_copy",
    "save",
    "set_criteria",
    "set_lm",
    "signature",
    "stage",
    "traces",
    "train",
    "update_config",
];

/// A program's state as `program.save("x.json")` writes that of the program in DSPy with the same
/// predictors: effective instructions, demos, fields. LM settings have no counterpart, because DSPy
/// stores them only with a model, and neither has the selection of demos for each call;
/// `metadata.left_out` lists what is missing.
///
/// The only node that calls an LM is written twice, by its path and as a lone module, so that both
/// `dspy.ChainOfThought(…)` and a program with one as an attribute can load the file.
///
/// # Errors
/// A predictor whose path has another meaning in such a file, and several predictors of one path
/// with different states.
pub fn to_dspy(program: &Program) -> Result<Payload, Problems> {
    write(&Predictors::of(program))
}

pub(super) fn write(all: &Predictors<'_>) -> Result<Payload, Problems> {
    let (mut file, mut left_out) = (Map::new(), Vec::new());
    let mut problems = Problems::new();
    for (own, found) in &all.by_path {
        let root = At::Root;
        let path = all.in_file(own);
        let at = root.key(path);
        check(path, &at, &mut problems);
        let member = predictor(*found);
        check_same(file.get(path), &member, path, &at, &mut problems);
        left_out.extend(lost(*found, &at));
        match all.lone(own) {
            Some("") => {
                file.extend(member.as_map().cloned().unwrap_or_default());
                if path.is_empty() || path.starts_with('_') || PREDICT_ATTRIBUTES.contains(&path) {
                    continue;
                }
            }
            Some(within) => drop(file.insert(within.into(), member.clone())),
            None => {}
        }
        file.insert(path.into(), member);
    }
    let mut metadata = vec![("dependency_versions", Payload::map(Map::new()))];
    if !left_out.is_empty() {
        metadata.push(("left_out", Payload::list(left_out)));
    }
    file.insert(METADATA.into(), object(metadata));
    problems.or(Payload::map(file))
}

fn check(path: &str, at: &At<'_>, problems: &mut Problems) {
    if path == METADATA {
        let detail = format!("DSPy reserves `{METADATA}`; rename the node");
        problems.add(at, Code::ReservedName, detail);
    }
}

/// A predictor that DSPy calls several times is several here; the file has one entry for them.
fn check_same(
    known: Option<&Payload>,
    member: &Payload,
    path: &str,
    at: &At<'_>,
    problems: &mut Problems,
) {
    if known.is_some_and(|known| known != member) {
        let detail = format!(
            "DSPy has one predictor `{path}`, which is several here, with different states; give \
             them the same instruction and demos"
        );
        problems.add(at, Code::DuplicateName, detail);
    }
}

fn predictor(found: &dyn DynPredictor) -> Payload {
    let schema = file_schema(found);
    let fields = fields(&schema).map(|field| {
        object([
            ("prefix", Payload::from(prefix(&field.name).as_str())),
            ("description", Payload::from(description(field).as_str())),
        ])
    });
    let signature = object([
        ("instructions", Payload::from(found.instruction())),
        ("fields", Payload::list(fields.collect())),
    ]);
    let demos = found.state().demos.iter().map(|one| demo(one, found.decisions()));
    let rules = file_rules(&found.state().decisions).map(|rules| (FIELDS, rules));
    let members = [
        ("traces", Payload::list(Vec::new())),
        ("train", Payload::list(Vec::new())),
        (DEMOS, Payload::list(demos.collect())),
        (SIGNATURE, signature),
        (LM, Payload::Null),
    ];
    object(members.into_iter().chain(rules))
}

fn demo(demo: &Demo, decisions: &[Decision]) -> Payload {
    let output = demo.output.iter().map(|(name, value)| file_output(name, value, decisions));
    let input = demo.input.iter().map(|(name, value)| (name.clone(), value.clone()));
    let both = input.chain(output);
    Payload::map(both.map(|(name, value)| (name, to_python(&value))).collect())
}

/// The LM settings, how demos are chosen, and demos with bytes that DSPy reads as others, by their places in a state.
fn lost(found: &dyn DynPredictor, at: &At<'_>) -> Vec<Payload> {
    let settings = lm_to_payload(&found.state().lm);
    let names = settings.iter().filter_map(Payload::as_map).flat_map(Map::keys);
    let settings = names.map(|name| at.key(LM).key(name).pointer());
    let nearest = found.state().nearest.iter().map(|_| at.key(NEAREST).pointer());
    let demos =
        found.state().demos.iter().enumerate().filter(|(_, one)| has_bytes(&demo(one, &[])));
    let demos = demos.map(|(position, _)| at.key(DEMOS).index(position).pointer());
    settings.chain(nearest).chain(demos).map(|place| Payload::from(place.as_str())).collect()
}

fn object(members: impl IntoIterator<Item = (&'static str, Payload)>) -> Payload {
    Payload::map(members.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
}
