"""Django Channels over Redis publish/subscribe: python channels_layer.py PORT SOCKET.

Two layers stand for two processes of an application. Prints one `ok` line per road; the first failure ends it with a
traceback and status 1.
"""

import asyncio
import sys

import redis.asyncio
from channels_redis.pubsub import RedisPubSubChannelLayer


async def subscribers(client, channel):
    return dict(await client.pubsub_numsub(channel))[channel]


async def scenario(url):
    here, elsewhere = (RedisPubSubChannelLayer(hosts=[url], prefix="app") for _ in range(2))
    client = redis.asyncio.Redis.from_url(url, decode_responses=True)
    mine, other, far = await here.new_channel(), await here.new_channel(), await elsewhere.new_channel()
    for channel in (mine, other, far):
        while await subscribers(client, channel) == 0:
            pass

    # To one channel, from the other process, with everything a message may hold.
    message = {"type": "chat.message", "text": "é", "bytes": bytes(range(256)), "list": [1, None, {"a": 2.5}]}
    await elsewhere.send(mine, message)
    assert await here.receive(mine) == message

    # To a group with members in both.
    await here.group_add("room", mine)
    await here.group_add("room", other)
    await elsewhere.group_add("room", far)
    while await subscribers(client, "app__group__room") < 2:
        pass
    await elsewhere.group_send("room", {"type": "hello"})
    for layer, channel in ((here, mine), (here, other), (elsewhere, far)):
        assert await layer.receive(channel) == {"type": "hello"}
    for n in range(200):
        await here.group_send("room", {"type": "number", "n": n})
    for n in range(200):
        assert (await elsewhere.receive(far))["n"] == n
        assert (await here.receive(mine))["n"] == n

    # A member that left hears nothing more: the next thing it gets was sent to it alone.
    await here.group_discard("room", mine)
    await elsewhere.group_send("room", {"type": "again"})
    while (await here.receive(other))["type"] != "again":
        pass
    await elsewhere.send(mine, {"type": "alone"})
    assert await here.receive(mine) == {"type": "alone"}

    await here.flush()
    await elsewhere.flush()
    while await client.pubsub_channels():
        pass
    await client.aclose()


def main(port, socket):
    for road, url in {"tcp": f"redis://127.0.0.1:{port}", "unix": f"unix://{socket}"}.items():
        asyncio.run(scenario(url))
        print(f"ok channels_redis pubsub {road}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
