#!/usr/bin/env bash
# rank-bm25 and the BM25 retriever of LangChain find the one page first that lacks the word of the question, if the other pages
# of a small collection have it. bm25s and tantivy find that page last or not at all.
#
# Seen with rank-bm25 0.2.2, langchain-community 0.4.2, bm25s 0.3.16 and tantivy 0.27.0. Guess: BM25 of any library ranks a page
# with a word of the question above a page without; a common word counts little. Behaviour: the weight of a word that half of the
# pages have is 0, and that of a more common one is a quarter of the mean weight of all words, to keep it above zero. In pages
# about one matter, as the parts of a manual are, most words are common, the mean is negative, and so is this weight: each
# occurrence lowers a page. With two pages, any word of one of them weighs 0, so that the order is chance: the last page. The
# classes `BM25Plus` and `BM25L` of the same package have positive weights; LangChain has no option for them, and its retriever
# compares words with case and punctuation, too. Nothing is logged. An evaluation on a large collection shows none of this.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages rank-bm25==0.2.2 bm25s==0.3.16 \
  tantivy==0.27.0 langchain-community==0.4.2 numpy==2.4.6
export PYTHONPATH="$place/packages"

cat >find.py <<'PY'
import bm25s
import tantivy
from langchain_community.retrievers import BM25Retriever
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

MANUAL = ["reset the pump and the valve", "reset the pump", "reset the valve", "clean the pump and the valve"]
POLICIES = ["refund policy", "shipping policy"]


def by_rank(kind):
    def find(pages, words):
        scores = kind([page.split() for page in pages]).get_scores(words)
        order = sorted(range(len(pages)), key=lambda page: -scores[page])
        return [f"{pages[page]} {scores[page]:.2f}" for page in order]
    return find


def by_langchain(pages, words):
    return [page.page_content for page in BM25Retriever.from_texts(pages, k=len(pages)).invoke(" ".join(words))]


def by_bm25s(pages, words):
    index = bm25s.BM25()
    index.index([page.split() for page in pages], show_progress=False)
    found, scores = index.retrieve([words], corpus=pages, k=len(pages), show_progress=False)
    return [f"{page} {score:.2f}" for page, score in zip(found[0], scores[0])]


def by_tantivy(pages, words):
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("page", stored=True)
    index = tantivy.Index(schema.build())
    writer = index.writer(15_000_000, 1)
    for page in pages:
        writer.add_document(tantivy.Document(page=page))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query(" ".join(words), ["page"]), len(pages)).hits
    return [f"{searcher.doc(place)['page'][0]} {score:.2f}" for score, place in hits]


KINDS = {"BM25Okapi": by_rank(BM25Okapi), "LangChain": by_langchain, "BM25Plus": by_rank(BM25Plus), "BM25L": by_rank(BM25L),
         "bm25s": by_bm25s, "tantivy": by_tantivy}
for pages, words in [(MANUAL, ["reset"]), (POLICIES, ["refund"])]:
    print(f"{words[0]}:")
    for name, find in KINDS.items():
        print(f"  {name}: {'; '.join(find(pages, words))}")
PY
python3 find.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
reset:
  BM25Okapi: clean the pump and the valve 0.00; reset the pump and the valve -0.14; reset the pump -0.19; reset the valve -0.19
  LangChain: clean the pump and the valve; reset the pump and the valve; reset the valve; reset the pump
  BM25Plus: reset the pump 1.11; reset the valve 1.11; reset the pump and the valve 0.96; clean the pump and the valve 0.51
  BM25L: reset the pump 0.49; reset the valve 0.49; reset the pump and the valve 0.41; clean the pump and the valve 0.00
  bm25s: reset the valve 0.17; reset the pump 0.17; reset the pump and the valve 0.12; clean the pump and the valve 0.00
  tantivy: reset the pump 0.41; reset the valve 0.41; reset the pump and the valve 0.31
refund:
  BM25Okapi: refund policy 0.00; shipping policy 0.00
  LangChain: shipping policy; refund policy
  BM25Plus: refund policy 2.20; shipping policy 1.10
  BM25L: refund policy 0.87; shipping policy 0.00
  bm25s: refund policy 0.28; shipping policy 0.00
  tantivy: refund policy 0.69
END
