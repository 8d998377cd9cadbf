import { setTimeout as sleep } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** A part of the UI message stream of the AI SDK: see docs/streams.md. */
export interface RunPart {
  /** The id to continue after this part. */
  id: string;
  type: string;
  [field: string]: unknown;
}

export interface WatchOptions {
  /** The address of `pawl serve`, or of the program that has its handler. */
  baseUrl: string;
  tenantId: string;
  runId: string;
  /** The bearer token of the viewer. A function is asked at each connection. */
  token: string | (() => string | Promise<string>);
  /** The id of the last part that the caller has. */
  lastEventId?: string;
  signal?: AbortSignal;
}

/** WatchError says that the server refused to show the run. */
export class WatchError extends Error {
  override readonly name = 'WatchError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * watchRun yields the parts of a message of a run as they happen, and ends with the message. If the connection breaks, it connects again and
 * goes on after the last part. A part is text of strangers: show it as text.
 */
export async function* watchRun(o: WatchOptions): AsyncGenerator<RunPart, void, void> {
  const url = new URL(`v1/runs/${encodeURIComponent(o.runId)}/events`, o.baseUrl.replace(/\/?$/, '/'));
  url.searchParams.set('tenant', o.tenantId);
  let last = o.lastEventId;
  for (let wait = 500; ; wait = Math.min(2 * wait, 10_000)) {
    let retryAfter = 0;
    try {
      const response = await fetch(url, {
        headers: {
          authorization: `Bearer ${typeof o.token === 'string' ? o.token : await o.token()}`,
          accept: 'text/event-stream',
          ...(last !== undefined && { 'last-event-id': last }),
        },
        redirect: 'error', // a redirect must not get the token
        signal: o.signal,
      });
      if (response.ok && response.body) {
        let early = false;
        for await (const event of response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
          if (event.data === '[DONE]') {
            if (!early) return;
            break;
          }
          const part = JSON.parse(event.data) as RunPart;
          if (event.id === undefined) {
            // A part without an id is the start of the message, which the reader has, or closes a stream that ends too early.
            early ||= part.type === 'abort' || part.type === 'error';
            if (part.type === 'start' && last === undefined) yield { ...part, id: '' };
            continue;
          }
          last = event.id;
          wait = 500;
          yield { ...part, id: event.id };
        }
      } else {
        const refusal = (await response.json().catch(() => ({}))) as { errorCode?: string; safeMessage?: string };
        if (response.status !== 429 && response.status !== 503) {
          throw new WatchError(response.status, refusal.errorCode ?? 'internal', refusal.safeMessage ?? `the server answered ${response.status}`);
        }
        retryAfter = Number(response.headers.get('retry-after') ?? 0) * 1000;
      }
    } catch (err) {
      if (err instanceof WatchError || o.signal?.aborted) throw err;
    }
    await sleep(Math.max(wait, retryAfter), undefined, { signal: o.signal });
  }
}
