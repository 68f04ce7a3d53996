#!/usr/bin/env bash
# When a step of a LlamaIndex workflow is retried, what it sent before it failed is sent again: of four questions, two are
# answered and counted twice, the other two are missing from the result, and the run succeeds.
#
# Seen with llama-index-workflows 2.26.1. Guess: a retry replaces the attempt that failed, and `collect_events` with a list of four
# waits for the four events of the attempt that succeeded. Behaviour: `ctx.send_event` delivers at once and for good. Steps answer
# the events of the failed attempt, then those of the next one; `collect_events` counts types, takes the first four, and the
# run ends. An event and its repetition look alike. Gather what is to be sent, and send it in the last lines of the step.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet llama-index-workflows==2.26.1

cat >questions.py <<'PY'
import asyncio

from workflows import Context, Workflow, step
from workflows.events import Event, StartEvent, StopEvent
from workflows.retry_policy import retry_policy, stop_after_attempt, wait_fixed


class Question(Event):
    text: str


class Answer(Event):
    text: str


class Source:
    def __init__(self, failures):
        self.failures = failures

    async def pages(self):
        yield ["a", "b"]
        await asyncio.sleep(0.5)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the second page cannot be read")
        yield ["c", "d"]


class Exam(Workflow):
    def __init__(self, source):
        super().__init__(timeout=60)
        self.source = source

    @step(retry_policy=retry_policy(wait=wait_fixed(0.1), stop=stop_after_attempt(3)))
    async def ask(self, ctx: Context, start: StartEvent) -> Question | None:
        async for page in self.source.pages():
            for text in page:
                ctx.send_event(Question(text=text))

    @step(num_workers=1)
    async def answer(self, question: Question) -> Answer:
        return Answer(text=f"answer to {question.text}")

    @step
    async def collect(self, ctx: Context, answer: Answer) -> StopEvent | None:
        answers = ctx.collect_events(answer, [Answer] * 4)
        return StopEvent(result=", ".join(found.text for found in answers)) if answers else None


for failures in [0, 1]:
    exam = Exam(Source(failures))

    async def run():
        return await exam.run()

    print(f"failures: {failures}; {asyncio.run(run())}")
PY
packages/bin/python questions.py >seen 2>log || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
failures: 0; answer to a, answer to b, answer to c, answer to d
failures: 1; answer to a, answer to b, answer to a, answer to b
END
