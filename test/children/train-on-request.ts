import { Random } from '@tiered/core';
import assert from 'node:assert/strict';
import { fillTiers } from '../restart.js';
import { hierarchyOf, indexOf, objectsOf, readEpoch, type Place } from '../training.js';
import { KillingDriver, type KillPoint } from './killing-driver.js';

/** What a parent asks for, one at a time. */
export type Request =
  /** Reads all objects; is answered by what it brought for that alone. */
  | { readonly ask: 'epoch'; readonly seed: number }
  /** Places what has room. */
  | { readonly ask: 'fill' }
  /** Places one object, if there is room, and reads it. */
  | { readonly ask: 'object'; readonly key: string }
  | { readonly ask: 'close' };

/** The answer to a request, or what happens meanwhile. */
export type Said =
  | {
      readonly say: 'done';
      readonly brought: number;
      readonly usedBytes: number;
      readonly reservedBytes: number;
    }
  | { readonly say: 'placed' | 'dropped' | 'fault'; readonly key: string };

const place = JSON.parse(process.argv[2] ?? '') as Place;
const kill = process.argv[3] === undefined ? undefined : (JSON.parse(process.argv[3]) as KillPoint);
const { hierarchy, brought } = hierarchyOf(place, (driver) =>
  kill === undefined ? driver : new KillingDriver(driver, kill, indexOf(place, 0)),
);
const say = (said: Said) => process.send?.(said);
let before = 0;

function done(): void {
  const { usedBytes = 0, reservedBytes = 0 } = hierarchy.stats().tiers[0] ?? {};
  say({ say: 'done', brought: brought() - before, usedBytes, reservedBytes });
  before = brought();
}

async function answer(request: Request): Promise<void> {
  const objects = objectsOf(place);
  switch (request.ask) {
    case 'epoch':
      // Between two answers room may be found for what was read before, which is placed then.
      before = brought();
      await readEpoch(hierarchy, objects, new Random(request.seed));
      await hierarchy.idle();
      break;
    case 'fill':
      await fillTiers(place, hierarchy, objects.keys());
      break;
    case 'object':
      await hierarchy.place(request.key);
      assert.deepEqual(Buffer.from(await hierarchy.read(request.key)), objects.get(request.key));
      await hierarchy.idle();
      break;
    case 'close':
      await hierarchy.close();
  }
  done();
  if (request.ask === 'close') process.disconnect();
}

hierarchy.on('placed', ({ key }) => say({ say: 'placed', key }));
hierarchy.on('dropped', ({ key }) => say({ say: 'dropped', key }));
hierarchy.on('tierFault', ({ key, error }) => say({ say: 'fault', key: `${key}: ${String(error)}` }));
await hierarchy.open();
process.on('message', (request: Request) => void answer(request));
done();
