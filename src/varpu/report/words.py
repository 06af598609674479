"""The sentences of a report, made from its numbers."""

from typing import Any

LIMITS = (
    "Labelled positives are taken to be a random sample of all positives. If some kinds of"
    " positives are labelled more readily than others, rows of the other kinds score too low, and"
    " nothing in this data can show it.",
    "The share of positives can be told apart from the share that was labelled only if some rows"
    " are surely positive. Without such rows the prior reads too high; its interval shows the"
    " sampling error alone.",
    "No row is known to be negative, so accuracy, precision and false alarms are estimates that"
    " rest on the prior. Check a few dozen of the marked rows by hand before you act on them.",
    "A score is about rows like these. Rows from another time or place need a new look.",
)
_FEW_POSITIVES = 30
_WIDE_INTERVAL = 0.25


def count(number: float) -> str:
    """``3284.2`` as ``3,284``."""
    return f"{round(number):,}"


def _signed(number: float) -> str:
    return f"{number:.4f}".replace("-", "−")


def answer(data: dict[str, Any], estimate: dict[str, Any], prior: dict[str, Any]) -> str:
    """How many unlabelled rows are positive, and how many are marked."""
    text = (
        f"About {count(estimate['positives'])} of the {count(data['unlabelled'])} unlabelled rows"
    )
    verb = "is" if round(estimate["positives"]) == 1 else "are"
    text += f" {verb} positive"
    if prior["given"]:
        text += f" (the share of positives, {prior['value']:.3g}, was given)"
    elif estimate["interval"]:
        low, high = estimate["interval"]
        text += f" (90% interval {count(low)} to {count(high)})"
    marked = estimate["marked"]
    return f"{text}; {count(marked)} {'is' if marked == 1 else 'are'} marked."


def doubts(data: dict[str, Any], prior: dict[str, Any]) -> list[str]:
    """What makes the prior, and with it every probability, doubtful."""
    found: list[str] = []
    if data["labelled"] < _FEW_POSITIVES:
        found.append(
            f"The share of positives rests on {data['labelled']} labelled rows. The ranking is"
            " worth more than the probabilities."
        )
    if prior["interval"] and prior["interval"][1] - prior["interval"][0] > _WIDE_INTERVAL:
        low, high = prior["interval"]
        found.append(
            f"The share of positives may be anything from {low:.2f} to {high:.2f}. The ranking is"
            " not affected; give prior= if you know it."
        )
    return found


def why_this_won(table: list[dict[str, Any]], loss: float | None) -> str:
    """Why the blend is what it is."""
    fitted = [line for line in table if line["held_out_loss"] is not None]
    used = sorted((line for line in fitted if line["weight"]), key=lambda line: -line["weight"])
    if not used:
        return ""
    best = min(fitted, key=lambda line: line["held_out_loss"])
    text = (
        f"{len(fitted)} {'candidate was' if len(fitted) == 1 else 'candidates were'} fitted on the"
        " same folds and judged by the loss of rows they had not seen; lower is better, and no"
        f" negative is needed. The best alone is {best['candidate']}"
        f" ({_signed(best['held_out_loss'])})."
    )
    if len(used) == 1:
        return f"{text} It is used alone: no blend was better."
    shares = ", ".join(f"{line['candidate']} ({line['weight']:.0%})" for line in used[:3])
    more = f" and {len(used) - 3} more" if len(used) > 3 else ""
    text += f" The answer is a blend of {len(used)}: {shares}{more}"
    if loss is None:
        return f"{text}."
    gain = best["held_out_loss"] - loss
    better = f", better than any one by {gain:.4f}" if gain > 0 else ""
    return f"{text}. Its loss is {_signed(loss)}{better}."


def about_importance(found: dict[str, Any], out_of_fold: bool) -> str:
    """How the importance was measured."""
    text = (
        f"How much the loss rises when one column is shuffled, {found['repeats']} times, on"
        f" {count(found['n_rows'])} rows"
    )
    if out_of_fold:
        text += ". They were part of the fit, so a column that was learned by heart looks useful"
    left_out = found["n_columns"] - len(found["columns"])
    if left_out:
        text += f". {count(left_out)} columns that hardly go with the score were left out"
    return text + "."


def about_scores(out_of_fold: bool) -> str:
    """Where the scores come from."""
    if out_of_fold:
        return "Every row is scored by models that did not see it."
    return "Rows are scored as the model predicts them; they may have been part of its fit."
