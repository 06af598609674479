import varpu
from varpu.versions import versions


def test_show_versions(capsys):
    varpu.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines == versions()
    assert lines["varpu"] == varpu.__version__
    assert {"python", "numpy", "scikit-learn"} <= set(lines)
