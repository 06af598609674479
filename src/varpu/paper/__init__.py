"""The paper's experiments: declared, run, kept, and shown beside the paper's own values.

``varpu paper`` is the command for all of this.
"""

from varpu.paper.figures import draw_figures
from varpu.paper.loading import experiment, names, register_experiments
from varpu.paper.page import page_text, write_page
from varpu.paper.registry import load_plugin, register_method, register_task
from varpu.paper.results import ResultFileError, Run, Store
from varpu.paper.running import Job, Outcome, plan, run
from varpu.paper.specs import Cell, Experiment
from varpu.paper.tables import show

__all__ = [
    "experiment",
    "names",
    "plan",
    "run",
    "show",
    "draw_figures",
    "page_text",
    "write_page",
    "Experiment",
    "Cell",
    "Job",
    "Outcome",
    "Run",
    "Store",
    "ResultFileError",
    "register_experiments",
    "register_method",
    "register_task",
    "load_plugin",
]
