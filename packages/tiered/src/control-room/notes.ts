import { decide, MOST_GUARANTEED, type Seen, type SourceDecision } from '@tiered/control';
import { parseBytes } from '@tiered/core';
import { givenBytes, givenRate } from '../words.js';
import { bytesText } from './rates.js';
import { KINDS, flagOf, withoutPer, type Kind, type Setting } from './setting.js';

/**
 * Says what an operator can hardly have meant, of a setting that is in force.
 * @param seen The stages, and the policy with the setting.
 */
export function notesOn(setting: Setting, seen: Seen): string[] {
  const sources = [...decide(seen.stages, seen.policy).sources.values()];
  return [
    ...nameNotes(setting, seen),
    ...SIZES.flatMap((field) => sizeNote(field, setting[field])),
    ...sources.flatMap((source) => guaranteeNotes(setting, source)),
    ...[...new Set(sources.flatMap((source) => limitNotes(setting, source)))],
  ];
}

/** Names are compared as they are, and nothing says that one was mistyped. */
function nameNotes(setting: Setting, { stages }: Seen): string[] {
  const known: Readonly<Record<Kind, readonly string[]>> = {
    source: stages.flatMap((stage) => Object.keys(stage.sources)),
    job: stages.map((stage) => stage.job),
    node: ['*', ...stages.map((stage) => stage.node)],
  };
  return KINDS.flatMap((kind) => {
    const name = setting[kind];
    if (name === undefined || known[kind].includes(name)) return [];
    const others = [...new Set(known[kind])].filter((other) => other !== '*').sort();
    return [`no stage has a ${kind} ${name} now; there are: ${others.join(', ') || 'none'}`];
  });
}

const SIZES = ['bytesPerSecond', 'atLeast', 'atMost', 'memory'] as const;
/** Storage and loaders for training do not come with less. */
const LITTLE_BYTES = 1e6;

function sizeNote(field: (typeof SIZES)[number], text: string | undefined): string[] {
  if (text === undefined) return [];
  const bytes = parseBytes(withoutPer(text));
  if (bytes === 0 || bytes >= LITTLE_BYTES) return [];
  const shown = field === 'memory' ? givenBytes(bytes) : givenRate(bytes);
  return [`${flagOf(field)} is only ${shown}; a unit says more, such as 150MB or 150MiB`];
}

/** Guarantees of all jobs together that a source cannot keep, and that this setting is about. */
function guaranteeNotes(setting: Setting, { source, sharedOut, jobs }: SourceDecision): string[] {
  const isAbout =
    setting.job === undefined
      ? setting.source === source && setting.bytesPerSecond !== undefined
      : setting.atLeast !== undefined && jobs.some(({ job }) => job === setting.job);
  const most = sharedOut.bytes * MOST_GUARANTEED;
  const guaranteed = jobs.filter(({ terms }) => terms.atLeast.bytes > 0);
  const sum = guaranteed.reduce((bytes, { terms }) => bytes + terms.atLeast.bytes, 0);
  if (!isAbout || sum <= most) return [];
  const names = guaranteed.map(({ job }) => job).sort();
  return [
    `at-least of ${names.join(', ')} comes to ${givenRate(sum)}, and ${source} can guarantee ${bytesText(most)} to all together, ` +
      'so not all of it is kept',
  ];
}

/** A limit that a job says itself holds against a guarantee, as one does that an operator sets. */
function limitNotes({ job, atLeast, atMost }: Setting, { jobs }: SourceDecision): string[] {
  if ((atLeast ?? atMost) === undefined) return [];
  const terms = jobs.find((one) => one.job === job)?.terms;
  if (terms === undefined || terms.atLeast.bytes <= terms.atMost.bytes) return [];
  return [
    `at-least of ${job} is ${givenRate(terms.atLeast.bytes)} and its at-most ${givenRate(terms.atMost.bytes)}, one of them as the job ` +
      'says itself; the limit holds, so set the other too',
  ];
}
