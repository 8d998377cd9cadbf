/** For how long a fence lasts, in milliseconds: longer than a request is valid. */
const life = 180_000;

/** Fences are the highest epochs of probes, by the ids of their calls. */
export class Fences {
  private readonly byCall = new Map<string, { epoch: number; until: number }>();

  /** now is in milliseconds, and of a clock that does not step. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** raise sets the fence of a call to the epoch of a probe, for its whole life. A late probe of an earlier epoch lowers nothing. */
  raise(id: string, epoch: number): void {
    const now = this.now();
    const raised = { epoch: Math.max(epoch, this.of(id)), until: now + life };
    this.byCall.delete(id);
    this.byCall.set(id, raised); // at the end: a map has its entries in the order of until
    for (const [other, { until }] of this.byCall) {
      if (until > now) break;
      this.byCall.delete(other);
    }
  }

  /** of returns the epoch below which no attempt of the call may run, or 0. */
  of(id: string): number {
    const fence = this.byCall.get(id);
    return fence && fence.until > this.now() ? fence.epoch : 0;
  }
}
