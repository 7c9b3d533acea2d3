/** What integers become that a `number` would round: those beyond 2^53. */
export type LargeIntegers = 'bigint' | 'text' | 'number' | 'error';

/** Python writes and reads no longer ones; to read them takes the square of their length. */
const MOST_DIGITS = 4300;
/** As many digits in a row may be an integer that is not exact. */
const MAYBE_LARGE = /\d{16}/;
/** Whatever has letters outside of texts, but for exponents, and true, false and null. */
const TOKEN = /-?\bInfinity\b|\bNaN\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Signs that Unicode gives to nobody. */
const PRIVATE = [0xf8f0, 0xf8ff];

/**
 * Parses JSON as Python's `json` writes it: with `NaN`, `Infinity` and `-Infinity`, and with integers of
 * any size. `JSON.parse` does the work. Values that it has no tokens for are texts to it, with a mark that is
 * in no other.
 * @throws SyntaxError for what is no JSON; Error for integers that are refused.
 */
export function parseJson(text: string, integers: LargeIntegers = 'bigint'): unknown {
  if (integers === 'number' || !MAYBE_LARGE.test(text)) {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      if (!/NaN|Infinity/.test(text)) throw error;
    }
  }
  const mark = markFor(text);
  const marked = outsideOfTexts(text, (part) =>
    part.replace(TOKEN, (token) => (isPlain(token, integers) ? token : `"${mark}${token}"`)),
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? valueOf(value.slice(1), integers) : value,
  ) as unknown;
}

/** Whether `JSON.parse` reads a token as it is. */
function isPlain(token: string, integers: LargeIntegers): boolean {
  if (/[NI]/.test(token)) return false;
  return integers === 'number' || !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token));
}

function valueOf(token: string, integers: LargeIntegers): unknown {
  if (/[NI]/.test(token)) return Number(token);
  if (integers === 'error') throw new Error(`the integer ${token.slice(0, 40)} is beyond 2^53`);
  if (/^-?0\d/.test(token)) throw new SyntaxError(`${token.slice(0, 40)} begins with a zero`);
  if (token.length > MOST_DIGITS) throw new Error(`an integer has ${token.length} digits`);
  return integers === 'bigint' ? BigInt(token) : token;
}

/** Changes what lies between the texts of some JSON. */
function outsideOfTexts(json: string, change: (part: string) => string): string {
  const parts: string[] = [];
  for (let at = 0; at < json.length;) {
    const start = json.indexOf('"', at);
    if (start === -1) return parts.join('') + change(json.slice(at));
    const end = endOfText(json, start);
    parts.push(change(json.slice(at, start)), json.slice(start, end));
    at = end;
  }
  return parts.join('');
}

/** Behind the quote that ends a text: one with an even number of backslashes before it. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (json[before - 1] === '\\') before--;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return json.length;
}

/** A sign that is nowhere in the text, written as it is or escaped. */
function markFor(text: string): string {
  const [first = 0, last = 0] = PRIVATE;
  for (let code = first; code <= last; code++) {
    const sign = String.fromCharCode(code);
    if (!text.includes(sign) && !new RegExp(`\\\\u${code.toString(16)}`, 'i').test(text)) return sign;
  }
  throw new Error('it has signs that are in no text');
}
