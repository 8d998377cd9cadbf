// What the client says of calls that do not go well, for internal/e2etest/sources.TestTypeScriptExample.
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Pawl, signDecision, workflowIdOf, type CallError, type Decision, type Invocation, type State } from '../src/index.js';

const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const temporal = new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE });
const pawl = new Pawl(temporal);
const call = (toolCallId: string, toolId: string, args: object): Invocation => ({
  toolId, toolCallId, args, context: { tenantId: 'acme', runId: 'story', actorId: 'agent:buyer' },
});
const ended = (err: CallError): string => `${err.name} ${err.code}`;

const first = await pawl.invokeTool(call('one', 'stock__get_item', { sku: 'nuts' }));
const again = await pawl.invokeTool(call('one', 'stock__get_item', { sku: 'nuts' }));
console.log('again', JSON.stringify(again) === JSON.stringify(first));
console.log('other input:', await pawl.invokeTool(call('one', 'stock__get_item', { sku: 'bolts' })).catch(ended));
console.log('bad input:', await pawl.invokeTool(call('two', 'stock__get_item', {})).catch(ended));

const taken = call('three', 'stock__get_item', { sku: 'nuts' });
await temporal.workflow.start('Other', { workflowId: workflowIdOf(taken), taskQueue: 'nobody' });
console.log('no call:', await pawl.invokeTool(taken).catch(ended));
await temporal.workflow.getHandle(workflowIdOf(taken)).terminate();

const order = await pawl.start(call('four', 'stock__order', { sku: 'nuts', pieces: 1 }));
let state: State;
while (!(state = await pawl.state(order.workflowId)).approval) await sleep(100);
const { approvalId, digest } = state.approval!;
const deny: Decision = { approvalId, digest, decision: 'deny', approver: 'user:ann' };
const unsigned = await pawl.decide(order.workflowId, deny);
console.log('unsigned:', unsigned.counted, unsigned.reason !== undefined);
const key = createPrivateKey(readFileSync(process.env.APPROVER_KEY!));
const foreign = await pawl.decide(order.workflowId, await signDecision(deny, { tenantId: 'globex', key }));
console.log('another tenant:', foreign.counted);
const signed = await signDecision(deny, { tenantId: 'acme', key });
console.log('signed:', (await pawl.decide(order.workflowId, signed)).counted);
console.log('denied:', await pawl.result(order).catch(ended));
await connection.close();
