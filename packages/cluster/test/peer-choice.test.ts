import { describe, expect, it } from 'vitest';
import { PeerChoice } from '../src/peers/peer-choice.js';
import { objectsOf, sourceOf, workers } from './helpers.js';

const N = 3;
const objects = objectsOf(60);

/** What three workers read of peers and of the source, if they read all objects at the same time. */
async function readAll(model: {
  peerMs: () => number;
  sourceMs: (bytes: number, underWay: number) => number;
}) {
  const all = await workers(N, { source: await sourceOf(objects), model });
  await Promise.all(
    all.flatMap(({ hierarchy }) =>
      [...objects].map(async ([key, bytes]) =>
        expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0),
      ),
    ),
  );
  return all.map(({ cluster }) => cluster.stats());
}

describe('a model of peers and the source', () => {
  it('[Z3] has the source read for what it gives sooner, and counts that', async () => {
    for (const stats of await readAll({ peerMs: () => 2, sourceMs: () => 1 })) {
      expect(stats).toMatchObject({ peers: { reads: 0 }, inVain: 0 });
      expect(stats.preferred).toBeGreaterThan(0);
    }
  });

  it('has peers asked for what they give as soon', async () => {
    for (const stats of await readAll({ peerMs: () => 1, sourceMs: () => 1 }))
      expect(stats).toMatchObject({ inVain: 0, preferred: 0 });
  });

  it('counts the reads under way at the source', async () => {
    // Two at a time are sooner than a peer.
    const choice = new PeerChoice({ peerMs: () => 2.5, sourceMs: (_, underWay) => underWay });
    const ends: (() => void)[] = [];
    const begin = () => choice.read(() => new Promise<void>((resolve) => ends.push(resolve)));
    const peer = { underWay: 0 };
    const asked: boolean[] = [];
    const reads: Promise<void>[] = [];
    for (let i = 0; i < 3; i++) {
      asked.push(choice.prefersSource(peer, 1));
      reads.push(begin());
    }
    expect(asked).toEqual([true, true, false]);
    for (const end of ends) end();
    await Promise.all(reads);
    expect(choice.prefersSource(peer, 1)).toBe(true);
  });

  it('takes no answer for long, and asks the peer in doubt', () => {
    const peer = { underWay: 0 };
    const prefers = (peerMs: number, sourceMs: number) =>
      new PeerChoice({ peerMs: () => peerMs, sourceMs: () => sourceMs }).prefersSource(peer, 1);
    expect(prefers(NaN, 1)).toBe(true);
    expect([prefers(1, NaN), prefers(NaN, NaN), prefers(-1, Infinity)]).toEqual([false, false, false]);
    expect(new PeerChoice(undefined).prefersSource(peer, 1)).toBe(false);
  });
});
