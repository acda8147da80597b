// Keyv's store of keys and values in Redis: node keyv.js MODULES PORT SOCKET.
// Prints one `ok` line per road; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const [modules, port, socket] = process.argv.slice(2);
const use = createRequire(modules + '/');
const { Keyv } = use('keyv');
const { default: KeyvRedis } = use('@keyv/redis');

async function scenario(where) {
  const open = (namespace) => {
    const store = new KeyvRedis({ socket: where }, { throwOnErrors: true, throwOnConnectError: true });
    const keyv = new Keyv(store, { namespace, throwOnErrors: true });
    keyv.on('error', (error) => assert.fail(error));
    return [keyv, store];
  };
  const [[cats, store], [dogs]] = [open('cats'), open('dogs')];
  const client = await store.getClient();
  await client.flushAll();

  assert.equal(await cats.set('name', { of: 'Tom', bytes: [1, 2] }), true);
  assert.deepEqual(await cats.get('name'), { of: 'Tom', bytes: [1, 2] });
  assert.equal(await cats.get('absent'), undefined);
  assert.equal(await dogs.get('name'), undefined);
  assert.equal(await cats.has('name'), true);
  assert.equal(await dogs.has('name'), false);

  // A life in milliseconds; the server ends it, not the library.
  await cats.set('brief', 'x', 60000);
  const [key] = (await client.keys('*brief'));
  const left = await client.pTTL(key);
  assert.ok(left > 50000 && left <= 60000, `${left}`);
  await cats.set('over', 'x', 1);
  while ((await client.exists(key.replace('brief', 'over'))) === 1);
  assert.equal(await cats.get('over'), undefined);

  const many = [...Array(300).keys()].map((n) => ({ key: `k${n}`, value: n, ttl: n % 2 ? 60000 : undefined }));
  await dogs.setMany(many);
  const keys = many.map((one) => one.key);
  assert.deepEqual(await dogs.getMany([...keys, 'absent']), [...keys.keys(), undefined]);
  const seen = new Map();
  for await (const [name, value] of dogs.iterator()) seen.set(name, value);
  assert.equal(seen.size, 300);
  assert.equal(await dogs.delete('k0'), true);
  assert.equal(await dogs.delete('k0'), false);
  assert.equal(await dogs.delete(['k1', 'k2']), true);
  assert.deepEqual(await dogs.hasMany(['k0', 'k1', 'k2', 'k3']), [false, false, false, true]);

  // Clearing one namespace leaves the other.
  await dogs.clear();
  assert.equal(await dogs.get('k3'), undefined);
  assert.deepEqual(await cats.get('name'), { of: 'Tom', bytes: [1, 2] });
  assert.equal(await client.dbSize(), 2);
  await Promise.all([cats.disconnect(), dogs.disconnect()]);
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket } };
  for (const [road, where] of Object.entries(roads)) {
    await scenario(where);
    console.log(`ok @keyv/redis ${road}`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
