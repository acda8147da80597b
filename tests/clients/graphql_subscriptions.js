// GraphQL subscriptions over Redis: node graphql_subscriptions.js MODULES PORT SOCKET.
// Prints one `ok` line per road; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const [modules, port, socket] = process.argv.slice(2);
const use = createRequire(modules + '/');
const { RedisPubSub } = use('graphql-redis-subscriptions');

async function scenario(connection) {
  const [pubsub, elsewhere] = [new RedisPubSub({ connection }), new RedisPubSub({ connection })];

  // Listeners: two on one trigger, one on a pattern.
  const heard = { first: [], second: [], pattern: [] };
  let all;
  const everything = new Promise((resolve) => (all = resolve));
  const ids = [
    await pubsub.subscribe('POST_ADDED', (payload) => heard.first.push(payload)),
    await pubsub.subscribe('POST_ADDED', (payload) => heard.second.push(payload)),
    await pubsub.subscribe('POST_*', (payload) => heard.pattern.push(payload) === 202 && all(), { pattern: true }),
  ];
  // What an async iterator gives: the resolvers of a server read from one. It subscribes when it is first asked.
  const iterator = pubsub.asyncIterator(['POST_ADDED', 'POST_REMOVED']);
  const next = iterator.next();
  while ((await elsewhere.getPublisher().pubsub('NUMSUB', 'POST_REMOVED'))[1] === 0);
  await elsewhere.publish('POST_ADDED', { id: 1, title: 'é' });
  assert.deepEqual(await next, { value: { id: 1, title: 'é' }, done: false });
  await elsewhere.publish('POST_REMOVED', { id: 2 });
  assert.deepEqual(await iterator.next(), { value: { id: 2 }, done: false });
  // The iterator's answer came after everything published before on the same connection.
  assert.deepEqual(heard.first, [{ id: 1, title: 'é' }]);
  assert.deepEqual(heard.second, heard.first);
  for (let n = 0; n < 200; n += 1) await elsewhere.publish('POST_REMOVED', n);
  for (let n = 0; n < 200; n += 1) assert.deepEqual(await iterator.next(), { value: n, done: false });
  await everything;
  assert.deepEqual(heard.pattern, [{ id: 1, title: 'é' }, { id: 2 }, ...Array(200).keys()]);
  assert.equal((await iterator.return()).done, true);

  // After leaving, the trigger is free.
  ids.forEach((id) => pubsub.unsubscribe(id));
  while ((await elsewhere.getPublisher().pubsub('NUMSUB', 'POST_ADDED'))[1] !== 0);
  while ((await elsewhere.getPublisher().pubsub('NUMPAT')) !== 0);
  assert.equal(await elsewhere.getPublisher().publish('POST_ADDED', '{}'), 0);
  assert.equal(heard.first.length, 1);
  assert.deepEqual(await pubsub.close(), ['OK', 'OK']);
  await elsewhere.close();
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket } };
  for (const [road, connection] of Object.entries(roads)) {
    await scenario(connection);
    console.log(`ok graphql-redis-subscriptions ${road}`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
