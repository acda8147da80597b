"""Drives the client that `goblin sbe-client python` prints; fails with a traceback, or says `ok NAME`.

Run as: sbe_client.py NAME PLACE..., where a place is a Unix socket, ring:PATH, the goblin program or a folder.
"""

import atexit
import os
import signal
import subprocess
import sys
import time

import goblin_sbe
from goblin_sbe import Lost, Message, ServerError

PATIENCE = 60


def connect(place, timeout=PATIENCE):
    if place.startswith("ring:"):
        return goblin_sbe.connect_ring(place[len("ring:"):], timeout)
    return goblin_sbe.connect_unix(place, timeout)


def refused(kind, says, action):
    try:
        answer = action()
    except kind as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"{answer!r} instead of {kind.__name__}")


def round_trips(place):
    """Values of every kind, refusals, large ones, requests that time out."""
    with connect(place) as client:
        assert client.ping() == "PONG"
        assert client.call("FLUSHALL") == "OK"
        assert client.call("SET", "k", b"\x00\xff") == "OK"
        assert client.call("GET", "k") == b"\x00\xff"
        assert client.call("GET", "absent") is None
        assert client.call("INCRBY", "n", 41) == 41
        assert client.call("INCRBYFLOAT", "n", 0.5) == b"41.5"
        assert client.call("SADD", "s", "a", "b") == 2
        assert sorted(client.call("SMEMBERS", "s")) == [b"a", b"b"]
        assert client.call("CONFIG", "GET", "maxclients") == {b"maxclients": b"10000"}
        assert client.call("SCAN", 0, "MATCH", "s") == [b"0", [b"s"]]
        refused(ServerError, "WRONGTYPE Operation against a key", lambda: client.call("GET", "s"))
        refused(ServerError, "ERR unknown command", lambda: client.call("NOSUCH"))
        refused(ServerError, "ERR unknown command", lambda: client.call())
        assert client.call("MULTI") == "OK"
        assert client.ping() == "QUEUED"
        for words in [("INCR", "s"), ("MGET", "k", "absent"), ("SCARD", "s")]:
            assert client.call(*words) == "QUEUED"
        status, error, values, count = client.call("EXEC")
        assert (status, error.code, values, count) == ("PONG", "WRONGTYPE", [b"\x00\xff", None], 2)
        for size in [0, 1, 56, 57, 63, 64, 65, 1900, 1984, 4096, 8191, 1_000_003]:
            value = bytes(at * 7 % 251 for at in range(size))
            assert client.call("SET", "large", value) == "OK"
            assert client.call("GET", "large") == value
        for at in range(2000):
            assert client.call("ECHO", at) == str(at).encode()
        refused(TimeoutError, "timed out", lambda: client.call("DEBUG", "SLEEP", 0.5, timeout=0.05))
        # Its answer is not taken for the next one.
        assert client.call("ECHO", "next") == b"next"


def messages(place):
    """Its own messages, their order, what is joined and left."""
    with connect(place) as client:
        assert client.next_message(timeout=0) is None
        assert client.next_message(timeout=0.05) is None
        assert client.subscribe("a", "b") == 2
        assert client.psubscribe("a*") == 3
        assert client.publish("a", "x") == 2
        assert client.publish("nobody", "x") == 0
        assert client.next_message(timeout=0) == Message("message", b"", b"a", b"x")
        assert client.next_message() == Message("pmessage", b"a*", b"a", b"x")
        assert client.next_message(timeout=0.05) is None
        assert client.unsubscribe("b", "never") == 2
        assert client.unsubscribe() == 1
        assert client.unsubscribe() == 1
        assert client.punsubscribe() == 0
        refused(ServerError, "wrong number of arguments", client.subscribe)
        assert client.subscribe("c") == 1
        assert client.call("RESET") == "RESET"
        assert client.unsubscribe() == 0
        assert client.ping() == "PONG"
        for words in [("subscribe", "c"), ("CLIENT", "REPLY", "OFF")]:
            refused(ValueError, "", lambda: client.call(*words))


def listens(place):
    """Messages that others publish: the first one, fifty more, a long one, the last one."""
    with connect(place) as client:
        assert client.subscribe("news") == 1
        first = client.next_message()
        assert first == Message("message", b"", b"news", b"hello"), first
        for at in range(50):
            assert client.next_message().payload == str(at).encode()
        assert client.next_message().payload == b"m" * 100_000
        # By now it has slept, and is woken.
        assert client.publish("ready", "") >= 1
        assert client.next_message().payload == b"last"


def displaced(place):
    """The next client takes a ring over and finds nothing of the first one."""
    first = connect(place)
    first.call("SELECT", 3)
    first.subscribe("news")
    assert first.call("PUBLISH", "news", "unread") == 1
    second = connect(place)
    refused(Lost, "another client has taken the ring", first.ping)
    refused(Lost, "another client has taken the ring", lambda: first._stream.send(b"x" * 9000, goblin_sbe._Deadline(1)))
    assert second.next_message(timeout=0.05) is None
    assert second.publish("news", "nobody is left") == 0
    assert " db=0 " in second.call("CLIENT", "INFO").decode()
    first.close()
    assert second.ping() == "PONG"
    second.close()
    third = connect(place)
    # While it waits, too.
    waiting = os.fork()
    if waiting == 0:
        fourth = connect(place)
        fourth.ping()
        os._exit(0)
    refused(Lost, "another client has taken the ring", lambda: third.next_message(timeout=PATIENCE))
    assert os.waitpid(waiting, 0)[1] == 0


def without_bells(place):
    """A client that nobody can wake, on a server that it cannot wake."""
    with open(place[len("ring:"):], "r+b") as ring:
        ring.seek(328)
        ring.write(bytes(8))
    messages(place)
    with connect(place) as client:
        for _ in range(5):
            time.sleep(0.12)
            assert client.ping() == "PONG"


def full(place, other):
    """A server with room for one client only."""
    with connect(other) as client:
        assert client.ping() == "PONG"
        refused(Lost, "ERR max number of clients reached", lambda: connect(place).ping())
        assert client.ping() == "PONG"
        client.call("CONFIG", "SET", "maxclients", 10)
        with connect(place) as second:
            assert second.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") == 1
            refused(Lost, "the server ended the connection", client.ping)
            assert second.call("QUIT") == "OK"
            refused(Lost, "the server ended the connection", second.ping)


def restarts(program, folder):
    """Servers that are killed, that end, and that come back."""
    path = os.path.join(folder, "ring")
    command = [program, "serve", "--port", "0", "--no-unixsocket", "--ring", path + ":4kb"]

    def start():
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        # Whatever fails here, none is left behind.
        atexit.register(server.kill)
        while "ready, listening on" not in (line := server.stderr.readline()):
            assert line, "the server did not start"
        return server

    def end(server, how):
        server.send_signal(how)
        server.wait(PATIENCE)
        server.stderr.close()

    server = start()
    for _ in range(3):
        client = connect("ring:" + path)
        assert client.call("SET", "k", "v") == "OK"
        client.subscribe("news")
        end(server, signal.SIGKILL)
        refused(Lost, "no server holds this ring", lambda: connect("ring:" + path))
        server = start()
        # It never hears of the new one.
        refused(Lost, "the server is gone", client.ping)
        refused(Lost, "the server is gone", client.ping)
        second = connect("ring:" + path)
        assert second.call("GET", "k") is None
        assert second.publish("news", "x") == 0
        second.close()
        client.close()
    client = connect("ring:" + path)
    client.subscribe("news")
    end(server, signal.SIGTERM)
    refused(Lost, "ended", lambda: client.next_message(timeout=PATIENCE))
    refused(FileNotFoundError, "ring", lambda: connect("ring:" + path))
    assert os.listdir(folder) == [], os.listdir(folder)


def strangers(program, folder):
    """Files that are no rings."""
    path = os.path.join(folder, "file")
    for content in [b"", b"a letter", bytes(12288), b"GRNG\x04\0\0\0" + bytes(12280), b"GRNG\x03\0\0\0" + bytes(12280)]:
        with open(path, "wb") as file:
            file.write(content)
        refused(Lost, path, lambda: connect("ring:" + path))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print(f"ok {sys.argv[1]}")
