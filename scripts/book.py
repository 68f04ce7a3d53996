#!/usr/bin/env python3
"""The two ends of building the book: its sources in one directory, and a check of its links.

    scripts/book.py stage SOURCE         copies what the summary names, with what the pages show
    scripts/book.py check SOURCE BOOK    every page is in the summary, every link of the built pages leads somewhere

Pages of docs/ link to files beside docs/ as well. What the book contains is linked within it; other files of the
repository are linked where the repository is.
"""

import html.parser
import pathlib
import posixpath
import re
import shutil
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^( *```[a-z]+)[^\n`]*$", re.MULTILINE)
CONFIG = '''[book]
title = "dsrs-server"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
git-repository-url = "{repository}"
additional-css = ["book.css"]
no-section-label = true

[output.html.search]
limit-results = 20
use-boolean-and = true
heading-split-level = 3
'''

# Tables are wide here.
STYLE = """:root { --content-max-width: 960px; }
.content table { font-size: 0.9em; }
.content td, .content th { padding: 4px 10px; vertical-align: top; }
"""


def repository():
    return re.search(r'^repository = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE).group(1)


def chapters():
    """The pages that the summary names, from the root of the repository."""
    text = (ROOT / "docs/SUMMARY.md").read_text(encoding="utf-8")
    return [posixpath.normpath("docs/" + match.group(2)) for match in LINK.finditer(text)]


def in_book(path):
    """mdBook writes a README as the index of its directory."""
    return path.replace("README.md", "index.md")


def staged(text, page, pages):
    """The text of a page with links that work in the book, and fences without the words for the tests."""

    def link(match):
        address = match.group(2)
        if re.match(r"[a-z]+:|#|/", address):
            return match.group(0)
        path, mark, anchor = address.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        file = ROOT / target
        if target in pages or file.suffix == ".png":
            return match.group(1) + in_book(address) + match.group(3)
        if not file.exists():
            raise SystemExit("book: %s links to %s, which is not there" % (page, target))
        kind = "tree" if file.is_dir() else "blob"
        return "](%s/%s/main/%s%s)" % (repository(), kind, target, mark + anchor)

    return FENCE.sub(r"\1", LINK.sub(link, text))


def stage(source):
    shutil.rmtree(source, ignore_errors=True)
    pages = chapters()
    for page in pages:
        place = source / in_book(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(staged((ROOT / page).read_text(encoding="utf-8"), page, pages), encoding="utf-8")
    shutil.copytree(ROOT / "docs/pictures", source / "docs/pictures")
    summary = LINK.sub(lambda m: m.group(1) + in_book(posixpath.normpath("docs/" + m.group(2))) + ")",
                       (ROOT / "docs/SUMMARY.md").read_text(encoding="utf-8"))
    (source / "SUMMARY.md").write_text(summary, encoding="utf-8")
    (source.parent / "book.toml").write_text(CONFIG.format(repository=repository()), encoding="utf-8")
    (source.parent / "book.css").write_text(STYLE, encoding="utf-8")


class Page(html.parser.HTMLParser):
    """The links and anchors of a built page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            self.anchors.add(named["id"])
        address = named.get("href") if tag == "a" else named.get("src") if tag == "img" else None
        if address:
            self.links.append(address)


def check(source, book):
    missing = sorted(set("docs/" + str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")) - set(chapters()))
    missing.remove("docs/SUMMARY.md")
    problems = ["docs/SUMMARY.md does not name %s" % page for page in missing]
    pages = {}
    for file in book.rglob("*.html"):
        if file.name not in ("print.html", "404.html", "toc.html"):
            pages[file.relative_to(book).as_posix()] = Page(file.read_text(encoding="utf-8"))
    links = 0
    for name, page in pages.items():
        for address in page.links:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc or address.startswith("/"):
                continue
            links += 1
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), urllib.parse.unquote(parts.path))) if parts.path else name
            if not (book / target).exists():
                problems.append("%s links to %s, which is not there" % (name, address))
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                problems.append("%s links to %s, which has no such heading" % (name, address))
    if not list(book.glob("searchindex*.js")) or not links:
        problems.append("the book has no search or no links")
    if problems:
        raise SystemExit("book: " + "\nbook: ".join(problems))
    print("book: %d pages, %d links within it lead somewhere" % (len(pages), links))


if __name__ == "__main__":
    if sys.argv[1:2] == ["stage"] and len(sys.argv) == 3:
        stage(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 4:
        check(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        raise SystemExit(__doc__)
