//! Reads the body and the usage of a run from any bytes; a body that is read is written and read again.
#![no_main]

use dsrs_store::run_body::{NumberedPrefix, ReadBody, RunDocuments, dictionary_of, write};

const PREFIX: &str = r#"{"role":"system","content":"Answer briefly."}"#;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let _ = dictionary_of(body);
    let Ok(read) = ReadBody::new(body, None) else { return };
    let Ok(documents) = read.documents(|_, _| Some(PREFIX)) else { return };
    let given = RunDocuments {
        inputs: &documents.inputs,
        outputs: documents.outputs.as_deref(),
        nodes: &documents.nodes,
        trace: &documents.trace,
    };
    let written = write(&given, &[NumberedPrefix { number: 1, mark: [1; 4], text: PREFIX }], None);
    let read = ReadBody::new(&written.body, None).and_then(|read| read.documents(|_, _| Some(PREFIX)));
    assert_eq!(read, Ok(documents));
});
