import type { Seen } from '@tiered/control';
import { Finding } from '../simulated/finding.js';
import { SOURCE } from './stage.js';

const OWNER = 'nobody';
/** Of policies that are none. Operators do not come so far. */
const REVISION = 1000;

/** Records of nobody, each of which is none in another way. */
export function nonsense(until: number) {
  const nothing = { bytes: 0, operations: 0 };
  const stage = { v: 1, kind: 'stage', job: 'nobody', node: 'n', terms: {}, tiers: {} };
  const policy = { v: 1, kind: 'policy', revision: REVISION, sources: {}, jobs: {}, nodes: {} };
  const records: Readonly<Record<string, unknown>> = {
    'stage.a': null,
    'stage.b': { ...stage, sources: { [SOURCE]: { used: nothing, wanted: { bytes: -1 }, waits: 0 } } },
    'stage.c': { ...stage, job: '__proto__', sources: {} },
    'stage.d': { ...stage, sources: {}, terms: { weight: 1e9 } },
    'stage.e': { ...policy, revision: 1 },
    'policy.1000': { ...policy, sources: { [SOURCE]: { bytes: 0 } } },
    'policy.1001': policy,
    'policy.x': 'constructor',
  };
  return Object.entries(records).map(([slot, record]) => ({ slot, owner: OWNER, record, until }));
}

/** Such records are passed over [U7]. */
export function assertNoNonsense({ stages, policy }: Seen): void {
  if (stages.some(({ id }) => id === OWNER) || (policy?.revision ?? 0) >= REVISION)
    throw new Finding('nonsense', JSON.stringify({ stages, policy }));
}
