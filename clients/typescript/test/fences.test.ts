import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fences } from '../src/fences.js';

test('a fence lasts for its whole life after the last probe, and never goes down', () => {
  let now = 0;
  const fences = new Fences(() => now);
  assert.equal(fences.of('a'), 0);
  fences.raise('a', 2);
  fences.raise('b', 1);
  now = 170_000;
  fences.raise('a', 3);
  fences.raise('a', 2); // late
  assert.equal(fences.of('a'), 3);
  now = 185_000; // the first probes are forgotten
  assert.equal(fences.of('a'), 3);
  assert.equal(fences.of('b'), 0);
  fences.raise('a', 2); // a late probe keeps the epoch of a later one
  now = 340_000;
  assert.equal(fences.of('a'), 3);
  now = 365_001;
  assert.equal(fences.of('a'), 0);
});
