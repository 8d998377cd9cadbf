// The ids and digests of the contract (docs/contract.md).
import { createHash, type BinaryLike } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Decision, Invocation } from './types.js';

const sha256 = (text: BinaryLike): Buffer => createHash('sha256').update(text).digest();

/** canonical returns the RFC 8785 JSON of a value. */
function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('the value is no JSON');
  return text;
}

function base32(bytes: Uint8Array): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{5}/g) ?? []).map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(five, 2)]).join('');
}

/** workflowIdOf returns the id of the workflow of a call. */
export function workflowIdOf(inv: Invocation): string {
  const { tenantId, runId } = inv.context;
  const id = inv.toolCallId;
  const call = /^[A-Za-z0-9_.-]{1,120}$/.test(id) ? id : '~' + base32(sha256(id)).slice(0, 26);
  return `tool:${tenantId}:${runId}:${call}`;
}

/** invocationIdOf returns the id of a call in the record. */
export function invocationIdOf(inv: Invocation): string {
  const { tenantId, runId } = inv.context;
  const id = sha256([tenantId, runId, inv.toolCallId].join('\0')).subarray(0, 16);
  id[6] = (id[6]! & 0x0f) | 0x80;
  id[8] = (id[8]! & 0x3f) | 0x80;
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** inputDigestOf returns the digest that the result and the state of a call with this input have. */
export function inputDigestOf(inv: Invocation): string {
  const { requestId: _, sessionId: __, ...rest } = inv.context;
  const context = Object.fromEntries(Object.entries(rest).filter(([, v]) => v !== undefined && v !== '' && !(Array.isArray(v) && v.length === 0)));
  const connections = [...(inv.allowedConnectionIds ?? [])].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const doc = { toolId: inv.toolId, args: unwrapped(inv.args ?? {}), context, ...(connections.length > 0 && { allowedConnectionIds: connections }) };
  return sha256(canonical(doc)).toString('hex');
}

/** unwrapped returns the JSON in arguments that are a string of JSON, unless it is a string or repeats a key. */
function unwrapped(args: unknown): unknown {
  if (typeof args !== 'string') return args;
  try {
    const value: unknown = JSON.parse(args);
    // In valid JSON a string in front of a colon is a key. An object that repeats one has fewer members than the text has keys.
    const keys = [...args.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter((m) => m[1] !== undefined).length;
    return typeof value === 'string' || keys !== members(value) ? args : value;
  } catch {
    return args;
  }
}

function members(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, v) => sum + members(v), own);
}

/** compact returns a decision without its empty fields, as the digests of the contract need it. */
function compact(d: Decision): Record<string, unknown> {
  const filled = (o: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined && v !== '' && v !== false && v !== 0 && v !== null && !(Array.isArray(v) && v.length === 0)));
  const { scope, editedArgs, ...rest } = d;
  return { ...filled(rest), ...(scope != null && { scope: filled(scope) }), ...(editedArgs != null && { editedArgs }) };
}

/** updateIdOf returns the id of the update of a decision. */
export function updateIdOf(d: Decision): string {
  return sha256(canonical(compact(d))).toString('hex');
}

/** nonceOf returns the nonce of the proof of a decision: the digest of its other fields. */
export function nonceOf(d: Decision): string {
  const { proof: _, ...rest } = d;
  return sha256(canonical(compact(rest))).toString('hex');
}
