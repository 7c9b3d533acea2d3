import type { RequestOrigin, SampleRequest } from '../request.js';
import { Scaling } from './scaling.js';

/** Where samples are read from: 0 is the source, and 1 + n is tier n. */
export type Place = number;

const SOURCE: Place = 0;

/** Reads from one place. */
export interface PlaceReads {
  /** The tier. Undefined for the source. */
  readonly level: number | undefined;
  readonly samples: number;
  readonly bytes: number;
  /** Milliseconds that producers spent on these reads, summed over them. */
  readonly producerMs: number;
  /** Mean milliseconds that the read of a sample took, and mean number of samples in flight. */
  readonly readMs: number;
  readonly underWay: number;
  /**
   * The effect of more reads at a time. Throughput rises with this power of their number: 1 if in proportion,
   * 0 if not at all. Undefined if too few reads were seen at other numbers.
   */
  readonly scaling: number | undefined;
}

/** Returns the slower one of two. */
export function slower(one: Place, other: Place): Place {
  return one === SOURCE || other === SOURCE ? SOURCE : Math.max(one, other);
}

/**
 * Returns a function that says from where a request will be read. It answers the source if the request does
 * not tell.
 */
export function placesOf(origin: RequestOrigin): (request: SampleRequest) => Place {
  const tiers = origin.stats?.().tiers.length ?? 0;
  return (request) => {
    const level = tiers === 0 ? undefined : request.where?.();
    return level === undefined || level >= tiers ? SOURCE : level + 1;
  };
}

interface Counted {
  samples: number;
  bytes: number;
  producerMs: number;
  sampleMs: number;
  readonly scaling: Scaling;
}

/** Counts reads by place. */
export class Places {
  readonly #places: Counted[] = [];
  readonly #start: number;

  constructor(now: number) {
    this.#start = now;
  }

  /** Returns an empty count that begins now, with the reads that are in flight. */
  next(now: number): Places {
    const next = new Places(now);
    for (const { scaling } of this.#places) next.#add(new Scaling(now, scaling.underWay));
    return next;
  }

  began(place: Place, now: number, samples: number): void {
    this.#at(place).scaling.began(now, samples);
  }

  ended(place: Place, now: number, samples: number, bytes: number, ms: number): void {
    const at = this.#at(place);
    at.scaling.ended(now, samples, ms);
    at.samples += samples;
    at.bytes += bytes;
    at.producerMs += ms;
    at.sampleMs += samples * ms;
  }

  /** @param longer The counts of a longer time. */
  reads(now: number, longer: Places = this): PlaceReads[] {
    const elapsedMs = now - this.#start;
    return this.#places.map(({ samples, bytes, producerMs, sampleMs, scaling }, place) => ({
      level: place === SOURCE ? undefined : place - 1,
      samples,
      bytes,
      producerMs,
      readMs: samples === 0 ? 0 : sampleMs / samples,
      underWay: elapsedMs === 0 ? 0 : scaling.readMs(now) / elapsedMs,
      scaling: scaling.power(longer.#places[place]?.scaling),
    }));
  }

  #at(place: Place): Counted {
    while (this.#places.length <= place) this.#add(new Scaling(this.#start));
    return this.#places[place] as Counted;
  }

  #add(scaling: Scaling): void {
    this.#places.push({ samples: 0, bytes: 0, producerMs: 0, sampleMs: 0, scaling });
  }
}
