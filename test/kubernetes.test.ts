import { StaticRegistry } from '@tiered/cluster/registry';
import { loadConfig } from '@tiered/config';
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { wrongWithWords } from './command-words.js';

const root = path.join(import.meta.dirname, '..');
const manifests = path.join(root, 'docs/kubernetes');
/** Below the repository, so that types are found. */
const directory = path.join(root, 'node_modules/.cache', `kubernetes-${process.pid}`);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Config extends Manifest {
  readonly data: Readonly<Record<string, string>>;
}

interface Service extends Manifest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: Readonly<Record<string, string>> };
}

/** A StatefulSet, or an Indexed Job. */
interface Workers extends Manifest {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly completions?: number;
    readonly serviceName?: string;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly subdomain?: string;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
        }[];
      };
    };
  };
}

const SECRET = 'a secret of the workers';
const files = fs.readdirSync(manifests).filter((name) => name.endsWith('.yaml'));
const textOf = (name: string) => fs.readFileSync(path.join(manifests, name), 'utf8');
const all = files.flatMap((name) =>
  parseAllDocuments(textOf(name)).map((document) => ({ name, manifest: document.toJS() as Manifest })),
);

/** The object of one of these kinds in a file. */
function objectIn(file: string, ...kinds: readonly string[]): Manifest {
  const found = all.find(({ name, manifest }) => name === file && kinds.includes(manifest.kind));
  if (found === undefined) throw new Error(`${file} has no ${kinds.join(' or ')}`);
  return found.manifest;
}

/** What the workers of a file are told, and their configuration with that. */
async function workersIn(file: string) {
  const { metadata, spec } = objectIn(file, 'StatefulSet', 'Job') as Workers;
  const [container] = spec.template.spec.containers;
  const { env = [], args = [] } = container ?? {};
  const told = { RANK: '0', ...Object.fromEntries(env.map(({ name, value }) => [name, value ?? SECRET])) };
  for (const [name, value] of Object.entries(told)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const written = path.join(directory, `tiers-of-${file}`);
  fs.writeFileSync(written, (objectIn(file, 'ConfigMap') as Config).data['tiers.yaml'] ?? '');
  const size = spec.replicas ?? spec.completions ?? 0;
  const config = await loadConfig(written);
  return { told, size, names: metadata.name, spec, command: args.join(' '), config };
}

/** What the API of Kubernetes would not take: unknown fields, missing ones, wrong types. */
function mistakesIn(objects: readonly Manifest[]): string[] {
  const programs = objects.map((object, at) => {
    const file = path.join(directory, `manifest-${at}.ts`);
    const { apiVersion, kind } = object;
    const text = `import type { I${kind} } from 'kubernetes-models/${apiVersion}';
export const manifest: I${kind} = ${JSON.stringify(object)};
`;
    fs.writeFileSync(file, text);
    return file;
  });
  const options = { strict: true, noEmit: true, skipLibCheck: true };
  const { NodeNext } = ts.ModuleKind;
  const checked = ts.createProgram(programs, {
    ...options,
    module: NodeNext,
    target: ts.ScriptTarget.ES2022,
  });
  return programs.flatMap((file) =>
    checked
      .getSemanticDiagnostics(checked.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
  );
}

describe('manifests for Kubernetes', () => {
  beforeAll(() => {
    fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }');
  });

  afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

  it('have the fields that its API knows', () => {
    expect(mistakesIn(all.map(({ manifest }) => manifest))).toEqual([]);
    const [mistake = ''] = mistakesIn([{ ...all[0]?.manifest, spce: {} } as unknown as Manifest]);
    expect(mistake).toContain('spce');
  });

  it.each(files)('%s runs commands that there are', (name) => {
    const shown = Array.from(textOf(name).matchAll(/exec npx tiered ([^\n]+)/g), ([, words = '']) =>
      words.trim(),
    );
    expect(shown).not.toEqual([]);
    for (const words of shown) expect(wrongWithWords(words)).toBeUndefined();
  });

  it.each(files)('%s has workers that find each other by the names of its pods', async (file) => {
    const { told, size, names, spec, config } = await workersIn(file);
    expect(config.cluster).toMatchObject({ registry: 'torch', token: SECRET, host: '0.0.0.0' });
    expect(told).toMatchObject({ WORLD_SIZE: String(size) });
    const service = objectIn(file, 'Service') as Service;
    const registry = StaticRegistry.fromTorch(told);
    await registry.open();
    const members = (await registry.all()).map(({ record }) => (record as { readonly url: string }).url);
    await registry.close();
    const pods = Array.from({ length: size }, (_, i) => `http://${names}-${i}.${service.metadata.name}:9440`);
    expect(members).toEqual(pods);
    expect(service.spec).toMatchObject({ clusterIP: 'None', ports: [{ port: 9440 }] });
    expect(spec.template.metadata.labels).toMatchObject(service.spec.selector);
    expect(spec.serviceName ?? spec.template.spec.subdomain).toBe(service.metadata.name);
  });

  it('training.yaml reads where other workers give, and not past them', async () => {
    const { config, command } = await workersIn('training.yaml');
    const { location } = config.hierarchy.source;
    expect(location).toBe('file:///data/');
    expect(command).toMatch(/ train\.py \/tiered\/data$/);
  });
});
