// socket.io servers that share rooms through a Redis adapter: node socket_io.js MODULES PORT SOCKET.
// Two servers with one browser each, on each adapter, with each client library it takes, over TCP and a Unix socket.
// Prints one `ok` line per combination; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { once } = require('node:events');
const http = require('node:http');
const { createRequire } = require('node:module');
const [modules, port, socket] = process.argv.slice(2);
const use = createRequire(modules + '/');
const { Server } = use('socket.io');
const { io: connect } = use('socket.io-client');
const { createAdapter, createShardedAdapter } = use('@socket.io/redis-adapter');
const { Emitter } = use('@socket.io/redis-emitter');

// How each library connects, asks, and ends.
const libraries = {
  'ioredis-5': {
    async open(where) {
      const Redis = use('ioredis-5');
      return new Redis(where === 'unix' ? { path: socket } : { port: Number(port), host: '127.0.0.1' });
    },
    ask: (client, ...words) => client.call(...words),
    close: (client) => client.quit(),
  },
};
for (const name of ['redis-5', 'redis-6']) {
  libraries[name] = {
    open: (where) =>
      use(name)
        .createClient({ socket: where === 'unix' ? { path: socket } : { port: Number(port), host: '127.0.0.1' } })
        .connect(),
    ask: (client, ...words) => client.sendCommand(words),
    close: (client) => client.close(),
  };
}

// Asks the server until the answer is the one wanted; the caller's watchdog ends a wait without end.
async function until(ask, wanted) {
  while ((await ask()) !== wanted);
}

async function node(library, where, makeAdapter) {
  const clients = [await library.open(where), await library.open(where)];
  const server = http.createServer();
  const io = new Server(server, { adapter: makeAdapter(...clients) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const browser = connect(`http://127.0.0.1:${server.address().port}`, { transports: ['websocket'], reconnection: false });
  const [[connection]] = await Promise.all([once(io, 'connection'), once(browser, 'connect')]);
  return { io, browser, connection, clients };
}

async function scenario(library, where, makeAdapter, sharded) {
  const admin = await library.open(where);
  await library.ask(admin, 'FLUSHALL');
  const nodes = [await node(library, where, makeAdapter), await node(library, where, makeAdapter)];
  const [one, two] = nodes;
  for (const { io } of nodes) await until(() => io.of('/').adapter.serverCount(), 2);
  await two.connection.join('room');
  if (sharded) {
    const subscribers = async () => Number((await library.ask(admin, 'PUBSUB', 'SHARDNUMSUB', 'socket.io#/#room#'))[1]);
    await until(subscribers, 1);
  }

  // To a room whose only member is at the other server, text and bytes; then to everybody.
  const bytes = Buffer.from([...Array(256).keys()]);
  let heard = once(two.browser, 'news');
  one.io.to('room').emit('news', { n: 1 }, 'two', bytes);
  assert.deepEqual(await heard, [{ n: 1 }, 'two', bytes]);
  heard = Promise.all(nodes.map(({ browser }) => once(browser, 'all')));
  two.io.emit('all', 'x');
  assert.deepEqual(await heard, [['x'], ['x']]);
  // In order, and nothing for those outside the room.
  const numbers = [];
  const all = new Promise((resolve) => {
    two.browser.on('number', (n) => numbers.push(n) === 200 && resolve());
  });
  one.browser.on('number', () => assert.fail('not in the room'));
  for (let n = 0; n < 200; n += 1) one.io.to('room').emit('number', n);
  await all;
  assert.deepEqual(numbers, [...Array(200).keys()]);

  // Questions whose answers come from the other server.
  assert.equal((await one.io.fetchSockets()).length, 2);
  assert.deepEqual((await one.io.in('room').fetchSockets()).map(({ id }) => id), [two.browser.id]);
  two.io.on('ask', (question, answer) => answer(`${question}!`));
  assert.deepEqual(await one.io.serverSideEmitWithAck('ask', 'well'), ['well!']);
  for (const { browser } of nodes) browser.on('vote', (answer) => answer(browser.id));
  const votes = await one.io.timeout(60000).emitWithAck('vote');
  assert.deepEqual([...votes].sort(), nodes.map(({ browser }) => browser.id).sort());

  // Rooms changed from afar.
  one.io.in('room').socketsJoin('other');
  await until(async () => (await one.io.in('other').fetchSockets()).length, 1);
  one.io.in('other').socketsLeave('room');
  await until(async () => (await one.io.in('room').fetchSockets()).length, 0);

  if (!sharded) {
    heard = once(two.browser, 'outside');
    const { ask } = library;
    new Emitter({ publish: (channel, message) => ask(admin, 'PUBLISH', channel, message) }).to('other').emit('outside', 'in');
    assert.deepEqual(await heard, ['in']);
  }

  const gone = once(two.browser, 'disconnect');
  one.io.in('other').disconnectSockets();
  assert.equal((await gone)[0], 'io server disconnect');
  for (const { io, browser, clients } of nodes) {
    browser.disconnect();
    await io.close();
    await Promise.all(clients.map(library.close));
  }
  for (const list of ['CHANNELS', 'SHARDCHANNELS']) {
    await until(async () => (await library.ask(admin, 'PUBSUB', list)).length, 0);
  }
  await library.close(admin);
}

async function main() {
  const adapters = [['adapter', createAdapter, false], ['sharded adapter', createShardedAdapter, true]];
  for (const [kind, create, sharded] of adapters) {
    for (const [name, library] of Object.entries(libraries)) {
      for (const where of ['tcp', 'unix']) {
        await scenario(library, where, create, sharded);
        console.log(`ok socket.io ${kind} ${name} ${where}`);
      }
    }
  }
}

// Timers of votes that have been answered would keep the process for their minute.
main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
