const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

// Control characters are written as S3 does, although XML 1.0 does not allow them. `encoding-type=url` avoids
// them.
// eslint-disable-next-line no-control-regex
const SPECIAL = /[&<>"\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g;

/** Escapes text for XML. */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (char) => NAMED[char] ?? `&#x${char.charCodeAt(0).toString(16)};`);
}

/** Makes an element that holds text. */
export function element(name: string, text: string): string {
  return `<${name}>${escapeXml(text)}</${name}>`;
}

/**
 * Wraps content that is already XML in a document. An `<Error>` has no namespace, as in S3: botocore finds no
 * error in one that has.
 */
export function xmlDocument(root: string, content: string): string {
  const attributes = root === 'Error' ? '' : ` xmlns="${NAMESPACE}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${content}</${root}>`;
}
