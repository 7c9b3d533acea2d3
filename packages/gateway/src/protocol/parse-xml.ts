import { S3Error } from './s3-error.js';
import { SaxesParser } from 'saxes';

/** A parsed element. */
export class XmlElement {
  readonly name: string;
  readonly children: XmlElement[] = [];
  text = '';

  constructor(name: string) {
    this.name = name;
  }

  /** Returns the children with this name. */
  all(name: string): XmlElement[] {
    return this.children.filter((child) => child.name === name);
  }

  /** Returns the text of the first child with this name. */
  textOf(name: string): string | undefined {
    return this.children.find((child) => child.name === name)?.text;
  }
}

/**
 * Parses XML from a client. Only the five entities of XML are expanded.
 * @throws S3Error `MalformedXML`, also for another root element or a document type.
 */
export function parseXml(bytes: Uint8Array, root: string): XmlElement {
  const top = new XmlElement('');
  const open = [top];
  const parser = new SaxesParser();
  parser.on('doctype', () => {
    throw malformedXml();
  });
  parser.on('opentag', ({ name }) => {
    const opened = new XmlElement(name);
    open.at(-1)?.children.push(opened);
    open.push(opened);
  });
  const addText = (text: string) => {
    const current = open.at(-1);
    if (current !== undefined) current.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => void open.pop());
  try {
    parser.write(new TextDecoder('utf-8', { fatal: true }).decode(bytes)).close();
  } catch {
    throw malformedXml();
  }
  const [found] = top.all(root);
  if (found === undefined) throw malformedXml();
  return found;
}

/** Makes the error of XML that the operation does not accept. */
export function malformedXml(): S3Error {
  return new S3Error(
    400,
    'MalformedXML',
    'The XML you provided was not well-formed or did not validate against our published schema.',
  );
}
