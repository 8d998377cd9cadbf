import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fences } from './fences.js';
import { hasBody, maxSkew, signAnswer, signRequest, verifyAnswer, verifyRequest, type Keys, type Signed } from './signature.js';
import type { RemoteAnswer, RemoteRequest } from './types.js';

export type { Keys } from './signature.js';
export type { RemoteAnswer, RemoteRequest } from './types.js';

/** ToolError is a failure of a tool. Its message may be shown to anyone: it must hold no argument, no value and no secret. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** BusyError says that nothing happened, and that another attempt may follow. */
export class BusyError extends Error {
  override readonly name = 'BusyError';
  constructor(
    message: string,
    readonly retryAfterMs = 10_000,
  ) {
    super(message);
  }
}

/** UnansweredError says that the tool does not know whether it had its effect. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

/** What a tool learns about its call. */
export interface ToolCall extends Omit<RemoteRequest, 'operation' | 'args' | 'lease'> {
  /** Aborted when Pawl no longer waits for the answer: the time is over, or the call is cancelled. */
  signal: AbortSignal;
  /**
   * Returns the credential of the connection of the call, once, while the attempt runs. Do not keep it or write it anywhere. It throws if the
   * tool needs no connection, or if the credential is not sent in header fields.
   */
  credential(): Promise<Credential>;
}

/** The credential of a connection. */
export interface Credential {
  /** The scheme and host that the credential is for: send it nowhere else. */
  baseUrl: string;
  /** The header fields that authenticate a request. */
  headers: Record<string, string>;
}

/** What a probe has found. */
export type Found = { found: 'took_effect'; value: unknown } | { found: 'no_effect' } | { found: 'unclear' };

export interface Tool<Args = any> {
  /** The version in the document of tools. Requests for another version are not run. */
  version: string;
  /** Runs the tool and returns its value, any JSON. The arguments fit the input schema. */
  run(args: Args, call: ToolCall): Promise<unknown>;
  /**
   * Says what became of the earlier attempts of a call. It must change nothing. While an attempt runs in this process, it is not asked, and
   * the finding is unclear. After it was asked, the process runs no earlier attempt of the call. So the document may say `fences: true` if
   * the effect of run is complete, or will never happen, when run ends.
   */
  probe?(args: Args, call: ToolCall): Promise<Found>;
}

export interface ServeOptions {
  /** The tools by their ids. */
  tools: Record<string, Tool>;
  /** The keys that the process shares with Pawl: see readKeys. */
  keys: Keys;
  /** The default is 127.0.0.1. Another address needs tls. */
  host?: string;
  /** 0 takes a free port. */
  port: number;
  /** The path of the worker's url. The default is /pawl. */
  path?: string;
  /** The certificate and the key of the server. */
  tls?: Pick<ServerOptions, 'cert' | 'key'>;
  /** How many connections the process has at a time: each request of Pawl has one. It closes further ones. The default is 1000. */
  maxConnections?: number;
  /**
   * Called with each error of a tool that is none of the errors above. Pawl learns only that the tool failed. If the tool must not be repeated,
   * the outcome of the call is unknown.
   */
  onError?(err: unknown, call: ToolCall): void;
}

export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** The largest request, in bytes. */
const maxRequest = 1 << 20;
/** How many nonces of valid requests the process remembers. */
const maxNonces = 100_000;

/** readKeys reads a file of keys, as PAWL_REMOTE_KEYS has it: an id and a key in base64 on each line. Only its owner may read the file. */
export function readKeys(file: string): Keys {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw new Error(`${file} may be read by others than its owner: chmod 600 it`);
  const keys = new Map<string, Uint8Array>();
  for (const [i, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    const [id, text, ...more] = line.trim().split(/\s+/);
    const key = Buffer.from(text ?? '', 'base64');
    if (!id || more.length > 0 || key.toString('base64') !== text || key.length < 32 || keys.has(id)) {
      throw new Error(`${file}, line ${i + 1}: write the id of a key and a key of at least 32 bytes in base64`);
    }
    keys.set(id, key);
  }
  return keys;
}

/**
 * serveTools runs tools for Pawl until close is called. It runs a request at most once: it accepts each signature once, and none that can
 * be older than the process. So it listens only 5 seconds after its start.
 */
export async function serveTools(o: ServeOptions): Promise<Served> {
  const host = o.host ?? '127.0.0.1';
  const path = o.path ?? '/pawl';
  if (!o.tls && !['127.0.0.1', '::1', 'localhost'].includes(host)) throw new Error(`${host} needs tls: plain HTTP is for loopback addresses`);
  const nonces = new Map<string, number>();
  const fences = new Fences();
  const running = new Map<string, number>();
  const began = Math.floor(Date.now() / 1000);

  /**
   * claim reports whether a request is new. The process has no memory of the requests before its start, so it takes none that it could have
   * accepted then: with a clock of the signer that is ahead.
   */
  function claim(signed: Signed): boolean {
    const now = Date.now() / 1000;
    if (nonces.size >= maxNonces) for (const [nonce, expires] of nonces) if (expires < now) nonces.delete(nonce);
    if (signed.created <= began + maxSkew || nonces.has(signed.nonce) || nonces.size >= maxNonces) return false;
    nonces.set(signed.nonce, signed.expires);
    return true;
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const aborted = new AbortController();
    res.on('close', () => res.writableFinished || aborted.abort());
    // The body of a request without a valid signature is not read: anybody can send one.
    const signed = req.method === 'POST' && req.url === path ? verifyRequest(req, o.keys) : undefined;
    const body = signed && (await read(req));
    // A refusal has no signature: it must not pass for the word of the process that nothing happened.
    if (!signed || !body || !hasBody(signed, body) || !claim(signed)) {
      res.writeHead(401, { 'content-type': 'text/plain', connection: 'close' }).end('the request is not valid\n');
      return;
    }
    const request = JSON.parse(Buffer.from(body).toString('utf8')) as RemoteRequest;
    let answer = Buffer.from(JSON.stringify(await answerTo(request, aborted.signal, signed)));
    if (aborted.signal.aborted) return;
    res.writeHead(200, { ...signAnswer(signed, answer), 'content-length': answer.length }).end(answer);
  }

  async function answerTo({ operation, args, lease, ...about }: RemoteRequest, signal: AbortSignal, signed: Signed): Promise<RemoteAnswer> {
    const tool = Object.hasOwn(o.tools, about.toolId) ? o.tools[about.toolId] : undefined;
    if (!tool || tool.version !== about.toolVersion) return { outcome: operation === 'probe' ? 'unclear' : 'absent' };
    const call: ToolCall = { ...about, signal, credential: () => redeem(lease, signed, signal) };
    try {
      if (operation === 'run') return await run(tool, args, call);
      if (operation !== 'probe' || !tool.probe) return { outcome: 'unclear' };
      fences.raise(call.invocationId, call.epoch);
      if (running.has(call.invocationId)) return { outcome: 'unclear' };
      const found = await tool.probe(args, call);
      return found.found === 'took_effect' ? { outcome: 'took_effect', value: found.value ?? null } : { outcome: found.found };
    } catch (err) {
      if (operation === 'probe') {
        o.onError?.(err, call);
        return { outcome: 'unclear' };
      }
      if (err instanceof ToolError) return { outcome: 'failed', message: err.message };
      if (err instanceof BusyError) return { outcome: 'busy', message: err.message, retryAfterMs: err.retryAfterMs };
      if (err instanceof UnansweredError) return { outcome: 'unanswered', message: err.message };
      o.onError?.(err, call);
      return { outcome: 'failed' };
    }
  }

  async function run(tool: Tool, args: unknown, call: ToolCall): Promise<RemoteAnswer> {
    const id = call.invocationId;
    if (call.epoch < fences.of(id)) return { outcome: 'busy', message: 'a later attempt has taken the call over' };
    running.set(id, (running.get(id) ?? 0) + 1);
    try {
      return { outcome: 'done', value: (await tool.run(args, call)) ?? null };
    } finally {
      const others = running.get(id)! - 1;
      if (others > 0) running.set(id, others);
      else running.delete(id);
    }
  }

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    handle(req, res).catch(() => res.destroy());
  };
  const server = o.tls ? createSecureServer(o.tls, listener) : createServer(listener);
  server.requestTimeout = 30_000;
  server.maxConnections = o.maxConnections ?? 1000;
  // Until claim takes requests of a signer whose clock is behind. Pawl knows that a request did nothing if nobody listens, and does not believe a
  // refusal.
  await sleep((began + 2 * maxSkew + 1) * 1000 - Date.now());
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(o.port, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${o.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`,
    close: () => new Promise((resolve, reject) => server.close((err) => (err ? reject(err) : resolve()))),
  };
}

/** redeem exchanges a lease for its credential. */
async function redeem(lease: RemoteRequest['lease'], { keyId, secret }: Signed, signal: AbortSignal): Promise<Credential> {
  if (!lease) throw new Error('the tool has no connection');
  const url = new URL(lease.url);
  const request = Buffer.from(JSON.stringify({ lease: lease.id }));
  const { headers, signature } = signRequest(url, request, 'pawl-redeem', keyId, secret);
  const response = await fetch(url, { method: 'POST', headers, body: request, redirect: 'error', signal });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200 || !verifyAnswer(response.headers, body, keyId, secret, signature)) throw new Error('the lease cannot be redeemed');
  return JSON.parse(body.toString('utf8')) as Credential;
}

/** read returns the body of a request, or undefined if it is too large. */
async function read(req: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    if ((size += chunk.length) > maxRequest) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
