import { givenRate, rateOf } from '../words.js';
import type { RateView } from './view.js';

/** Bytes in a second, as they were counted or computed. */
export const bytesText = (bytes: number): string => rateOf(bytes / 1e6);

/** A number of requests. */
export const amountText = (number: number): string => Math.round(number).toLocaleString('en');

/**
 * A rate for people.
 * @param bytesAs How its bytes are written.
 */
export function rateText({ bytes, operations }: RateView, bytesAs = bytesText): string {
  const parts = [
    ...(bytes === null ? [] : [bytesAs(bytes)]),
    ...(operations === null ? [] : [`${amountText(operations)} requests/s`]),
  ];
  return parts.join(', ') || 'no bound';
}

/** A rate that somebody has set, as it was typed. */
export const givenRateText = (rate: RateView): string => rateText(rate, givenRate);

/**
 * A guarantee or a limit, as short as a table needs it. A guarantee of nothing is none.
 * @param none Stands for what has neither.
 */
export function limitText({ bytes, operations }: RateView, none: string): string {
  const parts = [
    ...(bytes === null || bytes === 0 ? [] : [bytesText(bytes)]),
    ...(operations === null || operations === 0 ? [] : [`${amountText(operations)}/s`]),
  ];
  return parts.join(', ') || none;
}
