"""Every example in a docstring runs, and prints what it shows."""

import doctest
import inspect

import pytest

import posterity as ps


def described():
    """Names with docstrings: everything public, and the members of classes."""
    for name in ps.__all__:
        value = getattr(ps, name)
        yield f"posterity.{name}", value
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if not member.startswith("_"):
                    yield f"posterity.{name}.{member}", inner
    yield "posterity", ps


@pytest.mark.parametrize(("name", "value"), list(described()), ids=lambda value: value if isinstance(value, str) else "")
def test_examples(name, value):
    text = inspect.getdoc(value) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_everything_public_is_described():
    undescribed = [name for name, value in described() if not inspect.getdoc(value) and not name.endswith("__version__")]
    assert undescribed == []
