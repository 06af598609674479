"""Planning and running: only what is missing, kept at once, one cell's trouble its own."""

import pytest

from varpu.exceptions import PUInputError
from varpu.paper import Cell, Run, Store, plan, run
from varpu.paper.running import Job


def log_of(folder):
    file = folder / "log"
    return file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []


def test_plan_has_what_is_missing(plugin, tmp_path):
    store = Store(tmp_path / "r")
    store.add(Cell("small_2", "logistic"), [Run(1, {}), Run(7, {})])
    store.add(Cell("small_3", "logistic"), [Run(seed, {}) for seed in range(3)])
    assert plan("small", seeds=3, store=store) == [
        Job(Cell("small_1", "logistic"), (0, 1, 2)),
        Job(Cell("small_2", "logistic"), (0, 2)),
    ]


def test_plan_takes_methods_data_sets_and_tasks(plugin):
    def cells(name="mixed", **chosen):
        return [job.cell for job in plan(name, **chosen)]

    assert cells(methods=["stacked"]) == [Cell("absent_1", "stacked"), Cell("small_1", "stacked")]
    assert {cell.task for cell in cells(data=["small"])} == {"small_1"}
    assert {cell.task for cell in cells("small", data=["small"])} == {
        "small_1",
        "small_2",
        "small_3",
    }
    assert cells("small", data=["small_3"], methods=["logistic"]) == [Cell("small_3", "logistic")]


def test_plan_refuses_what_is_not_there(plugin):
    with pytest.raises(PUInputError, match="no method here named 'logstic'; did you mean logistic"):
        plan("small", methods=["logstic"])
    with pytest.raises(PUInputError, match=r"no data set or task here named 'smal'.*small"):
        plan("small", data=["smal"])
    with pytest.raises(PUInputError, match="seeds is 1 or more"):
        plan("small", seeds=0)


def test_cells_of_several_experiments_are_planned_once(plugin):
    jobs = plan(["small", "mixed"], seeds=2)
    assert len(jobs) == len({job.cell for job in jobs}) == 8
    assert len(plan(["small", "small"])) == 3


def test_the_papers_cells_are_planned_once(tmp_path):
    jobs = plan("all", store=Store(tmp_path))
    assert len(jobs) == len({job.cell for job in jobs}) > 100
    [figure4] = plan("figure4", store=Store(tmp_path))
    assert figure4 == Job(Cell("fashion_mnist_1", "genpu"), (0,))


def test_run_fills_the_store_and_then_does_nothing(plugin, tmp_path):
    assert run("small", seeds=2, device="cpu").done == 6
    store = Store()
    [first, second] = store.read(Cell("small_2", "logistic"))
    assert (first.seed, second.seed) == (0, 1)
    assert 70 < first.metrics["accuracy"] <= 100
    assert first.command == "varpu paper run small --seeds 2 --device cpu"
    assert {"varpu", "python", "numpy"} <= first.versions.keys()
    assert "core" in first.hardware
    assert len(first.extra["weights"]) == 5
    assert run("small", seeds=2, device="cpu").done == 0
    assert run("small", seeds=3, data=["small_1"], device="cpu").done == 1
    begun = [line for line in log_of(tmp_path) if line.startswith("begin")]
    assert len(begun) == len(set(begun)) == 7


def test_a_seed_is_kept_at_once(plugin, monkeypatch, tmp_path):
    from varpu.paper.registry import find_method

    seen = []
    logistic = type(find_method("logistic"))
    train = logistic.train

    def watched(self, task, seed, options):
        seen.append([run.seed for run in Store().read(Cell(task.name, "logistic"))])
        if seed == 2:
            raise KeyboardInterrupt
        return train(self, task, seed, options)

    monkeypatch.setattr(logistic, "train", watched)
    with pytest.raises(KeyboardInterrupt):
        run("small", seeds=4, device="cpu")
    assert seen == [[], [0], [0, 1]]
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["logistic.json"]


def test_trouble_in_a_cell_is_its_own(plugin, capsys):
    outcome = run("mixed", seeds=2, device="cpu")
    assert set(outcome.failed) == {Cell("absent_1", "broken"), Cell("small_1", "broken")}
    assert all("the network caught fire" in why for why in outcome.failed.values())
    assert list(outcome.skipped) == ["absent_1"]
    assert outcome.done == 6  # a first seed of each broken cell, and two of two others
    said = capsys.readouterr().err
    assert said.count("absent is not there; put it into a folder") == 1
    assert "seed 1: accuracy" in said


def test_a_damaged_file_stops_the_run_before_it_begins(plugin, tmp_path):
    path = Store().path(Cell("small_2", "logistic"))
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"small_2.logistic\.json"):
        run("small", seeds=1)
    assert log_of(tmp_path) == []


def test_quick_results_are_kept_apart(plugin):
    run("small", seeds=1, quick=True, device="cpu", jobs=2)
    cell = Cell("small_1", "logistic")
    assert Store().read(cell) == []
    [quick] = Store("results/paper/quick").read(cell)
    assert quick.settings["steps"] == 10
    assert quick.command == "varpu paper run small --seeds 1 --device cpu --jobs 2 --quick"


def test_what_another_process_did_meanwhile_is_not_done_again(plugin, monkeypatch, tmp_path):
    from varpu.paper import running

    real = running.plan

    def planned_then_filled(*args):
        jobs = real(*args)
        for job in jobs[1:]:
            Store().add(job.cell, [Run(seed, {}) for seed in job.seeds[1:]])
        return jobs

    monkeypatch.setattr(running, "plan", planned_then_filled)
    run("small", seeds=2, device="cpu")
    begun = [line for line in log_of(tmp_path) if line.startswith("begin")]
    assert begun == ["begin small_1 0", "begin small_1 1", "begin small_2 0", "begin small_3 0"]


def test_a_bar_can_be_shown(plugin, capsys):
    run("small", seeds=1, device="cpu", progress=True)
    said = capsys.readouterr().err
    assert "3/3 logistic on small_3" in said
    assert "seed 0:" not in said
