//! The wire format of Protocol Buffers, written straight into bytes: fields in the order of the calls, without a message
//! of its own for each level. Knows no message of any protocol.
//!
//! Format: <https://protobuf.dev/programming-guides/encoding/>.

use prost::encoding::{WireType, decode_varint, encode_key, encode_varint, encoded_len_varint};

/// Appends bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_length(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends one text that consists of these pieces.
pub(super) fn put_text(out: &mut Vec<u8>, field: u32, pieces: &[&str]) {
    put_length(out, field, pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Appends what precedes a text, bytes or a message of this length.
pub(super) fn put_length(out: &mut Vec<u8>, field: u32, length: usize) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

/// How much a text, bytes or a message of this length takes. For fields below 16, whose key is one byte.
pub(super) fn length_of(length: usize) -> usize {
    1 + encoded_len_varint(length as u64) + length
}

/// Appends an integer, an enum or a flag.
pub(super) fn put_varint(out: &mut Vec<u8>, field: u32, number: u64) {
    encode_key(field, WireType::Varint, out);
    encode_varint(number, out);
}

/// Appends a `fixed64`, or the bits of a `double`.
pub(super) fn put_fixed64(out: &mut Vec<u8>, field: u32, bits: u64) {
    encode_key(field, WireType::SixtyFourBit, out);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a `fixed32`.
pub(super) fn put_fixed32(out: &mut Vec<u8>, field: u32, bits: u32) {
    encode_key(field, WireType::ThirtyTwoBit, out);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a message whose length is known when it is written: there is room for `digits` bytes of the length, and the
/// content moves if it has another number of them.
pub(super) fn put_message<R>(
    out: &mut Vec<u8>,
    field: u32,
    digits: usize,
    content: impl FnOnce(&mut Vec<u8>) -> R,
) -> R {
    encode_key(field, WireType::LengthDelimited, out);
    let begin = out.len();
    let end = begin + digits;
    out.resize(end, 0);
    let result = content(out);
    let length = (out.len() - end) as u64;
    let mut prefix = [0_u8; 10];
    encode_varint(length, &mut &mut prefix[..]);
    let prefix = &prefix[..encoded_len_varint(length)];
    match out.get_mut(begin..end) {
        Some(room) if room.len() == prefix.len() => room.copy_from_slice(prefix),
        _ => drop(out.splice(begin..end, prefix.iter().copied())),
    }
    result
}

/// Where the first message of `bytes` ends, with its key and length. All of them if they are not messages.
pub(super) fn end_of_message(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let length = decode_varint(&mut rest).and_then(|_| decode_varint(&mut rest));
    let length = length.ok().and_then(|length| usize::try_from(length).ok());
    let head = bytes.len() - rest.len();
    length
        .and_then(|length| head.checked_add(length))
        .map_or(bytes.len(), |end| end.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(length: usize, digits: usize) -> Vec<u8> {
        let mut out = Vec::new();
        put_message(&mut out, 2, digits, |out| out.resize(out.len() + length, 7));
        out
    }

    #[test]
    fn a_message_of_any_length_has_the_shortest_prefix() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let mut expected = Vec::new();
            put_bytes(&mut expected, 2, &vec![7; length]);
            for digits in 0..4 {
                assert_eq!(message_of(length, digits), expected, "{length} {digits}");
            }
            assert_eq!(expected.len(), length_of(length));
        }
    }

    #[test]
    fn messages_are_found_one_after_the_other() {
        let mut bytes = message_of(300, 1);
        bytes.extend(message_of(5, 1));
        let first = end_of_message(&bytes);
        assert_eq!(first, message_of(300, 1).len());
        assert_eq!(end_of_message(&bytes[first..]), message_of(5, 1).len());
        for cut in [&[][..], &[0x12], &[0x12, 0xff], &[0x12, 9, 1]] {
            assert_eq!(end_of_message(cut), cut.len());
        }
    }
}
