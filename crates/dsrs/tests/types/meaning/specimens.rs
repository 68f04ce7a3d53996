//! JSON Schemas that Pydantic, zod and schemars really generate, and what they are read as: a field
//! of a signature with the definitions that it adds, or all problems with their places.

use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, field_to_payload, read_field};
use dsrs::types::{Type, TypeScope, defs_to_payload, to_json_schema};
use dsrs::value::{Map, Payload};

/// The schemas of one library.
pub(crate) struct Specimen {
    pub(crate) name: String,
    pub(crate) schema: Payload,
    expected: Payload,
}

/// All specimens, one file for each library.
pub(crate) fn specimens() -> Vec<Specimen> {
    let files = [
        include_str!("specimens/pydantic.json"),
        include_str!("specimens/zod.json"),
        include_str!("specimens/schemars.json"),
    ];
    let mut found = Vec::new();
    for file in files {
        for entry in Payload::from_json(file).unwrap().as_list().unwrap() {
            let entry = entry.as_map().unwrap();
            found.push(Specimen {
                name: entry["name"].as_str().unwrap().to_owned(),
                schema: entry["schema"].clone(),
                expected: entry["read"].clone(),
            });
        }
    }
    found
}

impl Specimen {
    /// The field with the schema as its type.
    pub(crate) fn read(&self) -> Result<(FieldSchema, Type), Problems> {
        let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
        let field = read_field("value", &self.schema, &mut scope, &At::Root, &mut problems);
        match field {
            Some(field) if problems.is_empty() => {
                let ty = Type::new(field.ty.clone(), scope.finish());
                Ok((field, ty))
            }
            _ => Err(problems),
        }
    }
}

fn outcome(specimen: &Specimen) -> Payload {
    match specimen.read() {
        Ok((field, ty)) => {
            let mut outcome: Map = match field_to_payload(&field, false) {
                Payload::Map(members) => members.as_ref().clone(),
                ty => [("type".into(), ty)].into_iter().collect(),
            };
            if !ty.defs.0.is_empty() {
                outcome.insert("types".into(), defs_to_payload(&ty.defs));
            }
            Payload::map(outcome)
        }
        Err(problems) => Payload::list(
            problems.iter().map(|problem| Payload::from(problem.to_string())).collect(),
        ),
    }
}

#[test]
fn schemas_of_libraries_are_read_as_intended() {
    let differ = |specimen: &Specimen| {
        let found = outcome(specimen);
        (found != specimen.expected).then(|| format!("{}\n{}", specimen.name, found.to_json()))
    };
    let failures: Vec<String> = specimens().iter().filter_map(differ).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn schemas_of_libraries_survive_a_round_trip() {
    for specimen in specimens() {
        let Ok((_, ty)) = specimen.read() else { continue };
        let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
        let again = scope.read_type(&to_json_schema(&ty), &At::Root, &mut problems);
        assert_eq!(problems.to_string(), "", "{}", specimen.name);
        assert_eq!(again, Some(ty.ir), "{}", specimen.name);
        let (before, after) = (&ty.defs.0, &scope.finish().0);
        assert!(after.iter().all(|(name, def)| before.get(name) == Some(def)), "{}", specimen.name);
    }
}
