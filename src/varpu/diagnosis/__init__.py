"""Is this PU data in trouble? Findings with stable codes: what was seen, why, and what to do.

Examples
--------
>>> import numpy as np
>>> from varpu.diagnosis import check_pu
>>> rng = np.random.default_rng(0)
>>> positive = rng.random(1000) < 0.4
>>> X = rng.normal(size=(1000, 2)) + 2 * positive[:, None]
>>> y = positive & (rng.random(1000) < 0.5)
>>> check_pu(X, y)
[]
>>> leak = np.column_stack([X, y + 0.1 * rng.random(1000)])
>>> [(found.code, found.severity, found.columns) for found in check_pu(leak, y)]
[('PU001', 'error', ('2',))]
"""

from varpu.diagnosis.checking import check_pu
from varpu.diagnosis.codes import CODES
from varpu.diagnosis.finding import SEVERITIES, Code, Finding

__all__ = ["CODES", "SEVERITIES", "Code", "Finding", "check_pu"]
