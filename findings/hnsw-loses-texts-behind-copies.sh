#!/usr/bin/env bash
# A text that occurs a thousand times in an index of vectors hides other texts: asked with their own vectors, one in ten
# is not among the ten nearest of faiss's HNSW, and one in three with usearch.
#
# Seen with faiss-cpu 1.15.1 and usearch 2.26.6. Guess: copies of one text cost space, and the recall of the other texts stays
# what it is without copies, all of 2000 here, or rises with the breadth of the search. Behaviour: equal vectors link to each
# other, so that their whole list of neighbours is copies, and an insertion that reaches them cannot leave; texts that are
# inserted afterwards have no way in. A search that is eight times as wide, or an insertion in random order, brings back some of
# them. Up to some tens of copies nothing is lost, so a test with few texts does not show it. Logs of calls and of a support desk
# have such texts: an empty answer, a greeting, a form letter. Insert each distinct text once, and keep a list of its ids.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages faiss-cpu==1.15.1 usearch==2.26.6 \
  numkong==7.8.6 numpy==2.4.6
export PYTHONPATH="$place/packages"

cat >find.py <<'PY'
import faiss
import numpy as np
from usearch.index import Index

COUNT, SIZE = 2000, 32
faiss.omp_set_num_threads(1)
random = np.random.default_rng(7)
texts = random.normal(size=(COUNT, SIZE)).astype("float32")
texts /= np.linalg.norm(texts, axis=1, keepdims=True)


def lost(found, ids):
    """How many texts are not among the ten nearest of their own vectors."""
    return sum(text not in ids[list(near)] for text, near in enumerate(found))


def by_faiss(index, vectors, wide=None):
    index.add(vectors)
    if wide:
        index.hnsw.efSearch = wide
    return index.search(texts, 10)[1]


def by_usearch(vectors, wide):
    index = Index(ndim=SIZE, metric="l2sq", dtype="f32", expansion_search=wide)
    index.add(np.arange(len(vectors)), vectors, threads=1)
    return index.search(texts, 10, threads=1).keys.astype(int)


def share(count):
    return "none" if count == 0 else "more than one in twenty" if count > COUNT / 20 else "some"


for copies, order in [(0, "first"), (40, "first"), (1000, "first"), (1000, "in random order")]:
    vectors = np.concatenate([np.repeat(texts[:1], copies, axis=0), texts])
    ids = np.concatenate([np.zeros(copies, dtype=int), np.arange(COUNT)])
    if order != "first":
        shuffled = random.permutation(len(ids))
        vectors, ids = vectors[shuffled], ids[shuffled]
    print(f"{copies} copies, {order}: lost by exact search {share(lost(by_faiss(faiss.IndexFlatL2(SIZE), vectors), ids))}")
    for wide in (64, 512):
        counts = [lost(by_faiss(faiss.IndexHNSWFlat(SIZE, 32), vectors, wide), ids), lost(by_usearch(vectors, wide), ids)]
        print(f"  search of breadth {wide}: faiss HNSW {share(counts[0])}, usearch {share(counts[1])}")
PY
python3 find.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
0 copies, first: lost by exact search none
  search of breadth 64: faiss HNSW none, usearch none
  search of breadth 512: faiss HNSW none, usearch none
40 copies, first: lost by exact search none
  search of breadth 64: faiss HNSW none, usearch none
  search of breadth 512: faiss HNSW none, usearch none
1000 copies, first: lost by exact search none
  search of breadth 64: faiss HNSW more than one in twenty, usearch more than one in twenty
  search of breadth 512: faiss HNSW more than one in twenty, usearch more than one in twenty
1000 copies, in random order: lost by exact search none
  search of breadth 64: faiss HNSW more than one in twenty, usearch more than one in twenty
  search of breadth 512: faiss HNSW more than one in twenty, usearch more than one in twenty
END
