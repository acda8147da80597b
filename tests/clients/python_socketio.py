"""python-socketio servers that share their rooms through Redis: python python_socketio.py PORT SOCKET.

The browsers are driven through the applications themselves, over the long-polling transport. Prints one `ok` line per
kind of server, library and road; the first failure ends it with a traceback and status 1.
"""

import asyncio
import io
import json
import sys

import redis
import socketio


class AsyncBrowser:
    """A browser at an ASGI application."""

    def __init__(self, app):
        self.app, self.session, self.packets = app, "", []

    async def request(self, method, body=b""):
        scope = {"type": "http", "method": method, "path": "/socket.io/"}
        scope["query_string"] = f"EIO=4&transport=polling{self.session}".encode()
        scope["headers"] = [(b"content-length", str(len(body)).encode())]
        got = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(event):
            got.append(event)

        await self.app(scope, receive, send)
        assert got[0]["status"] == 200, got
        return b"".join(event.get("body", b"") for event in got).decode()

    async def packet(self):
        """The next packet that is no heartbeat."""
        while True:
            while not self.packets:
                self.packets = (await self.request("GET")).split("\x1e")
            packet = self.packets.pop(0)
            if packet != "2":
                return packet
            await self.request("POST", b"3")

    async def connect(self):
        opened = await self.packet()
        self.session = "&sid=" + json.loads(opened[1:])["sid"]
        await self.request("POST", b"40")
        accepted = await self.packet()
        assert accepted.startswith("40"), accepted
        return json.loads(accepted[2:])["sid"]

    async def event(self):
        packet = await self.packet()
        assert packet.startswith("42"), packet
        return json.loads(packet[2:])


class Browser(AsyncBrowser):
    """A browser at a WSGI application, with the same steps."""

    async def request(self, method, body=b""):
        statuses = []
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": "/socket.io/",
            "QUERY_STRING": f"EIO=4&transport=polling{self.session}",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        body = self.app(environ, lambda status, headers: statuses.append(status))
        assert statuses[0].startswith("200"), statuses
        return b"".join(body).decode()


def both_listen(client, channel):
    while dict(client.pubsub_numsub(channel))[channel] < 2:
        pass


async def asynchronous(url, channel, client):
    def manager(**options):
        return socketio.AsyncRedisManager(url, channel, **options)

    servers = [socketio.AsyncServer(async_mode="asgi", client_manager=manager()) for _ in range(2)]
    here, elsewhere = servers
    browsers = [AsyncBrowser(socketio.ASGIApp(server)) for server in servers]
    sids = [await browser.connect() for browser in browsers]
    await asyncio.to_thread(both_listen, client, channel)

    # A room whose only member is at the other server, then everybody, then one of them alone.
    await elsewhere.enter_room(sids[1], "room")
    await here.emit("news", {"text": "é"}, room="room")
    assert await browsers[1].event() == ["news", {"text": "é"}]
    await elsewhere.emit("all", 1)
    assert [await browser.event() for browser in browsers] == [["all", 1], ["all", 1]]
    for n in range(100):
        await here.emit("number", n, to=sids[1])
    assert [await browsers[1].event() for _ in range(100)] == [["number", n] for n in range(100)]

    # From a process that only emits.
    await manager(write_only=True).emit("outside", "in", room="room")
    assert await browsers[1].event() == ["outside", "in"]
    # What the other server's member is told to do from afar.
    await here.close_room("room")
    await here.emit("nobody", room="room")
    await here.emit("after", to=sids[1])
    assert await browsers[1].event() == ["after"]
    await here.disconnect(sids[1])
    assert await browsers[1].packet() in ("41", "1")


def threaded(url, channel, client):
    def manager(**options):
        return socketio.RedisManager(url, channel, **options)

    servers = [socketio.Server(async_mode="threading", client_manager=manager()) for _ in range(2)]
    here, elsewhere = servers
    browsers = [Browser(socketio.WSGIApp(server)) for server in servers]

    async def drive():
        sids = [await browser.connect() for browser in browsers]
        both_listen(client, channel)
        elsewhere.enter_room(sids[1], "room")
        here.emit("news", {"text": "é"}, room="room")
        assert await browsers[1].event() == ["news", {"text": "é"}]
        elsewhere.emit("all", 1)
        assert [await browser.event() for browser in browsers] == [["all", 1], ["all", 1]]
        for n in range(100):
            here.emit("number", n, to=sids[1])
        assert [await browsers[1].event() for _ in range(100)] == [["number", n] for n in range(100)]
        manager(write_only=True).emit("outside", "in", room="room")
        assert await browsers[1].event() == ["outside", "in"]

    asyncio.run(drive())


def main(port, socket):
    # A Unix socket has one scheme for both libraries, and redis-py comes first.
    urls = [f"redis://127.0.0.1:{port}", f"valkey://127.0.0.1:{port}", f"unix://{socket}"]
    client = redis.Redis(port=int(port), decode_responses=True)
    for url in urls:
        for kind in (asynchronous, threaded):
            # A threaded server listens until the process ends, hence a channel for each run.
            name = f"{kind.__name__} {url.split(':')[0]}"
            if kind is asynchronous:
                asyncio.run(asynchronous(url, name, client))
            else:
                threaded(url, name, client)
            print(f"ok python-socketio {name}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
