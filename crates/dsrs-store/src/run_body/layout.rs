//! The layout of the documents of a run in its body, before compression: their lengths, the places of prefixes that are
//! stored elsewhere, and their texts without these. May not know what a document says, nor where prefixes are stored.
//!
//! ```text
//! references  count, then of each: distance from the last one in the trace below, number of the prefix, its mark
//! lengths     inputs, outputs, nodes, trace: 0 if absent, otherwise one more than its bytes below
//! texts       the documents one after the other; the trace without its prefixes
//! ```
//!
//! All numbers are varints. A prefix is inserted at its place, so reading is exact whatever the trace says. Its mark has
//! four bytes of the hash of its text: a restored database may have another text under the number.

use memchr::memmem;

use super::{BodyError, OwnedDocuments, RunDocuments, varint};

/// A prefix that is cut out of a text.
#[derive(Clone, Copy, Debug)]
pub struct NumberedPrefix<'p> {
    pub number: i64,
    pub mark: PrefixMark,
    pub text: &'p str,
}

/// The first bytes of the SHA-256 of a prefix.
pub type PrefixMark = [u8; 4];

/// A place in a text.
#[derive(Clone, Copy, Debug)]
struct Occurrence {
    start: usize,
    end: usize,
    number: i64,
    mark: PrefixMark,
}

/// The layout of documents. Prefixes are looked for in the trace.
pub(super) fn write(documents: &RunDocuments<'_>, prefixes: &[NumberedPrefix<'_>]) -> Vec<u8> {
    let trace = documents.trace;
    let found = occurrences(trace, prefixes);
    let cut: usize = found.iter().map(|found| found.end - found.start).sum();
    let whole = [Some(documents.inputs), documents.outputs, Some(documents.nodes)];
    let lengths = whole.map(|text| text.map(str::len)).into_iter().chain([Some(trace.len() - cut)]);
    let size: usize = whole.iter().flatten().map(|text| text.len()).sum();
    let mut bytes = Vec::with_capacity(size + trace.len() - cut + 32);
    write_references(&mut bytes, &found);
    for length in lengths {
        varint::push(&mut bytes, length.map_or(0, |length| length as u64 + 1));
    }
    whole.iter().flatten().for_each(|text| bytes.extend_from_slice(text.as_bytes()));
    let mut from = 0;
    for found in &found {
        bytes.extend_from_slice(&trace.as_bytes()[from..found.start]);
        from = found.end;
    }
    bytes.extend_from_slice(&trace.as_bytes()[from..]);
    bytes
}

fn write_references(bytes: &mut Vec<u8>, found: &[Occurrence]) {
    varint::push(bytes, found.len() as u64);
    let mut from = 0;
    for found in found {
        varint::push(bytes, (found.start - from) as u64);
        varint::push(bytes, found.number.unsigned_abs());
        bytes.extend(found.mark);
        from = found.end;
    }
}

/// Where prefixes are, in the order of the text. None overlaps another.
fn occurrences(text: &str, prefixes: &[NumberedPrefix<'_>]) -> Vec<Occurrence> {
    let mut found: Vec<Occurrence> = Vec::new();
    for prefix in prefixes {
        let places = memmem::find_iter(text.as_bytes(), prefix.text.as_bytes());
        found.extend(places.map(|start| Occurrence {
            start,
            end: start + prefix.text.len(),
            number: prefix.number,
            mark: prefix.mark,
        }));
    }
    // One that begins another is shorter: the longer one first.
    found.sort_unstable_by_key(|found| (found.start, std::cmp::Reverse(found.end)));
    let mut end = 0;
    found.retain(|found| {
        let is_behind = found.start >= end;
        if is_behind {
            end = found.end;
        }
        is_behind
    });
    found
}

/// Where a prefix is inserted.
#[derive(Clone, Copy, Debug)]
struct Reference {
    place: usize,
    number: i64,
    mark: PrefixMark,
}

/// A layout that is read as far as it needs no prefix.
#[derive(Debug)]
pub(super) struct DocumentLayout<'b> {
    /// The places of prefixes in the trace, and their numbers.
    references: Vec<Reference>,
    /// Inputs, outputs and nodes.
    whole: [Option<&'b str>; 3],
    trace: &'b str,
}

impl<'b> DocumentLayout<'b> {
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, BodyError> {
        let mut reader = varint::Reader::new(bytes);
        let references = read_references(&mut reader)?;
        let mut lengths = [None; 4];
        for length in &mut lengths {
            *length = reader.count()?.checked_sub(1);
        }
        let [inputs, outputs, nodes, trace] = lengths;
        let mut text = |length: Option<usize>| length.map(|length| reader.text(length)).transpose();
        let whole = [text(inputs)?, text(outputs)?, text(nodes)?];
        let trace = text(trace)?.unwrap_or_default();
        if !reader.is_empty() {
            return Err(BodyError::Malformed("bytes follow the documents"));
        }
        if references.iter().any(|reference| !trace.is_char_boundary(reference.place)) {
            return Err(BodyError::Malformed("a prefix has no place in the trace"));
        }
        Ok(Self { references, whole, trace })
    }

    /// The prefixes that it refers to.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = i64> {
        self.references.iter().map(|reference| reference.number)
    }

    /// The documents, with the texts of the prefixes.
    pub(super) fn documents<'p>(
        &self,
        text_of: impl Fn(i64, PrefixMark) -> Option<&'p str>,
    ) -> Result<OwnedDocuments, BodyError> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let [inputs, outputs, nodes] = self.whole;
        Ok(OwnedDocuments {
            inputs: owned(inputs).unwrap_or_default(),
            outputs: owned(outputs),
            nodes: owned(nodes).unwrap_or_default(),
            trace: self.whole_trace(text_of)?,
        })
    }

    fn whole_trace<'p>(
        &self,
        text_of: impl Fn(i64, PrefixMark) -> Option<&'p str>,
    ) -> Result<String, BodyError> {
        let (mut trace, mut from) = (String::with_capacity(self.trace.len()), 0);
        for Reference { place, number, mark } in &self.references {
            // Places ascend, and are between characters.
            trace.push_str(self.trace.get(from..*place).unwrap_or_default());
            trace.push_str(text_of(*number, *mark).ok_or(BodyError::UnknownPrefix(*number))?);
            from = *place;
        }
        trace.push_str(self.trace.get(from..).unwrap_or_default());
        Ok(trace)
    }
}

fn read_references(reader: &mut varint::Reader<'_>) -> Result<Vec<Reference>, BodyError> {
    let count = reader.count()?;
    let mut place = 0_usize;
    let mut references = Vec::new();
    for _ in 0..count {
        place = place.saturating_add(reader.count()?);
        let number = i64::try_from(reader.number()?)
            .map_err(|_| BodyError::Malformed("the number of a prefix is too large"))?;
        let [a, b, c, d] = [reader.byte()?, reader.byte()?, reader.byte()?, reader.byte()?];
        references.push(Reference { place, number, mark: [a, b, c, d] });
    }
    Ok(references)
}
