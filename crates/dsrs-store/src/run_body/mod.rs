//! The body of a run: its documents in a compact, versioned form. The text of prompts that runs share is stored once
//! (`prefix_table`), and the rest is compressed with what runs of the graph have in common (`dictionary_table`). Every
//! version stays readable. May not know what a document says.
//!
//! A body begins with the number of its version, [`VERSION`], and the bytes of its documents as a varint. `compression`
//! has what follows, and `layout` what that has before compression.

mod compression;
mod layout;
pub(crate) mod varint;

pub use compression::Dictionary;
pub use layout::{NumberedPrefix, PrefixMark};

use layout::DocumentLayout;

/// The version that is written.
pub const VERSION: u8 = 1;

/// Documents of a run, as JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunDocuments<'d> {
    pub inputs: &'d str,
    pub outputs: Option<&'d str>,
    pub nodes: &'d str,
    pub trace: &'d str,
}

impl RunDocuments<'_> {
    /// Their bytes.
    fn size(&self) -> usize {
        self.inputs.len() + self.outputs.map_or(0, str::len) + self.nodes.len() + self.trace.len()
    }
}

/// The same, read from a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedDocuments {
    pub inputs: String,
    pub outputs: Option<String>,
    pub nodes: String,
    pub trace: String,
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body of the run has version {0}; this release reads version {VERSION}")]
    NewerVersion(u8),
    #[error("the body of the run has the unknown form {0}")]
    UnknownForm(u8),
    #[error("the body of the run ends too early")]
    Truncated,
    #[error("the body of the run is malformed: {0}")]
    Malformed(&'static str),
    #[error("the body of the run names dictionary {0}, which is not stored")]
    UnknownDictionary(i64),
    #[error("the body of the run names prefix {0}, which is not stored")]
    UnknownPrefix(i64),
}

/// The layout of documents before compression: what dictionaries are trained with.
#[must_use]
pub fn sample(documents: &RunDocuments<'_>, prefixes: &[NumberedPrefix<'_>]) -> Vec<u8> {
    layout::write(documents, prefixes)
}

/// A body, and its size before compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBody {
    pub body: Vec<u8>,
    pub before: usize,
}

/// The body of documents. Prefixes are looked for in the trace.
#[must_use]
pub fn write(
    documents: &RunDocuments<'_>,
    prefixes: &[NumberedPrefix<'_>],
    dictionary: Option<&Dictionary>,
) -> WrittenBody {
    let text = layout::write(documents, prefixes);
    let mut body = Vec::with_capacity(text.len() / 4);
    body.push(VERSION);
    varint::push(&mut body, documents.size() as u64);
    compression::write(&mut body, &text, dictionary);
    body.shrink_to_fit();
    WrittenBody { body, before: text.len() }
}

/// The bytes of the documents in a body, without reading them.
pub fn documents_size(body: &[u8]) -> Result<usize, BodyError> {
    Ok(versioned(body)?.0)
}

/// The number of the dictionary that a body needs, if any.
pub fn dictionary_of(body: &[u8]) -> Result<Option<i64>, BodyError> {
    compression::dictionary_of(versioned(body)?.1)
}

/// A body without compression.
#[derive(Debug)]
pub struct ReadBody(Vec<u8>);

impl ReadBody {
    /// Decompresses a body. `dictionary` is the one of [`dictionary_of`].
    pub fn new(body: &[u8], dictionary: Option<&Dictionary>) -> Result<Self, BodyError> {
        Ok(Self(compression::read(versioned(body)?.1, dictionary)?))
    }

    /// What was compressed.
    #[must_use]
    pub fn layout(&self) -> &[u8] {
        &self.0
    }

    /// The prefixes that it refers to.
    pub fn prefixes(&self) -> Result<Vec<i64>, BodyError> {
        Ok(DocumentLayout::read(&self.0)?.prefixes().collect())
    }

    /// The documents, with the texts of these prefixes.
    pub fn documents<'p>(
        &self,
        text_of: impl Fn(i64, PrefixMark) -> Option<&'p str>,
    ) -> Result<OwnedDocuments, BodyError> {
        DocumentLayout::read(&self.0)?.documents(text_of)
    }
}

/// The bytes of the documents, and what follows.
fn versioned(body: &[u8]) -> Result<(usize, &[u8]), BodyError> {
    let mut reader = varint::Reader::new(body);
    match reader.byte()? {
        VERSION => {}
        other => return Err(BodyError::NewerVersion(other)),
    }
    Ok((reader.count()?, reader.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = r#"{"role":"system","content":"Answer briefly: \u0000 ü"}"#;

    fn read(
        body: &[u8],
        dictionary: Option<&Dictionary>,
        prefix: Option<&'static str>,
    ) -> Result<OwnedDocuments, BodyError> {
        ReadBody::new(body, dictionary)?.documents(|_, _| prefix)
    }

    fn owned(documents: RunDocuments<'_>) -> OwnedDocuments {
        OwnedDocuments {
            inputs: documents.inputs.into(),
            outputs: documents.outputs.map(str::to_owned),
            nodes: documents.nodes.into(),
            trace: documents.trace.into(),
        }
    }

    fn traced(trace: &str) -> RunDocuments<'_> {
        RunDocuments { inputs: r#"{"question":"why?"}"#, outputs: None, nodes: "{}", trace }
    }

    #[test]
    fn prefixes_are_stored_as_numbers_and_read_back_as_texts() {
        let prefix = NumberedPrefix { number: 300, mark: [9; 4], text: PROMPT };
        for trace in [
            format!(r#"{{"spans":[{{"messages":[{PROMPT},{{}}]}},{{"messages":[{PROMPT}]}}]}}"#),
            PROMPT.to_owned(),
            format!("{PROMPT}{PROMPT}"),
            format!("ü{PROMPT}"),
            String::new(),
        ] {
            let documents = traced(&trace);
            let layout = sample(&documents, &[prefix]);
            assert!(!String::from_utf8_lossy(&layout).contains("briefly"), "{trace}");
            let body = write(&documents, &[prefix], None).body;
            assert_eq!(read(&body, None, Some(PROMPT)).unwrap(), owned(documents));
            assert_eq!(documents_size(&body).unwrap(), documents.size());
            let read = read(&body, None, None);
            assert_eq!(read.is_err(), trace.contains("briefly"), "{read:?}");
        }
    }

    #[test]
    fn of_prefixes_that_overlap_the_longest_is_cut_out() {
        let longer = format!("{PROMPT},{{\"role\":\"user\"}}");
        let prefixes = [
            NumberedPrefix { number: 1, mark: [1; 4], text: PROMPT },
            NumberedPrefix { number: 2, mark: [2; 4], text: &longer },
        ];
        let trace = format!("[{longer}][{PROMPT}]");
        let body = write(&traced(&trace), &prefixes, None).body;
        let read = ReadBody::new(&body, None).unwrap();
        assert_eq!(read.prefixes().unwrap(), [2, 1]);
        let text_of = |number, mark: PrefixMark| match (number, mark) {
            (1, [1, 1, 1, 1]) => Some(PROMPT),
            (2, [2, 2, 2, 2]) => Some(&*longer),
            _ => None,
        };
        assert_eq!(read.documents(text_of).unwrap().trace, trace);
    }

    #[test]
    fn what_runs_have_in_common_is_in_a_dictionary() {
        let trace = |number: u64| {
            let spans = (0..4).map(|span| {
                format!(
                    r#"{{"id":{span},"kind":"predictor","node":"answer","status":"succeeded","raw":"{}"}}"#,
                    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ span
                )
            });
            format!(r#"{{"spans":[{}]}}"#, spans.collect::<Vec<_>>().join(","))
        };
        let samples: Vec<Vec<u8>> =
            (0..300).map(|number| sample(&traced(&trace(number)), &[])).collect();
        let content = Dictionary::train(&samples, 8 << 10).unwrap();
        let dictionary = Dictionary::new(7, content).unwrap();
        let trace = trace(1000);
        let with = write(&traced(&trace), &[], Some(&dictionary)).body;
        let without = write(&traced(&trace), &[], None).body;
        assert!(with.len() * 2 < without.len(), "{} {}", with.len(), without.len());
        assert_eq!(dictionary_of(&with).unwrap(), Some(7));
        assert_eq!(read(&with, Some(&dictionary), None).unwrap(), owned(traced(&trace)));
        assert_eq!(read(&with, None, None), Err(BodyError::UnknownDictionary(7)));
    }

    #[test]
    fn a_body_that_is_cut_or_of_a_newer_release_is_an_error() {
        let trace = format!(r#"{{"spans":[{}]}}"#, PROMPT.repeat(4));
        let body = write(
            &traced(&trace),
            &[NumberedPrefix { number: 1, mark: [1; 4], text: PROMPT }],
            None,
        )
        .body;
        for length in 0..body.len() {
            assert!(read(&body[..length], None, Some(PROMPT)).is_err(), "{length}");
        }
        assert_eq!(read(&[2, 0, 0], None, None), Err(BodyError::NewerVersion(2)));
        assert_eq!(read(&[VERSION, 0, 9], None, None), Err(BodyError::UnknownForm(9)));
        let text = "it is long ".repeat(1000);
        let long = write(&traced(&text), &[], None).body;
        assert!(long.len() < 200);
        for place in 0..long.len() {
            let mut changed = long.clone();
            changed[place] ^= 0x55;
            // Whatever it says, it ends, without a panic and without much memory.
            let _ = read(&changed, None, None);
        }
    }
}
