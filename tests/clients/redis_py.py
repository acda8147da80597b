"""What users of redis-py do, over TCP and a Unix socket: python redis_py.py PORT SOCKET.

Prints one `ok` line per scenario; the first failure ends it with a traceback and status 1.
"""

import asyncio
import sys

import redis
import redis.asyncio


def strings(r):
    assert r.ping()
    assert r.set("k", "v") is True
    assert r.get("k") == "v"
    assert r.get("absent") is None
    assert r.set("k", "w", nx=True) is None
    assert r.set("k", "w", xx=True, get=True) == "v"
    assert r.set("k", "w", ex=100) and 90 < r.ttl("k") <= 100
    assert r.persist("k") and r.ttl("k") == -1 and r.ttl("absent") == -2
    assert r.setex("k", 100, "x") and r.psetex("k", 100000, "y")
    assert r.incr("n") == 1 and r.decr("n") == 0
    assert r.mset({"a": "1", "b": "2"}) and r.mget("a", "b", "absent") == ["1", "2", None]
    assert r.exists("a", "b", "absent") == 2 and r.delete("a") == 1 and r.unlink("b") == 1
    assert r.type("k") == "string" and r.expire("k", 50) and r.pexpire("k", 50000) and r.pttl("k") > 40000
    assert r.keys("k*") == ["k"] and r.dbsize() == 2
    assert r.echo("hello") == "hello"
    try:
        r.sadd("k", "member")
        raise AssertionError("WRONGTYPE was expected")
    except redis.ResponseError as error:
        assert str(error).startswith("WRONGTYPE"), error
    binary = bytes(range(256))
    raw = redis.Redis(connection_pool=redis.ConnectionPool(**{**r.connection_pool.connection_kwargs, "decode_responses": False},
                                                           connection_class=r.connection_pool.connection_class))
    assert raw.set(binary, binary) and raw.get(binary) == binary
    raw.close()


def sets(r):
    assert r.sadd("s", "a", "b", "c") == 3 and r.sadd("s", "a") == 0
    assert r.scard("s") == 3 and set(r.smembers("s")) == {"a", "b", "c"}
    assert r.sismember("s", "a") in (1, True) and not r.sismember("s", "z")
    assert [bool(x) for x in r.smismember("s", ["a", "z"])] == [True, False]
    assert r.srem("s", "c", "z") == 1
    r.sadd("t", "b", "c")
    assert set(r.sinter("s", "t")) == {"b"} and set(r.sunion("s", "t")) == {"a", "b", "c"}
    assert set(r.sdiff("s", "t")) == {"a"}
    assert r.sintercard(2, ["s", "t"]) == 1 and r.sintercard(2, ["s", "t"], limit=1) == 1
    assert r.sinterstore("d", "s", "t") == 1 and r.sunionstore("d", "s", "t") == 3 and r.sdiffstore("d", "s", "t") == 1
    assert r.smove("s", "t", "a") in (1, True) and not r.smove("s", "t", "zz")
    assert r.srandmember("t") in {"a", "b", "c"} and len(r.srandmember("t", 2)) == 2 and len(r.srandmember("t", -9)) == 9
    assert r.spop("t") in {"a", "b", "c"} and len(r.spop("t", 2)) == 2 and r.spop("t") is None
    assert r.object("encoding", "s") == "listpack"


def scans(r):
    with r.pipeline(transaction=False) as pipe:
        for n in range(1000):
            pipe.set(f"key:{n}", n)
        pipe.execute()
    r.sadd("big", *[f"member:{n}" for n in range(1000)])
    assert len(set(r.scan_iter(match="key:*", count=50))) == 1000
    assert len(set(r.sscan_iter("big", count=10))) == 1000
    assert set(r.sscan_iter("big", match="member:77*")) == {"member:77"} | {f"member:77{n}" for n in range(10)}
    assert list(r.scan_iter(_type="set")) == ["big"]


def transactions(r, other):
    with r.pipeline() as pipe:
        assert pipe.set("x", 1).incr("x").sadd("xs", "a", "b").get("x").execute() == [True, 2, 2, "2"]
    with r.pipeline() as pipe:
        pipe.watch("x")
        assert pipe.get("x") == "2"
        other.set("x", 10)
        pipe.multi()
        pipe.incr("x")
        try:
            pipe.execute()
            raise AssertionError("a conflict was expected")
        except redis.WatchError:
            pass
    with r.pipeline() as pipe:
        pipe.watch("x")
        pipe.multi()
        pipe.incr("x")
        assert pipe.execute() == [11]
    assert r.transaction(lambda pipe: pipe.multi() or pipe.incr("x"), "x") == [12]
    with r.pipeline() as pipe:
        pipe.set("str", "v").sadd("str", "a").get("str")
        replies = pipe.execute(raise_on_error=False)
        assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == "v", replies
    with r.pipeline(transaction=False) as pipe:
        for n in range(500):
            pipe.incr("counter")
        assert pipe.execute() == list(range(1, 501))


def message(pubsub):
    for _ in range(200):
        got = pubsub.get_message(timeout=1)
        if got is not None:
            return (got["type"], got["pattern"], got["channel"], got["data"])
    raise AssertionError("no message")


def pubsub(r, other):
    p = r.pubsub()
    p.subscribe("a", "b")
    assert message(p) == ("subscribe", None, "a", 1) and message(p) == ("subscribe", None, "b", 2)
    p.psubscribe("a*")
    assert message(p) == ("psubscribe", None, "a*", 3)
    assert other.publish("a", "hello") == 2
    assert message(p) == ("message", None, "a", "hello") and message(p) == ("pmessage", "a*", "a", "hello")
    assert other.pubsub_channels() and dict(other.pubsub_numsub("a", "b")) == {"a": 1, "b": 1} and other.pubsub_numpat() == 1
    for n in range(200):
        other.publish("b", str(n))
    assert [message(p)[3] for _ in range(200)] == [str(n) for n in range(200)]
    p.ping()
    # Over RESP3 this library takes the bare PONG apart letter by letter.
    assert message(p)[0] in ("pong", "P")
    p.unsubscribe("a")
    assert message(p) == ("unsubscribe", None, "a", 2)
    p.unsubscribe()
    assert message(p) == ("unsubscribe", None, "b", 1)
    p.punsubscribe()
    assert message(p) == ("punsubscribe", None, "a*", 0)
    p.ssubscribe("shard")
    assert message(p)[0] == "ssubscribe"
    assert other.spublish("shard", "x") == 1
    assert message(p) == ("smessage", None, "shard", "x")
    p.sunsubscribe("shard")
    assert message(p)[0] == "sunsubscribe"
    p.close()
    heard = []
    q = r.pubsub(ignore_subscribe_messages=True)
    q.subscribe(**{"handled": lambda got: heard.append(got["data"])})
    thread = q.run_in_thread(sleep_time=0.01)
    while other.publish("handled", "called") == 0 or not heard:
        pass
    thread.stop()
    thread.join()
    assert heard[0] == "called"


def administration(r):
    assert r.client_setname("worker") and r.client_getname() == "worker"
    assert r.client_id() > 0 and any(client["name"] == "worker" for client in r.client_list())
    info = r.info()
    assert info["redis_mode"] == "standalone" and info["loading"] == 0 and info["role"] == "master", info
    assert r.config_get("databases") == {"databases": "16"} and r.config_set("timeout", 0)
    assert isinstance(r.time(), tuple) and r.command_count() > 50
    assert "sadd" in r.command() or b"sadd" in r.command()
    assert r.flushdb() and r.dbsize() == 0


async def asynchronous(**where):
    r = redis.asyncio.Redis(decode_responses=True, **where)
    await r.flushall()
    assert await r.sadd("s", "a", "b") == 2 and set(await r.smembers("s")) == {"a", "b"}
    assert set([member async for member in r.sscan_iter("s")]) == {"a", "b"}
    async with r.pipeline(transaction=True) as pipe:
        assert await pipe.set("k", "v").get("k").execute() == [True, "v"]
    p = r.pubsub()
    await p.subscribe("news")
    await p.psubscribe("n*")
    kinds = []
    while len(kinds) < 2:
        got = await p.get_message(timeout=5)
        kinds += [got["type"]] if got else []
    assert kinds == ["subscribe", "psubscribe"]
    assert await r.publish("news", "hello") == 2
    got = [await p.get_message(timeout=5) for _ in range(2)]
    assert [one["type"] for one in got] == ["message", "pmessage"], got
    await p.unsubscribe()
    await p.punsubscribe()
    await p.aclose()
    await r.aclose()


def main(port, socket):
    roads = {"tcp": {"host": "127.0.0.1", "port": int(port)}, "unix": {"unix_socket_path": socket}}
    for road, where in roads.items():
        for protocol in (None, 2, 3):
            if road == "unix" and protocol == 3 and redis.__version__.startswith("7.1."):
                # This version asks for a host name before it asks the server anything.
                continue
            options = {**where, **({"protocol": protocol} if protocol else {})}
            name = f"redis-py {redis.__version__} {road} protocol {protocol or 'default'}"
            r, other = (redis.Redis(decode_responses=True, **options) for _ in range(2))
            for scenario in (strings, sets, scans, administration):
                r.flushall()
                scenario(r)
                print(f"ok {name}: {scenario.__name__}", flush=True)
            for scenario in (transactions, pubsub):
                r.flushall()
                scenario(r, other)
                print(f"ok {name}: {scenario.__name__}", flush=True)
            asyncio.run(asynchronous(**options))
            print(f"ok {name}: asynchronous", flush=True)
            r.close()
            other.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
