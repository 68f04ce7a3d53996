#!/usr/bin/env bash
# A price with the mark of a footnote is ten times the price in the text of most PDF readers, and a total that is printed bold
# by drawing it twice has each digit twice in one of them. For pypdf, it depends on its mode.
#
# Seen with pypdf 7.1.1, pdfminer.six 20260107, pdfplumber 0.11.10, pypdfium2 5.15.2, pymupdf 2.0 and unpdf 1.7.0 (npm). Guess:
# readers of PDF differ in spaces and order, and agree on numbers. Behaviour: a raised 1 after 250 is "2501" for all of them,
# but for the default mode of pypdf; its layout mode, which a program chooses to keep tables in shape, joins them. The bold 42
# is "4422" for pdfplumber, and stands there once or twice for the others. A small 1 is clear to a person and to a model that
# sees the page; the joined number passes a schema and a check of bounds. Way out: pypdf's default mode, or the sizes of the
# characters; `dedupe_chars` of pdfplumber.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pypdf==7.1.1 pdfminer.six==20260107 pdfplumber==0.11.10 pypdfium2==5.15.2 pymupdf==2.0 \
  reportlab==5.1.0
npm init -y >/dev/null
npm install --silent unpdf@1.7.0

cat >make.py <<'PY'
from reportlab.pdfgen import canvas

page = canvas.Canvas("offer.pdf", pagesize=(400, 300))
page.setFont("Helvetica", 12)
page.drawString(50, 250, "Rent 250")
page.setFont("Helvetica", 7)
page.drawString(50 + page.stringWidth("Rent 250", "Helvetica", 12), 255, "1")
page.setFont("Helvetica", 12)
for x in [50, 50.3]:
    page.drawString(x, 200, "Total 42")
page.save()
PY
cat >texts.py <<'PY'
import pdfminer.high_level
import pdfplumber
import pymupdf
import pypdf
import pypdfium2

for reader, text in {
    "pypdf": pypdf.PdfReader("offer.pdf").pages[0].extract_text(),
    "pypdf, layout": pypdf.PdfReader("offer.pdf").pages[0].extract_text(extraction_mode="layout"),
    "pdfminer.six": pdfminer.high_level.extract_text("offer.pdf"),
    "pdfplumber": pdfplumber.open("offer.pdf").pages[0].extract_text(),
    "pypdfium2": pypdfium2.PdfDocument("offer.pdf")[0].get_textpage().get_text_bounded(),
    "pymupdf": pymupdf.open("offer.pdf")[0].get_text(),
}.items():
    print(f"{reader}:", " ".join(text.split()))
PY
cat >texts.mjs <<'JS'
import fs from 'node:fs';
import { extractText, getDocumentProxy } from 'unpdf';

const { text } = await extractText(await getDocumentProxy(new Uint8Array(fs.readFileSync('offer.pdf'))), { mergePages: true });
console.log(`unpdf: ${text.split(/\s+/).filter(Boolean).join(' ')}`);
JS
python/bin/python make.py
python/bin/python texts.py >seen
node texts.mjs >>seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
pypdf: Rent 250 1 Total 42 Total 42
pypdf, layout: Rent 2501 Total 42Total 42
pdfminer.six: Rent 2501 Total 42 Total 42
pdfplumber: Rent 2501 TToottaall 4422
pypdfium2: Rent 2501 Total 42
pymupdf: Rent 2501 Total 42 Total 42
unpdf: Rent 2501 Total 42Total 42
END
