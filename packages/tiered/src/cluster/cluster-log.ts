import type { Cluster, Member } from '@tiered/cluster';
import type { Clock } from '@tiered/core';
import { meaningOf } from '@tiered/core/internal';
import { quietLog, type LogTargets } from '../quiet-log.js';
import { countOf } from '../words.js';

/**
 * Tells people what happens in a cluster: who came and went, which peer is left alone, whether the registry
 * can be reached. Lines hold ranks, and codes of errors with what they mean.
 */
export function logCluster(cluster: Cluster, name: string, clock: Clock, { warn, note }: LogTargets): void {
  const tell = quietLog(`cluster ${name}`, clock);
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
    const line = `worker ${rank} is left alone for a while (${meaningOf(error)}), and the source is read`;
    tell(`out ${rank}`, line, warn);
  });
  cluster.on('registryLost', ({ error }) => {
    const line = `the registry cannot be reached (${meaningOf(error)}); all go on with the workers that they know`;
    tell('lost', line, warn);
  });
  cluster.on('registryFound', () => tell('found', 'the registry can be reached again', note));
}

function ranksIn(members: readonly Member[]): readonly number[] {
  return members.map(({ rank }) => rank).sort((a, b) => a - b);
}

function workersText(verb: string, ranks: readonly number[]): string[] {
  if (ranks.length === 0) return [];
  return [`${ranks.length === 1 ? 'worker' : 'workers'} ${ranks.join(', ')} ${verb}`];
}
