import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inputDigestOf, invocationIdOf, signDecision, workflowIdOf, type Decision, type Invocation } from '../src/index.js';
import { nonceOf, updateIdOf } from '../src/identity.js';

// The vectors of the contract. The tests run in dist/test.
const contract = readFileSync(`${process.env.PAWL_DOCS ?? new URL('../../../../docs', import.meta.url).pathname}/contract.md`, 'utf8');

test('ids are those of the contract', () => {
  const rows = [...contract.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| `(tool:[^`]+)` \| `([0-9a-f-]+)` \|$/gm)];
  assert.ok(rows.length >= 8, `${rows.length} vectors`);
  const wide = (text: string): string => text.replace(/(.)\{(\d+)\}/g, (_, c: string, n: string) => c.repeat(Number(n)));
  for (const [, tenantId, runId, toolCallId, workflowId, invocationId] of rows) {
    const inv: Invocation = { toolId: 't__t', toolCallId: wide(toolCallId!), context: { tenantId: wide(tenantId!), runId: wide(runId!), actorId: 'user:a' } };
    assert.equal(workflowIdOf(inv), wide(workflowId!));
    assert.equal(invocationIdOf(inv), invocationId);
  }
});

test('input digests are those of the contract', () => {
  const part = contract.slice(contract.indexOf('<!-- generated: input digest vectors -->'), contract.indexOf('<!-- end: input digest vectors -->'));
  const vectors = [...part.matchAll(/```json invocation\n(.*)\n```\n\n```json\n.*\n```\n\n`([0-9a-f]{64})`/g)];
  assert.ok(vectors.length >= 5, `${vectors.length} vectors`);
  for (const [, inv, digest] of vectors) assert.equal(inputDigestOf(JSON.parse(inv!)), digest);
});

test('a string of JSON that repeats a key stays a string', () => {
  const digest = (args: unknown): string => inputDigestOf({ toolId: 't__t', toolCallId: 'c', args, context: { tenantId: 't', runId: 'r', actorId: 'user:a' } });
  assert.equal(digest('{"a":{"b":1}, "c":["d:", "\\"e\\":"]}'), digest({ a: { b: 1 }, c: ['d:', '"e":'] }));
  assert.notEqual(digest('{"a":1,"a":2}'), digest({ a: 2 }));
  assert.notEqual(digest('"text"'), digest('text'));
});

const decision: Decision = { approvalId: '20c6a611-ae1f-80cf-83a8-c33c5bd58e27.1', decision: 'approve', approver: 'user:ann' };

test('empty fields of a decision do not count', () => {
  assert.equal(updateIdOf({ ...decision, reason: '', remember: false }), updateIdOf(decision));
  assert.notEqual(updateIdOf({ ...decision, scope: { args: '' } }), updateIdOf(decision));
  assert.notEqual(updateIdOf({ ...decision, editedArgs: { a: '' } }), updateIdOf({ ...decision, editedArgs: {} }));
  assert.equal(nonceOf({ ...decision, proof: 'x' }), nonceOf(decision));
});

test('a proof is signed with the key of the approver', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signed = await signDecision({ ...decision, digest: '0a'.repeat(32) }, { tenantId: 'acme', key: privateKey });
  const [head, body, signature] = signed.proof!.split('.');
  assert.ok(verify(null, Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature!, 'base64url')));
  const claims = JSON.parse(Buffer.from(body!, 'base64url').toString());
  assert.deepEqual([claims.sub, claims.aud, claims.nonce], ['user:ann', ['pawl:acme'], nonceOf(signed)]);
  await assert.rejects(signDecision(decision, { tenantId: 'acme', key: privateKey }), /digest/);
});
