// What users of ioredis do, over TCP and a Unix socket: node ioredis.js MODULES PACKAGE PORT SOCKET.
// Prints one `ok` line per scenario; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const [modules, name, port, socket] = process.argv.slice(2);
const Redis = createRequire(modules + '/')(name);

const sorted = (list) => [...list].sort();

async function strings(r) {
  assert.equal(await r.ping(), 'PONG');
  assert.equal(await r.set('k', 'v'), 'OK');
  assert.equal(await r.get('k'), 'v');
  assert.equal(await r.get('absent'), null);
  assert.equal(await r.set('k', 'w', 'NX'), null);
  assert.equal(await r.set('k', 'w', 'EX', 100), 'OK');
  assert.ok((await r.ttl('k')) > 90);
  assert.equal(await r.incr('n'), 1);
  assert.equal(await r.mset({ a: '1', b: '2' }), 'OK');
  assert.deepEqual(await r.mget('a', 'b', 'absent'), ['1', '2', null]);
  assert.equal(await r.del('a', 'b'), 2);
  const bytes = Buffer.from([...Array(256).keys()]);
  await r.set('bytes', bytes);
  assert.ok((await r.getBuffer('bytes')).equals(bytes));
  await assert.rejects(r.sadd('k', 'a'), /^ReplyError: WRONGTYPE|WRONGTYPE/);
  await assert.rejects(r.call('NOSUCH', 'x'), /unknown command/);
}

async function sets(r) {
  assert.equal(await r.sadd('s', 'a', 'b', 'c'), 3);
  assert.deepEqual(sorted(await r.smembers('s')), ['a', 'b', 'c']);
  assert.equal(await r.sismember('s', 'a'), 1);
  assert.deepEqual(await r.smismember('s', 'a', 'z'), [1, 0]);
  assert.equal(await r.srem('s', 'c'), 1);
  assert.equal(await r.sadd('t', 'b', 'c'), 2);
  assert.deepEqual(sorted(await r.sinter('s', 't')), ['b']);
  assert.deepEqual(sorted(await r.sunion('s', 't')), ['a', 'b', 'c']);
  assert.deepEqual(sorted(await r.sdiff('s', 't')), ['a']);
  assert.equal(await r.sintercard(2, 's', 't', 'LIMIT', 1), 1);
  assert.equal(await r.sinterstore('d', 's', 't'), 1);
  assert.equal(await r.sunionstore('d', 's', 't'), 3);
  assert.equal(await r.sdiffstore('d', 's', 't'), 1);
  assert.equal(await r.smove('s', 't', 'a'), 1);
  assert.equal(await r.scard('t'), 3);
  assert.ok(['a', 'b', 'c'].includes(await r.srandmember('t')));
  assert.equal((await r.srandmember('t', 2)).length, 2);
  assert.equal((await r.spop('t', 3)).length, 3);
  assert.equal(await r.spop('t'), null);
}

async function scans(r) {
  const pipeline = r.pipeline();
  for (let n = 0; n < 500; n += 1) pipeline.set(`key:${n}`, n).sadd('big', `member:${n}`);
  const replies = await pipeline.exec();
  assert.equal(replies.length, 1000);
  assert.ok(replies.every(([error]) => error === null));
  const collect = async (stream) => {
    const seen = new Set();
    for await (const page of stream) page.forEach((item) => seen.add(item));
    return seen;
  };
  assert.equal((await collect(r.scanStream({ match: 'key:*', count: 20 }))).size, 500);
  assert.equal((await collect(r.sscanStream('big', { count: 20 }))).size, 500);
}

async function transactions(r, other) {
  assert.deepEqual(await r.multi().set('x', 1).incr('x').sadd('xs', 'a').exec(), [[null, 'OK'], [null, 2], [null, 1]]);
  await r.watch('x');
  await other.set('x', 10);
  assert.equal(await r.multi().incr('x').exec(), null);
  await r.watch('x');
  assert.deepEqual(await r.multi().incr('x').exec(), [[null, 11]]);
  const [, [error]] = await r.multi().set('str', 'v').sadd('str', 'a').exec();
  assert.match(String(error), /WRONGTYPE/);
  await assert.rejects(r.multi().call('NOSUCH').exec(), /EXECABORT/);
  await r.multi({ pipeline: false });
  await r.set('y', 1);
  assert.deepEqual(await r.exec(), [[null, 'OK']]);
}

// Collects events of one connection; `next` waits for the one after the last taken.
function listen(connection, kinds) {
  const events = [];
  const waiting = [];
  for (const kind of kinds) {
    connection.on(kind, (...details) => {
      const event = [kind, ...details.map(String)];
      if (waiting.length > 0) waiting.shift()(event);
      else events.push(event);
    });
  }
  return () => (events.length > 0 ? Promise.resolve(events.shift()) : new Promise((resolve) => waiting.push(resolve)));
}

async function pubsub(subscriber, other) {
  const next = listen(subscriber, ['message', 'pmessage', 'smessage']);
  assert.equal(await subscriber.subscribe('a', 'b'), 2);
  assert.equal(await subscriber.psubscribe('a*'), 3);
  assert.equal(await other.publish('a', 'hello'), 2);
  assert.deepEqual(await next(), ['message', 'a', 'hello']);
  assert.deepEqual(await next(), ['pmessage', 'a*', 'a', 'hello']);
  assert.deepEqual(await other.pubsub('NUMSUB', 'a'), ['a', 1]);
  for (let n = 0; n < 200; n += 1) other.publish('b', String(n));
  for (let n = 0; n < 200; n += 1) assert.deepEqual(await next(), ['message', 'b', String(n)]);
  await subscriber.ping();
  assert.equal(await subscriber.unsubscribe('a'), 2);
  assert.equal(await subscriber.unsubscribe('b'), 1);
  assert.equal(await subscriber.punsubscribe('a*'), 0);
  await subscriber.ssubscribe('shard');
  assert.equal(await other.spublish('shard', 'x'), 1);
  assert.deepEqual(await next(), ['smessage', 'shard', 'x']);
  await subscriber.sunsubscribe('shard');
  assert.equal(await subscriber.get('absent'), null);
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket } };
  for (const [road, where] of Object.entries(roads)) {
    for (const scenario of [strings, sets, scans, transactions, pubsub]) {
      const [r, other] = [new Redis(where), new Redis(where)];
      await r.flushall();
      await scenario(r, other);
      assert.equal(await r.quit(), 'OK');
      other.disconnect();
      console.log(`ok ${name} ${road}: ${scenario.name}`);
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
