import { formatBytes, parseBytes } from '@tiered/core';

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

/** Units in which sizes are mostly set, the largest first. */
const DECIMAL = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const;

/**
 * Bytes that somebody has set: as they were typed, if that was in powers of 1000, beside the unit in which
 * people are shown all bytes. `20e6` is `20 MB (19.1 MiB)`.
 */
export function givenBytes(bytes: number): string {
  return given(bytes, '');
}

/** As `givenBytes`, of bytes in a second. */
export function givenRate(bytes: number): string {
  return given(bytes, '/s');
}

function given(bytes: number, per: string): string {
  const shown = `${formatBytes(bytes)}${per}`;
  // Exact as it is shown, so that it was typed like this.
  if (parseBytes(formatBytes(bytes)) === bytes) return shown;
  const [name = '', unit = 1] = DECIMAL.find(([, one]) => bytes >= one) ?? [];
  const isRound = name !== '' && (bytes * 100) % unit === 0;
  return isRound ? `${bytes / unit} ${name}${per} (${shown})` : shown;
}

/** A time that a simulation found: `42.0 s`, `12.5 min`. */
export function timeOf(seconds: number): string {
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

/** What an error says; never its cause, which may hold anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
