import type { Cluster, ClusterEvents, Member } from '@tiered/cluster';
import { TieredError } from '@tiered/core';
import { SafeEmitter } from '@tiered/core/internal';
import { ManualClock } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { logCluster } from '../src/cluster/cluster-log.js';

const member = (rank: number): Member => ({
  rank,
  url: '',
  share: true,
  owner: `o${rank}`,
  isThere: true,
  seenAt: 0,
});

/** What is told of events, one after the other. */
function logged(isNoted = true) {
  const clock = new ManualClock();
  const events = new SafeEmitter<ClusterEvents>();
  const lines: string[] = [];
  const note = isNoted ? (line: string) => void lines.push(line) : undefined;
  const cluster = Object.assign(events, { members: [] }) as unknown as Cluster;
  logCluster(cluster, 'training', clock, { warn: (line) => void lines.push(`! ${line}`), note });
  return { clock, events, lines };
}

const secret = new TieredError('TIERED_UNAVAILABLE', 'https://user:hunter2@host failed');

it('tells who came and went, which peer is left alone, and that the registry is lost', () => {
  const { events, lines } = logged();
  events.emit('members', [member(2), member(1)]);
  events.emit('members', [member(2), member(1)]);
  events.emit('members', [member(2), member(3)]);
  events.emit('peerOut', { rank: 2, retryInMs: 1000, error: secret });
  events.emit('registryLost', { error: new Error('hunter2') });
  events.emit('registryFound');
  expect(lines).toEqual([
    'cluster training: workers 1, 2 came; 3 workers are there.',
    'cluster training: worker 3 came, worker 1 went; 3 workers are there.',
    expect.stringMatching(
      /^! cluster training: worker 2 is left alone for a while \(TIERED_UNAVAILABLE: .*\), and the source is read\.$/,
    ),
    '! cluster training: the registry cannot be reached (an error without a code); all go on with the workers that they know.',
    'cluster training: the registry can be reached again.',
  ]);
  expect(lines.join()).not.toContain('hunter2');
});

it('tells a process whose warnings nobody has asked for only what makes it slower', () => {
  const { events, lines } = logged(false);
  events.emit('members', [member(1)]);
  events.emit('registryFound');
  events.emit('peerOut', { rank: 1, retryInMs: 1000, error: secret });
  expect(lines).toHaveLength(1);
});

it('repeats no line for ten minutes, and writes a few of them in that time, whatever happens', async () => {
  const { clock, events, lines } = logged();
  const out = () => events.emit('peerOut', { rank: 1, retryInMs: 1000, error: secret });
  out();
  out();
  expect(lines).toHaveLength(1);
  await clock.advance(600_000);
  out();
  expect(lines).toHaveLength(2);
  for (let rank = 2; rank < 100; rank++) events.emit('peerOut', { rank, retryInMs: 1000, error: secret });
  expect(lines).toHaveLength(1 + 20);
});
