"""A small client of the goblin server, in SBE, over a Unix socket or a ring in shared memory.

    import goblin_sbe

    with goblin_sbe.connect_unix("/run/goblin.sock") as client:
        client.call("SADD", "fruits", "apple", "pear")    # 2
        client.publish("news", "hello")                   # how many received it

    with goblin_sbe.connect_ring("/dev/shm/goblin") as client:
        client.subscribe("news")
        message = client.next_message(timeout=5)          # None when nothing came

Save what `goblin sbe-client python` prints as goblin_sbe.py. Python 3.8 and its standard library are enough. The two
halves follow goblin-sbe(7) and goblin-ring(7); read them to write a client in a language that is faster.

Values: nothing is None, integers are int, strings are bytes, statuses are str, lists are list, maps are dict. An error
is raised as ServerError; one inside a list stands there as a ServerError. Words and payloads may be bytes, str (sent as
UTF-8), int or float.

Memory order: Python has neither acquire loads nor release stores. Rings therefore work on x86-64 only, where every
load is the one and every store the other, and connect_ring refuses other machines. Words of the header are read and
written through a memoryview of 8-byte words, which CPython does with one load or store each. Where a full fence is
needed, a lock is taken and given back, which CPython does with a locked instruction.

A client is for one thread at a time. After a request that timed out the client goes on: the late answer is thrown away.
"""

import collections
import errno
import fcntl
import mmap
import os
import select
import socket
import stat
import struct
import threading
import time

__all__ = ["Client", "Lost", "Message", "ServerError", "connect_ring", "connect_unix"]

Message = collections.namedtuple("Message", "kind pattern channel payload")
_Confirmation = collections.namedtuple("_Confirmation", "name count")
Message.__doc__ = "What a subscriber gets: kind is message, pmessage, smessage or monitor; the rest are bytes."


class ServerError(Exception):
    """The server refused a request: its code, such as ERR, and its message."""

    def __init__(self, code, message):
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message


class Lost(ConnectionError):
    """The connection is over; why is told in words."""


def connect_unix(path, timeout=5.0):
    """Connects to a server's Unix socket. `timeout` in seconds holds for every request too; None waits for ever."""
    return Client(_SocketStream(path, timeout), timeout)


def connect_ring(path, timeout=5.0):
    """Takes the ring at `path`, whoever had it before. `timeout` as for connect_unix."""
    return Client(_RingStream(path, timeout), timeout)


# ---- goblin-sbe(7) -----------------------------------------------------------------------------------------------

_MAGIC = b"GOBLINS!"
_SCHEMA, _VERSION = 7, 2
_HEADER = struct.Struct("<HHHH")

_PING, _SUBSCRIBE, _UNSUBSCRIBE, _PSUBSCRIBE, _PUNSUBSCRIBE, _PUBLISH, _CALL = 16, 96, 97, 98, 99, 100, 1000
_PUSH = 12

_MESSAGE_KINDS = {0: "message", 1: "pmessage", 6: "smessage", 9: "monitor"}

# Their answers are not one frame each, so that they have methods of their own, or none.
_NOT_CALLED = {b"SUBSCRIBE", b"UNSUBSCRIBE", b"PSUBSCRIBE", b"PUNSUBSCRIBE", b"SSUBSCRIBE", b"SUNSUBSCRIBE"}


class Client:
    """A connection that speaks SBE. Made by connect_unix and connect_ring."""

    def __init__(self, stream, timeout):
        self._stream = stream
        self._timeout = timeout
        self._received = bytearray()
        self._messages = collections.deque()
        # Answers still to come, in order: of each how many frames, and whether an empty name ends it before.
        self._owed = collections.deque()
        self._names = {_SUBSCRIBE: set(), _PSUBSCRIBE: set()}
        try:
            stream.send(_MAGIC, _Deadline(timeout))
        except BaseException:
            stream.close()
            raise

    def ping(self, timeout=...):
        """Asks whether the server is there; answers "PONG"."""
        return self._ask(_PING, b"", timeout)

    def call(self, *words, timeout=...):
        """Sends any command by its words, its name first, and answers what it answers."""
        words = [_bytes(word) for word in words]
        if words and words[0].upper() in _NOT_CALLED:
            raise ValueError("subscriptions have methods of their own")
        if [word.upper() for word in words[:2]] == [b"CLIENT", b"REPLY"]:
            raise ValueError("every request needs its answer here")
        return self._ask(_CALL, _group(words), timeout)

    def publish(self, channel, payload, timeout=...):
        """Publishes a message and answers how many subscribers it was delivered to."""
        return self._ask(_PUBLISH, _string(channel) + _string(payload), timeout)

    def subscribe(self, *channels, timeout=...):
        """Joins channels; answers how many subscriptions there are now."""
        return self._join(_SUBSCRIBE, channels, timeout)

    def psubscribe(self, *patterns, timeout=...):
        """Joins every channel that matches a pattern, such as news.*; answers as subscribe does."""
        return self._join(_PSUBSCRIBE, patterns, timeout)

    def unsubscribe(self, *channels, timeout=...):
        """Leaves channels, or all; answers how many subscriptions are left."""
        return self._leave(_UNSUBSCRIBE, _SUBSCRIBE, channels, timeout)

    def punsubscribe(self, *patterns, timeout=...):
        """Leaves patterns, or all; answers how many subscriptions are left."""
        return self._leave(_PUNSUBSCRIBE, _PSUBSCRIBE, patterns, timeout)

    def next_message(self, timeout=...):
        """The next message, or None when none came in time. One that came before is there at once."""
        deadline = self._deadline(timeout)
        while not self._messages:
            try:
                template, value = self._frame(deadline, whatever=False)
            except TimeoutError:
                return None
            if template is not None:
                self._settle(template, value)
        return self._messages.popleft()

    def close(self):
        """Leaves. Closing twice does nothing."""
        self._stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _deadline(self, timeout):
        return _Deadline(self._timeout if timeout is ... else timeout)

    def _join(self, template, names, timeout):
        names = [_bytes(name) for name in names]
        new = set(names) - self._names[template]
        # Before the answer, for it may be late.
        self._names[template] |= new
        try:
            answers = self._request(template, _group(names), max(1, len(names)), False, self._deadline(timeout))
        except ServerError:
            self._names[template] -= new
            raise
        return answers[-1].count

    def _leave(self, template, joined, names, timeout):
        names = [_bytes(name) for name in names]
        known = self._names[joined]
        count = len(names) or len(known) or 1
        ends_early = not names and b"" not in known
        answers = self._request(template, _group(names), count, ends_early, self._deadline(timeout))
        self._names[joined] = known - set(names) if names else set()
        return answers[-1].count

    def _ask(self, template, body, timeout):
        return self._request(template, body, 1, False, self._deadline(timeout))[0]

    def _request(self, template, body, frames, ends_early, deadline):
        """Sends a request and reads its answer of so many frames, behind late answers to earlier requests."""
        message = _HEADER.pack(0, template, _SCHEMA, _VERSION) + body
        late = len(self._owed)
        self._stream.send(struct.pack("<I", len(message)) + message, deadline)
        self._owed.append([frames, ends_early])
        answers = []
        while True:
            answered, value = self._frame(deadline)
            is_over = self._settle(answered, value)
            if late:
                late -= is_over
                continue
            if isinstance(value, ServerError):
                raise value
            answers.append(value)
            if is_over:
                return answers

    def _settle(self, template, value):
        """Counts a frame of the oldest answer that is owed; true when that was its last one."""
        if not self._owed:
            self.close()
            raise Lost(f"an answer to no request: message {template}")
        oldest = self._owed[0]
        oldest[0] -= 1
        # A refusal is one frame, however many acknowledgements there would have been.
        is_over = template != _PUSH or oldest[0] == 0 or (oldest[1] and value.name == b"")
        if is_over:
            self._owed.popleft()
        return is_over

    def _frame(self, deadline, whatever=True):
        """The next frame that is no message, as its template and its value; messages are put aside. Unless
        `whatever`, it answers None for both as soon as there is a message."""
        while True:
            while len(self._received) >= 4:
                end = 4 + struct.unpack_from("<I", self._received)[0]
                if len(self._received) < end:
                    break
                message = bytes(self._received[4:end])
                del self._received[:end]
                try:
                    template, value = _decode(message)
                except (struct.error, KeyError, UnicodeDecodeError, RecursionError) as broken:
                    self.close()
                    raise Lost(f"this is no SBE: {broken!r}") from None
                if not isinstance(value, Message):
                    return template, value
                self._messages.append(value)
                if not whatever:
                    return None, None
            arrived = self._stream.receive(deadline)
            if not arrived:
                self.close()
                # A full server says so before it knows what is spoken.
                raise Lost(_refusal(self._received) or "the server ended the connection")
            self._received += arrived


def _refusal(text):
    """A line of RESP that refuses, without its mark; nothing for anything else."""
    return bytes(text[1:]).decode(errors="replace").strip() if text[:1] == b"-" else ""


def _bytes(word):
    if isinstance(word, (bytes, bytearray, memoryview)):
        return bytes(word)
    return word.encode() if isinstance(word, str) else str(word).encode()


def _string(word):
    word = _bytes(word)
    return struct.pack("<I", len(word)) + word


def _group(words):
    """A group whose entries are one string each."""
    if len(words) > 65535:
        raise ValueError("a group has at most 65535 entries")
    return struct.pack("<HH", 0, len(words)) + b"".join(map(_string, words))


class _Reader:
    """Reads a message from its front; a length that leads out of it is a struct.error."""

    def __init__(self, message):
        self.message = message
        self.block, self.template, _, _ = _HEADER.unpack_from(message)
        self.fixed = _HEADER.size
        self.at = self.fixed + self.block

    def number(self, code, offset=0):
        """A number of the fixed part."""
        return struct.unpack_from("<" + code, self.message, self.fixed + offset)[0]

    def string(self):
        (length,) = struct.unpack_from("<I", self.message, self.at)
        start = self.at + 4
        if start + length > len(self.message):
            raise struct.error("a string runs past the end of its frame")
        self.at = start + length
        return self.message[start:self.at]

    def group(self, codes):
        """The entries of the next group: of each the numbers at its front."""
        block, entries = struct.unpack_from("<HH", self.message, self.at)
        self.at += 4
        for _ in range(entries):
            numbers = struct.unpack_from("<" + codes, self.message, self.at)
            self.at += block
            yield numbers


def _decode(message):
    """The template of a message and its value."""
    reader = _Reader(message)
    return reader.template, _VALUES[reader.template](reader)


def _push(reader):
    kind, count = reader.number("B"), reader.number("I", 1)
    pattern, channel, payload = reader.string(), reader.string(), reader.string()
    if kind in _MESSAGE_KINDS:
        return Message(_MESSAGE_KINDS[kind], pattern, channel, payload)
    return _Confirmation(pattern or channel, count)


def _error(reader):
    return ServerError(reader.string().decode(errors="replace"), reader.string().decode(errors="replace"))


def _page(reader):
    cursor = reader.number("Q")
    return [str(cursor).encode(), [reader.string() for _ in reader.group("")]]


def _tree(reader):
    nodes = ((*numbers, reader.string()) for numbers in reader.group("BqI"))

    def value():
        kind, integer, children, text = next(nodes)
        if kind == 0:
            return None
        if kind == 1:
            return integer
        if kind == 2:
            return text
        if kind == 3:
            return text.decode()
        if kind == 4:
            code, _, rest = text.decode(errors="replace").partition(" ")
            return ServerError(code, rest)
        if kind == 5:
            return [value() for _ in range(children)]
        if kind == 6:
            # In two steps, for a dict's value would be read before its key.
            pairs = [(value(), value()) for _ in range(children)]
            return dict(pairs)
        raise struct.error(f"no node is of type {kind}")

    try:
        return value()
    except StopIteration:
        raise struct.error("a tree ends before its last node") from None


_VALUES = {
    1: lambda reader: None,
    2: lambda reader: reader.string().decode(),
    3: _error,
    4: lambda reader: reader.number("q"),
    5: lambda reader: reader.number("d"),
    6: lambda reader: reader.string(),
    7: lambda reader: [reader.string() for _ in reader.group("")],
    9: lambda reader: [text if present else None for present, text in _presents(reader)],
    10: _tree,
    11: lambda reader: dict([(reader.string(), reader.string()) for _ in reader.group("")]),
    12: _push,
    13: lambda reader: [(reader.string(), count) for (count,) in reader.group("I")],
    125: _page,
}


def _presents(reader):
    for (present,) in reader.group("B"):
        yield present, reader.string()


class _Deadline:
    """The moment at which waiting ends; None waits for ever."""

    def __init__(self, timeout):
        self.at = None if timeout is None else time.monotonic() + timeout

    def left(self):
        """Seconds left, 0 once there are none; None for ever."""
        return None if self.at is None else max(0.0, self.at - time.monotonic())


class _SocketStream:
    """Bytes over a Unix socket."""

    def __init__(self, path, timeout):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(timeout)
            self.socket.connect(os.fspath(path))
        except BaseException:
            self.socket.close()
            raise

    def send(self, data, deadline):
        view = memoryview(data)
        while view:
            try:
                self.socket.settimeout(deadline.left())
                view = view[self.socket.send(view):]
            except (TimeoutError, socket.timeout, BlockingIOError):
                # Half a frame cannot be taken back.
                self.close()
                raise TimeoutError("timed out while sending; the connection was closed") from None
            except (BrokenPipeError, ConnectionResetError):
                raise Lost(_refusal(self._rest()) or "the server ended the connection") from None
            except OSError as error:
                raise Lost(f"cannot send: {error}") from None

    def _rest(self):
        """What the server said last."""
        try:
            self.socket.settimeout(0)
            return self.socket.recv(65536)
        except OSError:
            return b""

    def receive(self, deadline):
        """What has arrived, or what arrives next; nothing at the end."""
        try:
            self.socket.settimeout(deadline.left())
            return self.socket.recv(65536)
        except (TimeoutError, socket.timeout, BlockingIOError):
            raise TimeoutError("timed out") from None
        except ConnectionResetError:
            return b""
        except OSError as error:
            raise Lost(f"cannot receive: {error}") from None

    def close(self):
        self.socket.close()


# ---- goblin-ring(7) ----------------------------------------------------------------------------------------------

# Places in the header, in words of 8 bytes.
_MAGIC_AND_VERSION, _SQ_CAPACITY, _CQ_CAPACITY, _SQ_OFFSET, _CQ_OFFSET, _EPOCH, _EPOCH_ACK, _MIRROR = range(8)
_SQ_HEAD, _SQ_TAIL, _CQ_HEAD, _CQ_TAIL = 8, 16, 24, 32
_ENDED, _EXTENSION, _SERVER_PARKED, _LEFT, _OWN_EPOCH, _CLIENT_PARKED = 40, 41, 42, 48, 49, 50

_RING = int.from_bytes(b"GRNG", "little") | 3 << 32
_BELLS = int.from_bytes(b"GBEL", "little") | 1 << 32
_MASK = (1 << 64) - 1
_LINE = 64

# Seconds: how long a wait looks again and again, how long it rests between looks then, and how often it asks whether
# the server is there.
_SPIN = 0.0002
_REST = 0.0005
_ALIVE_CHECK = 0.25


class _RingStream:
    """Bytes over a ring."""

    def __init__(self, path, timeout):
        if os.uname().machine not in ("x86_64", "AMD64"):
            raise OSError(errno.ENOTSUP, "rings need the memory order of x86-64 here")
        self.lock = threading.Lock()
        self.map = self.words = self.file = None
        self.rings = self.hears = None
        self.number = 0
        try:
            self._map(os.fspath(path))
            self._open_bells(os.fspath(path))
            self._begin(_Deadline(timeout))
        except BaseException:
            self.close()
            raise

    def _map(self, path):
        self.file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        size = os.fstat(self.file).st_size
        if size < mmap.PAGESIZE or size % 8:
            raise Lost(f"{path} is no ring")
        self.map = mmap.mmap(self.file, size)
        self.words = memoryview(self.map).cast("Q")
        words = self.words
        if words[_MAGIC_AND_VERSION] != _RING or words[_MIRROR] & 0xFFFFFFFF:
            raise Lost(f"{path} is no ring, or none that this client knows")
        self.sq_at, self.sq_capacity = words[_SQ_OFFSET], words[_SQ_CAPACITY]
        self.cq_at, self.cq_capacity = words[_CQ_OFFSET], words[_CQ_CAPACITY]
        halves = sorted([(self.sq_at, self.sq_capacity), (self.cq_at, self.cq_capacity)])
        for offset, capacity in halves:
            if capacity < 4096 or capacity & (capacity - 1) or offset < mmap.PAGESIZE or offset % _LINE:
                raise Lost(f"{path}: its halves cannot be")
        if halves[0][0] + halves[0][1] > halves[1][0] or halves[1][0] + halves[1][1] > size:
            raise Lost(f"{path}: its halves do not lie in the file")

    def _open_bells(self, path):
        if self.words[_EXTENSION] != _BELLS:
            return
        self.rings, self.hears = _open_fifo(path + ".bell"), _open_fifo(path + ".wake")
        self._drain()

    def _begin(self, deadline):
        words = self.words
        if not self._is_served():
            raise Lost("no server holds this ring")
        self.number = words[_EPOCH] + 1 & _MASK
        if self.rings is not None:
            words[_OWN_EPOCH] = self.number
        words[_EPOCH] = self.number
        if self.rings is not None:
            self._ring()
        asked = time.monotonic()
        while words[_EPOCH_ACK] != self.number:
            if deadline.left() == 0:
                raise TimeoutError("the server did not begin a session")
            self._check_ours()
            if time.monotonic() - asked > _SPIN:
                time.sleep(0.0001)
                if not self._is_served():
                    raise Lost("the server is gone")
        self.tail, self.head = words[_SQ_TAIL], words[_CQ_HEAD]
        self._distance(words[_SQ_HEAD], self.tail, self.sq_capacity)
        self._distance(self.head, words[_CQ_TAIL], self.cq_capacity)
        # Taken out while there was no room for a request.
        self.early = bytearray()

    def send(self, data, deadline):
        """Sends all of it, in as few records as there is room for."""
        longest = self.sq_capacity // 2 - _LINE
        view = memoryview(data)
        while view:
            part = view[:longest]
            try:
                self._wait(lambda: self._write(part), False, deadline)
            except TimeoutError:
                self.close()
                raise TimeoutError("timed out while sending; the connection was closed") from None
            view = view[len(part):]

    def receive(self, deadline):
        """What has arrived, or what arrives next; nothing at the end."""
        if self.early:
            arrived, self.early = bytes(self.early), bytearray()
            return arrived
        return self._wait(lambda: self._read() or self._end(), True, deadline)

    def close(self):
        if self.words is not None:
            if self.number and self.words[_EPOCH] == self.number:
                self.words[_LEFT] = self.number
                self._wake_server()
            self.words.release()
            self.words = None
        if self.map is not None:
            self.map.close()
            self.map = None
        for descriptor in (self.file, self.rings, self.hears):
            if descriptor is not None:
                os.close(descriptor)
        self.file = self.rings = self.hears = None

    def _wait(self, look, is_rung, deadline):
        """Calls `look` until it answers something but None: again and again at first, then with rests in between, or
        asleep until the server rings when it does for what is waited for."""
        if self.words is None:
            raise Lost("the connection was closed")
        since = checked = time.monotonic()
        while True:
            found = look()
            if found is not None:
                return found
            left = deadline.left()
            if left == 0:
                raise TimeoutError("timed out")
            now = time.monotonic()
            if now - since < _SPIN:
                continue
            if now - checked >= _ALIVE_CHECK:
                checked = now
                if not self._is_served():
                    # What it said last is there still.
                    found = look()
                    if found is not None:
                        return found
                    raise Lost("the server is gone")
            longest = _ALIVE_CHECK if left is None else min(left, _ALIVE_CHECK)
            if is_rung and self.hears is not None:
                self._sleep(longest)
            else:
                time.sleep(min(longest, _REST))

    def _sleep(self, longest):
        """Sleeps until the server rings, unless something came just before. Whoever waits looks afterwards."""
        words = self.words
        words[_CLIENT_PARKED] = 1
        self._fence()
        if words[_CQ_TAIL] == self.head and words[_ENDED] != self.number and words[_EPOCH] == self.number:
            select.select([self.hears], [], [], longest)
            self._drain()
        words[_CLIENT_PARKED] = 0

    def _write(self, part):
        """Writes one record; None while there is no room."""
        self._check_ours()
        words, capacity = self.words, self.sq_capacity
        if words[_ENDED] == self.number:
            raise Lost(_refusal(self.early + (self._read() or b"")) or "the server ended the connection")
        size = _footprint(len(part))
        to_end = capacity - self.tail % capacity
        skipped = to_end if size > to_end else 0
        if capacity - self._distance(words[_SQ_HEAD], self.tail, capacity) < skipped + size:
            # The server reads no requests while its answers have no room.
            self.early += self._read() or b""
            return None
        if skipped:
            self._set_control(self.sq_at, capacity, self.tail, 0, 1)
        start = self.tail + skipped & _MASK
        at = self.sq_at + start % capacity + _LINE
        self.map[at:at + len(part)] = part
        self._set_control(self.sq_at, capacity, start, len(part), 0)
        self.tail = start + size & _MASK
        words[_SQ_TAIL] = self.tail
        self._wake_server()
        return True

    def _read(self):
        """The payloads of all records that are there, or None."""
        self._check_ours()
        words, capacity = self.words, self.cq_capacity
        tail = words[_CQ_TAIL]
        waiting = self._distance(self.head, tail, capacity)
        head, payloads = self.head, []
        while waiting:
            place = head % capacity
            control = words[(self.cq_at + place) // 8]
            length, flag = control & 0xFFFFFFFF, control >> 32
            to_end = capacity - place
            size = to_end if flag == 1 else _footprint(length)
            if flag > 1 or size > waiting or size > to_end:
                raise Lost(f"the ring is corrupt: a record of {length} bytes, flag {flag}")
            if flag == 0:
                at = self.cq_at + place + _LINE
                payloads.append(self.map[at:at + length])
            head, waiting = head + size & _MASK, waiting - size
        # Another client's, if it came meanwhile: nothing of that is told.
        self._check_ours()
        if head != self.head:
            self.head = head
            words[_CQ_HEAD] = head
        return b"".join(payloads) or None

    def _end(self):
        """Nothing at all once the server has ended the session and all it said is read; None before."""
        if self.words[_ENDED] != self.number:
            return None
        return self._read() or b""

    def _distance(self, head, tail, capacity):
        distance = tail - head & _MASK
        if head % _LINE or tail % _LINE or distance > capacity:
            raise Lost(f"the ring is corrupt: head {head} and tail {tail}")
        return distance

    def _set_control(self, half, capacity, position, length, flag):
        self.words[(half + position % capacity) // 8] = length | flag << 32

    def _check_ours(self):
        if self.words[_EPOCH] != self.number:
            raise Lost("another client has taken the ring")

    def _is_served(self):
        """Whether a server holds its lock on the file."""
        try:
            fcntl.flock(self.file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return False

    def _wake_server(self):
        if self.rings is not None:
            self._fence()
            if self.words[_SERVER_PARKED] == 1:
                self._ring()

    def _ring(self):
        try:
            os.write(self.rings, b"!")
        except BlockingIOError:
            # Full: enough is there to wake anybody.
            pass

    def _drain(self):
        try:
            while len(os.read(self.hears, 64)) == 64:
                pass
        except BlockingIOError:
            pass

    def _fence(self):
        with self.lock:
            pass


def _footprint(length):
    return _LINE + (length + _LINE - 1) // _LINE * _LINE


def _open_fifo(path):
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Lost(f"{path} is no FIFO")
    return descriptor
