#!/usr/bin/env bash
# Three seconds of sound that a program wrote to a pipe last 37 hours as WAV for Python's `wave`, mutagen and tinytag, and 18
# million years as FLAC for soundfile. Each of these libraries is right about the same sound in a file.
#
# Seen with ffmpeg 9.0.2 of imageio-ffmpeg 0.8.1, mutagen 1.48.1, tinytag 2.3.2, soundfile 0.14.0, scipy 1.17.1, music-metadata
# 11.16.1 (npm). Guess: the length of a sound comes from its header. Behaviour: a program that writes to a pipe cannot go back
# to fill in the length; WAV has the largest number there, FLAC zero, which stands for unknown. For WAV, soundfile, scipy and
# music-metadata count what follows instead; for FLAC, mutagen and tinytag say zero, music-metadata nothing. What prices
# minutes, limits uploads or splits by length takes such a number for a length. Way out: decode and count, or write to a file.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet imageio-ffmpeg==0.8.1 mutagen==1.48.1 tinytag==2.3.2 soundfile==0.14.0 scipy==1.17.1
npm init -y >/dev/null
npm install --silent music-metadata@11.16.1

cat >make.py <<'PY'
import subprocess

import imageio_ffmpeg

TONE = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi", "-i", "sine=sample_rate=16000:duration=3", "-bitexact"]
for kind in ["wav", "flac"]:
    subprocess.run([*TONE, f"file.{kind}"], check=True)
    with open(f"piped.{kind}", "wb") as file:
        file.write(subprocess.run([*TONE, "-f", kind, "pipe:1"], check=True, capture_output=True).stdout)
PY
cat >lengths.py <<'PY'
import warnings
import wave

import mutagen
import scipy.io.wavfile
import soundfile
import tinytag

warnings.simplefilter("ignore")


def of_wave(name):
    with wave.open(name) as file:
        return file.getnframes() / file.getframerate()


def of_scipy(name):
    rate, samples = scipy.io.wavfile.read(name)
    return len(samples) / rate


def show(library, name, seconds):
    print(f"  {library}: {seconds:.0f} s")


for name in ["file.wav", "piped.wav", "file.flac", "piped.flac"]:
    print(name)
    if name.endswith("wav"):
        show("wave", name, of_wave(name))
        show("scipy", name, of_scipy(name))
    show("mutagen", name, mutagen.File(name).info.length)
    show("tinytag", name, tinytag.TinyTag.get(name).duration)
    show("soundfile", name, soundfile.info(name).duration)
PY
cat >lengths.mjs <<'JS'
import { parseFile } from 'music-metadata';

for (const name of ['file.wav', 'piped.wav', 'file.flac', 'piped.flac']) {
  const { format } = await parseFile(name);
  console.log(`music-metadata, ${name}: ${format.duration === undefined ? 'unknown' : `${Math.round(format.duration)} s`}`);
}
JS
python/bin/python make.py
python/bin/python lengths.py >seen
node lengths.mjs >>seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
file.wav
  wave: 3 s
  scipy: 3 s
  mutagen: 3 s
  tinytag: 3 s
  soundfile: 3 s
piped.wav
  wave: 134218 s
  scipy: 3 s
  mutagen: 134218 s
  tinytag: 134218 s
  soundfile: 3 s
file.flac
  mutagen: 3 s
  tinytag: 3 s
  soundfile: 3 s
piped.flac
  mutagen: 0 s
  tinytag: 0 s
  soundfile: 576460752303424 s
music-metadata, file.wav: 3 s
music-metadata, piped.wav: 3 s
music-metadata, file.flac: 3 s
music-metadata, piped.flac: unknown
END
