"""A report that people want to read: what a fitted classifier found, on one page.

One plain dict holds it all; the page, the Markdown text, the JSON and the plots are made from it.
"""

from varpu.report.report import PUReport

__all__ = ["PUReport"]
