import type { Cluster, Member } from '@tiered/cluster';
import { ERROR_CODES, isTieredError, type Clock } from '@tiered/core';
import { countOf } from '../words.js';

/** Milliseconds for which the same line is not repeated. */
const QUIET_MS = 600_000;
/** Lines in that time: workers that come and go all the time are told of a few times. */
const MOST_LINES = 20;

/** Where lines go. */
export interface ClusterLogTargets {
  /** What makes reads slower. */
  readonly warn: (line: string) => void;
  /** Who came and went. Default: nobody is told. */
  readonly note?: ((line: string) => void) | undefined;
}

/**
 * Tells people what happens in a cluster: who came and went, which peer is left alone, whether the registry
 * can be reached. Lines hold ranks, and codes of errors with what they mean.
 */
export function logCluster(
  cluster: Cluster,
  name: string,
  clock: Clock,
  { warn, note }: ClusterLogTargets,
): void {
  const isNew = seldom(clock);
  const tell = (what: string, line: string, to: ClusterLogTargets['note']) => {
    if (to !== undefined && isNew(what)) to(`cluster ${name}: ${line}.`);
  };
  let ranks = ranksIn(cluster.members);
  cluster.on('members', (members) => {
    const before = ranks;
    ranks = ranksIn(members);
    const came = ranks.filter((rank) => !before.includes(rank));
    const went = before.filter((rank) => !ranks.includes(rank));
    if (came.length + went.length === 0) return;
    const changes = [...workersText('came', came), ...workersText('went', went)].join(', ');
    const there = countOf(ranks.length + 1, 'worker is', 'workers are');
    tell(`${changes} ${ranks.join()}`, `${changes}; ${there} there`, note);
  });
  cluster.on('peerOut', ({ rank, error }) => {
    const line = `worker ${rank} is left alone for a while (${meaning(error)}), and the source is read`;
    tell(`out ${rank}`, line, warn);
  });
  cluster.on('registryLost', ({ error }) => {
    const line = `the registry cannot be reached (${meaning(error)}); all go on with the workers that they know`;
    tell('lost', line, warn);
  });
  cluster.on('registryFound', () => tell('found', 'the registry can be reached again', note));
}

/** Says whether something is to be told: not again for a while, and no more than a few lines in that time. */
function seldom(clock: Clock): (what: string) => boolean {
  let told: { readonly what: string; readonly at: number }[] = [];
  return (what) => {
    const now = clock.now();
    told = told.filter(({ at }) => now - at < QUIET_MS);
    if (told.length >= MOST_LINES || told.some((line) => line.what === what)) return false;
    told.push({ what, at: now });
    return true;
  };
}

function ranksIn(members: readonly Member[]): readonly number[] {
  return members.map(({ rank }) => rank).sort((a, b) => a - b);
}

function workersText(verb: string, ranks: readonly number[]): string[] {
  if (ranks.length === 0) return [];
  return [`${ranks.length === 1 ? 'worker' : 'workers'} ${ranks.join(', ')} ${verb}`];
}

/** The part of an error that cannot hold a secret. */
function meaning(error: unknown): string {
  return isTieredError(error) ? `${error.code}: ${ERROR_CODES[error.code]}` : 'an error without a code';
}
