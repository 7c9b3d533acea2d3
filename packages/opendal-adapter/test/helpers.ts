import fs from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { ErrorCode, StorageDriver } from '@tiered/core';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import { expect, onTestFinished } from 'vitest';

/** A new, empty directory. */
export function temporaryDirectory(): Promise<string> {
  return fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
}

/** Options of the service `fs` that write below a directory. */
export function filesBelow(directory: string): { root: string; atomic_write_dir: string } {
  return { root: path.join(directory, 'root'), atomic_write_dir: path.join(directory, 'writes') };
}

/**
 * A driver on files, open, and the directory that holds its root and its temporary files. Gone when the test
 * ends.
 */
export async function files(): Promise<{ driver: OpenDalDriver; directory: string; root: string }> {
  const directory = await temporaryDirectory();
  const options = filesBelow(directory);
  const driver = await opened(new OpenDalDriver({ service: 'fs', writable: true, options }));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  return { driver, directory, root: options.root };
}

/** A driver, opened, and closed when the test ends. */
export async function opened(driver: OpenDalDriver): Promise<OpenDalDriver> {
  await driver.open({});
  onTestFinished(() => driver.close());
  return driver;
}

/** What a server does with a request. */
export type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void;

/** A server on this machine. Gone when the test ends, with whoever still waits for it. */
export async function serving(answer: Answer): Promise<string> {
  const server = http.createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** For `rejects.toEqual(...)`: an error with this code. */
export function withCode(code: ErrorCode, retryable = false): Error {
  return expect.objectContaining({ name: 'TieredError', code, retryable }) as Error;
}

/** Writes a text as an object. */
export function put(driver: StorageDriver, key: string, text = key): Promise<void> {
  const bytes = Buffer.from(text);
  return driver.write(key, bytes, { size: bytes.byteLength });
}

/** The first bytes of an object, as text. */
export async function textOf(driver: StorageDriver, key: string): Promise<string> {
  return Buffer.from(await driver.read(key, { offset: 0, length: 10_000 })).toString();
}

/** Every key of a listing, sorted. */
export async function keysOf(driver: StorageDriver, prefix?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of driver.list({ prefix })) keys.push(...page.map(({ key }) => key));
  return keys.sort();
}
