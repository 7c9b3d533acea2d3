import type { Dataset } from './dataset.js';
import { percent } from './format.js';
import { phasesOf, type Outcome } from './run.js';

/** Something that must hold, and whether it did. */
export interface Check {
  readonly promise: string;
  readonly ok: boolean;
  /** What was seen instead. */
  readonly seen?: string;
}

/** What all setups together must have done. */
export function checksOf(outcomes: readonly Outcome[], dataset: Dataset): Check[] {
  return [
    everySampleOnce(outcomes, dataset),
    same('the samples came in the same order in all setups', outcomes, ({ order }) => order.slice(0, 12)),
    same('the accuracy is the same in all setups, after every epoch', outcomes, ({ epochs }) =>
      epochs.map(({ accuracy }) => percent(accuracy, 2)).join(', '),
    ),
    same('the trained weights are the same in all setups, to the last bit', outcomes, ({ weights }) =>
      weights.slice(0, 12),
    ),
    ...outcomes.map((outcome) => tiersFilled(outcome, dataset)).filter((check) => check !== undefined),
    ...outcomes.map((outcome) => sourceBytesAsPredicted(outcome, dataset)),
  ];
}

function everySampleOnce(outcomes: readonly Outcome[], { samples }: Dataset): Check {
  const wrong = outcomes.flatMap(({ setup, epochs }) =>
    epochs.flatMap((epoch, index) =>
      epoch.samples === samples && epoch.distinctSamples === samples
        ? []
        : [`${setup.name}, epoch ${index + 1}: ${epoch.samples} samples, ${epoch.distinctSamples} different`],
    ),
  );
  const promise = `every epoch trained on each of the ${samples.toLocaleString('en')} samples exactly once`;
  return result(promise, wrong.length === 0, wrong.join('; '));
}

function same(promise: string, outcomes: readonly Outcome[], of: (outcome: Outcome) => string): Check {
  const seen = outcomes.map((outcome) => `${outcome.setup.name}: ${of(outcome)}`);
  return result(promise, new Set(outcomes.map(of)).size === 1, seen.join('; '));
}

/** What a disk keeps free for its index and for directories, as a share of the quotas, and at least. */
const KEPT_FREE = 1 / 16;
const LEAST_KEPT_FREE = 2 * 1024 * 1024;

function tiersFilled(
  { setup, keptBytes, usedBytes, quotaBytes }: Outcome,
  dataset: Dataset,
): Check | undefined {
  if (quotaBytes === 0) return undefined;
  const promise = `${setup.name}: the tiers are filled, and hold no more than their quota`;
  const free = quotaBytes - usedBytes;
  const isFull = free <= Math.max(LEAST_KEPT_FREE, quotaBytes * KEPT_FREE) || keptBytes === dataset.bytes;
  return result(promise, free >= 0 && isFull, `${usedBytes} of ${quotaBytes} bytes`);
}

/** The source is asked once for every byte, and again only for what no tier had room for. */
function sourceBytesAsPredicted(outcome: Outcome, { bytes }: Dataset): Check {
  const { setup, filling, keptBytes } = outcome;
  const phases = phasesOf(outcome);
  const predicted = phases.map((_, index) => {
    if (!setup.levels.includes('source')) return 0;
    return index === 0 ? bytes : bytes - keptBytes;
  });
  const shares = predicted.map((share) => `${(share / bytes).toFixed(2)} x`).join(', ');
  const names = filling === undefined ? 'per epoch' : 'for the copy and per epoch';
  return result(
    `${setup.name}: the source gave exactly ${shares} the data ${names}`,
    phases.every((phase, index) => phase.source.bytes === predicted[index]),
    `${phases.map((phase) => phase.source.bytes).join(', ')} bytes where ${predicted.join(', ')} were due`,
  );
}

function result(promise: string, ok: boolean, seen: string): Check {
  return ok ? { promise, ok } : { promise, ok, seen };
}
