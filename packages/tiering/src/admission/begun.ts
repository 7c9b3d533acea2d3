import type { Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { placeChannel, type PlaceCause, type PlaceOutcome, type PlaceTrace } from '@tiered/core/tracing';
import { traceEnd, traceStart } from '@tiered/core/internal';
import type { FillFailure, FillTask } from '../fill/fill-parts.js';
import type { FetchTurn } from '../tier/fetch-turns.js';

/** A fill that begins: its object, level, origin and cause. */
export interface Begun extends FillTask {
  readonly level: number;
  readonly from: 'source' | Tier;
  readonly cause: PlaceCause;
  /** Ends when the copy is there, or will not be. */
  readonly turn?: FetchTurn | undefined;
}

/** A fill that is reported to subscribers of `tiered:place`. Made only if there are any. */
export class TracedFill {
  readonly #context: { -readonly [Field in keyof PlaceTrace]: PlaceTrace[Field] };

  constructor({ name, tiers }: PlacementHost, { object, level, claim, from, cause }: Begun) {
    this.#context = {
      hierarchy: name,
      key: object.key,
      cause,
      from: from === 'source' ? undefined : from.level,
      level,
      driver: tiers[level]?.driver.name ?? '',
      size: object.size,
      bytes: claim.bytes,
      outcome: undefined,
    };
  }

  /** Begins the fill within its trace. */
  begin<T>(fill: () => T): T {
    return traceStart(placeChannel, this.#context, fill);
  }

  end(outcome: PlaceOutcome, failure: FillFailure | undefined): void {
    this.#context.outcome = outcome;
    traceEnd(placeChannel, this.#context, outcome === 'failed' ? failure : undefined);
  }
}
