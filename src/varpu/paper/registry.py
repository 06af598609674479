"""Where the runner finds methods and tasks: the paper's, and those that a user adds.

A method of your own can stand in the paper's tables. Put this into a file and name it with
``varpu paper --plugin FILE run ...``::

    from varpu.paper import register_experiments, register_method
    register_method(MyMethod())             # has name, title and run(task, seeds, options)
    register_experiments("my_experiments")  # a folder of TOML files that name it
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from varpu.exceptions import PUInputError

if TYPE_CHECKING:
    from varpu.paper.methods.base import Method
    from varpu.paper.tasks import Task

__all__ = ["find_method", "find_task", "load_plugin", "plugins", "register_method", "register_task"]

_methods: dict[str, "Method"] = {}
_tasks: dict[str, "Task"] = {}
_plugins: list[Path] = []


def register_method(method: "Method") -> None:
    """Know a method by its ``name``; it comes before one of the paper's of the same name."""
    _methods[method.name] = method


def register_task(task: "Task") -> None:
    """Know a task by its ``name``; it comes before one of the paper's of the same name."""
    _tasks[task.name] = task


def find_method(name: str) -> "Method":
    """The method of that name; `PUInputError` if there is none."""
    if name in _methods:
        return _methods[name]
    from varpu.paper.methods import method

    return method(name)


def find_task(name: str) -> "Task":
    """The task of that name; `PUInputError` if there is none."""
    if name in _tasks:
        return _tasks[name]
    from varpu.paper.tasks import task

    return task(name)


def load_plugin(file: str | Path) -> None:
    """Run a Python file that registers methods, tasks or experiments."""
    file = Path(file)
    if not file.is_file():
        raise PUInputError(f"a plugin is a Python file that registers things; {file} is no file")
    name = f"varpu_plugin_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PUInputError(f"a plugin is a Python file that registers things; got {file}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    if file.resolve() not in _plugins:
        _plugins.append(file.resolve())


def plugins() -> tuple[Path, ...]:
    """The files that were loaded, for workers in other processes to load as well."""
    return tuple(_plugins)
