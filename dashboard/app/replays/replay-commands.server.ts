import { hasControls, type DesiredObject } from '@standin/contract';
import { shellQuote } from '@standin/exchange/formats';
import { kubectlCommand, manifestYaml } from '../../src/resources/manifest-yaml.ts';

/** Quotes a word only if a shell would interpret it, so that commands stay readable. */
const quoteIfNeeded = (word: string): string => (/^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : shellQuote(word));

interface WrittenEdit {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: string;
  readonly bodyEncoding?: string;
}

interface WrittenSpec {
  readonly projectRef: { readonly name: string };
  readonly requestId?: string;
  readonly edit?: WrittenEdit;
  readonly filter?: { readonly search?: string; readonly from: string; readonly to: string; readonly limit?: number };
  readonly target: { readonly kind: string; readonly url?: string };
  readonly ratePerSecond?: number;
  readonly order?: string;
}

/** The manifest of a replay, and commands that start a copy of the replay without the dashboard. */
export interface ReplayCommands {
  readonly yaml: string;
  /** A `kubectl create -f -` command. The name is generated, so that each run creates a new replay. */
  readonly kubectl: string;
  /**
   * A command that starts with `standin`. Undefined if the command would be too long or contain control characters, or if its flags
   * cannot express the edits: a binary body, a body that starts with `@`, or a header value outside printable ASCII.
   */
  readonly standin: string | undefined;
}

/** The maximum length of a command. Linux accepts arguments of up to 128 KiB, but users do not paste such long commands. */
const COMMAND_CHARS_MAX = 8_000;

/**
 * Returns the flags for an edit, or undefined if the flags cannot express it. A body that starts with `@` would be read as a file
 * name.
 */
const editWords = ({
  method,
  target,
  headers = [],
  body,
  bodyEncoding = 'utf8',
}: WrittenEdit): string[] | undefined => {
  if (body !== undefined && (bodyEncoding !== 'utf8' || body.includes('\0') || body.startsWith('@'))) return undefined;
  // A header has one byte per character, but a terminal encodes characters outside ASCII as several bytes. Control characters are
  // also rejected.
  if (headers.some(({ value }) => /[^ -~]/.test(value))) return undefined;
  return [
    ...(method === undefined ? [] : ['--method', method]),
    ...(target === undefined ? [] : ['--path', target]),
    ...headers.flatMap(({ name, value }) => ['--header', `${name}: ${value}`]),
    ...(body === undefined ? [] : ['--body', body]),
  ];
};

const filterWords = ({ projectRef, filter, ratePerSecond, order }: WrittenSpec): string[] =>
  filter === undefined
    ? []
    : [
        ...['--project', projectRef.name],
        ...(filter.search === undefined ? [] : ['--filter', filter.search]),
        ...['--since', filter.from, '--until', filter.to],
        ...(filter.limit === undefined ? [] : ['--limit', String(filter.limit)]),
        ...(ratePerSecond === undefined ? [] : ['--rate', String(ratePerSecond)]),
        ...(order === 'Original' ? ['--ordered'] : []),
      ];

const standinCommand = (namespace: string, spec: WrittenSpec): string | undefined => {
  const { requestId, edit = {}, target } = spec;
  const edited = editWords(edit);
  if (edited === undefined) return undefined;
  const command = [
    ...['standin', 'replay'],
    ...(requestId === undefined ? [] : [requestId]),
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    ...filterWords(spec),
    ...['--to', target.kind === 'URL' ? (target.url ?? '') : target.kind.toLowerCase()],
    ...edited,
  ];
  const line = command.map(quoteIfNeeded).join(' ');
  return line.length > COMMAND_CHARS_MAX || hasControls(line.replaceAll('\n', '')) ? undefined : line;
};

export const replayCommands = (object: DesiredObject): ReplayCommands => {
  const { metadata } = object;
  const written = object.spec as WrittenSpec;
  // Omits the requested state, so that the copy starts even if this replay is suspended or cancelled.
  const spec = Object.fromEntries(Object.entries(written).filter(([field]) => field !== 'state'));
  const named = { ...object, metadata: { name: metadata.name, namespace: metadata.namespace }, spec };
  // kubectl needs a cluster, regardless of the dashboard's mode.
  const yaml = manifestYaml(named, 'cluster').replace(/^ {2}name: .*$/m, '  generateName: replay-');
  return {
    yaml,
    kubectl: kubectlCommand('create', yaml, 'STANDIN_REPLAY'),
    standin: standinCommand(metadata.namespace, written),
  };
};
