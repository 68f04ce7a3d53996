#!/usr/bin/env bash
# LangChain's splitter with `chunk_overlap=200` makes parts without any overlap from a text whose paragraphs are longer than 200
# letters. LlamaIndex and Chonkie repeat sentences there.
#
# Seen with langchain-text-splitters 1.1.3, llama-index-core 0.14.25 and chonkie 1.7.0. Guess: neighbouring parts share about 200
# letters, so that a sentence that refers to the one before is in one part with it. Behaviour: `RecursiveCharacterTextSplitter`
# repeats whole pieces only. A piece is what lies between the separators of its level, a paragraph wherever paragraphs fit the
# size of a part, and one that is longer than the overlap is not repeated at all. Short lines (lists, transcripts) overlap, so
# that a try with those shows the overlap, and ordinary prose has none; an experiment that compares overlaps of 0 and
# 200 compares the same parts. Nothing is logged. `separators=[". ", " ", ""]` repeats sentences.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages langchain-text-splitters==1.1.3 \
  llama-index-core==0.14.25 chonkie==1.7.0
export PYTHONPATH="$place/packages"

cat >split.py <<'PY'
import random

from chonkie import SentenceChunker
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.node_parser import SentenceSplitter

CHOICE = random.Random(1)
WORDS = "the service stores each run with its prompt and its answer so that a reader compares two versions of a graph later".split()


def write(letters):
    sentences = ""
    while len(sentences) < letters:
        sentences += " ".join(CHOICE.choice(WORDS) for _ in range(CHOICE.randint(6, 14))).capitalize() + ". "
    return sentences.strip()


TEXTS = {"prose": "\n\n".join(write(CHOICE.randint(250, 700)) for _ in range(40)),
         "a list": "\n".join(f"- {write(40)}" for _ in range(200))}


def share(one, other):
    return max(length for length in range(min(len(one), len(other)) + 1) if one.endswith(other[:length]))


def by_langchain(**options):
    return RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, **options).split_text


def by_llama_index(text):
    return SentenceSplitter(chunk_size=1000, chunk_overlap=200, tokenizer=list).split_text(text)


def by_chonkie(text):
    return [part.text for part in SentenceChunker(tokenizer="character", chunk_size=1000, chunk_overlap=200)(text)]


SPLITTERS = {"langchain": by_langchain(), "llama-index": by_llama_index, "chonkie": by_chonkie,
             "langchain without overlap": RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=0).split_text,
             "langchain by sentences": by_langchain(separators=[". ", " ", ""])}
parts = {}
for kind, text in TEXTS.items():
    for name, split in SPLITTERS.items():
        parts[name] = split(text)
        shared = [share(one, other) for one, other in zip(parts[name], parts[name][1:])]
        print(f"{kind}, {name}: {sum(length >= 30 for length in shared)} of {len(shared)} neighbours share 30 letters or more")
    print(f"{kind}: the same parts with and without overlap: {parts['langchain'] == parts['langchain without overlap']}")
PY
python3 split.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
prose, langchain: 0 of 32 neighbours share 30 letters or more
prose, llama-index: 26 of 26 neighbours share 30 letters or more
prose, chonkie: 26 of 26 neighbours share 30 letters or more
prose, langchain without overlap: 0 of 32 neighbours share 30 letters or more
prose, langchain by sentences: 26 of 26 neighbours share 30 letters or more
prose: the same parts with and without overlap: True
a list, langchain: 16 of 16 neighbours share 30 letters or more
a list, llama-index: 16 of 16 neighbours share 30 letters or more
a list, chonkie: 16 of 16 neighbours share 30 letters or more
a list, langchain without overlap: 0 of 13 neighbours share 30 letters or more
a list, langchain by sentences: 3 of 17 neighbours share 30 letters or more
a list: the same parts with and without overlap: False
END
