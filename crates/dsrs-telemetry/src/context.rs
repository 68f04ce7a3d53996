//! Spans of other services (W3C Trace Context): read from headers and from the requests of jobs. Knows no spans of
//! our own.

use std::sync::Arc;

use dsrs::lm::traceparent;

/// The longest `tracestate` that is passed on.
const LONGEST_STATE: usize = 512;

/// A span of which only the context is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSpan {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    /// Whether it is collected.
    pub sampled: bool,
    /// What other vendors have added to the trace.
    pub state: Option<Arc<str>>,
}

impl RemoteSpan {
    /// Reads the headers `traceparent` and `tracestate`. `None` if the first one is not valid; the second one alone
    /// is dropped if it is not.
    #[must_use]
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut parts = parent.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = hex(version)?;
        // A later version may add parts.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let [flags] = hex(flags)?;
        let (trace_id, span_id) = (hex(trace)?, hex(span)?);
        let is_valid = trace_id != [0; 16] && span_id != [0; 8];
        let state = state.map(str::trim).filter(|state| is_state(state)).map(Arc::from);
        is_valid.then_some(Self { trace_id, span_id, sampled: flags & 1 == 1, state })
    }

    /// Its `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        traceparent(self.trace_id, self.span_id, self.sampled)
    }
}

/// Lower-case digits only, as the standard requires.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn is_state(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_STATE
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_header_reads_back_as_written() {
        let read = RemoteSpan::read(VALID, Some("vendor=1")).unwrap();
        assert_eq!((read.traceparent().as_str(), read.state.as_deref()), (VALID, Some("vendor=1")));
        assert!(read.sampled);
        let later = RemoteSpan::read(&VALID.replacen("00", "01", 1), None);
        assert!(later.is_some());
        let with_more = format!("{}-more", VALID.replacen("00", "01", 1));
        assert!(RemoteSpan::read(&with_more, None).is_some());
        let unsampled = VALID.replace("-01", "-02");
        assert!(!RemoteSpan::read(&unsampled, None).unwrap().sampled);
    }

    #[test]
    fn an_invalid_header_is_no_context() {
        let zeros = |text: &str, from: &str| text.replace(from, &"0".repeat(from.len()));
        for odd in [
            "",
            "00",
            "00-é-b7ad6b7169203331-01",
            &VALID.to_uppercase(),
            &VALID.replacen("00", "ff", 1),
            &format!("{VALID}-more"),
            &VALID.replace("9c-", "-"),
            &zeros(VALID, "0af7651916cd43dd8448eb211c80319c"),
            &zeros(VALID, "b7ad6b7169203331"),
        ] {
            assert_eq!(RemoteSpan::read(odd, None), None, "{odd}");
        }
        assert_eq!(RemoteSpan::read(VALID, Some(&"x".repeat(513))).unwrap().state, None);
        assert_eq!(RemoteSpan::read(VALID, Some("a=\nb")).unwrap().state, None);
    }
}
