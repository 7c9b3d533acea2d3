import { formatBytes } from '@tiered/core';
import type {
  EpochOfFiles,
  InterposerStats,
  OpenedFiles,
  ProgramsSeen,
  SessionAbout,
} from '@tiered/interpose';
import type { ProgramsLook } from '../monitor/look.js';
import { countOf, messageOf, percentOf } from '../words.js';

/** Rows at most, so that a summary fits a screen. */
const MOST_ROWS = 6;
/** Epochs whose hits differ by less, as parts of all opens, are alike. */
const ALIKE = 0.01;

/** Where programs find the objects. */
type About = Pick<SessionAbout, 'root' | 'isImaginary'>;

/** What programs did, in words. */
export function summaryOf(stats: InterposerStats, about: About): string {
  const { opens, unchecked, written, uncounted, ahead, farm, unrecorded, failed } = stats;
  const lines =
    opens === 0
      ? noneText(stats.hierarchy.namespace.objects, stats.programs, about)
      : [openedText(stats), ...epochsText(stats.epochs, about), sourceText(stats, about)];
  if (unchecked > 0)
    lines.push(
      `${countOf(unchecked, 'open')} found a copy of an earlier run that was still being checked, and read the source.`,
    );
  if (written > 0)
    lines.push(
      `${countOf(written, 'open')} read the source, because a program opened the file for writing. The next run reads its copy.`,
    );
  if (uncounted > 0) lines.push(`${countOf(uncounted, 'open')} could not be counted.`);
  if (ahead !== undefined)
    lines.push(
      `${countOf(ahead.placed, 'object was', 'objects were')} placed ahead and ${ahead.evicted.toLocaleString('en')} evicted; ${countOf(ahead.unplanned, 'open was', 'opens were')} not planned.`,
      lateText(ahead),
    );
  if (farm !== undefined)
    lines.push(
      `Of ${countOf(farm.links, 'link')} of the farm, ${farm.toCopies.toLocaleString('en')} led to copies.` +
        (farm.wrong === 0
          ? ''
          : ` ${countOf(farm.wrong, 'link')} could not be changed; the last one because: ${messageOf(farm.lastError)}`),
    );
  if (unrecorded > 0) lines.push(`${countOf(unrecorded, 'open')} could not be recorded.`);
  if (failed.count > 0)
    lines.push(
      `${countOf(failed.count, 'open')} failed; the last one because: ${messageOf(failed.lastError)}`,
    );
  return lines.join('\n');
}

/** Of planned opens for which the copy came too late: what that means, and whether to do anything. */
export function lateText({ late, placed }: { readonly late: number; readonly placed: number }): string {
  if (late === 0) return 'All planned opens found their copies.';
  const read = `${countOf(late, 'planned open')} came before the copy, and read the source as without a plan`;
  return late <= placed
    ? `${read}: that costs nothing, and the others were spared the wait.`
    : `${read}. That is most of them: the program reads faster than the source gives. Give the tiers more room, or leave out --replay, which gains little here.`;
}

/** What was opened until now, in a line. */
function openedText({ opens, redirected, sourceBytes, copyBytes, most }: InterposerStats): string {
  const bound =
    // Another process may have placed files meanwhile, so that more was possible.
    most === undefined || most < redirected || redirected === opens
      ? ''
      : most === 0
        ? '; the first time, each comes from the source'
        : `; with this room, and each file placed when it was first opened, at most ${percentOf(most, opens)}`;
  return (
    `${countOf(opens, 'file was', 'files were')} opened, ${percentOf(redirected, opens)} of them on tiers, with ` +
    `${formatBytes(copyBytes)} of ${formatBytes(copyBytes + sourceBytes)} (${percentOf(copyBytes, copyBytes + sourceBytes)})${bound}.`
  );
}

function sourceText(
  { sourceBytes, hierarchy: { source, peers, tiers, placement } }: InterposerStats,
  { isImaginary }: About,
): string {
  const held = tiers.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
  const coming =
    placement.fetching === 0 ? '' : `, and ${formatBytes(placement.fetchingBytes)} more were on their way`;
  const copied = formatBytes(source.readBytes);
  const requests = countOf(source.reads, 'request');
  const others = peers === undefined ? '' : `, and other workers gave ${formatBytes(peers.readBytes)}`;
  // Below a root that is not there, the daemon alone reads the source, and the spool keeps some of it.
  return isImaginary
    ? `The source gave ${copied} in ${requests}${others}. Tiers hold ${formatBytes(held)} now${coming}.`
    : `Programs read at most ${formatBytes(sourceBytes)} from the source, and ${copied} ` +
        `were copied to tiers in ${requests}. They hold ${formatBytes(held)} now${coming}.`;
}

/** Why nothing was opened, as far as programs have said it. */
export function noneText(objects: number, programs: ProgramsSeen, { root, isImaginary }: About): string[] {
  if (objects === 0) return [`No file was opened below ${root}: the source has none.`];
  const { began, elsewhere, ended } = programs;
  const cannot = 'static programs, programs in Go or with musl, and programs of another user: --farm.';
  const links = isImaginary ? '' : ' Name links to the source: --alias.';
  return [
    objects === 1
      ? `The only file of the source, below ${root}, was not opened for reading.`
      : `None of the ${countOf(objects, 'file')} below ${root} was opened for reading.`,
    ...(elsewhere
      ? [`- A program sees something else at ${root}. Mount the source there in its container.`]
      : []),
    ...(ended
      ? [`- A program got another root or user, or a seccomp filter that kills. It reads the source.`]
      : []),
    ...(began
      ? [
          `- The shim was loaded. Does the program read another path? It finds this one in $TIERED_ROOT.${links}`,
          `- A shell or a launcher may have loaded it, and started what cannot: ${cannot}`,
        ]
      : []),
    ...(began || elsewhere
      ? []
      : [
          `- The shim was loaded into no program. It cannot be loaded into ${cannot}`,
          `- Programs under another launcher need the environment that "tiered env" prints.`,
        ]),
  ];
}

/** A line for each epoch, and for those in a row that are alike. */
function epochsText(epochs: readonly EpochOfFiles[], { isImaginary }: About): string[] {
  const source = isImaginary ? 'the source or the spool' : 'the source';
  const rows = epochRows(epochs).map(({ from, to, mean }) => {
    const name = from === to ? `epoch ${from}` : `epochs ${from} to ${to}, each`;
    return `  ${name}: ${percentOf(mean.redirected, mean.opens)} on tiers, ${formatBytes(Math.round(mean.sourceBytes))} from ${source}, ${secondsOf(mean.ms)} s`;
  });
  const saved = savedMs(epochs);
  if (saved > 0) rows.push(`  saved by the later epochs, compared with the first: ${secondsOf(saved)} s`);
  return rows;
}

/** Epochs in a row, counted from 1, and what one of them did on average. */
interface EpochRow {
  readonly from: number;
  readonly to: number;
  readonly mean: EpochOfFiles;
}

/** Puts epochs in a row together whose hits are alike, and all those behind the last row that fits. */
function epochRows(epochs: readonly EpochOfFiles[]): EpochRow[] {
  const groups: EpochOfFiles[][] = [];
  for (const epoch of epochs) {
    const group = groups.at(-1);
    const isAlike = group?.[0] !== undefined && Math.abs(hitsOf(group[0]) - hitsOf(epoch)) < ALIKE;
    if (group !== undefined && (isAlike || groups.length === MOST_ROWS)) group.push(epoch);
    else groups.push([epoch]);
  }
  let to = 0;
  return groups.map((group) => {
    const from = to + 1;
    to += group.length;
    return { from, to, mean: meanOf(group) };
  });
}

function meanOf(epochs: readonly EpochOfFiles[]): EpochOfFiles {
  const of = (name: keyof EpochOfFiles) =>
    epochs.reduce((sum, epoch) => sum + epoch[name], 0) / epochs.length;
  const [opens, redirected, sourceBytes] = [of('opens'), of('redirected'), of('sourceBytes')];
  return { opens, redirected, sourceBytes, copyBytes: of('copyBytes'), ms: of('ms') };
}

/** Milliseconds by which all epochs after the first were shorter than it. */
function savedMs([first, ...later]: readonly EpochOfFiles[]): number {
  if (first === undefined || hitsOf(first) > 0.5) return 0;
  return later
    .filter((epoch) => epoch.opens >= 0.8 * first.opens)
    .reduce((sum, { ms }) => sum + first.ms - ms, 0);
}

const hitsOf = ({ redirected, opens }: OpenedFiles): number => redirected / Math.max(1, opens);

const secondsOf = (ms: number): string => (ms / 1000).toLocaleString('en', { maximumSignificantDigits: 3 });

/** What programs opened, since the look before this one if there is one. */
export function programsText(now: ProgramsLook, earlier?: ProgramsLook): string {
  const of = (name: 'opens' | 'redirected' | 'sourceBytes' | 'copyBytes') =>
    now[name] - (earlier?.[name] ?? 0);
  const [opens, copyBytes] = [of('opens'), of('copyBytes')];
  const all = copyBytes + of('sourceBytes');
  const where = now.epoch === 0 ? '' : `epoch ${now.epoch}, `;
  if (opens === 0) return `${where}no file was opened below ${now.root}`;
  return (
    `${where}${percentOf(of('redirected'), opens)} of ${countOf(opens, 'file')} opened on tiers, ` +
    `${formatBytes(copyBytes)} of ${formatBytes(all)} (${percentOf(copyBytes, all)})`
  );
}

/** The same as JSON, in a line. */
export function summaryJson({ failed, farm, ...stats }: InterposerStats, { root }: About): string {
  const lastOf = ({ lastError }: { readonly lastError: unknown }) =>
    lastError === undefined ? undefined : messageOf(lastError);
  return JSON.stringify({
    root,
    ...stats,
    farm: farm && { ...farm, lastError: lastOf(farm) },
    failed: { ...failed, lastError: lastOf(failed) },
  });
}
