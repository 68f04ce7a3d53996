#!/usr/bin/env bash
# "Every page whose status is not draft" has the pages without a status in Chroma, Haystack and LlamaIndex, and lacks them in
# LanceDB. In Qdrant and Milvus, each has two ways to say it, one with them and one without.
#
# Seen with chromadb 1.5.9, qdrant-client 1.20.0 (its local mode), lancedb 0.40.0, milvus-lite 3.2.2 (pymilvus 3.0.2), haystack-ai
# 3.4.1 (its store in memory) and llama-index-core 0.14.25 (its simple store). Guess: a filter of metadata means the same in each
# store, and within one store "not equal", "not in" and the negation of "equal" are the same. Behaviour: a missing field is unequal
# to everything in some and is unknown, like NULL, in others. Milvus has such a page for `not in` and not for `!=`, nor for
# `not (… == …)`; Qdrant has it for `must_not` and not for `except`. Pages from before a field was introduced vanish from
# the answers, or withdrawn ones appear in them, when tests in memory go to another store, or when a list of one value becomes a
# comparison. Nothing is logged. Write the field into every page.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet chromadb==1.5.9 qdrant-client==1.20.0 lancedb==0.40.0 milvus-lite==3.2.2 pymilvus==3.0.2 \
  haystack-ai==3.4.1 llama-index-core==0.14.25

cat >filter.py <<'PY'
import os

os.environ["ANONYMIZED_TELEMETRY"] = "False"

import chromadb
import lancedb
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, SimpleVectorStore, VectorStoreQuery
from pymilvus import MilvusClient
from qdrant_client import QdrantClient, models

PAGES = {"old": {"status": "draft"}, "new": {"status": "final"}, "none": {}}
NAMES = list(PAGES)
VECTORS = [[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]]
QUESTION = [1.0, 0.0]


def by_chroma():
    pages = chromadb.EphemeralClient().create_collection("pages", embedding_function=None)
    pages.add(ids=NAMES, embeddings=VECTORS, metadatas=[PAGES[name] or None for name in NAMES])
    for where in [{"status": {"$ne": "draft"}}, {"status": {"$nin": ["draft"]}}]:
        yield where["status"], pages.query(query_embeddings=[QUESTION], n_results=3, where=where)["ids"][0]


def by_qdrant():
    pages = QdrantClient(":memory:")
    pages.create_collection("pages", models.VectorParams(size=2, distance="Cosine"))
    pages.upsert("pages", [models.PointStruct(id=number, vector=VECTORS[number], payload=PAGES[name]) for number, name in enumerate(NAMES)])
    is_draft = models.FieldCondition(key="status", match=models.MatchValue(value="draft"))
    other = models.FieldCondition(key="status", match=models.MatchExcept(**{"except": ["draft"]}))
    for name, asked in {"must_not": models.Filter(must_not=[is_draft]), "except": models.Filter(must=[other])}.items():
        yield name, [NAMES[point.id] for point in pages.query_points("pages", query=QUESTION, query_filter=asked).points]


def by_lancedb():
    rows = [{"id": name, "vector": VECTORS[number], "status": PAGES[name].get("status")} for number, name in enumerate(NAMES)]
    pages = lancedb.connect("memory://").create_table("pages", rows)
    for where in ["status != 'draft'", "NOT (status = 'draft')", "status NOT IN ('draft')"]:
        yield where, [row["id"] for row in pages.search(QUESTION).where(where).to_list()]


def by_milvus():
    pages = MilvusClient("pages.db")
    pages.create_collection("pages", dimension=2, metric_type="COSINE")
    pages.insert("pages", [{"id": number, "vector": VECTORS[number], **PAGES[name]} for number, name in enumerate(NAMES)])
    for where in ["status != 'draft'", "not (status == 'draft')", "status not in ['draft']"]:
        yield where, [NAMES[hit["id"]] for hit in pages.search("pages", [QUESTION], filter=where, limit=3)[0]]


def by_haystack():
    pages = InMemoryDocumentStore()
    pages.write_documents([Document(id=name, content=name, meta=PAGES[name]) for name in NAMES])
    for operator, value in [("!=", "draft"), ("not in", ["draft"])]:
        found = pages.filter_documents({"field": "meta.status", "operator": operator, "value": value})
        yield operator, sorted((page.id for page in found), key=NAMES.index)


def by_llama_index():
    pages = SimpleVectorStore()
    pages.add([TextNode(id_=name, text=name, metadata=PAGES[name], embedding=VECTORS[number]) for number, name in enumerate(NAMES)])
    for operator, value in [("!=", "draft"), ("nin", ["draft"])]:
        asked = MetadataFilters(filters=[MetadataFilter(key="status", operator=operator, value=value)])
        yield operator, pages.query(VectorStoreQuery(query_embedding=QUESTION, similarity_top_k=3, filters=asked)).ids


for search in [by_chroma, by_qdrant, by_haystack, by_llama_index, by_lancedb, by_milvus]:
    for asked, found in search():
        print(f"{search.__name__[3:]}, {asked}: {', '.join(found)}")
PY
packages/bin/python filter.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
chroma, {'$ne': 'draft'}: new, none
chroma, {'$nin': ['draft']}: new, none
qdrant, must_not: new, none
qdrant, except: new
haystack, !=: new, none
haystack, not in: new, none
llama_index, !=: new, none
llama_index, nin: new, none
lancedb, status != 'draft': new
lancedb, NOT (status = 'draft'): new
lancedb, status NOT IN ('draft'): new
milvus, status != 'draft': new
milvus, not (status == 'draft'): new
milvus, status not in ['draft']: new, none
END
