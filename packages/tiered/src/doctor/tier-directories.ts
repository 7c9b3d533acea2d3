import { formatBytes } from '@tiered/core';
import type { DirectoryFacts } from './directory.js';
import { findingsOn, type Finding } from './finding.js';

/** A tier in a directory, as it was found. */
export interface FoundTier {
  readonly name: string;
  readonly place: string;
  readonly quotaBytes: number;
  readonly facts: DirectoryFacts;
}

/** Whether a directory can be a tier. */
export function directoryCanBeTier({ name, place, facts }: FoundTier): Finding {
  const { ok, problem } = findingsOn(name);
  const { state, refusal } = facts;
  switch (state) {
    case 'no directory':
      return problem(`${place}: a file stands where a directory must be`, 'Name a directory.');
    case 'foreign':
      return problem(
        `${place} holds files that no tier wrote`,
        'Give the tier a directory of its own, because what is in it may be deleted.',
      );
    case 'unreadable':
      return problem(`${place} cannot be looked into`, 'Check its owner and mode.');
    case 'missing':
      return refusal === undefined
        ? ok(`${place} is not there yet, and can be made`)
        : problem(
            `${place} is not there, and cannot be made (${refusal})`,
            adviceFor(refusal, 'Make it, and give it'),
          );
    case 'empty':
    case 'own':
      if (refusal !== undefined)
        return problem(`${place} cannot be written to (${refusal})`, adviceFor(refusal, 'Give it'));
      return ok(`${place} ${state === 'own' ? "is a tier's" : 'is empty'}, and can be written to`);
  }
}

function adviceFor(refusal: string, give: string): string {
  return refusal === 'EROFS'
    ? 'The file system is mounted read-only: mount it for writing, or choose another.'
    : `${give} to the user that trains; or choose another.`;
}

/** Whether a file system suits a tier. */
export function fileSystemSuits({ name, place, facts }: FoundTier): Finding[] {
  const { note, warning } = findingsOn(name);
  const { kind, name: type } = facts.fileSystem;
  switch (kind) {
    case 'network':
      return [
        warning(
          `${place} is on a network file system (${type})`,
          'Put the tier on a local disk: its index is a database, which needs locks that network file systems do not keep, and copies behind a network are no nearer.',
        ),
      ];
    case 'fuse':
      return [
        warning(
          `${place} is on a file system of a program (fuse)`,
          'Put the tier on a local disk, unless you know that this one is local, and keeps locks for a database.',
        ),
      ];
    case 'overlay':
      return [
        warning(
          `${place} is in the container itself (overlay): copies are gone with it, and writing is slower`,
          'Mount a volume of a local disk there.',
        ),
      ];
    case 'memory':
      return [note(`${place} is memory (${type}): its quota counts as RAM`)];
    case 'local':
    case 'unknown':
      return [];
  }
}

/** Tiers on the file system that the source is on. */
export function nearerThanSource(
  tiers: readonly FoundTier[],
  source: Pick<DirectoryFacts, 'device'> | undefined,
): Finding[] {
  return tiers
    .filter(({ facts }) => facts.device === source?.device)
    .map(({ name, place }) =>
      findingsOn(name).warning(
        `${place} is on the same file system as the source`,
        'Its copies are read no faster than the source, unless those are small files and the tier has layout: packed. Put it on a faster disk, or leave it out.',
      ),
    );
}

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
