import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BusyError, readKeys, serveTools, ToolError, UnansweredError, type Served } from '../src/remote.js';
import { baseOf, mac } from '../src/signature.js';

const secret = randomBytes(32);
let served: Served;
let runs = 0;

before(async () => {
  served = await serveTools({
    port: 0,
    keys: new Map([['k', secret]]),
    tools: {
      test__tool: {
        version: '1',
        run: async ({ how }, call) => {
          runs++;
          if (how === 'fail') throw new ToolError('the account is closed');
          if (how === 'busy') throw new BusyError('later', 5);
          if (how === 'unanswered') throw new UnansweredError('the bank is away');
          if (how === 'lease') return call.credential().then(() => 'redeemed', () => 'refused');
          if (how === 'bug') throw new TypeError('secret');
          return { how };
        },
        probe: async () => ({ found: 'no_effect' }),
      },
    },
  });
});
after(() => served.close());

interface Change {
  body?: string;
  sent?: string;
  secret?: Uint8Array;
  keyid?: string;
  created?: number;
  expires?: number;
  nonce?: string;
  tag?: string;
  alg?: string;
  parts?: string[];
  path?: string;
  method?: string;
}

const request = (args: unknown, more: object = {}): string => JSON.stringify({ operation: 'run', toolId: 'test__tool', toolVersion: '1', args, ...more });

/** headersOf signs a request as Pawl does, with a change. */
function headersOf(c: Change): Record<string, string> {
  const now = Math.floor(Date.now() / 1000);
  const digest = `sha-256=:${createHash('sha256').update(c.body ?? '').digest('base64')}:`;
  const values: Record<string, string> = { '@method': 'POST', '@path': '/pawl', 'content-type': 'application/json', 'content-digest': digest };
  const parts = c.parts ?? Object.keys(values);
  const created = c.created ?? now;
  const params =
    `(${parts.map((p) => `"${p}"`).join(' ')});created=${created};expires=${c.expires ?? created + 60};nonce="${c.nonce ?? randomBytes(12).toString('hex')}"` +
    `;keyid="${c.keyid ?? 'k'}";alg="${c.alg ?? 'hmac-sha256'}";tag="${c.tag ?? 'pawl-request'}"`;
  const base = baseOf(parts.map((p) => [`"${p}"`, values[p] ?? '']), params);
  return {
    'content-type': 'application/json',
    'content-digest': digest,
    'signature-input': `pawl=${params}`,
    signature: `pawl=:${Buffer.from(mac(c.secret ?? secret, base)).toString('base64')}:`,
  };
}

const send = (headers: Record<string, string>, c: Change, to = served): Promise<Response> =>
  fetch(new URL(c.path ?? '/pawl', to.url), { method: c.method ?? 'POST', headers, body: c.method === 'GET' ? null : (c.sent ?? c.body ?? '') });

test('answers are signed, and have the outcome of the tool', async () => {
  for (const [how, want] of Object.entries({
    well: { outcome: 'done', value: { how: 'well' } },
    fail: { outcome: 'failed', message: 'the account is closed' },
    busy: { outcome: 'busy', message: 'later', retryAfterMs: 5 },
    unanswered: { outcome: 'unanswered', message: 'the bank is away' },
    bug: { outcome: 'failed' },
  })) {
    const body = request({ how });
    const response = await send(headersOf({ body }), { body });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('signature-input') ?? '', /^pawl=\("@status" "content-type" "content-digest" "signature";req;key="pawl"\);/);
    assert.deepEqual(await response.json(), want);
  }
  for (const [more, outcome] of [[{ toolVersion: '2' }, 'absent'], [{ toolId: 'constructor' }, 'absent'], [{ operation: 'other' }, 'unclear']] as const) {
    const body = request({}, more);
    assert.deepEqual(await (await send(headersOf({ body }), { body })).json(), { outcome });
  }
});

test('a request that is not valid runs nothing, and its refusal has no signature', async () => {
  const body = request({ how: 'well' });
  const now = Math.floor(Date.now() / 1000);
  const replay = headersOf({ body });
  assert.equal((await send(replay, { body })).status, 200);
  const before = runs;
  const bad: Record<string, [Record<string, string>, Change]> = {
    'a replay': [replay, { body }],
    'another body': [headersOf({ body }), { sent: request({ how: 'fail' }) }],
    'another key': [headersOf({ body, secret: randomBytes(32) }), { body }],
    'an unknown key': [headersOf({ body, keyid: 'toString' }), { body }],
    'from before the start': [headersOf({ body, created: now - 50 }), { body }],
    'too old': [headersOf({ body, created: now - 100, expires: now - 40 }), { body }],
    'from the future': [headersOf({ body, created: now + 5 }), { body }],
    'valid for too long': [headersOf({ body, expires: now + 3600 }), { body }],
    'a short nonce': [headersOf({ body, nonce: 'x' }), { body }],
    'the tag of answers': [headersOf({ body, tag: 'pawl-answer' }), { body }],
    'another algorithm': [headersOf({ body, alg: 'none' }), { body }],
    'a part is missing': [headersOf({ body, parts: ['@method', '@path', 'content-type'] }), { body }],
    'a part twice': [headersOf({ body, parts: ['@method', '@path', 'content-type', 'content-digest', '@path'] }), { body }],
    'another path': [headersOf({ body }), { body, path: '/other' }],
    'a query': [headersOf({ body }), { body, path: '/pawl?x' }],
    'another method': [headersOf({ body }), { body, method: 'PUT' }],
    'no body': [headersOf({ body }), { body: '' }],
    'no signature': [{ 'content-type': 'application/json' }, { body }],
    garbage: [{ ...headersOf({ body }), 'signature-input': '(((' }, { body }],
    'another media type': [{ ...headersOf({ body }), 'content-type': 'text/plain' }, { body }],
  };
  for (const [name, [headers, change]] of Object.entries(bad)) {
    const response = await send(headers, change);
    assert.equal(response.status, 401, name);
    assert.equal(response.headers.get('signature'), null, name);
    await response.text();
  }
  const large = 'x'.repeat((1 << 20) + 1);
  const tooLarge = await send(headersOf({ body: large }), { body: large }).catch(() => undefined);
  assert.notEqual(tooLarge?.status, 200);
  assert.equal(runs, before);
});

test('after a restart, no request from before it runs, and one of a clock that is behind does', async (t) => {
  const body = request({ how: 'well' });
  const now = Math.floor(Date.now() / 1000);
  const ahead = headersOf({ body, created: now + 2 });
  assert.equal((await send(ahead, { body })).status, 200);
  const restarted = await serveTools({ port: 0, keys: new Map([['k', secret]]), tools: { test__tool: { version: '1', run: async () => 'again' } } });
  t.after(() => restarted.close());
  assert.equal((await send(ahead, { body }, restarted)).status, 401);
  const behind = headersOf({ body, created: Math.floor(Date.now() / 1000) - 2 });
  assert.equal((await send(behind, { body }, restarted)).status, 200);
});

test('a process without a valid signature gets no memory', { timeout: 60_000 }, async (t) => {
  // The body never ends.
  const status = await new Promise((resolve, reject) => {
    const headers = { ...headersOf({ body: 'x', secret: randomBytes(32) }), 'content-length': 1 << 19 };
    const req = httpRequest(served.url, { method: 'POST', headers }, (res) => {
      resolve(res.statusCode);
      req.destroy();
    });
    t.after(() => req.destroy());
    req.on('error', reject);
    req.write('x');
  });
  assert.equal(status, 401);

  const small = await serveTools({ port: 0, keys: new Map(), tools: {}, maxConnections: 2 });
  const open = [1, 2, 3].map(() => connect(Number(new URL(small.url).port), '127.0.0.1'));
  t.after(async () => {
    for (const socket of open) socket.destroy();
    await small.close();
  });
  await Promise.race(open.map((socket) => new Promise((resolve) => socket.on('error', resolve).on('close', resolve))));
});

test('after a probe no earlier attempt runs, though a late probe asks again', async () => {
  const ask = async (operation: string, epoch: number): Promise<unknown> => {
    const body = request({ how: 'well' }, { operation, epoch, invocationId: 'fenced' });
    return ((await (await send(headersOf({ body }), { body })).json()) as { outcome: string }).outcome;
  };
  assert.equal(await ask('run', 1), 'done');
  assert.equal(await ask('probe', 3), 'no_effect');
  assert.equal(await ask('probe', 2), 'no_effect');
  assert.equal(await ask('run', 2), 'busy');
  assert.equal(await ask('run', 3), 'done');
});

test('a credential without the signature of Pawl does not count', async () => {
  const thief = createServer((_, res) => res.end('{"baseUrl":"https://evil.example.com","headers":{}}'));
  await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`;
  for (const more of [{ lease: { id: 'x', url } }, {}]) {
    const body = request({ how: 'lease' }, more);
    assert.deepEqual(await (await send(headersOf({ body }), { body })).json(), { outcome: 'done', value: 'refused' });
  }
  thief.close();
});

test('keys are read strictly', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keys-')), 'keys');
  const key = secret.toString('base64');
  writeFileSync(file, `# keys\n\na ${key}\nb ${key}\n`, { mode: 0o600 });
  assert.deepEqual([...readKeys(file).keys()], ['a', 'b']);
  for (const text of [`a`, `a ${key} x`, `a ${key}\na ${key}`, `a c2hvcnQ=`]) {
    writeFileSync(file, text);
    assert.throws(() => readKeys(file), (err: Error) => !err.message.includes(key));
  }
  chmodSync(file, 0o644);
  assert.throws(() => readKeys(file), /chmod/);
});

test('plain HTTP is for loopback addresses', async () => {
  await assert.rejects(serveTools({ port: 0, host: '0.0.0.0', keys: new Map(), tools: {} }), /needs tls/);
});
