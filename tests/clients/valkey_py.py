"""What users of valkey-py do first, over TCP and a Unix socket: python valkey_py.py PORT SOCKET.

Prints one `ok` line per road and protocol; the first failure ends it with a traceback and status 1.
"""

import asyncio
import sys

import valkey
import valkey.asyncio


def keys_and_sets(v):
    assert v.ping() and v.set("k", "v") and v.get("k") == "v" and v.get("absent") is None
    assert v.set("k", "w", nx=True) is None and v.set("k", "w", ex=100, get=True) == "v" and 90 < v.ttl("k") <= 100
    assert v.mset({"a": "1", "b": "2"}) and v.mget("a", "b", "absent") == ["1", "2", None] and v.incrby("a", 41) == 42
    assert v.delete("a", "b", "absent") == 2 and v.exists("k") == 1 and v.type("k") == "string"
    assert v.sadd("s", "a", "b", "c") == 3 and set(v.smembers("s")) == {"a", "b", "c"} and v.sismember("s", "a") in (1, True)
    assert v.sadd("t", "b", "z") == 2 and set(v.sinter("s", "t")) == {"b"} and v.sintercard(2, ["s", "t"]) == 1
    assert v.sunionstore("u", "s", "t") == 4 and set(v.sscan_iter("u")) == {"a", "b", "c", "z"}
    assert set(v.scan_iter(match="[stu]")) == {"s", "t", "u"}
    try:
        v.sadd("k", "member")
        raise AssertionError("WRONGTYPE was expected")
    except valkey.ResponseError as error:
        assert str(error).startswith("WRONGTYPE"), error
    assert v.client_setname("worker") and v.client_getname() == "worker" and v.info()["role"] == "master"


def transactions(v, other):
    with v.pipeline() as pipe:
        assert pipe.set("x", 1).incr("x").sadd("xs", "a", "b").get("x").execute() == [True, 2, 2, "2"]
        pipe.watch("x")
        other.set("x", 10)
        pipe.multi()
        pipe.incr("x")
        try:
            pipe.execute()
            raise AssertionError("a conflict was expected")
        except valkey.WatchError:
            pass
    assert v.transaction(lambda pipe: pipe.multi() or pipe.incr("x"), "x") == [11]


def pubsub(v, other):
    p = v.pubsub()

    def message():
        while True:
            got = p.get_message(timeout=1)
            if got is not None:
                return (got["type"], got["pattern"], got["channel"], got["data"])

    p.subscribe("a")
    p.psubscribe("a*")
    p.ssubscribe("shard")
    assert [message()[0] for _ in range(3)] == ["subscribe", "psubscribe", "ssubscribe"]
    assert other.publish("a", "hello") == 2 and other.spublish("shard", "x") == 1
    assert message() == ("message", None, "a", "hello") and message() == ("pmessage", "a*", "a", "hello")
    assert message() == ("smessage", None, "shard", "x")
    for n in range(200):
        other.publish("a", n)
    assert [message()[3] for _ in range(400)] == [str(n // 2) for n in range(400)]
    p.unsubscribe()
    p.punsubscribe()
    p.sunsubscribe()
    assert sorted(message()[0] for _ in range(3)) == ["punsubscribe", "sunsubscribe", "unsubscribe"]
    p.close()


async def asynchronous(where):
    v = valkey.asyncio.Valkey(decode_responses=True, **where)
    async with v.pipeline(transaction=True) as pipe:
        assert await pipe.set("k", "v").get("k").execute() == [True, "v"]
    async with v.pubsub(ignore_subscribe_messages=True) as p:
        await p.subscribe("news")
        while await v.publish("news", "hello") == 0:
            pass
        got = None
        while got is None:
            got = await p.get_message(timeout=1)
        assert (got["type"], got["data"]) == ("message", "hello")
    await v.aclose()


def main(port, socket):
    for road, where in {"tcp": {"port": int(port)}, "unix": {"unix_socket_path": socket}}.items():
        for protocol in (2, 3):
            options = {**where, "protocol": protocol}
            v, other = (valkey.Valkey(decode_responses=True, **options) for _ in range(2))
            v.flushall()
            keys_and_sets(v)
            transactions(v, other)
            pubsub(v, other)
            asyncio.run(asynchronous(options))
            v.close()
            other.close()
            print(f"ok valkey-py {road} protocol {protocol}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
