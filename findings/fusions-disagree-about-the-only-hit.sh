#!/usr/bin/env bash
# A page that is the only result of one search is first, equal to the first, or worth nothing when it is fused with the results of
# another search, depending on the library: the exact match of a rare word is the usual case.
#
# Seen with ranx 0.3.21, haystack-ai 3.4.1 and llama-index-core 0.14.25. Guess: scores are brought to one scale first, so that the
# best result of a search counts as its best, whether it is the best of one or of three. Behaviour: a list of one has no range.
# ranx, whose default is `min-max`, gives the page 0, and so do `sum` and `zmuv`: it is behind the second of three. Haystack's
# distribution-based fusion leaves the scores of such a list as they are, so that 7.3 of BM25 beats every page with two good
# scores. LlamaIndex gives it the whole weight. The same holds for a list of equal scores. Fusions by rank agree with the guess in
# all three. Hybrid search is made for the word that only one page has, and there each evaluation of a library measures its
# division by zero.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet ranx==0.3.21 haystack-ai==3.4.1 llama-index-core==0.14.25

cat >fuse.py <<'PY'
from haystack import Document
from haystack.components.joiners import DocumentJoiner
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from ranx import Run, fuse

WORDS = {"part-77": 7.3}
VECTORS = {"pump-01": 0.9, "pump-02": 0.8, "pump-03": 0.1}


class Search(BaseRetriever):
    def __init__(self, found):
        self.found = found
        super().__init__()

    def _retrieve(self, query):
        return [NodeWithScore(node=TextNode(id_=name, text=name), score=score) for name, score in self.found.items()]


def by_ranx(lists, **options):
    return fuse(runs=[Run({"q": found}) for found in lists], **options).run["q"]


def by_haystack(lists, mode):
    lists = [[Document(id=name, content=name, score=score) for name, score in found.items()] for found in lists]
    return {page.id: page.score for page in DocumentJoiner(join_mode=mode).run(lists)["documents"]}


def by_llama(lists, mode):
    searches = [Search(found) for found in lists]
    fusion = QueryFusionRetriever(searches, llm=MockLLM(), num_queries=1, mode=mode, use_async=False, similarity_top_k=10)
    return {found.node.text: found.score for found in fusion.retrieve("part-77")}


def show(name, scores):
    best = max(score for page, score in scores.items() if page != "part-77")
    place = 1 + sum(score > scores["part-77"] for score in scores.values())
    print(f"  {name}: place {place}, score {scores['part-77']:.2f}; the best of the others {best:.2f}")


for title, lists in [("only result", [WORDS, VECTORS]),
                     ("results of equal scores", [{"part-77": 7.3, "part-78": 7.3}, VECTORS]),
                     ("only result, the best other one has two", [{"part-77": 7.3}, VECTORS, VECTORS])]:
    print(f"{title}:")
    for norm in ["min-max", "sum", "zmuv", "max"]:
        show(f"ranx, {norm}", by_ranx(lists, norm=norm, method="sum"))
    show("haystack, distribution", by_haystack(lists, "distribution_based_rank_fusion"))
    for mode in ["relative_score", "dist_based_score"]:
        show(f"llama-index, {mode}", by_llama(lists, mode))
    show("ranx, rrf", by_ranx(lists, norm=None, method="rrf"))
    show("haystack, rrf", by_haystack(lists, "reciprocal_rank_fusion"))
    show("llama-index, rrf", by_llama(lists, "reciprocal_rerank"))
PY
packages/bin/python fuse.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
only result:
  ranx, min-max: place 3, score 0.00; the best of the others 1.00
  ranx, sum: place 3, score 0.00; the best of the others 0.53
  ranx, zmuv: place 3, score 0.00; the best of the others 0.84
  ranx, max: place 1, score 1.00; the best of the others 1.00
  haystack, distribution: place 1, score 7.30; the best of the others 0.64
  llama-index, relative_score: place 1, score 0.50; the best of the others 0.50
  llama-index, dist_based_score: place 1, score 0.50; the best of the others 0.32
  ranx, rrf: place 1, score 0.02; the best of the others 0.02
  haystack, rrf: place 1, score 0.50; the best of the others 0.50
  llama-index, rrf: place 1, score 0.02; the best of the others 0.02
results of equal scores:
  ranx, min-max: place 3, score 0.00; the best of the others 1.00
  ranx, sum: place 3, score 0.00; the best of the others 0.53
  ranx, zmuv: place 3, score 0.00; the best of the others 0.84
  ranx, max: place 1, score 1.00; the best of the others 1.00
  haystack, distribution: place 1, score 7.30; the best of the others 7.30
  llama-index, relative_score: place 1, score 0.50; the best of the others 0.50
  llama-index, dist_based_score: place 1, score 0.50; the best of the others 0.50
  ranx, rrf: place 1, score 0.02; the best of the others 0.02
  haystack, rrf: place 1, score 0.50; the best of the others 0.50
  llama-index, rrf: place 1, score 0.02; the best of the others 0.02
only result, the best other one has two:
  ranx, min-max: place 3, score 0.00; the best of the others 2.00
  ranx, sum: place 3, score 0.00; the best of the others 1.07
  ranx, zmuv: place 3, score 0.00; the best of the others 1.69
  ranx, max: place 3, score 1.00; the best of the others 2.00
  haystack, distribution: place 1, score 7.30; the best of the others 0.64
  llama-index, relative_score: place 3, score 0.33; the best of the others 0.67
  llama-index, dist_based_score: place 3, score 0.33; the best of the others 0.43
  ranx, rrf: place 4, score 0.02; the best of the others 0.03
  haystack, rrf: place 4, score 0.33; the best of the others 0.67
  llama-index, rrf: place 4, score 0.02; the best of the others 0.03
END
