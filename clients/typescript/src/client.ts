import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, type WorkflowHandle, WorkflowExecutionAlreadyStartedError, WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { inputDigestOf, invocationIdOf, updateIdOf, workflowIdOf } from './identity.js';
import type { Decision, Invocation, Result, State } from './types.js';

const taskQueue = 'pawl';
const workflowType = 'InvokeTool';

/** How long decide sends a decision again that no worker could judge, in milliseconds. */
const askAgainFor = 60_000;

/** The answer to a decision: see docs/contract.md. */
export interface Answer {
  counted: boolean;
  reason?: string;
  again?: boolean;
}

/** CallError is the error of a call that has ended without a value. Its result has the code and the message. */
export class CallError extends Error {
  override readonly name = 'CallError';
  constructor(readonly result: Result) {
    super(`${result.errorCode}: ${result.safeMessage ?? ''}`);
  }
  get code(): string {
    return this.result.errorCode ?? 'internal';
  }
}

/** A call that was started. */
export interface Call {
  readonly workflowId: string;
  readonly invocationId: string;
  readonly inputDigest: string;
  readonly toolCallId: string;
}

/** Pawl starts tool calls, and sends decisions and queries to them, through a client of Temporal. */
export class Pawl {
  constructor(private readonly temporal: Client) {}

  /** start starts a call, or attaches to the call that has its tenantId, runId and toolCallId. */
  async start(inv: Invocation): Promise<Call> {
    const call = this.attach(inv);
    try {
      await this.temporal.workflow.start(workflowType, {
        args: [inv],
        workflowId: call.workflowId,
        taskQueue,
        workflowTaskTimeout: '5s',
        workflowIdConflictPolicy: 'FAIL',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        staticSummary: `${inv.toolId} for ${inv.context.tenantId}`,
        priority: { fairnessKey: inv.context.tenantId },
      });
    } catch (err) {
      if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err;
      await this.checkIsCall(call);
    }
    return call;
  }

  /** attach returns the call of an invocation that was started before. It sends nothing. */
  attach(inv: Invocation): Call {
    return { workflowId: workflowIdOf(inv), invocationId: invocationIdOf(inv), inputDigest: inputDigestOf(inv), toolCallId: inv.toolCallId };
  }

  /** result waits for the result of a call. A call that has ended without a value throws a CallError. */
  async result(call: Call): Promise<Result> {
    let result: Result;
    try {
      result = await this.handle(call.workflowId).result();
    } catch (err) {
      if (!(err instanceof WorkflowFailedError)) throw err;
      // The record may say more later, but nobody knows here whether the tool took effect.
      throw failure(call, 'outcome_unknown', 'The outcome is unknown', 'the workflow closed without a result');
    }
    if (result.inputDigest && result.inputDigest !== call.inputDigest) {
      throw failure(call, 'conflict', 'The call id is taken by a call with other arguments');
    }
    if (!result.ok) throw new CallError(result);
    return result;
  }

  /** invokeTool starts a call and waits for its result. A call that ends without a value throws a CallError. */
  async invokeTool(inv: Invocation): Promise<Result> {
    return this.result(await this.start(inv));
  }

  /** state asks a call for its state. It needs a running worker. */
  async state(workflowId: string): Promise<State> {
    return this.handle(workflowId).query<State>('state');
  }

  /**
   * decide sends a decision about the open request of a call. The answer says whether the decision counted. The same decision sent
   * twice counts once. An error says that no answer came: the decision may count, so query the state, or send it again.
   */
  async decide(workflowId: string, decision: Decision): Promise<Answer> {
    const id = updateIdOf(decision);
    const until = Date.now() + askAgainFor;
    let answer = await this.update(workflowId, id, decision);
    for (let wait = 1000; answer.again && Date.now() + wait < until; wait = Math.min(2 * wait, 8000)) {
      await sleep(wait);
      // An update with the same id would get the same answer again.
      answer = await this.update(workflowId, `${id}.${randomUUID()}`, decision);
    }
    return answer;
  }

  /** recheck tells an open call that policy, a grant or capacity has changed. */
  async recheck(workflowId: string): Promise<void> {
    await this.handle(workflowId).signal('recheck');
  }

  /** cancel asks a call to stop. The call still settles, and the effects of its tool stay. */
  async cancel(workflowId: string): Promise<void> {
    await this.handle(workflowId).cancel();
  }

  private async update(workflowId: string, updateId: string, decision: Decision): Promise<Answer> {
    try {
      return await this.handle(workflowId).executeUpdate<Answer, [Decision]>('decide', { args: [decision], updateId });
    } catch (err) {
      const refusal = err instanceof WorkflowUpdateFailedError ? (err.cause as { type?: string; message?: string } | undefined) : undefined;
      if (refusal?.type === 'decide_refused') return { counted: false, reason: refusal.message };
      if (refusal?.type === 'decide_again') return { counted: false, reason: refusal.message, again: true };
      throw err;
    }
  }

  private handle(workflowId: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(workflowId);
  }

  /** checkIsCall refuses a workflow that is no call: every program in the namespace can start one under the id of a call. */
  private async checkIsCall(call: Call): Promise<void> {
    const described = await this.handle(call.workflowId).describe();
    if (described.type !== workflowType || described.taskQueue !== taskQueue) {
      throw failure(call, 'conflict', 'a workflow that is no call has the id of this one');
    }
  }
}

function failure(call: Call, errorCode: 'conflict' | 'outcome_unknown', safeMessage: string, cause?: string): CallError {
  const { toolCallId, invocationId, inputDigest } = call;
  return new CallError({
    toolCallId, invocationId, inputDigest, ok: false, errorCode, safeMessage, ...(cause && { details: { cause } }),
    httpStatus: errorCode === 'conflict' ? 409 : 502, attempts: 0, startedAtMs: 0, endedAtMs: 0,
  });
}
