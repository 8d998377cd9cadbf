export { CallError, Pawl, type Answer, type Call } from './client.js';
export { inputDigestOf, invocationIdOf, updateIdOf, workflowIdOf } from './identity.js';
export { signDecision, type SignOptions } from './proof.js';
export { WatchError, watchRun, type RunPart, type WatchOptions } from './runs.js';
export type { Decision, Invocation, Result, State } from './types.js';
