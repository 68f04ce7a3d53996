#!/usr/bin/env bash
# After a crash, a DBOS workflow gives one branch the answer that a model gave to another branch, without an error.
#
# Seen with dbos 3.4.0 on SQLite. Guess: a step that has run is not run again, and its result belongs to that call, at least to a
# call with the same arguments; a call that does not fit the record is an error (`DBOSUnexpectedStepError`). Behaviour: a result
# belongs to a number, counted in the order in which steps begin, and only the name of the function is compared. In branches of
# `asyncio.gather` that await anything before a step, this order depends on what was fast. A recovery is faster where steps are
# recorded: the branch that waited for a model is first now, and takes the recorded answer of the other, because both calls are
# the step `ask`. Branches that begin with their only step are safe, and so are branches that are child workflows.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dbos==3.4.0

cat >report.py <<'PY'
import asyncio
import os

from dbos import DBOS, SetWorkflowID

DBOS(
    config={
        "name": "report",
        "system_database_url": "sqlite:///report.sqlite",
        "run_admin_server": False,
        "log_level": "WARNING",
    }
)


@DBOS.step()
async def ask(prompt, seconds):
    print("  asked:", prompt, flush=True)
    await asyncio.sleep(seconds)
    return f"answer to {prompt!r}"


@DBOS.step()
async def store():
    if not os.path.exists("crashed"):
        open("crashed", "w").close()
        os._exit(9)


async def judge_contract():
    await ask("summarize the contract", 6)
    return await ask("judge the contract", 0)


async def judge_invoice():
    await asyncio.sleep(3)  # what is no step: here, a file is read
    return await ask("judge the invoice", 0)


@DBOS.workflow()
async def report():
    contract, invoice = await asyncio.gather(judge_contract(), judge_invoice())
    await store()
    return {"contract": contract, "invoice": invoice}


async def main():
    DBOS.launch()
    with SetWorkflowID("1"):
        handle = await DBOS.start_workflow_async(report)
    for name, answer in (await handle.get_result()).items():
        print(f"  {name}: {answer}")


asyncio.run(main())
PY
{
  echo "the process ends after all answers"
  packages/bin/python report.py 2>log || [ $? -eq 9 ] || { tail -5 log >&2; exit 1; }
  echo "it starts again"
  packages/bin/python report.py 2>log || { tail -5 log >&2; exit 1; }
  echo "  lines of the log about errors or steps: $(grep -c -i -E 'error|step|ask' log || true)"
} >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
the process ends after all answers
  asked: summarize the contract
  asked: judge the invoice
  asked: judge the contract
it starts again
  contract: answer to 'judge the invoice'
  invoice: answer to 'judge the contract'
  lines of the log about errors or steps: 0
END
