"""Pickles: those of former versions load, and those made where memory is a GPU's are those of the host."""

from __future__ import annotations

import base64
import copy
import pickle
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import numloom as nl
from apart import stand_in
from numloom.device import registry

OF_0_2 = {
    "matrix": (
        "eNpdjr1uwjAUhZ2EUur+0ULpKzBZYutQqcy1lMFTNpQ4rohInBzjVMrWBShvwzv0wVqTZOoZ7neke87V/fKlrou8LAsWGxM3TJb6"
        "UxlLa11lcpMrCnJOVA1bydIoVtS5zdooXRnl0ltramkpvC5Gddpt4XOyQyBdLVVyS5U+G4pB5BFCElxEQ8c8tpleYLjHpcDogCsB"
        "Ouce93mwx3V/MrVN5Zo3ke8aHy+4PX4fcCdwP+dBe+0V4zAM33+d2sGJxUNyXA+iBfmvn9Nb75YdRj3HPadLPK7dQxOBqcVTssNM"
        "4Jn9AUv1VKI="
    ),
    "columns": (
        "eNotjUtPwzAQhDdOWsCUR8vrL/RkCc78Aizl4FNuVeJYakTiZFwHKTcuffCrwUmZw+5I+83sN9O2b+q2bUTuXD4I3dov4zzvbVfp"
        "z9pw0Eh0g9jo1hnR9LWvJpRvnAn0zrtee47ojHFbnq9gkvaIdYiVRu+4saPhSLKIiArMsnnYde4r+4r5ARcKl0dcKfC1jCST8QHX"
        "/5WlH7qQXGQsJKo33PycjrhVuFvLeGp7x32aph+/QdOQ5LEsTtskW9ComCJKiNGMsNqGXw8Kjx5PxR7PCi/iD9fXUao="
    ),
    "complex": (
        "eNo1jr1PwzAQxZ2ktGA+SvkoO1MnS12YkGDGUgZP2arEsdSoiZPnOkiZYAml/w0jO39YcdP0hrune797uk9f6rrIy7JgsTFxw2Sp"
        "35WxtNZVJle5oiB7omrYQpZGsaLObdahdGGUo9fW1NJSeAeM6vTgwuekRSDdWarkmiq9FxSDyCOEJDiJhm7msc30HMMvjARONzgT"
        "oDPucb/FeR+Y2qZydxdR4Hg5f8Ll9nuDK4HxjAdd2DOuwzB827nqGicWk2S7HESP5Fh/Py+9eu0Xvx9HDzdL98CtwJ3FfdJiKvDA"
        "/gGvJlV/"
    ),
    "bfloat16": (
        "eNotjc1OwzAQhJ20FFh+W/5eoSdLvXBCgnukHHzqLUoco0Y4dsZxkHLrJZQ+Fy9WN0Wr1Y6038xsY2m6Wltb89y5vOfSmm/lPHWm"
        "qeSXVgR2JJqeZ9I6xetO+2pEKXMq0K13nfSE6ISRKU9fxAkbMJHBVirZkjJHQZiuI8ZYgbP1LFyd+8qsMPvBucDFDpcCtEyiJB5w"
        "9R9Y+r4JvmtZ62zULRWf2uZ+9Uq42f/ucCtwt0wmY/Ab7tM0TeIwHx7zYr+ZjkV/2/ewWGxC1YPAo8dTMeBZ4IUfAMmHUow="
    ),
    "number": (
        "eNotjUFvgkAUhBewFte2Vmv7G/SySW8e/AWScNgTNwLLJpLCwqxLE25ekPqr7QrO4b2XzDfzzq5QTVlUVckSrZOWiUr9Sm1oo+pc"
        "/BSSgtyJumWxqLRkZVOYfEBprKWlT0Y3wlA4I0ZVNrpwA9LBEzaWSXGiUt0PiknkEEJSPEVTu4vE5Oob0wueOfweMw66CZztoywz"
        "bW0z88i1bL7Dy/WvxyvH2ybwhp49FmEYHm5WwwiIwXt6PU4i37oeGYXl0X5YcXwYrNMOnxxf7B/mjlAh"
    ),
    "empty": (
        "eNotjstOwzAQRZ0ECgzPlsc3lI0lJJZ8AZay8Co7K3aMFJE4uY6DlB2btvSrwU2ZxcxIc87VfKfGjW3TdS0vvS8nbjr3ZX2g0fW1"
        "+WwsgR2IfuLKdN7ydmxCPaOkvI30EPxoAiE5YuSq4xWpYBtkJmqVNQNZd1gIJ0XCGNM4LRZxNmWo3QsWW5xJnO9wIUFrkQgmsi0u"
        "/yOrMPXRvCrSaHy84nr/s8ONxO1aZHPaG+7yPH//jTU3wQKWem+U0mMd/3VKkZ6CHQirZ4n7gAe9waPEE/8DNKJWhw=="
    ),
    "generator": (
        "eNp9UctuEzEUnTyatg598AxQCrS0dLqJhMSSPVIHRWi68aayZjwWGXXiyfHYUmcRqRUqoUhs2LBnDULiE5K/4R8Q3CRVpSCEF77X"
        "vuece+x7WpXa9bI877VNpBMKb5RWJrK5YS+vMnj7Z6gMUOWrnueJOLXiCoba3wpzZfa6m2b5CUOdJBYGaPh8iTQKpRJRKGBxwu6X"
        "/+YK0S9PhNP9VB5nShwS6VDBKS0Vw9L/mPPQ5YPtLz9rnSFYiKYf1ALvkitkblS75zKbRsZEJRNGyVwX1jhpGa7NYEwnsypWAu8c"
        "q5JoiZIFI3VKGNZ4hd4UY503KGaRTfUzXH+HGyFuDnErxG0/qAT1c9y5FExs2Sdei1cJ757j7sX7Ie6FuE/mplovsNHpdA5+05pu"
        "gWfxIL7orvEWVZuj0/Hn0Y/x11bzaPw9G73dfLWzO/qEzS41fRjikcXjOKjvW2zFfGHy3TayCtsDPPH5ysTq3AR3prZng8Jul2BP"
        "fb5IVzJ32iqDPXJVo/OxKuF/WN7Ar6P8Y+Ob55yLi7j9B7+RxSk="
    ),
}
"""Pickles (protocol 2) that version 0.2.0 made, compressed."""
VALUES: dict[str, Any] = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6, dtype="i2").reshape(2, 3)),
    "complex": np.array([1 + 2j, np.nan]),
    "bfloat16": nl.asarray([1.5, -2.0], dtype="bfloat16").get(),
    "number": np.asarray(3),
    "empty": np.zeros((0, 3), "f4"),
}


def old(name: str) -> Any:
    return pickle.loads(zlib.decompress(base64.b64decode(OF_0_2[name])))


@pytest.mark.parametrize("name", VALUES)
def test_pickles_of_former_versions_load(name: str) -> None:
    x, wanted = old(name), VALUES[name]
    assert type(x) is nl.ndarray and (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
    assert x.flags.f_contiguous == wanted.flags.f_contiguous
    assert x.get().tobytes() == wanted.tobytes()
    x[...] = 1
    assert (x.get() == 1).all()


def test_a_generator_of_a_former_version_goes_on() -> None:
    here = nl.random.default_rng(3)
    here.random(5)
    assert float(old("generator").random()) == float(here.random())


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_numbers_stay_numbers_and_arrays_stay_arrays(protocol: int) -> None:
    for x in (nl.arange(4)[3], nl.ones(3).sum(), nl.ones(()), nl.ones(2), nl.asarray([1.5], dtype="bfloat16")[0]):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert (y.is_scalar, y.dtype, y.shape) == (x.is_scalar, x.dtype, x.shape) and float(y.sum()) == float(x.sum())


def test_pickles_of_a_gpu_are_those_of_the_host(device: str) -> None:
    if registry.current().discrete or device == "reference":
        pytest.skip("the device is a GPU, or has the host's memory")
    mine = pickle.dumps(nl.arange(6.0).reshape(2, 3) + 1)
    with stand_in():
        apart = nl.arange(6.0).reshape(2, 3) + 1
        assert pickle.dumps(apart) == mine and pickle.loads(mine).get().tolist() == apart.get().tolist()
        assert float(copy.deepcopy(apart)[1, 2]) == 6.0
