import { formatBytes } from '@tiered/core';

/** A number with its noun: `1 copy`, `1,200 copies`. */
export function countOf(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}

/** A share in whole percent. Of nothing, it is all. */
export function percentOf(part: number, whole = 1): string {
  return `${whole === 0 ? 100 : Math.round((100 * part) / whole)} %`;
}

/** A rate of 10^6 bytes a second, in the units in which people are shown bytes. */
export function rateOf(MBps: number): string {
  return `${formatBytes(Math.round(MBps * 1e6))}/s`;
}

/** What an error says; never its cause, which may hold anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
