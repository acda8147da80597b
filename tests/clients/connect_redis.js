// Sessions of a web application in Redis: node connect_redis.js MODULES PORT SOCKET.
// Prints one `ok` line per library and road; the first failure ends it with status 1.
'use strict';

const assert = require('node:assert');
const { once } = require('node:events');
const http = require('node:http');
const { createRequire } = require('node:module');
const [modules, port, socket] = process.argv.slice(2);
const use = createRequire(modules + '/');
const session = use('express-session');
const { RedisStore } = use('connect-redis');

// An application that counts a visitor's visits and logs them out.
function application(store) {
  const sessions = session({ store, secret: 'keyboard cat', resave: false, saveUninitialized: false, cookie: { maxAge: 600000 } });
  return http.createServer((request, response) => {
    sessions(request, response, (error) => {
      if (error) return response.writeHead(500).end(String(error));
      if (request.url === '/logout') return request.session.destroy(() => response.end('bye'));
      if (request.url === '/look') return response.end(String(request.session.visits ?? 'new'));
      request.session.visits = (request.session.visits ?? 0) + 1;
      return response.end(String(request.session.visits));
    });
  });
}

async function scenario(client) {
  await client.flushAll();
  const store = new RedisStore({ client, prefix: 'app:' });
  const server = application(store);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const visit = async (path, cookie) => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: cookie ? { cookie } : {} });
    return [await response.text(), response.headers.get('set-cookie')?.split(';')[0]];
  };

  const [first, cookie] = await visit('/');
  assert.equal(first, '1');
  assert.equal((await visit('/', cookie))[0], '2');
  assert.equal((await visit('/look', cookie))[0], '2');
  assert.equal((await visit('/look'))[0], 'new');
  const [id] = await store.ids();
  assert.ok(cookie.includes(id));
  const ttl = await client.ttl(`app:${id}`);
  assert.ok(ttl > 590 && ttl <= 600, `${ttl}`);

  // The store itself.
  const stored = await store.get(id);
  assert.equal(stored.visits, 2);
  stored.cookie.expires = new Date(Date.now() + 5000000);
  await store.touch(id, stored);
  assert.ok((await client.ttl(`app:${id}`)) > 4900);
  for (let n = 0; n < 250; n += 1) await store.set(`s${n}`, { n, cookie: {} });
  await client.set('not a session', 'x');
  assert.equal(await store.length(), 251);
  assert.equal((await store.all()).filter(({ n }) => n >= 0).length, 250);
  await store.set('over', { cookie: { expires: new Date(0) } });
  assert.equal(await store.get('over'), null);

  assert.equal((await visit('/logout', cookie))[0], 'bye');
  assert.equal((await visit('/look', cookie))[0], 'new');
  await store.clear();
  assert.equal(await store.length(), 0);
  assert.equal(await client.dbSize(), 1);
  server.closeAllConnections();
  server.close();
}

async function main() {
  const roads = { tcp: { port: Number(port), host: '127.0.0.1' }, unix: { path: socket } };
  for (const name of ['redis-5', 'redis-6']) {
    for (const [road, where] of Object.entries(roads)) {
      const client = await use(name).createClient({ socket: where }).connect();
      await scenario(client);
      await client.close();
      console.log(`ok connect-redis ${name} ${road}`);
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
