// What users of node-redis do, over TCP and a Unix socket: node node_redis.js MODULES PACKAGE PORT SOCKET.
// Prints one `ok` line per scenario; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const [modules, name, port, socket] = process.argv.slice(2);
const redis = createRequire(modules + '/')(name);

const sorted = (list) => [...list].sort();

async function strings(r) {
  assert.equal(await r.ping(), 'PONG');
  assert.equal(await r.set('k', 'v'), 'OK');
  assert.equal(await r.get('k'), 'v');
  assert.equal(await r.get('absent'), null);
  assert.equal(await r.set('k', 'w', { NX: true }), null);
  assert.equal(await r.set('k', 'w', { EX: 100, GET: true }), 'v');
  assert.ok((await r.ttl('k')) > 90);
  assert.equal(await r.incr('n'), 1);
  assert.equal(await r.mSet([['a', '1'], ['b', '2']]), 'OK');
  assert.deepEqual(await r.mGet(['a', 'b', 'absent']), ['1', '2', null]);
  assert.equal(await r.del(['a', 'b']), 2);
  assert.equal(await r.exists('k'), 1);
  await assert.rejects(r.sAdd('k', 'a'), /WRONGTYPE/);
  await assert.rejects(r.sendCommand(['NOSUCH', 'x']), /unknown command/);
}

async function sets(r) {
  assert.equal(await r.sAdd('s', ['a', 'b', 'c']), 3);
  assert.deepEqual(sorted(await r.sMembers('s')), ['a', 'b', 'c']);
  assert.equal(Boolean(await r.sIsMember('s', 'a')), true);
  assert.deepEqual((await r.smIsMember('s', ['a', 'z'])).map(Boolean), [true, false]);
  assert.equal(await r.sRem('s', 'c'), 1);
  assert.equal(await r.sAdd('t', ['b', 'c']), 2);
  assert.deepEqual(sorted(await r.sInter(['s', 't'])), ['b']);
  assert.deepEqual(sorted(await r.sUnion(['s', 't'])), ['a', 'b', 'c']);
  assert.deepEqual(sorted(await r.sDiff(['s', 't'])), ['a']);
  assert.equal(await r.sInterCard(['s', 't'], 1), 1);
  assert.equal(await r.sInterStore('d', ['s', 't']), 1);
  assert.equal(await r.sUnionStore('d', ['s', 't']), 3);
  assert.equal(await r.sDiffStore('d', ['s', 't']), 1);
  assert.equal(Number(await r.sMove('s', 't', 'a')), 1);
  assert.equal(await r.sCard('t'), 3);
  assert.ok(['a', 'b', 'c'].includes(await r.sRandMember('t')));
  assert.equal((await r.sRandMemberCount('t', 2)).length, 2);
  assert.equal([...(await r.sPopCount('t', 3))].length, 3);
  assert.equal(await r.sPop('t'), null);
}

async function scans(r) {
  const batch = [];
  for (let n = 0; n < 500; n += 1) batch.push(r.set(`key:${n}`, String(n)), r.sAdd('big', `member:${n}`));
  await Promise.all(batch);
  const collect = async (pages) => {
    const seen = new Set();
    for await (const page of pages) [].concat(page).forEach((item) => seen.add(item));
    return seen;
  };
  assert.equal((await collect(r.scanIterator({ MATCH: 'key:*', COUNT: 20 }))).size, 500);
  assert.equal((await collect(r.sScanIterator('big', { COUNT: 20 }))).size, 500);
}

async function transactions(r, other) {
  assert.deepEqual(await r.multi().set('x', '1').incr('x').sAdd('xs', 'a').exec(), ['OK', 2, 1]);
  await r.watch('x');
  await other.set('x', '10');
  await assert.rejects(r.multi().incr('x').exec(), redis.WatchError);
  await r.watch('x');
  assert.deepEqual(await r.multi().incr('x').exec(), [11]);
  await assert.rejects(r.multi().set('str', 'v').sAdd('str', 'a').exec());
  assert.equal(await r.get('str'), 'v');
  await assert.rejects(r.multi().addCommand(['NOSUCH']).exec());
}

// Messages as they come; `next` waits for the one after the last taken.
function inbox() {
  const messages = [];
  const waiting = [];
  const put = (message, channel) => {
    const event = [String(channel), String(message)];
    if (waiting.length > 0) waiting.shift()(event);
    else messages.push(event);
  };
  const next = () =>
    messages.length > 0 ? Promise.resolve(messages.shift()) : new Promise((resolve) => waiting.push(resolve));
  return [put, next];
}

async function pubsub(subscriber, other) {
  const [put, next] = inbox();
  const [putPattern, nextPattern] = inbox();
  const [putShard, nextShard] = inbox();
  await subscriber.subscribe(['a', 'b'], put);
  await subscriber.pSubscribe('a*', putPattern);
  assert.equal(await other.publish('a', 'hello'), 2);
  assert.deepEqual(await next(), ['a', 'hello']);
  assert.deepEqual(await nextPattern(), ['a', 'hello']);
  assert.equal((await other.pubSubNumSub(['a'])).a, 1);
  for (let n = 0; n < 200; n += 1) other.publish('b', String(n));
  for (let n = 0; n < 200; n += 1) assert.deepEqual(await next(), ['b', String(n)]);
  await subscriber.unsubscribe(['a', 'b'], put);
  await subscriber.pUnsubscribe('a*', putPattern);
  assert.equal(await other.publish('a', 'nobody'), 0);
  await subscriber.sSubscribe('shard', putShard);
  assert.equal(await other.sPublish('shard', 'x'), 1);
  assert.deepEqual(await nextShard(), ['shard', 'x']);
  await subscriber.sUnsubscribe('shard', putShard);
  assert.equal(await subscriber.get('absent'), null);
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket, tls: false } };
  const protocols = { default: {}, 2: { RESP: 2 }, 3: { RESP: 3 } };
  for (const [road, where] of Object.entries(roads)) {
    for (const [protocol, options] of Object.entries(protocols)) {
      for (const scenario of [strings, sets, scans, transactions, pubsub]) {
        const clients = [0, 1].map(() => redis.createClient({ socket: where, ...options }));
        await Promise.all(clients.map((client) => client.on('error', (error) => { throw error; }).connect()));
        await clients[0].flushAll();
        await scenario(...clients);
        await Promise.all(clients.map((client) => client.close()));
        console.log(`ok ${name} ${road} protocol ${protocol}: ${scenario.name}`);
      }
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
