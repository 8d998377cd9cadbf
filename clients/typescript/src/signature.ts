// The profile of RFC 9421 of remote workers: see docs/remote-tools.md.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parseDictionary, serializeDictionary, serializeInnerList, serializeItem, serializeParameters, type InnerList, type Item } from 'structured-headers';

const label = 'pawl';
const mediaType = 'application/json';
const requestParts = ['"@method"', '"@path"', '"content-type"', '"content-digest"'];
/** The longest time for which a request may be valid, in seconds. */
const maxLife = 60;
/** How far the clocks of the signer and of this process may differ, in seconds. */
export const maxSkew = 2;

/** What a valid signature says. */
export interface Signed {
  keyId: string;
  secret: Uint8Array;
  nonce: string;
  /** In seconds since 1970. */
  created: number;
  expires: number;
  signature: Uint8Array;
  /** The SHA-256 that the body must have: see hasBody. */
  digest: Uint8Array;
}

/** Keys are the keys that the process shares with Pawl, by id. */
export type Keys = ReadonlyMap<string, Uint8Array>;

/**
 * verifyRequest returns what the signature of a request says, or undefined if it is not valid now. It needs no body: the signature covers
 * its digest. The body counts only if hasBody says so.
 */
export function verifyRequest(req: IncomingMessage, keys: Keys, now = Date.now() / 1000): Signed | undefined {
  try {
    const fields = { 'content-type': one(req, 'content-type'), 'content-digest': one(req, 'content-digest') };
    const input = parseDictionary(one(req, 'signature-input')).get(label) as InnerList | undefined;
    if (!input || !Array.isArray(input[0])) return undefined;
    const [items, params] = input;
    const names = items.map((item) => serializeItem(item));
    const keyId = params.get('keyid');
    const secret = typeof keyId === 'string' ? keys.get(keyId) : undefined;
    const nonce = params.get('nonce');
    const created = params.get('created');
    const expires = params.get('expires');
    if (
      !secret || typeof keyId !== 'string' || typeof nonce !== 'string' || nonce.length < 16 || nonce.length > 128 ||
      typeof created !== 'number' || typeof expires !== 'number' ||
      params.get('tag') !== 'pawl-request' || params.get('alg') !== 'hmac-sha256' || [...names].sort().join() !== [...requestParts].sort().join()
    ) {
      return undefined;
    }
    const values: Record<string, string> = {
      '"@method"': req.method ?? '',
      '"@path"': (req.url ?? '').split('?')[0] ?? '',
      '"content-type"': fields['content-type'],
      '"content-digest"': fields['content-digest'],
    };
    const signature = bytesOf(one(req, 'signature'), label);
    const want = mac(secret, baseOf(names.map((name) => [name, values[name] ?? '']), serializeInnerList(input)));
    if (!equal(signature, want)) return undefined;
    if (fields['content-type'] !== mediaType || created > now + maxSkew || expires < now || expires - created > maxLife) return undefined;
    return { keyId, secret, nonce, created, expires, signature, digest: bytesOf(fields['content-digest'], 'sha-256') };
  } catch {
    return undefined; // a header that cannot be parsed
  }
}

/** hasBody reports whether a body is that of a request with a valid signature. */
export const hasBody = ({ digest }: Signed, body: Uint8Array): boolean => equal(digest, sha256(body));

/** signRequest returns the header fields of a POST to a URL, and its signature. */
export function signRequest(url: URL, body: Uint8Array, tag: string, keyId: string, secret: Uint8Array): { headers: Record<string, string>; signature: Uint8Array } {
  const digest = serializeDictionary({ 'sha-256': sha256(body) });
  const now = Math.floor(Date.now() / 1000);
  const params = new Map<string, string | number>([
    ['created', now], ['expires', now + maxLife], ['nonce', randomBytes(16).toString('hex')], ['keyid', keyId], ['alg', 'hmac-sha256'], ['tag', tag],
  ]);
  const values = ['POST', url.pathname, mediaType, digest];
  const input = `(${requestParts.join(' ')})${serializeParameters(params)}`;
  const signature = mac(secret, baseOf(requestParts.map((name, i) => [name, values[i]!]), input));
  const headers = {
    'content-type': mediaType, 'content-digest': digest, 'signature-input': `${label}=${input}`, signature: serializeDictionary({ [label]: signature }),
  };
  return { headers, signature };
}

/** verifyAnswer reports whether the key has signed an answer with the status 200 together with the signature of the request. */
export function verifyAnswer(headers: Headers, body: Uint8Array, keyId: string, secret: Uint8Array, ofRequest: Uint8Array): boolean {
  try {
    const field = (name: string): string => headers.get(name) ?? '';
    const input = parseDictionary(field('signature-input')).get(label) as InnerList | undefined;
    if (!input || !Array.isArray(input[0])) return false;
    const [items, params] = input;
    const values: Record<string, string> = {
      '"@status"': '200',
      '"content-type"': field('content-type'),
      '"content-digest"': field('content-digest'),
      '"signature";req;key="pawl"': serializeItem(ofRequest, new Map()),
    };
    const names = items.map((item) => serializeItem(item));
    if ([...names].sort().join() !== Object.keys(values).sort().join() || params.get('keyid') !== keyId || params.get('tag') !== 'pawl-answer') return false;
    const want = mac(secret, baseOf(names.map((name) => [name, values[name]!]), serializeInnerList(input)));
    return equal(bytesOf(field('signature'), label), want) && equal(bytesOf(field('content-digest'), 'sha-256'), sha256(body));
  } catch {
    return false;
  }
}

/** signAnswer returns the header fields of an answer with the status 200 to a request. */
export function signAnswer(to: Signed, body: Uint8Array): Record<string, string> {
  const digest = serializeDictionary({ 'sha-256': sha256(body) });
  const ofRequest: Item = ['signature', new Map<string, string | boolean>([['req', true], ['key', label]])];
  const items: Item[] = [['@status', new Map()], ['content-type', new Map()], ['content-digest', new Map()], ofRequest];
  const params = new Map<string, string | number>([
    ['created', Math.floor(Date.now() / 1000)], ['keyid', to.keyId], ['alg', 'hmac-sha256'], ['tag', 'pawl-answer'],
  ]);
  const input: InnerList = [items, params];
  const values = ['200', mediaType, digest, serializeItem(to.signature, new Map())];
  const base = baseOf(items.map((item, i) => [serializeItem(item), values[i]!]), serializeInnerList(input));
  return {
    'content-type': mediaType,
    'content-digest': digest,
    'signature-input': `${label}=${serializeInnerList(input)}`,
    signature: serializeDictionary({ [label]: mac(to.secret, base) }),
  };
}

/** baseOf returns the signature base of RFC 9421, section 2.5. */
export function baseOf(parts: [name: string, value: string][], params: string): string {
  return [...parts.map(([name, value]) => `${name}: ${value}\n`), `"@signature-params": ${params}`].join('');
}

/** one returns the value of a header field that is there once. */
function one(req: IncomingMessage, name: string): string {
  const values = req.headersDistinct[name];
  if (values?.length !== 1) throw new Error(`no single ${name}`);
  return values[0]!.trim();
}

function bytesOf(header: string, name: string): Uint8Array {
  const item = parseDictionary(header).get(name);
  if (!item || !(item[0] instanceof ArrayBuffer)) throw new Error(`no bytes in ${name}`);
  return new Uint8Array(item[0]);
}

const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

export const mac = (secret: Uint8Array, text: string): Uint8Array => createHmac('sha256', secret).update(text).digest();

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);
