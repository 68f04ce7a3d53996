#!/usr/bin/env bash
# The text of a filled PDF form lacks what was filled in: pypdf, pdfminer.six, pdfplumber, pypdfium2, MarkItDown and unpdf
# return the questions without the answers. PyMuPDF returns the texts and choices, and leaves out which box is checked.
#
# Seen with pypdf 7.1.1, pdfminer.six 20260107, pdfplumber 0.11.10, pypdfium2 5.15.2, markitdown 0.1.9, pymupdf 2.0, unpdf 1.7.0
# (npm). Guess: the extracted text is what a person sees on the page. Behaviour: the values of a form are annotations, which the
# text of a page does not include, though every viewer draws them. An LM that reads "Name: Agree: Country:" answers that the
# form is empty, or makes the values up; nothing fails. Flattening the form makes them text for all of these. Way out:
# `get_fields()` of pypdf beside the text, or flatten first.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pypdf==7.1.1 pdfminer.six==20260107 pdfplumber==0.11.10 pypdfium2==5.15.2 pymupdf==2.0 \
  markitdown[pdf]==0.1.9 reportlab==5.1.0
npm init -y >/dev/null
npm install --silent unpdf@1.7.0

cat >make.py <<'PY'
from pypdf import PdfWriter
from reportlab.pdfgen import canvas

page = canvas.Canvas("empty.pdf", pagesize=(400, 300))
for height, question in [(250, "Name:"), (200, "Agree:"), (150, "Country:")]:
    page.drawString(50, height, question)
page.acroForm.textfield(name="name", x=120, y=240, width=200, height=20)
page.acroForm.checkbox(name="agree", x=120, y=195, size=20)
page.acroForm.choice(name="country", x=120, y=140, width=100, height=20, options=["Norway", "Chile"], value="Norway")
page.save()
values = {"name": "Grace", "agree": "/Yes", "country": "Chile"}
for name, flatten in [("filled.pdf", False), ("flat.pdf", True)]:
    writer = PdfWriter(clone_from="empty.pdf")
    writer.update_page_form_field_values(writer.pages[0], values, auto_regenerate=False, flatten=flatten)
    if flatten:
        writer.remove_annotations(subtypes="/Widget")
    writer.write(name)
PY
cat >texts.py <<'PY'
import logging

import pdfminer.high_level
import pdfplumber
import pymupdf
import pypdf
import pypdfium2
from markitdown import MarkItDown

logging.disable(logging.CRITICAL)
READERS = {
    "pypdf": lambda name: pypdf.PdfReader(name).pages[0].extract_text(),
    "pdfminer.six": pdfminer.high_level.extract_text,
    "pdfplumber": lambda name: pdfplumber.open(name).pages[0].extract_text(),
    "pypdfium2": lambda name: pypdfium2.PdfDocument(name)[0].get_textpage().get_text_bounded(),
    "markitdown": lambda name: MarkItDown().convert(name).text_content,
    "pymupdf": lambda name: pymupdf.open(name)[0].get_text(),
}
for reader, read in READERS.items():
    found = [[value for value in ["Name:", "Grace", "Chile"] if value in read(name)] for name in ["filled.pdf", "flat.pdf"]]
    print(f"{reader}: filled {found[0]}, flattened {found[1]}")
fields = pypdf.PdfReader("filled.pdf").get_fields()
print("fields of pypdf:", {name: field.value for name, field in fields.items()})
PY
cat >texts.mjs <<'JS'
import fs from 'node:fs';
import { extractText, getDocumentProxy } from 'unpdf';

const found = [];
for (const name of ['filled.pdf', 'flat.pdf']) {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(fs.readFileSync(name))), { mergePages: true });
  found.push(`[${['Name:', 'Grace', 'Chile'].filter(value => text.includes(value)).map(value => `'${value}'`).join(', ')}]`);
}
console.log(`unpdf: filled ${found[0]}, flattened ${found[1]}`);
JS
python/bin/python make.py
python/bin/python texts.py >seen
node texts.mjs >>seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
pypdf: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
pdfminer.six: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
pdfplumber: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
pypdfium2: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
markitdown: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
pymupdf: filled ['Name:', 'Grace', 'Chile'], flattened ['Name:', 'Grace', 'Chile']
fields of pypdf: {'name': 'Grace', 'agree': '/Yes', 'country': 'Chile'}
unpdf: filled ['Name:'], flattened ['Name:', 'Grace', 'Chile']
END
