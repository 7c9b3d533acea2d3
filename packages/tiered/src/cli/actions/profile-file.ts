import { parseProfile, type CalibrationProfile } from '@tiered/simulator/calibration';
import { readJsonFile } from '../json-file.js';

/** Reads a profile that `tiered calibrate` wrote. Throws as `readJsonFile`. */
export function readProfile(file: string): Promise<CalibrationProfile> {
  return readJsonFile(file, 'profile', parseProfile);
}
