import { Random } from '@tiered/core';
import fs from 'node:fs';
import { hierarchyOf, indexOf, objectsOf, readEpoch, type Place } from '../training.js';
import { die, KillingDriver, type KillPoint } from './killing-driver.js';

/** What a process is told on its command line, as JSON. */
export interface Life {
  readonly seed: number;
  readonly places: readonly Place[];
  /** At which call on a tier of which place it kills itself; it may be killed from outside before. */
  readonly kill: { readonly place: number; readonly level: number; readonly point: KillPoint };
}

const EPOCHS = 3;

function say(place: number, ...words: readonly (string | number)[]): void {
  fs.writeSync(1, `${[place, ...words].join(' ')}\n`);
}

/** Trains on a place, and says what is placed and what is dropped, at that moment. */
async function live(place: Place, index: number, { seed, kill }: Life): Promise<void> {
  const { hierarchy } = hierarchyOf(place, (driver, level) =>
    index === kill.place && level === kill.level
      ? new KillingDriver(driver, kill.point, indexOf(place, level))
      : driver,
  );
  hierarchy.on('placed', ({ key, level }) => say(index, 'placed', key, level));
  hierarchy.on('dropped', ({ key, level, reason }) => say(index, 'dropped', key, level, reason));
  hierarchy.on('tierFault', ({ operation, key, error }) =>
    say(index, 'fault', key, operation, String(error)),
  );
  await hierarchy.open();
  say(index, 'started');
  const objects = objectsOf(place);
  const random = new Random(seed, index);
  for (let epoch = 0; epoch < EPOCHS; epoch++) await readEpoch(hierarchy, objects, random, { inParts: true });
  await hierarchy.idle();
  say(index, 'idle');
}

const life = JSON.parse(process.argv[2] ?? '') as Life;
await Promise.all(life.places.map((place, index) => live(place, index, life)));
// It did not come so far: idle is a point to be killed at as any other.
die();
