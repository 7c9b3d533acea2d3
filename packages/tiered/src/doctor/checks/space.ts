import { formatBytes } from '@tiered/core';
import { findingsOn, type Finding } from '../finding.js';
import type { FoundTier } from './directories.js';

/** Whether the disks have room for what tiers may hold: each, and all that share one. */
export function quotasFit(tiers: readonly FoundTier[]): Finding[] {
  const devices = new Map<number, FoundTier[]>();
  for (const tier of tiers) devices.set(tier.facts.device, [...(devices.get(tier.facts.device) ?? []), tier]);
  return [...devices.values()].flatMap((sharing) => {
    const alone = sharing.map((tier) => fits(tier.name, [tier]));
    const areFine = alone.every(({ level }) => level === 'ok');
    return sharing.length > 1 && areFine ? [...alone, fits('tiers', sharing)] : alone;
  });
}

/** @param tiers On one file system. */
function fits(about: string, tiers: readonly FoundTier[]): Finding {
  const { ok, note, warning } = findingsOn(about);
  const quota = sum(tiers.map(({ quotaBytes }) => quotaBytes));
  const free = Math.min(...tiers.map(({ facts }) => facts.freeBytes));
  const used = sum(tiers.map(({ facts }) => facts.usedBytes ?? 0));
  const names = tiers.map(({ name }) => name).join(' and ');
  const [who, place] =
    tiers.length > 1
      ? [`the quotas of ${names}, which share a file system, come to ${formatBytes(quota)}`, 'it']
      : [`its quota is ${formatBytes(quota)}`, `${tiers[0]?.place}`];
  const copies = used > 0 ? ` beside ${formatBytes(used)} of copies` : '';
  const found = `${who}, and ${place} has ${formatBytes(free)} free${copies}`;
  if (quota <= free + used) return ok(found);
  if (tiers.some(({ facts }) => facts.usedBytes === undefined))
    return note(
      `${found}; the copies that are there were not all counted in time`,
      'Try again with a longer --timeout.',
    );
  return warning(
    found,
    `Give ${tiers.length > 1 ? 'them together' : 'it'} at most ${formatBytes(free + used)}, and less if others write to this disk: with more, the disk is full before the tier is.`,
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
