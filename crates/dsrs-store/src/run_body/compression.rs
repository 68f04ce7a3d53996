//! The compression of a body: zstd, with a dictionary of its graph if there is one. May not know what is compressed.
//!
//! ```text
//! form     0: as it is; 1: zstd; 2: zstd with a dictionary
//! number   of the dictionary, a varint; only with form 2
//! length   before compression, a varint; not with form 0
//! bytes
//! ```

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use zstd_safe::{CCtx, CDict, DCtx, DDict};

use super::{BodyError, varint};

/// As fast as faster levels with such short texts, and smaller.
const LEVEL: i32 = 3;

/// A context that has compressed or decompressed more is not reused, so that a thread holds no more memory for it.
const REUSED_CONTEXT_BYTES: usize = 256 << 10;

/// The largest body that is read, before compression: more than a run may have.
const BODY_BYTES: usize = 1 << 30;

thread_local! {
    static COMPRESSOR: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// A dictionary that texts are compressed and decompressed with.
pub struct Dictionary {
    number: i64,
    content: Vec<u8>,
    /// Made for the first text that is compressed: its tables are larger than the content.
    compression: OnceLock<Option<CDict<'static>>>,
    decompression: DDict<'static>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Dictionary {
    /// A dictionary by the number under which it is stored; `None` without memory for it.
    #[must_use]
    pub fn new(number: i64, content: Vec<u8>) -> Option<Arc<Self>> {
        let decompression = DDict::try_create(&content)?;
        Some(Arc::new(Self { number, content, compression: OnceLock::new(), decompression }))
    }

    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    /// The memory that it takes.
    pub(crate) fn size(&self) -> usize {
        let tables = self.compression.get().and_then(Option::as_ref).map_or(0, CDict::sizeof);
        self.content.len() + self.decompression.sizeof() + tables
    }

    fn compression(&self) -> Option<&CDict<'static>> {
        self.compression.get_or_init(|| CDict::try_create(&self.content, LEVEL)).as_ref()
    }

    /// Trains a dictionary of at most so many bytes; `None` if the samples are too few or too different.
    #[must_use]
    pub fn train(samples: &[Vec<u8>], most_bytes: usize) -> Option<Vec<u8>> {
        let sizes: Vec<usize> = samples.iter().map(Vec::len).collect();
        let mut dictionary = Vec::with_capacity(most_bytes);
        zstd_safe::train_from_buffer(&mut dictionary, &samples.concat(), &sizes).ok()?;
        Some(dictionary)
    }
}

/// Appends a text in the smallest form.
pub(super) fn write(bytes: &mut Vec<u8>, text: &[u8], dictionary: Option<&Dictionary>) {
    let dictionary = dictionary.and_then(|found| Some((found.number, found.compression()?)));
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    let done =
        with_context(&COMPRESSOR, CCtx::try_create, text.len(), |context| match dictionary {
            Some((_, tables)) => context.compress_using_cdict(&mut compressed, text, tables),
            None => context.compress(&mut compressed, text, LEVEL),
        });
    if !matches!(done, Some(Ok(_))) || compressed.len() >= text.len() {
        bytes.push(0);
        bytes.extend_from_slice(text);
        return;
    }
    match dictionary {
        Some((number, _)) => {
            bytes.push(2);
            varint::push(bytes, number.unsigned_abs());
        }
        None => bytes.push(1),
    }
    varint::push(bytes, text.len() as u64);
    bytes.extend_from_slice(&compressed);
}

/// The number of the dictionary that reading needs, if any.
pub(super) fn dictionary_of(bytes: &[u8]) -> Result<Option<i64>, BodyError> {
    let mut reader = varint::Reader::new(bytes);
    match reader.byte()? {
        2 => Ok(Some(number_of(&mut reader)?)),
        _ => Ok(None),
    }
}

fn number_of(reader: &mut varint::Reader<'_>) -> Result<i64, BodyError> {
    let number = i64::try_from(reader.number()?);
    number.map_err(|_| BodyError::Malformed("the number of a dictionary is too large"))
}

/// The text. `dictionary` is the one of [`dictionary_of`].
pub(super) fn read(bytes: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, BodyError> {
    let mut reader = varint::Reader::new(bytes);
    let dictionary = match reader.byte()? {
        0 => return Ok(reader.rest().to_vec()),
        1 => None,
        2 => {
            let number = number_of(&mut reader)?;
            let found = dictionary.filter(|found| found.number == number);
            Some(found.ok_or(BodyError::UnknownDictionary(number))?)
        }
        other => return Err(BodyError::UnknownForm(other)),
    };
    let length = reader.count()?;
    if length > BODY_BYTES {
        return Err(BodyError::Malformed("the length is too large"));
    }
    decompress(reader.rest(), length, dictionary)
}

fn decompress(
    compressed: &[u8],
    length: usize,
    dictionary: Option<&Dictionary>,
) -> Result<Vec<u8>, BodyError> {
    // What is stored says its length once more: a false one takes no memory.
    let stated = zstd_safe::get_frame_content_size(compressed).ok().flatten();
    if stated != Some(length as u64) {
        return Err(BodyError::Malformed("the lengths before compression differ"));
    }
    let mut text = Vec::with_capacity(length);
    let done = with_context(&DECOMPRESSOR, DCtx::try_create, length, |context| match dictionary {
        Some(dictionary) => {
            context.decompress_using_ddict(&mut text, compressed, &dictionary.decompression).is_ok()
        }
        None => context.decompress(&mut text, compressed).is_ok(),
    });
    match done {
        Some(true) if text.len() == length => Ok(text),
        _ => Err(BodyError::Malformed("it does not decompress")),
    }
}

/// Uses the context of the thread, or one of its own for what is large. `None` without memory.
fn with_context<C, T>(
    own: &'static std::thread::LocalKey<RefCell<Option<C>>>,
    create: fn() -> Option<C>,
    size: usize,
    act: impl FnOnce(&mut C) -> T,
) -> Option<T> {
    if size > REUSED_CONTEXT_BYTES {
        return Some(act(&mut create()?));
    }
    own.with_borrow_mut(|context| {
        if context.is_none() {
            *context = create();
        }
        context.as_mut().map(act)
    })
}
