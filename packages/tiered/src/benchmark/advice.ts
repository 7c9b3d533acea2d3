import { formatBytes } from '@tiered/core';
import { percentOf, rateOf } from '../words.js';
import type { BenchResult, EpochResult, PlaceResult } from './result.js';

/** Below this part of its bound something is slow. Less is noise, or costs of the way. */
const MUCH = 0.6;
/** A tier is worth its room if it is this much faster than the source. */
const CLEARLY_FASTER = 1.5;
/** A first epoch may lose this much to the filling of tiers. */
const FILLS_WELL = 0.7;
/** Copies of up to this size are packed by layout: packed. */
const SMALL_BYTES = 256 * 1024;
/** Figures whose tries differ more were disturbed by something else. */
const STEADY = 1.5;
/** What epochs after the first may still read of the source, as a part of what they read. */
const HARDLY = 0.05;

/** Says in sentences what is slow compared with what it could be, and what would change that. */
export function adviceOn({ sample, places, leftOut, epochs }: BenchResult): string[] {
  const [source, ...tiers] = places;
  const areSmall = sample.bytes / sample.objects < SMALL_BYTES;
  return [
    ...places.map((place) => onPlace(place, areSmall)),
    ...(source === undefined
      ? []
      : [...tiers.flatMap((tier) => onTier(tier, source)), ...onFilling(tiers, source)]),
    ...onEpochs(epochs),
    ...leftOut.map(({ name, reason }) => `${name} was not measured: ${reason}.`),
    ...onNoise(places),
    `The epochs read ${sample.objects.toLocaleString('en')} of the ${sample.listed.toLocaleString('en')} objects that were listed, ${formatBytes(sample.bytes)}, and computed nothing. Data that was read a moment before comes from the caches of the operating system; other data is slower.`,
  ];
}

function onPlace(result: PlaceResult, areSmall: boolean): string {
  const { name, kind, best, bound, read } = result;
  const isMost = best.atATime === read.at(-1)?.[0];
  const times = `${best.atATime} read${best.atATime === 1 ? '' : 's'} at a time`;
  const gives = `${name} gives ${rateOf(best.MBps)} to ${times}${isMost ? ', the most that were tried' : '; more bring no more'}.`;
  if (best.MBps >= MUCH * bound.MBps || kind === 'memory') return gives;
  return `${gives} That is ${percentOf(best.MBps / bound.MBps)} of ${rateOf(bound.MBps)} by ${bound.by}: ${reasonOf(result, areSmall)}.`;
}

/** What is likely to keep a place below its bound. */
function reasonOf({ kind, heldBack }: PlaceResult, areSmall: boolean): string {
  if (heldBack === 'packed')
    return 'copies were files of their own here; what layout: packed gives is in the epochs';
  if (heldBack !== undefined) return `its ${heldBack} in the configuration holds it back`;
  if (!areSmall) return 'look whether @tiered/native is available, which "tiered doctor" says';
  return kind === 'files'
    ? 'its objects are small, and each costs more than its bytes; layout: packed reads them faster'
    : 'its objects are small, and each costs more than its bytes; larger ones would be read faster';
}

function onTier({ name, best }: PlaceResult, source: PlaceResult): string[] {
  if (best.MBps >= CLEARLY_FASTER * source.best.MBps) return [];
  return [
    `${name} is hardly faster than the source (${rateOf(source.best.MBps)}). Put it on faster storage, or leave it out, unless it is to spare the source requests.`,
  ];
}

function onFilling(tiers: readonly PlaceResult[], source: PlaceResult): string[] {
  const slow = tiers.filter(({ filling = Infinity }) => filling < FILLS_WELL * source.best.MBps);
  if (slow.length === 0) return [];
  const rates = slow.map(({ name, filling = 0 }) => `${rateOf(filling)} while ${name} is filled`).join(', ');
  return [
    `The source alone gives ${rateOf(source.best.MBps)}, and ${rates}. Where writes are the limit, placement: { whenBehind: goOn } reads on, and fills tiers later.`,
  ];
}

function onEpochs(epochs: readonly EpochResult[]): string[] {
  const [first, later] = epochs;
  const found = epochs.map(
    ({ name, verdict, whole }) =>
      `${name.includes(' ') ? 'Epochs' : 'Epoch'} ${name}${whole > 0 ? '' : ' (cut off for time)'}: ${verdict}`,
  );
  if (first === undefined || later === undefined || first.whole === 0 || later.whole === 0) return found;
  const ratio = later.seconds / later.whole / first.seconds;
  found.push(`An epoch after the first takes ${percentOf(ratio)} of its time.`);
  if (later.sourceBytes > HARDLY * later.bytes)
    found.push(
      `It still reads ${percentOf(later.sourceBytes / later.bytes)} from the source: the tiers, as far as they were used here, do not hold the sample.`,
    );
  return found;
}

function onNoise(places: readonly PlaceResult[]): string[] {
  const unsteady = places.filter(({ spread }) => spread > STEADY);
  if (unsteady.length === 0) return [];
  const times = unsteady.map(({ name, spread }) => `${name} ${spread.toFixed(1)}`).join(', ');
  return [
    `Tries of one figure differ, the fastest from the slowest by a factor of: ${times}. Measure again while nobody else uses the machine and the storage, or with more --seconds, before you rely on small differences.`,
  ];
}
