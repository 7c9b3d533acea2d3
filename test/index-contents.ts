import { systemClock } from '@tiered/core';
import { tagOf } from '@tiered/core/internal';
import { IndexClient } from '../packages/tiering/src/index/index-client.js';
import { indexOf, type Place } from './training.js';

/** What the index of a tier says. */
export interface IndexContents {
  /** Whether something may be under a name. */
  readonly knows: (name: string) => boolean;
  /** Copies that are claimed, leaving, or left and not yet given back. */
  readonly unfinished: number;
  /** What copies that are placed hold at least: each takes whole blocks. */
  readonly placedBytes: number;
}

const LARGEST_BLOCK = 4096;

/** Looks into the index of a tier, as another process would. */
export async function indexContents(place: Place, level: number): Promise<IndexContents> {
  const index = new IndexClient(
    { path: indexOf(place, level), durable: false, logPages: 128 },
    'test',
    systemClock,
  );
  try {
    const tags = new Set(await index.call('tags', undefined));
    const { copies, occupied, claimed } = await index.call('state', { member: '' });
    return {
      knows: (name) => tags.has(tagOf(name) ?? NaN),
      unfinished: tags.size - copies,
      placedBytes: occupied - claimed - copies * LARGEST_BLOCK,
    };
  } finally {
    await index.end();
  }
}
