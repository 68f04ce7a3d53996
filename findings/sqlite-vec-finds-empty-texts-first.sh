#!/usr/bin/env bash
# A vector of zeros, the embedding of a text without known words, is the nearest neighbour of every question in sqlite-vec if it is
# among the first rows: ten such rows hide all others. LanceDB never finds such a row, and elsewhere it is not among the nearest.
#
# Seen with sqlite-vec 0.1.9 (through apsw 3.54.1.0), usearch 2.26.6, lancedb 0.40.0, faiss-cpu 1.15.1 and numpy 2.4.6. Guess: the
# cosine of a vector of zeros is nothing, so that such a row is left out, refused, or at distance 1 like any unrelated text.
# Behaviour: sqlite-vec divides by the length, so the distance is NaN, in SQL NULL. An ordinary query sorts NULL first. The search
# `MATCH … AND k = 10` of a virtual table replaces no NaN that is among the first k rows, and takes none of a later row, so that
# what is found depends on the order of insertion. `argsort` of numpy puts NaN last, so that the reverse begins with it. LanceDB
# answers without these rows, whatever the limit. Vectors of TF-IDF or of hashed words are zeros for a text without a known word,
# and a fallback for a failed request often is. Leave such rows out.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages sqlite-vec==0.1.9 apsw==3.54.1.0 \
  usearch==2.26.6 numkong==7.8.6 lancedb==0.40.0 faiss-cpu==1.15.1 numpy==2.4.6
export PYTHONPATH="$place/packages"

cat >find.py <<'PY'
import apsw
import faiss
import lancedb
import numpy as np
import sqlite_vec
from usearch.index import Index

SIZE, COUNT, K = 16, 200, 10
faiss.omp_set_num_threads(1)
random = np.random.default_rng(7)
texts = random.normal(size=(COUNT, SIZE)).astype("float32")
question = random.normal(size=SIZE).astype("float32")


def connect(rows):
    db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute(f"CREATE VIRTUAL TABLE texts USING vec0(vector float[{SIZE}] distance_metric=cosine)")
    for number, row in enumerate(rows):
        db.execute("INSERT INTO texts (rowid, vector) VALUES (?, ?)", (number, row.tobytes()))
    return db


def by_match(rows):
    search = "SELECT rowid FROM texts WHERE vector MATCH ? AND k = ? ORDER BY distance"
    return [row[0] for row in connect(rows).execute(search, (question.tobytes(), K))]


def by_scan(rows):
    search = "SELECT rowid FROM texts ORDER BY vec_distance_cosine(vector, ?) LIMIT ?"
    return [row[0] for row in connect(rows).execute(search, (question.tobytes(), K))]


def by_numpy(rows):
    with np.errstate(invalid="ignore"):
        cosines = rows @ question / (np.linalg.norm(rows, axis=1) * np.linalg.norm(question))
    return list(cosines.argsort()[::-1][:K])


def by_usearch(rows):
    index = Index(ndim=SIZE, metric="cos", dtype="f32")
    index.add(np.arange(len(rows)), rows, threads=1)
    return index.search(question, K, exact=True, threads=1).keys.astype(int)


def by_faiss(rows):
    rows, asked = rows.copy(), question[None].copy()
    faiss.normalize_L2(rows)
    faiss.normalize_L2(asked)
    index = faiss.IndexFlatIP(SIZE)
    index.add(rows)
    return index.search(asked, K)[1][0]


def by_lancedb(rows):
    data = [{"id": number, "vector": row.tolist()} for number, row in enumerate(rows)]
    table = lancedb.connect("memory://").create_table("texts", data)
    return [row["id"] for row in table.search(question).distance_type("cosine").limit(K).to_list()]


def all_of_lancedb(rows):
    data = [{"id": number, "vector": row.tolist()} for number, row in enumerate(rows)]
    table = lancedb.connect("memory://").create_table("texts", data)
    return table.search(question).distance_type("cosine").limit(COUNT).to_list()


KINDS = {"sqlite-vec, MATCH": by_match, "sqlite-vec, ORDER BY": by_scan, "numpy": by_numpy, "usearch": by_usearch,
         "faiss": by_faiss, "lancedb": by_lancedb}
for name, empty in [("first ten", range(10)), ("last ten", range(COUNT - 10, COUNT))]:
    rows = texts.copy()
    rows[list(empty)] = 0
    nearest = set(int(number) for number in by_faiss(rows))
    print(f"the {name} rows are zeros")
    for kind, find in KINDS.items():
        found = [int(number) for number in find(rows)]
        print(f"  {kind}: {sum(number in empty for number in found)} of {K} found are zeros, {len(nearest & set(found))} are nearest")
    print(f"  lancedb has {len(all_of_lancedb(rows))} of {COUNT} rows")
PY
python3 find.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
the first ten rows are zeros
  sqlite-vec, MATCH: 10 of 10 found are zeros, 0 are nearest
  sqlite-vec, ORDER BY: 10 of 10 found are zeros, 0 are nearest
  numpy: 10 of 10 found are zeros, 0 are nearest
  usearch: 0 of 10 found are zeros, 10 are nearest
  faiss: 0 of 10 found are zeros, 10 are nearest
  lancedb: 0 of 10 found are zeros, 10 are nearest
  lancedb has 190 of 200 rows
the last ten rows are zeros
  sqlite-vec, MATCH: 0 of 10 found are zeros, 10 are nearest
  sqlite-vec, ORDER BY: 10 of 10 found are zeros, 0 are nearest
  numpy: 10 of 10 found are zeros, 0 are nearest
  usearch: 0 of 10 found are zeros, 10 are nearest
  faiss: 0 of 10 found are zeros, 10 are nearest
  lancedb: 0 of 10 found are zeros, 10 are nearest
  lancedb has 190 of 200 rows
END
