"""Loads a program from a Python file, as `push` of the command line names it: FILE[:NAME]. Knows no server."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import dspy

#: the global of a file with further arguments of `push`
OPTIONS = "push_options"
#: the program that a file means where it has several
USUAL = "program"


class CannotLoad(Exception):
    """A file, or a name in it, cannot be used. The message has a line for each thing."""


@dataclass(frozen=True)
class Target:
    """A file, and which of its programs is meant."""

    file: Path
    name: str | None

    @property
    def graph(self) -> str:
        """The name of its graph where nothing else says one: small letters, `TourGuide` is `tour-guide`."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.name or self.file.stem).lower()
        return re.sub(r"[^a-z0-9_-]", "-", words).lstrip("0123456789_-")[:63]


def target_of(text: str) -> Target:
    """FILE or FILE:NAME."""
    file, _, name = text.rpartition(":")
    is_name = file and all(part.isidentifier() for part in name.split("."))
    return Target(Path(file), name) if is_name else Target(Path(text), None)


def directory_of(file: Path) -> Path:
    """Where a file imports from: its directory, or the one that has its package."""
    place = file.resolve().parent
    while (place / "__init__.py").exists():
        place = place.parent
    return place


def load(target: Target) -> tuple[Any, dict[str, Any]]:
    """The program and the further arguments of `push` that its file has."""
    module = _executed(target.file)
    options = getattr(module, OPTIONS, {})
    if not isinstance(options, Mapping):
        raise CannotLoad(f"{target.file}: `{OPTIONS}` is a `{type(options).__name__}`, no dict of arguments of `push`")
    value = _named(module, target) if target.name else _only(module, target.file)
    return _made(value, target), dict(options)


def _executed(file: Path) -> ModuleType:
    """The module of a file, which finds its neighbours as `python FILE` does."""
    if not file.is_file():
        raise CannotLoad(f"{file}: there is no such file")
    root = directory_of(file)
    sys.path.insert(0, str(root))
    # Python takes stored bytecode for that of a file whose second and size are the same.
    sys.dont_write_bytecode = True
    name = ".".join(file.resolve().relative_to(root).with_suffix("").parts)
    try:
        if "." in name:
            return importlib.import_module(name)
        return _of_script(file, f"{name}_file" if name in sys.modules or name in sys.stdlib_module_names else name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CannotLoad(text_of(error)) from error


def _of_script(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise CannotLoad(f"{file}: this is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def text_of(error: BaseException) -> str:
    """An exception as Python prints it, from the first line of the user's code on."""
    if isinstance(error, CannotLoad):
        return str(error)
    error.__traceback__ = _of_user(error.__traceback__)
    return "".join(traceback.format_exception(error)).rstrip()


def _of_user(found: TracebackType | None) -> TracebackType | None:
    while found is not None and _is_machinery(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return found


def _is_machinery(file: str) -> bool:
    return file == __file__ or file.startswith("<frozen importlib") or file == importlib.__file__


def _programs(module: ModuleType) -> dict[str, Any]:
    """The programs of a file by their names: objects first, else classes that are defined in it."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    made = {name: value for name, value in public.items() if isinstance(value, dspy.Module)}
    if made:
        return made
    own = {name: value for name, value in public.items() if _is_program_class(value)}
    return {name: value for name, value in own.items() if value.__module__ == module.__name__}


def _only(module: ModuleType, file: Path) -> Any:
    found = _programs(module)
    if not found:
        raise CannotLoad(f"{file}: it has no DSPy program; name one, or a function that makes one: {file}:NAME")
    if len({id(value) for value in found.values()}) > 1 and USUAL not in found:
        listed = ", ".join(f"{file}:{name}" for name in found)
        raise CannotLoad(f"{file}: it has several programs; name one of {listed}")
    return found.get(USUAL, next(iter(found.values())))


def _named(module: ModuleType, target: Target) -> Any:
    value: Any = module
    for part in str(target.name).split("."):
        if not hasattr(value, part):
            near = difflib.get_close_matches(part, [name for name in dir(value) if not name.startswith("_")], 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise CannotLoad(f"{target.file}: it has no `{target.name}`{hint}")
        value = getattr(value, part)
    return value


def _made(value: Any, target: Target) -> Any:
    """The program: an object, or what a class or a function without arguments makes."""
    made = value
    if not isinstance(value, dspy.Module) and (inspect.isroutine(value) or inspect.isclass(value)):
        try:
            made = value()
        except Exception as error:
            raise CannotLoad(text_of(error)) from error
    if not isinstance(made, dspy.Module):
        raise CannotLoad(f"{target.file}: `{target.name}` is a `{type(made).__name__}`, no DSPy program")
    return made


def _is_program_class(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, dspy.Module)
