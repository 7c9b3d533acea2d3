import type { Registry } from '@tiered/cluster/registry';
import { isTieredError, TieredError } from '@tiered/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../words.js';
import { setInRegistry } from './set.js';
import { SETTING_FIELDS, type Setting } from './setting.js';
import { policyLines, removedLine } from './text.js';

/** A form has a few short texts. */
const LARGEST_BODY = 8192;
const LONGEST_TEXT = 256;

/** Sets what a form says, and answers with what holds now. */
export async function answerSetting(
  registry: Registry,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { policy, removed, notes } = await setInRegistry(registry, settingOf(await bodyOf(request)));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ lines: policyLines(policy), notes: [...removed.map(removedLine), ...notes] }),
    );
  } catch (error) {
    if (!isTieredError(error)) throw error;
    sayError(response, error.retryable ? 503 : 400, messageOf(error));
  }
}

/** Refuses a request. */
export function sayError(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ error }));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.byteLength;
    if (bytes > LARGEST_BODY) throw new TieredError('TIERED_TOO_LARGE', 'set: the form is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for anything but a mapping of short texts. */
function settingOf(body: string): Setting {
  const { clear, ...texts } = parsed(body);
  const setting: Record<string, string> = {};
  for (const [field, text] of Object.entries(texts)) {
    const isKnown = (SETTING_FIELDS as readonly string[]).includes(field);
    if (!isKnown || typeof text !== 'string' || text.length > LONGEST_TEXT) throw noForm();
    setting[field] = text;
  }
  return { ...setting, clear: clear === true };
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw noForm();
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw noForm();
  return value as Readonly<Record<string, unknown>>;
}

function noForm(): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', 'set: this is no form of this page');
}
