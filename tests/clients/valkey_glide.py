"""What users of Valkey GLIDE do first, over TCP: python valkey_glide.py PORT SOCKET.

This version connects to hosts and ports alone. Prints one `ok` line per protocol; the first failure ends it with a
traceback and status 1.
"""

import asyncio
import sys

from glide import (
    Batch,
    ConditionalChange,
    ExpirySet,
    ExpiryType,
    GlideClient,
    GlideClientConfiguration,
    NodeAddress,
    ProtocolVersion,
    RequestError,
)


async def keys_and_sets(client):
    assert await client.flushall() == "OK" and await client.ping() == b"PONG"
    assert await client.set("k", "v") == "OK" and await client.get("k") == b"v" and await client.get("absent") is None
    assert await client.set("k", "w", conditional_set=ConditionalChange.ONLY_IF_DOES_NOT_EXIST) is None
    assert await client.set("k", "w", expiry=ExpirySet(ExpiryType.SEC, 100)) == "OK" and 90 < await client.ttl("k") <= 100
    assert await client.mset({"a": "1", "b": "2"}) == "OK" and await client.mget(["a", "b", "absent"]) == [b"1", b"2", None]
    assert await client.incrby("a", 41) == 42 and await client.delete(["a", "b", "absent"]) == 2
    assert await client.sadd("s", ["a", "b", "c"]) == 3 and await client.smembers("s") == {b"a", b"b", b"c"}
    assert await client.sadd("t", ["b", "z"]) == 2 and await client.sinter(["s", "t"]) == {b"b"}
    assert await client.smismember("s", ["a", "z"]) == [True, False] and await client.sunionstore("u", ["s", "t"]) == 4
    cursor, found = await client.scan(b"0", match="[stu]", count=1000)
    assert cursor == b"0" and sorted(found) == [b"s", b"t", b"u"]
    try:
        await client.sadd("k", ["member"])
        raise AssertionError("WRONGTYPE was expected")
    except RequestError as error:
        assert "WRONGTYPE" in str(error), error
    # Many calls in flight on one connection.
    assert sorted(await asyncio.gather(*(client.incr("n") for _ in range(500)))) == list(range(1, 501))


async def transactions(client, other):
    batch = Batch(is_atomic=True)
    batch.set("x", "1").incr("x").sadd("xs", ["a", "b"]).get("x")
    assert await client.exec(batch, raise_on_error=True) == ["OK", 2, 2, b"2"]
    await client.watch(["x"])
    await other.set("x", "10")
    again = Batch(is_atomic=True)
    again.incr("x")
    assert await client.exec(again, raise_on_error=True) is None
    assert await client.exec(again, raise_on_error=True) == [11]
    pipeline = Batch(is_atomic=False)
    for _ in range(200):
        pipeline.incr("counter")
    assert await client.exec(pipeline, raise_on_error=True) == list(range(1, 201))


async def pubsub(connect, other):
    modes = GlideClientConfiguration.PubSubChannelModes
    subscriptions = {modes.Exact: {"news"}, modes.Pattern: {"n*"}}
    subscriber = await connect(GlideClientConfiguration.PubSubSubscriptions(subscriptions, callback=None, context=None))
    # Whether the client waits for the confirmations is its own affair; the server tells.
    while await other.custom_command(["PUBSUB", "NUMSUB", "news"]) not in ({b"news": 1}, [b"news", 1]):
        pass
    while await other.custom_command(["PUBSUB", "NUMPAT"]) != 1:
        pass
    assert await other.publish("hello", "news") == 2
    got = [await subscriber.get_pubsub_message() for _ in range(2)]
    assert [(one.message, one.channel, one.pattern) for one in got] == [(b"hello", b"news", None), (b"hello", b"news", b"n*")]
    for n in range(200):
        await other.publish(str(n), "news")
    got = [await subscriber.get_pubsub_message() for _ in range(400)]
    assert [int(one.message) for one in got] == [n // 2 for n in range(400)]
    await subscriber.subscribe({"later"})
    assert await other.publish("x", "later") == 1
    assert (await subscriber.get_pubsub_message()).channel == b"later"
    await subscriber.unsubscribe({"later"})
    assert await other.publish("x", "later") == 0
    await subscriber.close()


async def main(port):
    for protocol in (ProtocolVersion.RESP2, ProtocolVersion.RESP3):

        async def connect(subscriptions=None):
            address = NodeAddress("127.0.0.1", int(port))
            # No reply is ever late here; the caller's watchdog ends a wait without end.
            return await GlideClient.create(
                GlideClientConfiguration(
                    [address], protocol=protocol, pubsub_subscriptions=subscriptions, request_timeout=120000
                )
            )

        client, other = await connect(), await connect()
        await keys_and_sets(client)
        await transactions(client, other)
        if protocol == ProtocolVersion.RESP3:
            await pubsub(connect, other)
        await client.close()
        await other.close()
        print(f"ok valkey-glide {protocol.name}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
