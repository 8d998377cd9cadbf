import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WatchError, watchRun } from '../src/index.js';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** serve answers each request with the next handler. */
async function serve(...handlers: Handler[]): Promise<{ baseUrl: string; asked: (string | undefined)[]; close(): void }> {
  const asked: (string | undefined)[] = [];
  const server = createServer((req, res) => {
    asked.push(req.headers['last-event-id'] as string | undefined);
    handlers.shift()!(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => server.close() };
}

const start = 'data: {"type":"start"}\n\n';
const part = (id: string, type: string): string => `id: ${id}\ndata: {"type":"${type}"}\n\n`;
const done = 'data: [DONE]\n\n';
const stream =
  (text: string, end: (res: ServerResponse) => void = (res) => res.end()): Handler =>
  (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(text, () => end(res));
  };

test('a broken stream goes on after its last part, with no part twice or lost', async () => {
  const s = await serve(
    stream(start + part('1.1', 'a') + part('1', 'b'), (res) => setImmediate(() => res.destroy())),
    (_, res) => res.writeHead(503, { 'retry-after': '0' }).end('{"errorCode":"capacity"}'),
    stream(part('2', 'c') + 'data: {"type":"tool-output-error"}\n\ndata: {"type":"abort"}\n\n' + done),
    stream(part('3', 'finish') + done),
  );
  const seen: string[] = [];
  for await (const p of watchRun({ ...s, tenantId: 'acme', runId: 'r/1', token: 'user:ann' })) seen.push(`${p.id} ${p.type}`);
  assert.deepEqual(seen, [' start', '1.1 a', '1 b', '2 c', '3 finish']);
  assert.deepEqual(s.asked, [undefined, '1', '1', '2']);
  s.close();
});

test('a refusal is an error, and a redirect does not get the token', async () => {
  let stolen = false;
  const s = await serve(
    (req, res) => {
      assert.equal(req.url, '/v1/runs/r%2F1/events?tenant=acme');
      assert.equal(req.headers.authorization, 'Bearer user:ann');
      res.writeHead(404).end('{"errorCode":"unavailable","safeMessage":"there is no such run"}');
    },
    (_, res) => res.writeHead(302, { location: '/elsewhere' }).end(),
    (req, res) => {
      stolen ||= req.url === '/elsewhere';
      res.writeHead(401).end('{"errorCode":"needs_reauth"}');
    },
  );
  const watch = async (): Promise<void> => {
    for await (const _ of watchRun({ ...s, tenantId: 'acme', runId: 'r/1', token: async () => 'user:ann' }));
  };
  await assert.rejects(watch(), (err) => err instanceof WatchError && err.status === 404 && err.code === 'unavailable');
  await assert.rejects(watch(), (err) => err instanceof WatchError && err.status === 401);
  assert.equal(stolen, false);
  s.close();
});

test('a watcher can stop', async () => {
  const stop = new AbortController();
  const s = await serve(stream(part('1', 'a'), () => stop.abort()));
  await assert.rejects(async () => {
    for await (const _ of watchRun({ ...s, tenantId: 'acme', runId: 'r', token: 't', signal: stop.signal }));
  });
  s.close();
});
