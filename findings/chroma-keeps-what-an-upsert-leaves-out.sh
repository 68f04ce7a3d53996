#!/usr/bin/env bash
# An upsert of Chroma keeps the metadata that the new version of a page no longer has, an `add` of a known id changes nothing and
# says nothing, and `get` of a list of ids answers in another order. Qdrant and LanceDB replace the page.
#
# Seen with chromadb 1.5.9, qdrant-client 1.20.0 (its local mode) and lancedb 0.40.0. Guess: an upsert replaces a record as a whole,
# an `add` of an id that exists fails, as one with the same id twice does, and texts come in the order of the ids that were asked
# for. Behaviour: metadata are merged by member: a page that is no draft any more, and says so by leaving out `draft`, is one until
# somebody sets the member to None. A job that indexes a folder with `add` each night keeps the first text of each page. And
# `get(ids=…)` returns the order of insertion without those that are unknown, so that a `zip` of ids or scores of another search
# with its `documents` pairs scores with wrong texts; `query` has the right order. Nothing is logged. Delete before an upsert,
# and pair by `ids` of the answer.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet chromadb==1.5.9 qdrant-client==1.20.0 lancedb==0.40.0

cat >pages.py <<'PY'
import os

os.environ["ANONYMIZED_TELEMETRY"] = "False"

import chromadb
import lancedb
from qdrant_client import QdrantClient, models

VECTOR = {"a": [1.0, 0.0], "b": [0.8, 0.6], "c": [0.0, 1.0]}
NUMBER = {"a": 1, "b": 2, "c": 3}
FIRST = {"text": "first", "draft": True, "region": "EU"}
SECOND = {"text": "second", "region": "EU"}


def members(page):
    return {name: page[name] for name in ["draft", "region"] if page.get(name) is not None}


def by_chroma():
    pages = chromadb.EphemeralClient().create_collection("pages", embedding_function=None)

    def write(method, id, page):
        method(ids=[id], embeddings=[VECTOR[id]], documents=[page["text"]], metadatas=[members(page)])

    def read(id):
        found = pages.get(ids=[id])
        return found["documents"][0], members(found["metadatas"][0])

    for id in VECTOR:
        write(pages.add, id, FIRST)
    write(pages.add, "a", SECOND)
    print("chroma, add of a known id:", *read("a"))
    write(pages.upsert, "a", SECOND)
    print("chroma, upsert:", *read("a"))
    pages.update(ids=["a"], metadatas=[{"draft": None}])
    print("chroma, None:", *read("a"))
    try:
        pages.add(ids=["d", "d"], embeddings=[[1.0, 0.0], [1.0, 0.0]])
    except chromadb.errors.DuplicateIDError:
        print("chroma, add of an id twice: refused")
    print("chroma, get of c, b, x, a:", pages.get(ids=["c", "b", "x", "a"])["ids"])
    print("chroma, query near c:", pages.query(query_embeddings=[VECTOR["c"]], n_results=3)["ids"][0])


def by_qdrant():
    pages = QdrantClient(":memory:")
    pages.create_collection("pages", models.VectorParams(size=2, distance="Cosine"))
    for page in [FIRST, SECOND]:
        for id in VECTOR if page is FIRST else ["a"]:
            pages.upsert("pages", [models.PointStruct(id=NUMBER[id], vector=VECTOR[id], payload=page)])
    page = pages.retrieve("pages", [1])[0].payload
    print("qdrant, upsert:", page["text"], members(page))
    print("qdrant, retrieve of 3, 2, 9, 1:", [page.id for page in pages.retrieve("pages", [3, 2, 9, 1])])


def by_lancedb():
    pages = lancedb.connect("memory://").create_table("pages", [{"id": id, "vector": VECTOR[id], **FIRST} for id in VECTOR])
    merge = pages.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute([{"id": "a", "vector": VECTOR["a"], "draft": None, **SECOND}])
    page = pages.search().where("id = 'a'").to_list()[0]
    print("lancedb, merge:", page["text"], members(page))


by_chroma()
by_qdrant()
by_lancedb()
PY
packages/bin/python pages.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
chroma, add of a known id: first {'draft': True, 'region': 'EU'}
chroma, upsert: second {'draft': True, 'region': 'EU'}
chroma, None: second {'region': 'EU'}
chroma, add of an id twice: refused
chroma, get of c, b, x, a: ['a', 'b', 'c']
chroma, query near c: ['c', 'b', 'a']
qdrant, upsert: second {'region': 'EU'}
qdrant, retrieve of 3, 2, 9, 1: [3, 2, 1]
lancedb, merge: second {'region': 'EU'}
END
