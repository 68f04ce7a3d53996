#!/usr/bin/env bash
# LiteLLM's cost of transcribing three seconds depends on the container: 0.0003 dollars for WAV, nothing for what phones and
# browsers record, and 57 thousand million dollars for FLAC that ffmpeg wrote to a pipe.
#
# Seen with litellm 1.110.2, soundfile 0.14.0 and ffmpeg 9.0.2 of imageio-ffmpeg 0.8.1. Guess: the cost of a transcription is
# that of its minutes, or unknown. Behaviour: the length is read with soundfile, from the header. M4A, WebM and AAC are unknown
# to it, and the cost is 0.0, which is no error and passes every budget. FLAC to a pipe has no number of samples, which the
# format allows; it is read as the largest one. MP3 with a variable rate and without a header of its own is read as an eighth of
# it. Way out: ask for `verbose_json`, and price its `duration`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet litellm==1.110.2 soundfile==0.14.0 imageio-ffmpeg==0.8.1

cat >client.py <<'PY'
import http.server
import json
import subprocess
import threading

import imageio_ffmpeg
import litellm


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"text": "beep"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
TONE = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi", "-i", "sine=sample_rate=16000:duration=3", "-bitexact"]
FILES = {"file.wav": [], "file.flac": [], "file.m4a": [], "file.webm": ["-c:a", "libopus"], "file.aac": [],
         "vbr.mp3": ["-q:a", "6", "-write_xing", "0"]}
PIPED = {"piped.wav": "wav", "piped.flac": "flac"}

for name in [*FILES, *PIPED]:
    if name in FILES:
        subprocess.run([*TONE, *FILES[name], name], check=True)
    else:
        with open(name, "wb") as file:
            written = subprocess.run([*TONE, "-f", PIPED[name], "pipe:1"], check=True, capture_output=True)
            file.write(written.stdout)
    with open(name, "rb") as file:
        answer = litellm.transcription("openai/whisper-1", file=file, api_base=url, api_key="key", max_retries=0)
    print(f"{name}: {answer._hidden_params['response_cost']:.6f} dollars")
PY
LITELLM_LOCAL_MODEL_COST_MAP=True python/bin/python client.py 2>errors >seen || { cat errors >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
file.wav: 0.000300 dollars
file.flac: 0.000300 dollars
file.m4a: 0.000000 dollars
file.webm: 0.000000 dollars
file.aac: 0.000000 dollars
vbr.mp3: 0.000036 dollars
piped.wav: 0.000300 dollars
piped.flac: 57646075230.342354 dollars
END
