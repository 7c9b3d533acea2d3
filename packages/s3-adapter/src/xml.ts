import { SaxesParser } from 'saxes';

/**
 * The elements of an XML text that have no elements in them, in order: where they are, as `ListBucketResult/Name`, and
 * their text. Only the five entities of XML itself are expanded; a document type, where others are declared, is refused.
 * @throws Error for what is not well-formed.
 */
export function leaves(xml: Uint8Array): readonly (readonly [path: string, text: string])[] {
  const found: [string, string][] = [];
  const open: string[] = [];
  let text = '';
  let isLeaf = false;
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new Error('A document type is not accepted.');
  });
  parser.on('opentag', ({ name }) => {
    open.push(open.length === 0 ? name : `${open.at(-1) ?? ''}/${name}`);
    text = '';
    isLeaf = true;
  });
  const append = (part: string) => {
    text += part;
  };
  parser.on('text', append);
  parser.on('cdata', append);
  parser.on('closetag', () => {
    const path = open.pop() ?? '';
    if (isLeaf) found.push([path, text]);
    isLeaf = false;
  });
  // Some servers send blanks before the declaration to keep a slow answer alive.
  parser.write(Buffer.from(xml.buffer, xml.byteOffset, xml.byteLength).toString('utf8').trimStart()).close();
  return found;
}

/** The text of the first element at a path; undefined if there is none, or this is no XML. */
export function textAt(xml: Uint8Array, path: string): string | undefined {
  try {
    return leaves(xml).find(([found]) => found === path)?.[1];
  } catch {
    return undefined;
  }
}

const SPECIAL = /[&<>"'\r\n\t]/g;

/** Text as it stands in XML and comes out again as it was. */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => `&#${character.charCodeAt(0)};`);
}

// Control characters other than tab and line ends, and two that are none: XML 1.0 cannot hold them, not even escaped.
// eslint-disable-next-line no-control-regex -- they are what is looked for
const IMPOSSIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Whether XML can hold a text. */
export function fitsXml(text: string): boolean {
  return !IMPOSSIBLE.test(text);
}
