/**
 * How the subject of a commit is to be: `area: what changes`, such as `index, shim: share what is mapped`.
 * It says what changes by an imperative. No list has all verbs, so a first word is refused that cannot be
 * one: by its ending, or because it is one of the words that sentences begin with.
 */

const LONGEST = 72;

/** What git writes itself. It may be long, because it quotes other subjects. */
const BY_GIT = /^(Merge |Revert "|Reapply ")/;

const SHAPE = /^[a-z@][\w@./, -]*: (\S.*)$/;

/** Forms of verbs that are no imperatives, and nouns in the plural. */
const INFLECTED = /([^e]ed|ing|[^s]s)$/;

/** Imperatives that look like one of these forms. */
const IMPERATIVES = new Set(
  words('alias bias bring canvas embed fling focus ping ring shed shred sling spring string swing'),
);

const OPENERS = new Set([
  ...words(
    'a an the this that these those it its they their one two three some any all each every both either',
  ),
  ...words(
    'no not only also now new more less fewer other another what when where which while who whose why how',
  ),
  ...words('if whether because since after before until and or but with without of for from to in on at by'),
]);

/**
 * @param {string} subject
 * @returns {string[]} what is wrong with it, as ends of a sentence; empty if it is as it should be.
 */
export function mistakesIn(subject) {
  if (BY_GIT.test(subject)) return [];
  const mistakes = [];
  const { length } = Array.from(subject);
  if (length > LONGEST) mistakes.push(`has ${length} characters, and ${LONGEST} are the most`);
  if (subject.endsWith('.')) mistakes.push('ends with a full stop');
  const [, change] = SHAPE.exec(subject) ?? [];
  if (change === undefined) mistakes.push('does not begin with an area in lower case and a colon');
  else if (!isImperative(change)) mistakes.push(`does not say what changes by an imperative: ${change}`);
  return mistakes;
}

/**
 * Whether a rebase melts the commit into an earlier one. It may be written, and is not to be kept.
 * @param {string} subject
 */
export function isFixup(subject) {
  return /^(fixup|squash|amend)! /.test(subject);
}

/** @param {string} change */
function isImperative(change) {
  const [first] = /^[a-z][a-z-]*/.exec(change) ?? [];
  if (first === undefined || OPENERS.has(first)) return false;
  return IMPERATIVES.has(first) || !INFLECTED.test(first);
}

/** @param {string} text */
function words(text) {
  return text.split(' ');
}
