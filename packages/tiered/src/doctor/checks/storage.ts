import { formatBytes, isTieredError } from '@tiered/core';
import type { Answers } from '../facts/storage.js';
import { findingsOn, messageOf, type Finding } from '../finding.js';
import type { ExaminedLevel } from '../../configuration/levels.js';

/** What a storage answered, or what it failed with. */
export type Asked = { readonly answers: Answers } | { readonly error: unknown };

/** Whether the source can be listed and read. */
export function sourceAnswers(level: ExaminedLevel, asked: Asked): Finding[] {
  const { name, place } = level;
  const { ok, note, problem } = findingsOn(name);
  if ('error' in asked) return [failed(level, asked.error)];
  const { listed, read } = asked.answers;
  if (listed === undefined) {
    return [
      note(`${place} opens, and cannot be listed`, 'Give it a manifest, or the keys to whoever reads it.'),
    ];
  }
  if (listed.objects === 0)
    return [problem(`${place} has no objects`, 'Check the path or the bucket, and the prefix.')];
  if (read === undefined)
    return [note(`${place} was listed in ${listed.ms.toFixed(0)} ms; its first objects are all empty`)];
  const { bytes, ms } = read;
  const found = `${place}: the first ${listed.objects.toLocaleString('en')} objects listed in ${listed.ms.toFixed(0)} ms, the first ${formatBytes(bytes)} of one read in ${ms.toFixed(0)} ms`;
  return [ok(found)];
}

/** Whether a bucket can be a tier, as far as that shows without a write. */
export function bucketAnswers(level: ExaminedLevel, asked: Asked): Finding[] {
  const { name, place } = level;
  const { ok, problem } = findingsOn(name);
  if ('error' in asked) return [failed(level, asked.error)];
  const { listed, isOwn = false } = asked.answers;
  if (isOwn) return [ok(`${place} is a tier's and can be listed; nothing was written to try that`)];
  if (listed?.objects === 0) return [ok(`${place} is empty; nothing was written to try that`)];
  return [
    problem(
      `${place} holds objects that no tier wrote`,
      'Give the tier a bucket or a prefix of its own, because what is in it may be deleted.',
    ),
  ];
}

/** A storage that nothing is known of. */
export function notLookedAt({ name, place }: ExaminedLevel): Finding {
  return findingsOn(name).note(`${place} was not opened, because opening a tier may write to it`);
}

/** A storage that failed, with what to do about it. */
export function failed({ name, place }: ExaminedLevel, error: unknown): Finding {
  const message = messageOf(error);
  return findingsOn(name).problem(`${place}: ${message}`, adviceFor(error, message));
}

const CREDENTIALS =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile; and that the policy of the ' +
  'bucket allows listing and reading. "anonymous: true" is for public buckets.';

/** What to do, where the message does not say it. */
function adviceFor(error: unknown, message: string): string | undefined {
  if (isTieredError(error, 'TIERED_DEADLINE'))
    return 'Check the network, the endpoint or the mount; --timeout gives it longer.';
  if (!isTieredError(error, 'TIERED_PERMISSION')) return undefined;
  if (message.includes('AWS_ACCESS_KEY_ID')) return undefined;
  return /^s3:/.test(error.driver ?? '') ? CREDENTIALS : 'Check owner and mode, or the credentials.';
}
