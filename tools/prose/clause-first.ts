/**
 * Lists the sentences of documents whose subject is a clause, as in "Who waits gets it.": readers learn late
 * what these are about. It is a help for writers, and no gate: `npm run prose [-- FILE...]`.
 */
import { readFileSync } from 'node:fs';
import MarkdownIt, { type Token } from 'markdown-it';
import { documents } from '../../test/documents.js';

/** A sentence to be rewritten. */
export interface Found {
  /** Of the document, counted from 1. */
  readonly line: number;
  readonly sentence: string;
}

const CLAUSE = /^(Who|Whom|Whose|Whoever|What|Whatever|Whichever)\b(?! to\b)/;
/** Before a comma it is an adverb: "Where no disk is, memory is used." */
const PLACE = /^(Where|Wherever)\b[^,]*$/;
/** Else it points at something: "That is the default.", "That file is read." */
const THAT =
  /^That (an?|the|this|these|it|they|he|she|we|you|there|one|no|nobody|nothing|each|every|all|any|some|both)\b/;
/** Questions, and the titles of lists. */
const OTHERS = /[?:]["')\]]*$/;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
/** Ends a sentence, as `Intl.Segmenter` sees it. */
const END = '\u2029';

const parser = new MarkdownIt();

/** Finds such sentences in a document in Markdown. Leaves out code, titles and questions. */
export function clausesFirst(markdown: string): Found[] {
  const tokens = parser.parse(markdown, {});
  let line = 0;
  return tokens.flatMap(({ type, map, children }, i) => {
    // Cells of tables have no line of their own, their rows have.
    line = map?.[0] ?? line;
    if (type !== 'inline' || tokens[i - 1]?.type === 'heading_open') return [];
    return sentencesOf(textOf(children ?? []), line);
  });
}

/** Text as it is read, with its line breaks. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content }) => {
      if (type === 'code_inline') return `\`${content}\``;
      if (type === 'softbreak' || type === 'hardbreak') return '\n';
      // Bold text at the beginning is a title.
      return type === 'strong_close' ? END : type === 'text' ? content : '';
    })
    .join('');
}

function sentencesOf(text: string, line: number): Found[] {
  return Array.from(sentences.segment(text.replaceAll('\n', ' ')), ({ segment, index }) => {
    const sentence = segment.replaceAll(END, '').trim();
    const begin = index + segment.indexOf(sentence);
    return { line: line + text.slice(0, begin).split('\n').length, sentence };
  }).filter(
    ({ sentence }) =>
      [CLAUSE, PLACE, THAT].some((pattern) => pattern.test(sentence)) && !OTHERS.test(sentence),
  );
}

function main(files: readonly string[]): void {
  const texts =
    files.length === 0 ? documents() : new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  let count = 0;
  for (const [file, text] of texts) {
    for (const { line, sentence } of clausesFirst(text)) {
      console.log(`${file}:${line}: ${sentence}`);
      count += 1;
    }
  }
  console.log(`${count} sentences begin with a clause as their subject`);
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
