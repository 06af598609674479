"""The defaults are the authors' training recipe."""

from varpu.training import LOSSES, PENALTIES, PRECISIONS, Recipe


def test_defaults_are_those_of_the_authors_program():
    recipe = Recipe()
    assert (recipe.loss, recipe.penalty, recipe.alpha) == ("variational", "mixup", 0.3)
    assert (recipe.epochs, recipe.steps_per_epoch, recipe.batch_size) == (50, 30, 500)
    assert recipe.betas == (0.5, 0.99)
    assert (recipe.lr_milestones, recipe.lr_decay) == ((19, 39), 0.5)
    assert recipe.patience is None


def test_defaults_are_names_that_exist():
    recipe = Recipe()
    assert recipe.loss in LOSSES
    assert recipe.penalty in PENALTIES
    assert recipe.precision in PRECISIONS
