#!/usr/bin/env bash
# A list that pydantic-graph maps over comes back from the join in the order in which models answered, so that grades belong to
# other questions; with a stand-in that answers at once, the order is right. An empty list ends the run with "a bug in the graph".
#
# Seen with pydantic-graph 2.68.0. Guess: `map` followed by a join with `reduce_list_append` gives one result per item, in the order
# of the items, as `asyncio.gather`, `Promise.all` and the map of any language do, and nothing for no items. Behaviour: the reducer
# is called as each branch ends, and a branch does not know the number of its item. Without items the join never
# runs, and `run` raises a `RuntimeError` that blames the graph or its runner, unless `map` was told `downstream_join_id`. Send
# pairs of a number and an item, and sort what is joined.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet pydantic-graph==2.68.0

cat >grades.py <<'PY'
import asyncio

from pydantic_graph.graph_builder import GraphBuilder
from pydantic_graph.join import reduce_list_append
from pydantic_graph.step import StepContext


def graph(told):
    builder = GraphBuilder(input_type=list, output_type=list)

    @builder.step
    async def questions(ctx: StepContext[None, None, list]) -> list:
        return ctx.inputs

    @builder.step
    async def grade(ctx: StepContext[None, None, tuple]) -> str:
        question, seconds = ctx.inputs
        await asyncio.sleep(seconds)
        return f"grade of {question}"

    grades = builder.join(reduce_list_append, initial_factory=list)
    each = builder.edge_from(questions)
    builder.add(
        builder.edge_from(builder.start_node).to(questions),
        (each.map(downstream_join_id=grades.id) if told else each.map()).to(grade),
        builder.edge_from(grade).to(grades),
        builder.edge_from(grades).to(builder.end_node),
    )
    return builder.build()


for name, told, questions in [
    ("at once", False, [("a", 0), ("b", 0), ("c", 0)]),
    ("the first one is slow", False, [("a", 3), ("b", 0), ("c", 1)]),
    ("no questions", False, []),
    ("no questions, with downstream_join_id", True, []),
]:
    try:
        print(f"{name}: {asyncio.run(graph(told).run(inputs=questions))}")
    except RuntimeError as error:
        print(f"{name}: {error}")
PY
packages/bin/python grades.py >seen 2>log || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
at once: ['grade of a', 'grade of b', 'grade of c']
the first one is slow: ['grade of b', 'grade of c', 'grade of a']
no questions: Graph run completed, but no result was produced. This is either a bug in the graph or a bug in the graph runner.
no questions, with downstream_join_id: []
END
