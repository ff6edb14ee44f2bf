"""The kernel cache on disk: sound, private, bounded, safe among processes."""

import os
import stat
import subprocess
import sys
import time
import warnings

import pytest

from numloom.base.config import config
from numloom.device import cache as module
from numloom.device.cache import DiskCache, key_of, shared

KEY = key_of("text", "here")


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "deep" / "cache"), 1 << 20)


def entry(cache, key=KEY):
    return os.path.join(cache.folder, key)


def test_nothing_is_made_before_the_first_entry(cache):
    assert cache.get(KEY, "here") is None
    assert not os.path.exists(cache.folder)


def test_put_get_and_mode(cache):
    cache.put(KEY, b"payload\nwith lines\0", "here")
    assert cache.get(KEY, "here") == b"payload\nwith lines\0"
    assert DiskCache(cache.folder, 1 << 20).get(KEY, "here") == b"payload\nwith lines\0"
    assert os.stat(cache.folder).st_mode & 0o777 == 0o700
    assert os.listdir(cache.folder) == [KEY]
    assert (cache.hits, cache.misses) == (1, 0)


def test_keys_depend_on_text_and_origin():
    keys = {key_of(*pair) for pair in [("a", "b"), ("a", "c"), ("b", "b"), ("ab", ""), ("", "ab")]}
    assert len(keys) == 5


def test_another_origin_is_a_miss(cache):
    cache.put(KEY, b"payload", "here")
    assert cache.get(KEY, "there") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:-3] + b"\0" + content[-2:],
        lambda content: content.replace(b"cache 1", b"cache 0"),
        lambda content: module.MAGIC + b"{}\npayload",
        lambda content: module.MAGIC + b"not json\npayload",
        lambda content: module.MAGIC + b"[1]\npayload",
        lambda content: module.MAGIC + b"[" * 200_000 + b"\npayload",
        lambda content: module.MAGIC + b'{"origin": ' + b"[" * 200_000 + b"\npayload",
        lambda content: module.MAGIC + b"null\n",
        lambda content: module.MAGIC + b"\xff\n",
        lambda content: os.urandom(len(content)),
    ],
)
def test_damaged_entries_are_rebuilt(cache, damage):
    cache.put(KEY, b"payload", "here")
    with open(entry(cache), "rb") as file:
        content = file.read()
    with open(entry(cache), "wb") as file:
        file.write(damage(content))
    assert not any(found.sound for found in cache.entries())
    assert cache.get(KEY, "here") is None
    assert not os.path.exists(entry(cache))
    cache.put(KEY, b"payload", "here")
    assert cache.get(KEY, "here") == b"payload"


def test_an_entry_under_another_name_is_refused(cache):
    cache.put(KEY, b"payload", "here")
    other = key_of("other", "here")
    os.rename(entry(cache), entry(cache, other))
    assert cache.get(other, "here") is None


def test_a_link_is_not_followed(cache, tmp_path):
    cache.put(KEY, b"payload", "here")
    os.rename(entry(cache), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", entry(cache))
    assert cache.get(KEY, "here") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(cache, mode):
    cache.put(KEY, b"payload", "here")
    os.chmod(cache.folder, mode)
    assert cache.get(KEY, "here") is None
    with pytest.warns(RuntimeWarning, match="other users"):
        cache.put(KEY, b"payload", "here")


def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    cache.put(KEY, b"payload", "here")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.get(KEY, "here") is None
    with pytest.warns(RuntimeWarning, match="another user"):
        cache.put(KEY, b"payload", "here")


def test_trouble_is_told_once(cache, monkeypatch):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.put(KEY, b"payload", "here")
    assert os.listdir(cache.folder) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEY, b"payload", "here")
        assert cache.get(KEY, "here") is None


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(str(tmp_path / "file" / "cache"), 1 << 20)
    assert cache.get(KEY, "here") is None
    with pytest.warns(RuntimeWarning):
        cache.put(KEY, b"payload", "here")


def test_least_recently_used_goes_first(cache):
    cache.limit = 20_000
    keys = [key_of(str(number), "here") for number in range(9)]
    long_ago = time.time() - 1000
    for number, key in enumerate(keys[:6]):
        cache.put(key, bytes(3000), "here")
        os.utime(entry(cache, key), (long_ago + number, long_ago + number))
    assert cache.get(keys[0], "here") is not None  # used now
    cache.put(keys[6], bytes(3000), "here")
    left = set(os.listdir(cache.folder))
    assert sum(os.stat(entry(cache, name)).st_size for name in left) <= cache.limit
    assert keys[0] in left and keys[6] in left and keys[1] not in left


def test_what_died_unfinished_is_swept(cache):
    cache.put(KEY, b"payload", "here")
    old, new = (os.path.join(cache.folder, f"{module.TEMPORARY}{name}") for name in ("old", "new"))
    for path in (old, new):
        with open(path, "wb"):
            pass
    os.utime(old, (0, 0))
    DiskCache(cache.folder, 1 << 20).put(key_of("more", "here"), b"more", "here")
    assert not os.path.exists(old) and os.path.exists(new)


def test_size_zero_is_off(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"), 0)
    cache.put(KEY, b"payload", "here")
    assert cache.get(KEY, "here") is None
    assert not os.path.exists(cache.folder)


@pytest.mark.parametrize("kept", [b"", b"\xff\xfe", b"other"])
def test_what_is_remembered_and_unsound_is_made_again(cache, kept):
    cache.put(KEY, kept, "text")
    assert cache.remembered(KEY, lambda: "right", lambda text: text == "right") == "right"
    assert cache.remembered(KEY, lambda: "never asked", lambda text: text == "right") == "right"


def test_keys_that_are_no_names_are_misses(cache):
    cache.put(KEY, b"payload", "here")
    assert cache.get("a\0b", "here") is None
    assert cache.get("\udc80" * 2, "here") is None


def test_remembered_asks_once(cache):
    assert cache.remembered(KEY, lambda: "answer") == "answer"
    assert cache.remembered(KEY, lambda: "never asked") == "answer"


def test_clear(cache):
    cache.put(KEY, b"payload", "here")
    cache.clear()
    assert cache.get(KEY, "here") is None


def test_shared_follows_the_settings(tmp_path):
    with config(cache_dir=tmp_path / "a"):
        first = shared()
        assert first.folder == str(tmp_path / "a") and shared() is first
    assert shared().folder != str(tmp_path / "a")


WORKER = """
import random, sys
from numloom.device.cache import DiskCache, key_of
cache = DiskCache(sys.argv[1], 60_000)
random.seed(int(sys.argv[2]))
for _ in range(150):
    number = random.randrange(12)
    key = key_of(str(number), "here")
    found = cache.get(key, "here")
    assert found is None or found == bytes([number]) * 8000, number
    if found is None or random.random() < 0.3:
        cache.put(key, bytes([number]) * 8000, "here")
assert cache.trouble is None, cache.trouble
"""


def test_concurrent_processes(cache):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, cache.folder, str(number)], env=environment)
        for number in range(4)
    ]
    assert [worker.wait() for worker in workers] == [0] * 4
    assert not [name for name in os.listdir(cache.folder) if name.startswith(module.TEMPORARY)]
    assert sum(os.stat(entry(cache, name)).st_size for name in os.listdir(cache.folder)) <= 60_000 + 4 * 8300


# ---------------------------------------------------------------- entries that are none of ours


def test_an_entry_that_is_a_fifo_is_a_miss_and_nobody_waits(cache):
    cache.put(KEY, b"payload", "here")
    os.unlink(entry(cache))
    os.mkfifo(entry(cache), 0o600)
    assert cache.get(KEY, "here") is None
    cache.put(KEY, b"again", "here")
    assert cache.get(KEY, "here") == b"again"


@pytest.mark.parametrize("target", ["/dev/zero", "other", "gone"])
def test_an_entry_that_is_a_link_is_a_miss(cache, target):
    cache.put(KEY, b"payload", "here")
    os.rename(entry(cache), entry(cache, "other"))
    os.symlink(target, entry(cache))
    assert cache.get(KEY, "here") is None


def test_an_entry_that_is_a_folder_is_a_miss(cache):
    cache.put(key_of("another", "here"), b"payload", "here")
    os.mkdir(entry(cache))
    assert cache.get(KEY, "here") is None


@pytest.mark.skipif(not hasattr(os, "mknod") or os.geteuid() != 0, reason="only root makes device files")
def test_an_entry_that_is_a_device_is_a_miss(cache):
    cache.put(key_of("another", "here"), b"payload", "here")
    try:
        os.mknod(entry(cache), 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError:
        pytest.skip("no device files here")
    assert cache.get(KEY, "here") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_is_a_miss(cache, mode):
    cache.put(KEY, b"payload", "here")
    os.chmod(entry(cache), mode)
    assert cache.get(KEY, "here") is None
    cache.put(KEY, b"again", "here")
    assert cache.get(KEY, "here") == b"again" and os.stat(entry(cache)).st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "chown") or os.geteuid() != 0, reason="only root gives files away")
def test_an_entry_of_another_user_is_a_miss(cache):
    cache.put(KEY, b"payload", "here")
    os.chown(entry(cache), 65534, -1)
    assert cache.get(KEY, "here") is None


def test_what_is_not_made_is_not_remembered(cache):
    def fail():
        raise OSError("no room")

    for _ in range(2):
        with pytest.raises(OSError, match="no room"):
            cache.remembered("question", fail)
    assert cache.remembered("question", lambda: "answer") == "answer"
    assert cache.remembered("question", fail) == "answer"
