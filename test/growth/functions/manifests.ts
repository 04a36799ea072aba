import { GROUP_VERSION, LIMITS, type DesiredObject } from '@standin/contract';
import {
  parseSearch,
  parseSince,
  parseStatus,
  parseTimeout,
  underline,
} from '../../../cli/src/logs/parse-arguments.ts';
import { formatRefusedLine, formatSummaryLine } from '../../../cli/src/logs/format-entry.ts';
import { formatManifestFindings } from '../../../cli/src/validate/validate-command.ts';
import { printable } from '../../../packages/contract/src/printable.ts';
import { decodeManifest, parseManifest } from '../../../crds/src/manifest.ts';
import { parseObject } from '../../../crds/src/parse.ts';
import { parseDurationField } from '../../../crds/src/duration.ts';
import { canonicalJson, mergePatch } from '../../../operator/src/sources/merge-patch.ts';
import { editManifest, removeFromManifest } from '../../../operator/src/sources/manifest-edit.ts';
import { readManifest } from '../../../operator/src/sources/manifest-objects.ts';
import { operatorSettings, translateSettings } from '../../../operator/src/settings.ts';
import { jsonFault } from '../../../operator/src/translate/json-document.ts';
import { validateManifests } from '../../../operator/src/validate/validate-manifests.ts';
import { testEntry } from '@standin/exchange/entry-testing';
import type { GrowthEntry } from '../entry.ts';
import { distinct, framed, nested, repeated, type Generators } from '../generators.ts';

/**
 * The size of a manifest. kubectl apply accepts objects that are only slightly larger (262,144 bytes). A pull request may contain
 * any number of files.
 */
const MANIFEST = 200_000;
const TARGET = LIMITS.requestTargetBytesMax;
const MOCK_BODY = LIMITS.mockBodyBytesMax;
/** The limit for YAML, because the library needs several microseconds per key. */
const YAML_MS = 3_000;

const HEAD = `apiVersion: ${GROUP_VERSION}\nkind: Endpoint\nmetadata: {name: a}\n`;
const SETTINGS = translateSettings(operatorSettings.parse({}));

const YAML: Generators = {
  'keys of a mapping': distinct((index) => `k${index}: v\n`),
  'keys with a common prefix': distinct((index) => `${'k'.repeat(20)}${index}: v\n`),
  'keys of a flow mapping': framed(
    '{',
    distinct((index) => `k${index}: v, `),
    'z: 1}',
  ),
  'one repeated key': repeated('k: v\n'),
  'mappings in one line': nested('{a: ', '}', '1'),
  'indented mappings': (length) => distinct((index) => `${' '.repeat(index)}a:\n`)(length),
  'nested lists of dashes': repeated('- '),
  questions: repeated('? '),
  'anchors and aliases': framed('a: &a x\nb: [', repeated('*a,'), 'z]'),
  'many anchors and aliases': distinct((index) => `k${index}: &a${index} x\nl${index}: *a${index}\n`),
  'aliases of aliases': framed(
    'a0: &a0 [x,x]\n',
    distinct((index) => `a${index + 1}: &a${index + 1} [*a${index},*a${index}]\n`),
  ),
  'merge keys': framed(
    'a: &a {x: 1}\n',
    distinct((index) => `k${index}: {<<: *a}\n`),
  ),
  'an anchor around aliases': (length) => `x: &x 1\n${distinct((index) => `k${index}: &a${index} [*x]\n`)(length)}`,
  documents: repeated('---\na: 1\n'),
  'broken documents': repeated('---\na: [\n'),
  comments: repeated('# a\n'),
  'a block scalar': framed('a: |\n', repeated('  b\n')),
  'an unclosed quote across lines': framed('a: "', repeated('b\n')),
  'colons in one line': repeated('a: '),
  tags: repeated('!!str '),
};

/** Inputs for the functions that process parsed YAML. */
const OBJECTS: Generators = {
  'unknown object fields': framed(
    HEAD,
    distinct((index) => `k${index}: v\n`),
  ),
  'unknown spec fields': framed(
    `${HEAD}spec:\n`,
    distinct((index) => `  k${index}: v\n`),
  ),
  'annotations that are not strings': framed(
    `${HEAD}spec: {}\nannotations:\n`,
    distinct((index) => `  k${index}: 1\n`),
  ),
  secrets: framed(
    'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n',
    distinct((index) => `  k${index}: QUJD\n`),
  ),
  'list items': framed('apiVersion: v1\nkind: List\nitems:\n', repeated('- {}\n')),
  objects: distinct(
    (index) => `---\napiVersion: ${GROUP_VERSION}\nkind: Project\nmetadata: {name: p${index}}\nspec: {}\n`,
  ),
};

const JSON_TEXTS: Generators = {
  'a number with an invalid last character': framed('', repeated('1'), 'x'),
  'a fraction with an invalid last character': framed('1.', repeated('1'), 'x'),
  'an unclosed string': framed('"', repeated('\\u0041')),
  'a document followed by other text': framed('{"a":"', repeated('b'), '"} x'),
  'lines before an error': framed('[', repeated('1,\n'), ']'),
};

const endpointObject = (text: string): unknown => ({
  apiVersion: GROUP_VERSION,
  kind: 'Endpoint',
  metadata: { name: text, namespace: text },
  spec: {
    projectRef: { name: text },
    slug: text,
    method: text,
    action: 'JSON',
    json: { status: 200, body: text, headers: [{ name: text, value: text }] },
    forward: { url: text, timeout: text },
    ...Object.fromEntries(text.split('\n').map((name) => [name, null])),
  },
});

/** Creates an object like those that the dashboard saves, with one label per line of the text. */
const desiredObject = (text: string): DesiredObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Endpoint',
  metadata: {
    name: 'a',
    namespace: 'default',
    labels: Object.fromEntries(text.split('\n').map((line) => [line, 'x'])),
  },
  spec: { a: text },
});
const labelledManifest = (text: string): string =>
  `${HEAD.replace('{name: a}', '')}  name: a\n  labels:\n${text
    .split('\n')
    .map((_, index) => `    k${index}: x\n`)
    .join('')}spec: {a: 1}\n`;

/** Each character of the input is a byte. */
const decodeOrRefuse = (input: string): unknown => {
  try {
    return decodeManifest(Buffer.from(input, 'latin1'));
  } catch (error) {
    return error;
  }
};
const BYTES: Generators = {
  'bytes that are not UTF-8': repeated('\xff\n'),
  'one byte that is not UTF-8 at the end': framed('', repeated('\n'), '\xff'),
};

export const MANIFESTS: readonly GrowthEntry[] = [
  {
    of: 'crds/src/manifest.ts#parseManifest',
    limit: MANIFEST,
    run: parseManifest,
    near: YAML,
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  { of: 'crds/src/manifest.ts#parseManifest', limit: MANIFEST / 4, run: parseManifest, cpuMsMax: YAML_MS },
  { of: 'crds/src/manifest.ts#decodeManifest', limit: MANIFEST, run: decodeOrRefuse, near: BYTES },
  {
    of: 'operator/src/sources/manifest-objects.ts#readManifest',
    limit: MANIFEST / 4,
    run: (text) => readManifest(text, 'file'),
    near: OBJECTS,
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  {
    of: 'operator/src/validate/validate-manifests.ts#validateManifests',
    limit: MANIFEST / 2,
    run: (text) => formatManifestFindings(validateManifests([{ name: 'file', text }], SETTINGS), 1),
    near: OBJECTS,
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  {
    of: 'operator/src/sources/manifest-edit.ts#editManifest',
    limit: MANIFEST / 2,
    run: (text) => editManifest(labelledManifest(text), desiredObject(text)),
    near: { 'many labels': distinct((index) => `l${index}\n`) },
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  {
    of: 'operator/src/sources/manifest-edit.ts#removeFromManifest',
    limit: MANIFEST / 4,
    run: (text) =>
      removeFromManifest(`${HEAD}spec: {}\n---\n${text}`, { kind: 'Endpoint', namespace: 'default', name: 'a' }),
    near: OBJECTS,
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  {
    of: 'operator/src/sources/merge-patch.ts#mergePatch',
    limit: MANIFEST,
    run: (text) => {
      const fields = Object.fromEntries(text.split('\n').entries());
      return mergePatch(fields, { ...fields, a: fields });
    },
    near: { 'many fields': repeated('a\n') },
    nearOnly: true,
    cpuMsMax: YAML_MS,
  },
  {
    of: 'operator/src/sources/merge-patch.ts#canonicalJson',
    limit: MANIFEST,
    run: (text) => canonicalJson(Object.fromEntries(text.split('\n').entries())),
    cpuMsMax: YAML_MS,
  },
  { of: 'operator/src/translate/json-document.ts#jsonFault', limit: MOCK_BODY, run: jsonFault, near: JSON_TEXTS },
  {
    of: 'crds/src/parse.ts#parseObject',
    limit: MANIFEST,
    run: (text) => parseObject(endpointObject(text)),
    near: {
      'labels in a name': framed('', repeated('a-'), '!'),
      'labels with dots': framed('', repeated('a.'), '!'),
      'spaces before the last character': framed('a', repeated(' '), 'a'),
      slashes: repeated('/'),
      'many fields': distinct((index) => `k${index}\n`),
    },
    cpuMsMax: YAML_MS,
  },
  {
    of: 'crds/src/duration.ts#parseDurationField',
    limit: MANIFEST,
    run: parseDurationField,
    near: { 'parts of a duration': framed('', repeated('1h'), 'x') },
  },
  {
    of: 'cli/src/validate/validate-command.ts#formatManifestFindings',
    limit: MANIFEST,
    run: (text) =>
      formatManifestFindings(
        text.split('\n').map((path, line) => ({
          file: 'f',
          line,
          object: text.slice(0, 100),
          path,
          message: path,
          severity: 'error' as const,
        })),
        1,
      ),
  },
  {
    of: 'cli/src/logs/format-entry.ts#formatSummaryLine',
    limit: TARGET,
    run: (text) => formatSummaryLine(testEntry({ path: text, query: text })),
    near: { 'control characters': repeated('\x1b\x9b') },
  },
  {
    of: 'cli/src/logs/format-entry.ts#formatRefusedLine',
    limit: TARGET,
    run: (text) =>
      formatRefusedLine({
        receivedAt: '2026-01-01T00:00:00Z',
        method: 'GET',
        status: 404,
        path: text,
        code: 'endpoint_not_found',
      }),
  },
  {
    of: 'packages/contract/src/printable.ts#printable',
    limit: LIMITS.responseCaptureBytesMax / 10,
    run: printable,
    near: { 'control characters': repeated('\x1b\x9b') },
    cpuMsMax: 2_000,
  },
  { of: 'cli/src/logs/parse-arguments.ts#parseSearch', limit: 2_000, run: parseSearch },
  {
    of: 'cli/src/logs/parse-arguments.ts#underline',
    limit: 2_000,
    run: (text) => underline(text, { message: '', from: 0, to: text.length }),
  },
  { of: 'cli/src/logs/parse-arguments.ts#parseSince', limit: 2_000, run: parseSince },
  { of: 'cli/src/logs/parse-arguments.ts#parseStatus', limit: 2_000, run: parseStatus },
  { of: 'cli/src/logs/parse-arguments.ts#parseTimeout', limit: 2_000, run: parseTimeout },
];
