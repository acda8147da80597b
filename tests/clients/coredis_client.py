"""What users of coredis do first, over TCP and a Unix socket: python coredis_client.py PORT SOCKET.

Prints one `ok` line per road; the first failure ends it with a traceback and status 1.
"""

import asyncio
import sys

import coredis
from coredis import PureToken
from coredis.exceptions import ResponseError, WatchError


async def keys_and_sets(client):
    assert await client.flushall() and await client.ping() == "PONG"
    assert await client.set("k", "v") and await client.get("k") == "v" and await client.get("absent") is None
    assert not await client.set("k", "w", condition=PureToken.NX)
    assert await client.set("k", "w", ex=100) and 90 < await client.ttl("k") <= 100
    assert await client.mset({"a": "1", "b": "2"}) and list(await client.mget(["a", "b", "absent"])) == ["1", "2", None]
    assert await client.incrby("a", 41) == 42 and await client.delete(["a", "b", "absent"]) == 2
    assert await client.sadd("s", ["a", "b", "c"]) == 3 and await client.smembers("s") == {"a", "b", "c"}
    assert await client.sadd("t", ["b", "z"]) == 2 and await client.sinter(["s", "t"]) == {"b"}
    assert list(await client.smismember("s", ["a", "z"])) == [True, False] and await client.sunionstore(["s", "t"], "u") == 4
    assert {member async for member in client.sscan_iter("u")} == {"a", "b", "c", "z"}
    assert {key async for key in client.scan_iter(match="[stu]")} == {"s", "t", "u"}
    try:
        await client.sadd("k", ["member"])
        raise AssertionError("WRONGTYPE was expected")
    except ResponseError as error:
        assert "wrong kind of value" in str(error), error


async def transactions(client, other):
    async with client.pipeline(transaction=True) as pipe:
        results = [pipe.set("x", 1), pipe.incr("x"), pipe.sadd("xs", ["a", "b"]), pipe.get("x")]
    assert [await result for result in results] == [True, 2, 2, "2"]
    try:
        async with client.pipeline(transaction=False) as pipe:
            async with pipe.watch("x"):
                await other.set("x", 10)
                pipe.incr("x")
        raise AssertionError("a conflict was expected")
    except WatchError:
        pass
    assert await client.get("x") == "10"
    async with client.pipeline(transaction=False) as pipe:
        counts = [pipe.incr("counter") for _ in range(200)]
    assert [await count for count in counts] == list(range(1, 201))


async def pubsub(client, other):
    async def message():
        # What stands for a confirmation is nothing.
        while (got := await subscriber.get_message()) is None:
            pass
        return got

    async with client.pubsub(channels=["news"], patterns=["n*"], ignore_subscribe_messages=True) as subscriber:
        while await other.publish("news", "hello") != 2:
            pass
        # Those sent before both subscriptions were in place reached one of them or none.
        got = []
        while [one["type"] for one in got[-2:]] != ["message", "pmessage"]:
            got.append(await message())
        assert [one["data"] for one in got[-2:]] == ["hello", "hello"]
        for n in range(200):
            await other.publish("news", n)
        got = [await message() for _ in range(400)]
        assert [one["data"] for one in got] == [str(n // 2) for n in range(400)]
        await subscriber.unsubscribe("news")
        await subscriber.punsubscribe("n*")
    while await other.publish("news", "nobody") != 0:
        pass


async def main(port, socket):
    roads = {"tcp": {"host": "127.0.0.1", "port": int(port)}, "unix": {"unix_socket_path": socket}}
    for road, where in roads.items():
        async with coredis.Redis(decode_responses=True, **where) as client:
            async with coredis.Redis(decode_responses=True, **where) as other:
                await keys_and_sets(client)
                await transactions(client, other)
                await pubsub(client, other)
        print(f"ok coredis {road}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
