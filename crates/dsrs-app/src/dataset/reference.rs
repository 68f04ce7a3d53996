//! How a request names a dataset or a part of it. Knows no database.

use std::sync::Arc;

use dsrs::optimize::Split;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, shared_text};
use dsrs::value::Payload;

use crate::dataset::example::read_split;

/// A dataset, or a part of it, as a request names it.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetRef {
    /// The dataset's name.
    pub(crate) name: Arc<str>,
    /// The version; the newest if not named.
    pub(crate) version: Option<i32>,
    pub(crate) part: DatasetPart,
}

/// A part of the examples of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetPart {
    /// The split; all if not named.
    pub split: Option<Arc<str>>,
    /// The splits of examples that name none.
    pub by_seed: Option<Split>,
    /// The number of examples from the start.
    pub limit: Option<usize>,
}

impl DatasetPart {
    /// Whether an example with this id and split belongs to it.
    pub(crate) fn has(&self, id: &str, split: Option<&str>) -> bool {
        let Some(wanted) = self.split.as_deref() else { return true };
        let falls = split.or_else(|| self.by_seed.as_ref().map(|by_seed| by_seed.part(id)));
        falls == Some(wanted)
    }
}

impl DatasetRef {
    /// Reads a name, or `{dataset, version?, split?, seed?, fractions?, limit?}`.
    pub fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        if let Payload::Str(name) = payload {
            return Some(Self { name: name.clone(), version: None, part: DatasetPart::default() });
        }
        let before = problems.len();
        let mut object = Object::open(payload, at, problems)?;
        let name = object.required("dataset", shared_text);
        let (version, part) = read_part(&mut object);
        object.close();
        let found = Self { name: name?, version, part };
        (problems.len() == before).then_some(found)
    }
}

/// Reads the members for the version and the part.
pub(crate) fn read_part(object: &mut Object<'_, '_, '_>) -> (Option<i32>, DatasetPart) {
    let version = object.optional("version", positive);
    let split = object.optional("split", read_split);
    let seed = object.optional("seed", count);
    let by_seed = object.optional("fractions", |payload, at, problems| {
        Split::read(seed.unwrap_or(0), payload, at, problems)
    });
    let limit = object.optional("limit", positive);
    let at = object.at();
    if seed.is_some() && !object.has("fractions") {
        let detail = "a seed splits by `fractions`, which are missing";
        object.problems().add(&at.key("fractions"), Code::MissingField, detail);
    }
    if let (Some(split), Some(by_seed)) = (&split, &by_seed)
        && !by_seed.parts().any(|(name, _)| name == split.as_ref())
    {
        let detail = format!("`{split}` is none of `fractions`");
        object.problems().add(&at.key("split"), Code::InvalidValue, detail);
    }
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    (version, DatasetPart { split, by_seed, limit })
}

/// Reads a number of 1 or more.
pub(super) fn positive(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = i32::try_from(count(payload, at, problems)?).ok().filter(|number| *number > 0);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, "expected a whole number of 1 or more");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DatasetRef, String> {
        let payload = Payload::from_json(text).unwrap();
        let mut problems = Problems::new();
        let found = DatasetRef::read(&payload, &At::Root.key("trainset"), &mut problems);
        found.ok_or(problems.to_string())
    }

    #[test]
    fn a_reference_is_a_name_or_an_object() {
        let plain = read("\"qa\"").unwrap();
        assert_eq!(plain, read(r#"{"dataset": "qa"}"#).unwrap());
        assert_eq!((plain.version, plain.part), (None, DatasetPart::default()));
        let text = r#"{"dataset": "qa", "version": 3, "split": "val", "seed": 5,
            "fractions": {"train": 0.5, "val": 0.5}, "limit": 9}"#;
        let found = read(text).unwrap();
        assert_eq!((found.version, found.part.limit), (Some(3), Some(9)));
        assert_eq!(found.part.by_seed, Split::of(5, [("train", 0.5), ("val", 0.5)]).ok());
        let refused = read(r#"{"version": 0, "seed": -1, "fractions": {"a": 2}, "odd": 1}"#);
        let refused = refused.unwrap_err();
        for part in [
            "/trainset/dataset: ",
            "/trainset/version: ",
            "/trainset/seed: ",
            "/trainset/fractions: `a` must be more than 0",
            "/trainset/odd: ",
        ] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
    }

    #[test]
    fn the_split_of_an_example_wins_over_the_seed() {
        let by_seed = Split::of(0, [("train", 0.5), ("val", 0.5)]).ok();
        let part = |by_seed: &Option<Split>| DatasetPart {
            split: Some("val".into()),
            by_seed: by_seed.clone(),
            limit: None,
        };
        let ids: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let count = |part: DatasetPart, split: Option<&str>| {
            ids.iter().filter(|id| part.has(id, split)).count()
        };
        assert_eq!(count(part(&by_seed), Some("val")), 100);
        assert_eq!(count(part(&by_seed), Some("other")), 0);
        assert!((30..70).contains(&count(part(&by_seed), None)));
        assert_eq!((count(part(&None), None), count(part(&None), Some("val"))), (0, 100));
    }
}
