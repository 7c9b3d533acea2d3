import { formatBytes, isTieredError, TieredError } from '@tiered/core';
import type { SurveyedCopy, TierSurvey } from '@tiered/tiering/survey';
import { Command } from 'commander';
import { countOf } from '../../words.js';
import { wholeNumber } from '../arguments.js';
import type { CommandHost } from '../host.js';

/** `tiered verify`. */
export function verifyCommand(host: CommandHost): Command {
  return new Command('verify')
    .summary('Compares the checksums of all copies')
    .argument('<config>', 'the configuration')
    .option('--level <n>', 'only this tier; default: all', wholeNumber)
    .option('--json', 'every wrong copy as JSON')
    .description('Reads all copies on the tiers and compares their checksums; changes nothing')
    .action((file: string, options: VerifyOptions) => verify(host, file, options));
}

/** Copies that are read at the same time: a disk is busy with these, and others can use it too. */
const CONCURRENCY = 4;
/** Copies that are named in the text; JSON names all. */
const NAMED = 20;

/** A copy that is not what was written. */
interface WrongCopy {
  readonly key: string;
  readonly dataset: string;
  readonly file: string;
  readonly wrong: 'damaged' | 'missing' | 'unreadable';
  readonly message: string;
}

interface Verified {
  readonly level: number;
  readonly driver: string;
  copies: number;
  bytes: number;
  readonly wrong: WrongCopy[];
}

interface VerifyOptions {
  readonly level?: number;
  readonly json?: boolean;
}

/** Reads all copies on the tiers, and compares their checksums. Fails at the end if any is wrong. */
async function verify(host: CommandHost, file: string, options: VerifyOptions): Promise<void> {
  const { level: only, json = false } = options;
  const { ProgressBar } = await import('../../progress.js');
  const { levelsIn, lookAtTiers } = await import('../shared/look.js');
  const config = await levelsIn(host, file);
  await using looks = await lookAtTiers(config);
  const found: Verified[] = [];
  for (const { level, driver, survey } of looks.tiers) {
    if (survey === undefined || (only !== undefined && level !== only)) continue;
    const bar = new ProgressBar(host.terminal, host.clock, `verifying tier ${level}`);
    const { datasets } = await survey.summary();
    const total = datasets.reduce((sum, { bytes }) => sum + bytes, 0);
    const verified: Verified = { level, driver: driver.name, copies: 0, bytes: 0, wrong: [] };
    found.push(verified);
    await verifyTier(survey, verified, () => bar.update(verified.bytes, total)).finally(() => bar.stop());
  }
  if (only !== undefined && found.length === 0)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `--level ${only}: expected a tier that has copies on storage`,
    );
  host.write(json ? `${JSON.stringify(found, undefined, 2)}\n` : textOf(found));
  const wrong = found.reduce((sum, one) => sum + one.wrong.length, 0);
  if (wrong > 0) {
    throw new TieredError(
      'TIERED_DATA_CORRUPT',
      `${countOf(wrong, 'copy is', 'copies are')} not what was written. Reads that meet one get the source's bytes, and place it anew.`,
    );
  }
}

async function verifyTier(survey: TierSurvey, verified: Verified, onProgress: () => void): Promise<void> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(CONCURRENCY);
  for await (const page of survey.copies()) {
    const checks = page.map((copy) =>
      limit(async () => {
        const wrong = await wrongWith(survey, copy);
        if (wrong !== undefined) verified.wrong.push(wrong);
        verified.copies += 1;
        verified.bytes += copy.bytes;
        onProgress();
      }),
    );
    await Promise.all(checks);
  }
}

async function wrongWith(survey: TierSurvey, copy: SurveyedCopy): Promise<WrongCopy | undefined> {
  try {
    await copy.verify();
    return undefined;
  } catch (error) {
    if (!isTieredError(error)) throw error;
    const { key, dataset, file } = copy;
    const wrong = { key, dataset, file, message: error.message };
    if (error.code === 'TIERED_DATA_CORRUPT') return { ...wrong, wrong: 'damaged' };
    if (error.code !== 'TIERED_NOT_FOUND') return { ...wrong, wrong: 'unreadable' };
    // A running process may have removed it meanwhile.
    const isThere = (await survey.find(key)).some((other) => other.file === file);
    return isThere ? { ...wrong, wrong: 'missing' } : undefined;
  }
}

function textOf(found: readonly Verified[]): string {
  if (found.length === 0) return 'no tier has copies on storage that can be looked at\n';
  const lines = found.flatMap(({ level, driver, copies, bytes, wrong }) => [
    `tier ${level}, ${driver}: ${countOf(copies, 'copy', 'copies')}, ${formatBytes(bytes)}: ` +
      (wrong.length === 0 ? 'all as written' : `${wrong.length.toLocaleString('en')} wrong`),
    ...wrong.slice(0, NAMED).map((copy) => `  ${copy.wrong}: ${copy.message}`),
    ...(wrong.length > NAMED ? [`  and ${wrong.length - NAMED} more; --json names all`] : []),
  ]);
  return `${lines.join('\n')}\n`;
}
