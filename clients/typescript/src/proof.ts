import { createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, SignJWT } from 'jose';
import { nonceOf } from './identity.js';
import type { Decision } from './types.js';

export interface SignOptions {
  tenantId: string;
  /** The private key of the approver, Ed25519: createPrivateKey(pem) of the file of `pawl keys new`. */
  key: KeyObject;
  /** For how long the proof is valid, in seconds, at most 24 hours. The default is 600. */
  seconds?: number;
}

/** signDecision returns the decision with a proof of its approver. The decision needs the digest of the request, as the state has it. */
export async function signDecision(decision: Decision, o: SignOptions): Promise<Decision> {
  if (!decision.digest) throw new TypeError('the decision lacks the digest of the request: take it from the state of the call');
  const seconds = o.seconds ?? 600;
  if (!(seconds > 0 && seconds <= 24 * 3600)) throw new RangeError('a proof is valid for up to 24 hours');
  const kid = await calculateJwkThumbprint(createPublicKey(o.key).export({ format: 'jwk' }) as { kty: string });
  const now = Math.floor(Date.now() / 1000);
  const proof = await new SignJWT({ nonce: nonceOf(decision), approvalId: decision.approvalId })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'pawl-decision+jwt', kid })
    .setSubject(decision.approver)
    .setAudience([`pawl:${o.tenantId}`])
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(o.key);
  return { ...decision, proof };
}
