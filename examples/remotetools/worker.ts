// A worker with two tools: stock__get_item reads, and stock__order has an effect and a probe. tools.yaml has their contracts.
//
//   KEYS=keys PORT=8300 ORDERS=orders.jsonl node worker.js
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { readKeys, serveTools, ToolError, type Tool } from '@pawl-run/client/remote';

const orders = process.env.ORDERS ?? 'orders.jsonl';
const pieces: Record<string, number> = { bolts: 1200, nuts: 40 };

interface Order {
  key: string;
  orderId: string;
}

function find(key: string): Order | undefined {
  if (!existsSync(orders)) return undefined;
  return readFileSync(orders, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Order).find((o) => o.key === key);
}

const getItem: Tool<{ sku: string }> = {
  version: '1',
  async run({ sku }) {
    if (!Object.hasOwn(pieces, sku)) throw new ToolError('there is no such item');
    return { sku, pieces: pieces[sku] };
  },
};

const order: Tool<{ sku: string; pieces: number }> = {
  version: '1',
  async run(args, call) {
    const orderId = `o-${call.invocationId.slice(0, 8)}`;
    appendFileSync(orders, JSON.stringify({ key: call.idempotencyKey, orderId, ...args }) + '\n');
    // The tool's redaction does not allow the price, so it stays in this process and in the memory of Pawl's worker.
    return { orderId, supplierPrice: 3 * args.pieces };
  },
  async probe(_args, call) {
    const made = find(call.idempotencyKey);
    return made ? { found: 'took_effect', value: { orderId: made.orderId } } : { found: 'no_effect' };
  },
};

const served = await serveTools({
  keys: readKeys(process.env.KEYS ?? 'keys'),
  port: Number(process.env.PORT ?? 8300),
  tools: { stock__get_item: getItem, stock__order: order },
  onError: (err, call) => console.error(`${call.toolId} ${call.invocationId}: ${err instanceof Error ? err.name : 'error'}`),
});
console.log(`listening ${served.url}`);
