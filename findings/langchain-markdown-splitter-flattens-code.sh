#!/usr/bin/env bash
# The splitter of LangChain that divides Markdown by headings removes the indentation of every line: code in fences is no Python
# or YAML afterwards, and nested lists are flat. The splitter by length removes that of the first line of each part.
#
# Seen with langchain-text-splitters 1.1.3. Guess: a splitter divides a text, and the parts are pieces of it, as they are with
# `MarkdownTextSplitter` of the same package, at least within fences, where it ignores headings. Behaviour:
# `MarkdownHeaderTextSplitter` strips each line and joins the lines again. `strip_headers=False` keeps headings, and nothing keeps
# indentation. `RecursiveCharacterTextSplitter.from_language` strips each part, so that a method which begins a part is a
# function whose body is indented twice, which `strip_whitespace=False` prevents. An LM that answers with a passage of such an
# index writes code that fails, or a configuration with another meaning; what is retrieved, and its score, look right.
# `ExperimentalMarkdownSyntaxTextSplitter` keeps all.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages langchain-text-splitters==1.1.3
export PYTHONPATH="$place/packages"

cat >split.py <<'PY'
from langchain_text_splitters import (ExperimentalMarkdownSyntaxTextSplitter, Language, MarkdownHeaderTextSplitter,
                                      MarkdownTextSplitter, RecursiveCharacterTextSplitter)

PAGE = """# Retries

- clients
  - Python

```python
def call(send):
    for wait in [1, 2, 4]:
        # No heading
        if send():
            return wait
```

```yaml
retry:
  on:
    - 503
timeout: 5
```
"""
CODE = "class Client:\n    def call(self):\n        return self.send()\n\n    def close(self):\n        self.open = False\n"


def texts(parts):
    return [getattr(part, "page_content", part) for part in parts]


def show(name, parts):
    text = "\n".join(texts(parts))
    pieces = all(part in PAGE for part in texts(parts))
    indented = [line for line in PAGE.splitlines() if line.startswith(" ")]
    print(f"{name}: pieces of the page: {pieces}; indented lines: {sum(line in text.splitlines() for line in indented)} of {len(indented)}")


headings = [("#", "title")]
show("MarkdownHeaderTextSplitter", MarkdownHeaderTextSplitter(headings).split_text(PAGE))
show("  strip_headers=False", MarkdownHeaderTextSplitter(headings, strip_headers=False).split_text(PAGE))
show("  return_each_line=True", MarkdownHeaderTextSplitter(headings, return_each_line=True).split_text(PAGE))
show("ExperimentalMarkdownSyntaxTextSplitter", ExperimentalMarkdownSyntaxTextSplitter(headings).split_text(PAGE))
show("MarkdownTextSplitter", MarkdownTextSplitter(chunk_size=1000, chunk_overlap=0).split_text(PAGE))
found = texts(MarkdownHeaderTextSplitter(headings).split_text(PAGE))[0]
print(found[found.index("```python"):])
for strip in [True, False]:
    splitter = RecursiveCharacterTextSplitter.from_language(Language.PYTHON, chunk_size=70, chunk_overlap=0, strip_whitespace=strip)
    print(f"from_language, strip_whitespace={strip}:")
    for part in splitter.split_text(CODE):
        print(f"  {part!r}")
PY
python3 split.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
MarkdownHeaderTextSplitter: pieces of the page: False; indented lines: 0 of 7
  strip_headers=False: pieces of the page: False; indented lines: 0 of 7
  return_each_line=True: pieces of the page: False; indented lines: 0 of 7
ExperimentalMarkdownSyntaxTextSplitter: pieces of the page: True; indented lines: 7 of 7
MarkdownTextSplitter: pieces of the page: True; indented lines: 7 of 7
```python
def call(send):
for wait in [1, 2, 4]:
# No heading
if send():
return wait
```  
```yaml
retry:
on:
- 503
timeout: 5
```
from_language, strip_whitespace=True:
  'class Client:\n    def call(self):\n        return self.send()'
  'def close(self):\n        self.open = False'
from_language, strip_whitespace=False:
  'class Client:\n    def call(self):\n        return self.send()'
  '\n\n    def close(self):\n        self.open = False\n'
END
