// MQTT topics between brokers over Redis, as aedes uses them: node mqemitter.js MODULES PORT SOCKET.
// Prints one `ok` line per road; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const { promisify } = require('node:util');
const [modules, port, socket] = process.argv.slice(2);
const use = createRequire(modules + '/');
const mqemitter = use('mqemitter-redis');

async function scenario(where) {
  const [here, elsewhere] = [mqemitter(where), mqemitter(where)];
  const on = (topic, listener) => new Promise((resolve) => here.on(topic, listener, resolve));
  const off = (topic, listener) => new Promise((resolve) => here.removeListener(topic, listener, resolve));
  const emit = promisify(elsewhere.emit.bind(elsewhere));
  const heard = [];
  let wake = () => {};
  const listener = (kind) => (message, done) => {
    heard.push([kind, message.topic, message.payload]);
    wake();
    done();
  };
  // Waits until this many were heard; two connections carry nothing else.
  const until = async (count) => {
    while (heard.length < count) await new Promise((resolve) => (wake = resolve));
  };

  const [plain, one, some] = ['plain', 'one', 'some'].map(listener);
  await on('home/kitchen', plain);
  await emit({ topic: 'home/kitchen', payload: Buffer.from([0, 255]) });
  await until(1);
  assert.deepEqual(heard.splice(0), [['plain', 'home/kitchen', Buffer.from([0, 255])]]);

  // Each message once, whatever number of subscriptions it matches.
  await on('home/+', one);
  await on('#', some);
  await emit({ topic: 'home/kitchen', payload: 'warm' });
  await until(3);
  assert.deepEqual(heard.splice(0).map(([kind]) => kind).sort(), ['one', 'plain', 'some']);
  await emit({ topic: 'garden/gate/lock', payload: 'open' });
  await until(1);
  assert.deepEqual(heard.splice(0), [['some', 'garden/gate/lock', 'open']]);

  await off('home/kitchen', plain);
  await off('home/+', one);
  for (let n = 0; n < 200; n += 1) await emit({ topic: 'home/kitchen', payload: n });
  await until(200);
  assert.deepEqual(heard, [...Array(200).keys()].map((n) => ['some', 'home/kitchen', n]));
  await off('#', some);
  assert.equal(await elsewhere.pubConn.publish('home/kitchen', 'nobody'), 0);
  for (const broker of [here, elsewhere]) await promisify(broker.close.bind(broker))();
  assert.equal(here.closed, true);
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket } };
  for (const [road, where] of Object.entries(roads)) {
    await scenario(where);
    console.log(`ok mqemitter-redis ${road}`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
