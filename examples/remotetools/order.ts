// Orders bolts, approves the order as user:ann with a signed decision, and prints what the run shows meanwhile.
//
//   TEMPORAL_ADDRESS=… APPROVER_KEY=key.pem node order.js
// With PAWL_SERVE and PAWL_TOKEN, the address and the token of `pawl serve`, it also watches the run.
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, Pawl, signDecision, watchRun, type Invocation, type State } from '@pawl-run/client';
import { Client, Connection } from '@temporalio/client';

const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const pawl = new Pawl(new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE ?? 'default' }));
const context = { tenantId: 'acme', runId: process.env.RUN ?? 'run-1', actorId: 'agent:buyer' };
const call = (toolCallId: string, toolId: string, args: object): Invocation => ({ toolId, toolCallId, args, context });

const item = await pawl.invokeTool(call('look', 'stock__get_item', { sku: 'bolts' }));
console.log('item', JSON.stringify(item.value));

try {
  await pawl.invokeTool(call('unknown', 'stock__get_item', { sku: 'planks' }));
} catch (err) {
  if (!(err instanceof CallError)) throw err;
  console.log('failed', err.code, err.result.safeMessage);
}

const order = await pawl.start(call('order', 'stock__order', { sku: 'bolts', pieces: 7 }));
let state: State;
while (!(state = await pawl.state(order.workflowId)).approval) await sleep(100);
const approvalId = state.approval!.approvalId;
const decision = { approvalId, decision: 'approve' as const, approver: 'user:ann', digest: state.approval!.digest };
const key = createPrivateKey(readFileSync(process.env.APPROVER_KEY!));
const answer = await pawl.decide(order.workflowId, await signDecision(decision, { tenantId: 'acme', key }));
console.log('decided', answer.counted, answer.reason ?? '');
console.log('ordered', JSON.stringify((await pawl.result(order)).value));

const second = await pawl.start(call('second', 'stock__order', { sku: 'nuts', pieces: 1 }));
while (!(await pawl.state(second.workflowId)).approval) await sleep(100);
await pawl.cancel(second.workflowId);
console.log('second', await pawl.result(second).catch((err: CallError) => err.code));

if (process.env.PAWL_SERVE) {
  const parts = watchRun({ baseUrl: process.env.PAWL_SERVE, tenantId: 'acme', runId: context.runId, token: process.env.PAWL_TOKEN ?? '' });
  const results = new Set<unknown>();
  for await (const part of parts) {
    console.log('part', part.id, part.type);
    if (part.type === 'data-result' && results.add(part.id).size === 4) break;
  }
}
await connection.close();
