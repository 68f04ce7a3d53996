#!/usr/bin/env bash
# Of a Word document with tracked changes, python-docx and what is built on it read neither version: "shall not deliver" is "shall
# deliver", because inserted words are left out, as deleted ones are. A price in a content control is missing, too.
#
# Seen with python-docx 1.2.0 and haystack-ai 3.4.1 (which reads with it), beside mammoth 1.13.0, markitdown 0.1.9 and docx2txt 0.9.
# Guess: the text of a paragraph is what Word shows, or the text before the changes, or the one after them. Behaviour:
# python-docx joins the runs that are directly in a paragraph. Word puts inserted runs into an element of their own, as it does
# with deleted ones and with the fields of a form, so the text has neither what was inserted nor what was deleted, and a
# paragraph that was inserted as a whole is empty. The others read the text after the changes. Contracts are where changes are
# tracked, and "not" is what is inserted; the sentence stays grammatical, so that neither a model nor a reader of the index
# notices. Accept the changes first, or read with mammoth, MarkItDown or docx2txt.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet python-docx==1.2.0 haystack-ai==3.4.1 mammoth==1.13.0 \
  'markitdown[docx]==0.1.9' docx2txt==0.9

cat >read.py <<'PY'
import docx
import docx2txt
import mammoth
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from haystack.components.converters import DOCXToDocument
from markitdown import MarkItDown

W = nsdecls("w")
BY = 'w:author="Editor" w:date="2026-03-01T09:00:00Z"'


def words(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


# What Word writes when changes are tracked, and for a field of a form.
contract = docx.Document()
line = contract.add_paragraph("The supplier shall ")
line._p.append(parse_xml(f'<w:ins {W} w:id="1" {BY}>{words("not ")}</w:ins>'))
line.add_run("deliver ")
line._p.append(parse_xml(f'<w:del {W} w:id="2" {BY}><w:r><w:delText xml:space="preserve">within a week </w:delText></w:r></w:del>'))
line.add_run("on Sundays.")
line = contract.add_paragraph("Price: ")
line._p.append(parse_xml(f'<w:sdt {W}><w:sdtPr><w:alias w:val="price"/></w:sdtPr><w:sdtContent>{words("450 EUR")}</w:sdtContent></w:sdt>'))
line.add_run(" per day.")
body = contract.element.body
body.insert(len(body) - 1, parse_xml(f'<w:p {W}><w:ins w:id="3" {BY}>{words("Either side may cancel.")}</w:ins></w:p>'))
contract.save("contract.docx")


def by_mammoth():
    with open("contract.docx", "rb") as file:
        return mammoth.extract_raw_text(file).value


readers = {"python-docx": lambda: "\n".join(line.text for line in docx.Document("contract.docx").paragraphs),
           "haystack": lambda: DOCXToDocument().run(["contract.docx"])["documents"][0].content, "mammoth": by_mammoth,
           "markitdown": lambda: MarkItDown().convert("contract.docx").text_content,
           "docx2txt": lambda: docx2txt.process("contract.docx")}
for name, read in readers.items():
    print(f"{name}: {' '.join(read().split())}")
PY
packages/bin/python read.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
python-docx: The supplier shall deliver on Sundays. Price: per day.
haystack: The supplier shall deliver on Sundays. Price: per day.
mammoth: The supplier shall not deliver on Sundays. Price: 450 EUR per day. Either side may cancel.
markitdown: The supplier shall not deliver on Sundays. Price: 450 EUR per day. Either side may cancel.
docx2txt: The supplier shall not deliver on Sundays. Price: 450 EUR per day. Either side may cancel.
END
