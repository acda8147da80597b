"""Django's own Redis cache: python django_cache.py PORT SOCKET.

Prints one `ok` line per road; the first failure ends it with a traceback and status 1.
"""

import asyncio
import sys
import time

import redis
from django.conf import settings


def scenario(cache, other, client):
    cache.clear()
    assert cache.get("absent") is None and cache.get("absent", "default") == "default"
    cache.set("k", {"any": ["value", 1, None, "é"]})
    assert cache.get("k") == {"any": ["value", 1, None, "é"]}
    assert cache.add("k", "other") is False and cache.add("added", 1) is True
    assert cache.get_or_set("computed", lambda: "once") == "once" and cache.get_or_set("computed", "twice") == "once"
    assert cache.has_key("k") and "absent" not in cache
    assert cache.delete("k") is True and cache.delete("k") is False

    # Lives: the default, none, and one that ends.
    cache.set("default", 1)
    cache.set("forever", 1, timeout=None)
    assert 290 < client.ttl(":1:default") <= 300 and client.ttl(":1:forever") == -1
    assert cache.touch("default", 5000) is True and client.ttl(":1:default") > 4900
    assert cache.touch("default", None) is True and client.ttl(":1:default") == -1
    assert cache.touch("absent") is False
    cache.set("gone", 1)
    cache.set("gone", 2, timeout=0)
    assert cache.get("gone") is None
    cache.set("brief", 1, timeout=1)
    patience = time.monotonic() + 60
    while cache.get("brief") is not None:
        assert time.monotonic() < patience

    cache.set("n", 40)
    assert cache.incr("n") == 41 and cache.incr("n", 10) == 51 and cache.decr("n", 50) == 1 and cache.get("n") == 1
    try:
        cache.incr("absent")
        raise AssertionError("ValueError was expected")
    except ValueError:
        pass

    many = {f"k{n}": n for n in range(300)}
    assert cache.set_many(many, timeout=600) == []
    assert cache.get_many([*many, "absent"]) == many and 590 < client.ttl(":1:k299") <= 600
    cache.delete_many([f"k{n}" for n in range(299)])
    assert cache.get_many(many) == {"k299": 299}
    assert cache.incr_version("k299") == 2 and cache.get("k299") is None and cache.get("k299", version=2) == 299

    async def asynchronous():
        await cache.aset("async", [1, 2])
        assert await cache.aget("async") == [1, 2] and await cache.adelete("async")

    asyncio.run(asynchronous())
    # Another process of the application sees the same; clearing leaves nothing.
    assert other.get("forever") == 1
    cache.clear()
    assert other.get("forever") is None and client.dbsize() == 0
    cache.close()
    other.close()


def main(port, socket):
    backend = "django.core.cache.backends.redis.RedisCache"
    roads = {"tcp": f"redis://127.0.0.1:{port}", "unix": f"unix://{socket}"}
    places = {f"{road}-{n}": {"BACKEND": backend, "LOCATION": url} for road, url in roads.items() for n in range(2)}
    settings.configure(CACHES={"default": places["tcp-0"], **places})
    from django.core.cache import caches

    for road, url in roads.items():
        with redis.Redis.from_url(url) as client:
            scenario(caches[f"{road}-0"], caches[f"{road}-1"], client)
        print(f"ok django cache {road}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
