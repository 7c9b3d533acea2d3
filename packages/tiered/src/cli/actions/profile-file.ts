import { TieredError } from '@tiered/core';
import { parseProfile, type CalibrationProfile } from '@tiered/simulator/calibration';
import { readFile } from 'node:fs/promises';

/**
 * Reads a profile that `tiered calibrate` wrote.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a file that is none; the system's error for one that cannot
 * be read.
 */
export async function readProfile(file: string): Promise<CalibrationProfile> {
  const text = await readFile(file, 'utf8');
  try {
    return parseProfile(JSON.parse(text));
  } catch (cause) {
    const { message } = cause as Error;
    throw new TieredError('TIERED_CONFIG_INVALID', `${file} is no profile: ${message}`, { cause });
  }
}
