import { findingsOn, type Finding } from '../finding.js';
import type { ExaminedLevel } from '../../configuration/levels.js';

const [ID, SECRET] = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;

/** Where the credentials of a bucket come from. Whether they are right is for the server to say. */
export function credentialsAreSet(
  { name, fields }: Pick<ExaminedLevel, 'name' | 'fields'>,
  env: Readonly<Record<string, string | undefined>>,
): Finding[] {
  if (fields['driver'] !== 's3') return [];
  const { ok, note, warning } = findingsOn(name);
  if (fields['anonymous'] === true) return [ok('requests are not signed (anonymous)')];
  if (fields['profile'] !== undefined)
    return [ok('credentials come from a profile of the shared configuration')];
  const [id, secret] = [Boolean(env[ID]), Boolean(env[SECRET])];
  if (id && secret) return [ok(`credentials come from ${ID} and ${SECRET}`)];
  if (id || secret)
    return [
      warning(
        `${id ? ID : SECRET} is set, and ${id ? SECRET : ID} is not`,
        'Set both, or neither: one alone is not used.',
      ),
    ];
  return [note(`${ID} is not set: credentials come from a profile, a role or single sign-on`)];
}
