//! The usage of a run, as a whole and by the aliases of its models: its JSON text, and its compact form in the row of
//! the run. May not know how usage is summed.
//!
//! ```text
//! form    0: the whole is a JSON text; 1: the whole is numbers
//! whole   form 0: length of the text, text; form 1: six numbers, as `NUMBERS` has them. The cost is a column.
//! models  0: none; 1: one, whose usage is the whole, then its alias; otherwise one more than there are, then of each:
//!         alias, six numbers, 0 or 1 for a cost, the cost as eight bytes, little-endian
//! ```
//!
//! All numbers and lengths are varints.

use dsrs::lm::Usage;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::StoreError;
pub use super::model_usage::ModelUsage;
use super::model_usage::model_usage;
use super::run_body::{BodyError, varint};

/// What a run has spent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpentUsage {
    pub whole: Usage,
    /// By alias, in its order.
    pub models: Vec<ModelUsage>,
}

/// `{lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, cost}`.
#[must_use]
pub fn usage_json(usage: &Usage) -> String {
    let mut text = String::with_capacity(160);
    let numbers = [
        ("{\"lm_calls\":", usage.lm_calls),
        (",\"input_tokens\":", usage.input_tokens),
        (",\"output_tokens\":", usage.output_tokens),
        (",\"reasoning_tokens\":", usage.reasoning_tokens),
        (",\"cached_tokens\":", usage.cached_tokens),
        (",\"cache_write_tokens\":", usage.cache_write_tokens),
    ];
    for (name, number) in numbers {
        text.push_str(name);
        push_number(&mut text, number);
    }
    text.push_str(",\"cost\":");
    match usage.cost {
        None => text.push_str("null"),
        // A number always has a JSON form.
        Some(cost) => text.push_str(&serde_json::to_string(&cost).unwrap_or_default()),
    }
    text.push('}');
    text
}

/// Writes a number. `Display` costs several times as much, and every execution writes a dozen.
fn push_number(text: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        (number, at) = (number / 10, at - 1);
        if number == 0 {
            break;
        }
    }
    text.extend(digits.iter().skip(at).map(|digit| char::from(*digit)));
}

/// Reads what [`usage_json`] wrote. A number that is missing is 0; a cost is unknown.
#[must_use]
pub fn usage_of_json(text: &str) -> Usage {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Written {
        lm_calls: u64,
        input_tokens: u64,
        output_tokens: u64,
        reasoning_tokens: u64,
        cached_tokens: u64,
        cache_write_tokens: u64,
        cost: Option<f64>,
    }
    let written: Written = serde_json::from_str(text).unwrap_or_default();
    Usage {
        lm_calls: written.lm_calls,
        input_tokens: written.input_tokens,
        output_tokens: written.output_tokens,
        reasoning_tokens: written.reasoning_tokens,
        cached_tokens: written.cached_tokens,
        cache_write_tokens: written.cache_write_tokens,
        cost: written.cost,
    }
}

impl SpentUsage {
    /// The usage of a run with this text and this trace.
    pub(crate) fn of(usage: &str, trace: &str) -> Self {
        Self { whole: usage_of_json(usage), models: model_usage(trace) }
    }

    /// The usage in a row, whichever form the row has.
    pub(crate) fn stored(
        usage: &str,
        models: Option<&str>,
        counts: Option<&[u8]>,
        cost: Option<f64>,
    ) -> Result<Self, StoreError> {
        match counts {
            Some(counts) => {
                let read = Self::read(counts, cost);
                read.map(|(usage, _)| usage)
                    .map_err(|error| StoreError::internal(error.to_string()))
            }
            None => Ok(Self::of_json(usage, models)),
        }
    }

    /// The usage of two JSON texts: the whole, and a list by model.
    pub(crate) fn of_json(usage: &str, models: Option<&str>) -> Self {
        let models = models.map(models_of_json).unwrap_or_default();
        Self { whole: usage_of_json(usage), models }
    }

    /// The list of models as JSON text, for a run that has not ended; `None` without any.
    pub(crate) fn models_json(&self) -> Option<String> {
        #[derive(Serialize)]
        struct Listed<'m> {
            alias: &'m str,
            #[serde(flatten)]
            usage: &'m Usage,
        }
        let listed =
            self.models.iter().map(|model| Listed { alias: &model.alias, usage: &model.usage });
        let listed: Vec<Listed<'_>> = listed.collect();
        if listed.is_empty() { None } else { serde_json::to_string(&listed).ok() }
    }

    /// The compact form. `text` is the JSON text of the whole: another than ours is stored as it is.
    pub(crate) fn compact(&self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        if usage_json(&self.whole) == text {
            bytes.push(1);
            push_numbers(&mut bytes, &self.whole);
        } else {
            bytes.push(0);
            push_text(&mut bytes, text);
        }
        match self.models.as_slice() {
            [] => varint::push(&mut bytes, 0),
            [one] if one.usage == self.whole => {
                varint::push(&mut bytes, 1);
                push_text(&mut bytes, &one.alias);
            }
            models => {
                varint::push(&mut bytes, models.len() as u64 + 1);
                models.iter().for_each(|model| push_model(&mut bytes, model));
            }
        }
        bytes
    }

    /// Reads the compact form: the usage, and the JSON text of the whole.
    pub(crate) fn read(bytes: &[u8], cost: Option<f64>) -> Result<(Self, String), BodyError> {
        let mut reader = varint::Reader::new(bytes);
        let (whole, text) = read_whole(&mut reader, cost)?;
        let models = match reader.count()? {
            0 => Vec::new(),
            1 => vec![ModelUsage { alias: read_text(&mut reader)?, usage: whole }],
            more => {
                let models = (1..more).map(|_| read_model(&mut reader));
                models.collect::<Result<_, _>>()?
            }
        };
        match reader.is_empty() {
            true => Ok((Self { whole, models }, text)),
            false => Err(BodyError::Malformed("bytes follow the usage")),
        }
    }
}

/// Reads the list of models that rows of the release before have.
fn models_of_json(text: &str) -> Vec<ModelUsage> {
    #[derive(Deserialize)]
    struct Alias {
        alias: String,
    }
    let models: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    let model = |text: &RawValue| {
        let Alias { alias } = serde_json::from_str(text.get()).ok()?;
        Some(ModelUsage { alias, usage: usage_of_json(text.get()) })
    };
    models.into_iter().filter_map(model).collect()
}

fn read_whole(
    reader: &mut varint::Reader<'_>,
    cost: Option<f64>,
) -> Result<(Usage, String), BodyError> {
    match reader.byte()? {
        0 => {
            let text = read_text(reader)?;
            Ok((usage_of_json(&text), text))
        }
        1 => {
            let whole = Usage { cost, ..read_numbers(reader)? };
            Ok((whole, usage_json(&whole)))
        }
        other => Err(BodyError::UnknownForm(other)),
    }
}

fn push_numbers(bytes: &mut Vec<u8>, usage: &Usage) {
    let numbers = [
        usage.lm_calls,
        usage.input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
    ];
    numbers.into_iter().for_each(|number| varint::push(bytes, number));
}

fn read_numbers(reader: &mut varint::Reader<'_>) -> Result<Usage, BodyError> {
    Ok(Usage {
        lm_calls: reader.number()?,
        input_tokens: reader.number()?,
        output_tokens: reader.number()?,
        reasoning_tokens: reader.number()?,
        cached_tokens: reader.number()?,
        cache_write_tokens: reader.number()?,
        cost: None,
    })
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    varint::push(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn read_text(reader: &mut varint::Reader<'_>) -> Result<String, BodyError> {
    let length = reader.count()?;
    reader.text(length).map(str::to_owned)
}

fn push_model(bytes: &mut Vec<u8>, model: &ModelUsage) {
    push_text(bytes, &model.alias);
    push_numbers(bytes, &model.usage);
    bytes.push(model.usage.cost.is_some().into());
    bytes.extend(model.usage.cost.into_iter().flat_map(f64::to_le_bytes));
}

fn read_model(reader: &mut varint::Reader<'_>) -> Result<ModelUsage, BodyError> {
    let alias = read_text(reader)?;
    let usage = read_numbers(reader)?;
    let cost = match reader.byte()? {
        0 => None,
        _ => reader.take(8)?.try_into().ok().map(f64::from_le_bytes),
    };
    Ok(ModelUsage { alias, usage: Usage { cost, ..usage } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(calls: u64, cost: Option<f64>) -> Usage {
        Usage {
            lm_calls: calls,
            input_tokens: 300 * calls,
            output_tokens: 7,
            cost,
            ..Usage::default()
        }
    }

    fn model(alias: &str, usage: Usage) -> ModelUsage {
        ModelUsage { alias: alias.to_owned(), usage }
    }

    #[test]
    fn the_text_of_a_usage_is_that_of_its_members() {
        let large = Usage { input_tokens: u64::MAX, output_tokens: 10, ..usage(9, Some(1e-9)) };
        for usage in [Usage::default(), usage(3, Some(0.3)), large] {
            assert_eq!(usage_json(&usage), serde_json::to_string(&usage).unwrap());
        }
    }

    #[test]
    fn usage_reads_back_with_its_text() {
        for (whole, models) in [
            (Usage::default(), vec![]),
            (usage(1, None), vec![model("fast", usage(1, None))]),
            (usage(1, Some(0.1)), vec![model("fast", usage(1, Some(0.1)))]),
            (
                usage(3, Some(0.3)),
                vec![model("ä", usage(1, Some(0.1))), model("b", usage(2, None))],
            ),
        ] {
            let given = SpentUsage { whole, models };
            let text = usage_json(&whole);
            let bytes = given.compact(&text);
            assert_eq!(SpentUsage::read(&bytes, whole.cost).unwrap(), (given.clone(), text));
            for length in 0..bytes.len() {
                assert!(SpentUsage::read(&bytes[..length], None).is_err(), "{length} of {given:?}");
            }
        }
    }

    #[test]
    fn a_text_of_an_earlier_release_stays_as_it_is() {
        let text = r#"{"lm_calls": 1, "input_tokens": 5}"#;
        let given = SpentUsage::of(text, "");
        let (read, read_text) = SpentUsage::read(&given.compact(text), None).unwrap();
        assert_eq!((read.whole.input_tokens, &*read_text), (5, text));
        assert!(given.compact(text).len() > given.compact(&usage_json(&given.whole)).len());
    }
}
