"""A stand-in for a GPU (``--device beside``) has no driver, which these names speak to."""

import pytest


@pytest.fixture(autouse=True)
def _with_a_driver(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--device") == "beside":
        pytest.skip("a stand-in for a GPU has no driver")
