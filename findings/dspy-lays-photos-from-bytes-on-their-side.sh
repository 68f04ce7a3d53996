#!/usr/bin/env bash
# The same photo is upright in a prompt as a path and lies on its side as bytes: DSPy reads bytes with Pillow, writes them again
# and leaves out the orientation. So does the client of Gemini with a picture of Pillow.
#
# Seen with dspy 3.4.1, google-genai 3.6.1 and pillow 13.0.0. Guess: `dspy.Image(data)` sends these bytes, like
# `dspy.Image.from_path`. Behaviour: bytes and Pillow's pictures are decoded and saved with Pillow's defaults: a photo that a
# phone took upright loses the tag that turns it, a JPEG is compressed a second time, an animation keeps its first picture
# alone, and a JPEG that was resized in between becomes a PNG of many times its size. Nothing warns, and an evaluation from
# files does not show what a service with uploads does. Way out: `dspy.Image("data:image/jpeg;base64,…")`, or
# `ImageOps.exif_transpose` first.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet dspy==3.4.1 google-genai==3.6.1 pillow==13.0.0

cat >client.py <<'PY'
import base64
import io
import random

import dspy
from google.genai import types
from google.genai._transformers import t_part
from PIL import Image, ImageOps

random.seed(1)
photo = Image.frombytes("RGB", (60, 40), bytes(random.randrange(256) for _ in range(60 * 40 * 3)))
tags = Image.Exif()
tags[0x0112] = 6
photo.save("photo.jpg", exif=tags)
with open("photo.jpg", "rb") as file:
    data = file.read()
frames = io.BytesIO()
Image.new("RGB", (8, 8), "red").save(frames, "WEBP", save_all=True, append_images=[Image.new("RGB", (8, 8), "blue")])
with open("frames.webp", "wb") as file:
    file.write(frames.getvalue())


def show(name, address, source):
    kind, text = address.split(";base64,")
    sent = base64.b64decode(text)
    picture = Image.open(io.BytesIO(sent))
    width, height = ImageOps.exif_transpose(picture).size
    lies = "upright" if height > width else "on its side" if width > height else f"{getattr(picture, 'n_frames', 1)} pictures"
    print(f"{name}: {kind.removeprefix('data:')}, {lies}, {'the same bytes' if sent == source else 'other bytes'}")


show("dspy, path", dspy.Image.from_path("photo.jpg").url, data)
show("dspy, bytes", dspy.Image(data).url, data)
show("dspy, Pillow", dspy.Image(Image.open("photo.jpg")).url, data)
show("dspy, Pillow, resized", dspy.Image(Image.open("photo.jpg").resize((30, 20))).url, data)
show("dspy, data URL", dspy.Image(f"data:image/jpeg;base64,{base64.b64encode(data).decode()}").url, data)
parts = {"bytes": types.Part.from_bytes(data=data, mime_type="image/jpeg"), "Pillow": t_part(Image.open("photo.jpg"))}
for name, part in parts.items():
    address = f"data:{part.inline_data.mime_type};base64,{base64.b64encode(part.inline_data.data).decode()}"
    show(f"google-genai, {name}", address, data)
show("dspy, animation, path", dspy.Image.from_path("frames.webp").url, frames.getvalue())
show("dspy, animation, bytes", dspy.Image(frames.getvalue()).url, frames.getvalue())
PY
python/bin/python client.py 2>errors >seen || { cat errors >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
dspy, path: image/jpeg, upright, the same bytes
dspy, bytes: image/jpeg, on its side, other bytes
dspy, Pillow: image/jpeg, on its side, other bytes
dspy, Pillow, resized: image/png, on its side, other bytes
dspy, data URL: image/jpeg, upright, the same bytes
google-genai, bytes: image/jpeg, upright, the same bytes
google-genai, Pillow: image/jpeg, on its side, other bytes
dspy, animation, path: image/webp, 2 pictures, the same bytes
dspy, animation, bytes: image/webp, 1 pictures, other bytes
END
