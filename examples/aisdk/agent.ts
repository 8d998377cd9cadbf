// Answers a question with the package `ai`. Its tools are those that Pawl's policy lets the actor use, and Pawl runs each call.
//
//   TEMPORAL_ADDRESS=… PAWL_SERVE=… PAWL_TOKEN=… MODEL_URL=http://localhost:11434/v1 MODEL=qwen3 RUN=chat-1 node agent.js 'How many bolts are there?'
// PAWL_SERVE and PAWL_TOKEN are the address and the token of `pawl serve`, whose actor is ACTOR.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Pawl, type Invocation } from '@pawl-run/client';
import { Client, Connection } from '@temporalio/client';
import { generateText, jsonSchema, stepCountIs, tool, type JSONSchema7, type ToolSet } from 'ai';

const context = { tenantId: 'acme', runId: process.env.RUN!, actorId: process.env.ACTOR ?? 'agent:buyer' };
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const pawl = new Pawl(new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE ?? 'default' }));

// run makes one call. A call without a value throws a CallError: the model reads its safe message and can correct the call.
async function run(inv: Invocation, abort?: AbortSignal): Promise<unknown> {
  const call = await pawl.start(inv);
  // What is aborted here is asked to stop there too. A call that has settled meanwhile stays as it is.
  const cancel = () => void pawl.cancel(call.workflowId).catch(() => undefined);
  abort?.addEventListener('abort', cancel);
  if (abort?.aborted) cancel();
  try {
    const result = await pawl.result(call);
    return result.value ?? null;
  } finally {
    abort?.removeEventListener('abort', cancel);
  }
}

// inOrder runs calls as package client/turn does: reads side by side, and an effect alone, after the calls before it. The package `ai`
// alone would run all calls of a response at the same time.
let lastEffect: Promise<unknown> = Promise.resolve();
let reads: Promise<unknown>[] = [];
function inOrder<T>(isRead: boolean, f: () => Promise<T>): Promise<T> {
  const ended = (isRead ? lastEffect : Promise.all([lastEffect, ...reads])).then(f);
  const settled = ended.catch(() => undefined);
  if (isRead) reads.push(settled);
  else [lastEffect, reads] = [settled, []];
  return ended;
}

interface Offered {
  tools: { name: string; description: string; effect: string; inputSchema: JSONSchema7 }[];
}

const response = await fetch(`${process.env.PAWL_SERVE}/v1/catalog?tenant=${context.tenantId}`, {
  headers: { authorization: `Bearer ${process.env.PAWL_TOKEN}` },
});
if (!response.ok) throw new Error(`the catalog cannot be read: ${response.status}`);
const tools: ToolSet = {};
for (const { name, description, effect, inputSchema } of ((await response.json()) as Offered).tools) {
  tools[name] = tool({
    description,
    // Without a validator of its own: Pawl's worker judges the arguments, and the record has those that are not valid too.
    inputSchema: jsonSchema<Record<string, unknown>>(inputSchema),
    execute: (args, { toolCallId, abortSignal }) =>
      inOrder(effect === 'read_only', () => run({ toolId: name, toolCallId, args, context }, abortSignal)),
  });
}

const provider = createOpenAICompatible({ name: 'model', baseURL: process.env.MODEL_URL!, apiKey: process.env.MODEL_KEY });
const { text } = await generateText({
  model: provider(process.env.MODEL!),
  prompt: process.argv.slice(2).join(' '),
  tools,
  stopWhen: stepCountIs(20),
});
console.log(text);
await connection.close();
