#!/usr/bin/env bash
# With the wrong dictionary, zstd returns another text of the right length, without an error, with pieces of another customer's
# records: if the dictionary is a piece of records and was not trained, or if both have a number of their own choice.
#
# Seen with zstandard 0.25.0 (libzstd 1.5.7). Guess: a frame names its dictionary and has a checksum, so another dictionary is an
# error, as it is with a trained one ("Dictionary mismatch"). Behaviour: any bytes are a dictionary. Those without the header of a
# trained one have the number 0, which a frame leaves out, and a frame refers to places in them: other bytes there are another
# text. Python writes no checksum unless `write_checksum=True`, unlike the command line. A number that is chosen
# (`dict_id=1` in each workspace) does not help: some of the frames are read, as other texts. So a dictionary that is made anew in
# its place, restored from another backup or cut by a byte changes the history that is read with it. Store a hash of the
# dictionary beside each frame, and checksums.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages zstandard==0.25.0
export PYTHONPATH="$place/packages"

cat >read.py <<'PY'
import zstandard


def record(number, name):
    return f'{{"role":"user","content":"Order {number:05} of {name}: refund of {number * 7 % 900:03} euro"}}'.encode()


ANNA = [record(number, "Anna") for number in range(3000)]
BORIS = [record(number, "Boris") for number in range(5000, 8000)]


def read(frame, **options):
    try:
        return zstandard.ZstdDecompressor(**options).decompress(frame).decode(errors="replace")
    except zstandard.ZstdError as error:
        return str(error)


def raw(records):
    return zstandard.ZstdCompressionDict(b"".join(records), dict_type=zstandard.DICT_TYPE_AUTO)


def write(text, **options):
    return zstandard.ZstdCompressor(**options).compress(text)


def kinds(texts, writer, reader, **options):
    counts = {}
    for text in texts:
        seen = read(write(text, dict_data=writer, **options), dict_data=reader)
        kind = "the text" if seen == text.decode() else "an error" if "error" in seen else "another text"
        counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts)


text = ANNA[50]
mine, others = raw(ANNA[:40]), raw(BORIS[:40])
print("number of a dictionary of records:", mine.dict_id())
print("written:", text.decode())
print("read with the dictionary of another customer:", read(write(text, dict_data=mine), dict_data=others))
print("read with the same dictionary less one byte:", read(write(text, dict_data=mine), dict_data=raw([b"".join(ANNA[:40])[:-1]])))
print("with a checksum:", read(write(text, dict_data=mine, write_checksum=True), dict_data=others))
print("frames of records:", kinds(ANNA[:500], mine, others))
trained, other = zstandard.train_dictionary(4096, ANNA), zstandard.train_dictionary(4096, BORIS)
print("trained, numbers by chance:", read(write(text, dict_data=trained), dict_data=other))
trained, other = zstandard.train_dictionary(4096, ANNA, dict_id=1), zstandard.train_dictionary(4096, BORIS, dict_id=1)
print("trained, both number 1:", kinds(ANNA, trained, other))
PY
python3 read.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
number of a dictionary of records: 0
written: {"role":"user","content":"Order 00050 of Anna: refund of 350 euro"}
read with the dictionary of another customer: "role":"user","content":"Order 050350of Boris: refund of 350 euro"}
read with the same dictionary less one byte: }{"role":"user","content":"Order 00509 of Anna: refund of350 euro"}
with a checksum: decompression error: Restored data doesn't match checksum
frames of records: ['another text']
trained, numbers by chance: decompression error: Dictionary mismatch
trained, both number 1: ['an error', 'another text']
END
