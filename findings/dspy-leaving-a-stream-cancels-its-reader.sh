#!/usr/bin/env bash
# A reader that leaves a stream of dspy.streamify is cancelled at its next await.
#
# Seen with dspy 3.4.1 and anyio 4. Guess: `break` and `aclose()` end the program, and the reader does what comes next, as with
# any other generator. Behaviour: `aclose()` closes the outer of two generators. The inner one has a task group that it entered
# in the task of the reader; the event loop closes it later in a task of its own, which cancels the scope of that group: the
# reader gets a CancelledError at whatever it awaits next, such as the answer to its own client or a transaction.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1

cat >leave.py <<'PY'
import asyncio
import logging

import dspy

logging.disable(logging.CRITICAL)


class Writer(dspy.Module):
    async def aforward(self, number):
        for part in range(3):
            await dspy.settings.send_stream.send(f"part {part}")
            await asyncio.sleep(0)
        await asyncio.sleep(30)
        return dspy.Prediction(text="all")


async def plain(number):
    for part in range(3):
        yield f"part {part}"
        await asyncio.sleep(0)


async def reader(stream):
    async for part in stream:
        break
    await stream.aclose()
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        return f"read {part}, left, was cancelled"
    return f"read {part}, left, continued"


print("a generator:", asyncio.run(reader(plain(number=1))))
print("streamify:", asyncio.run(reader(dspy.streamify(Writer(), is_async_program=True)(number=1))))
PY
packages/bin/python leave.py 2>/dev/null >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
a generator: read part 0, left, continued
streamify: read part 0, left, was cancelled
END
