import type { DesiredObject } from '@standin/contract';
import { manifestYaml } from '../lib/manifest-yaml.server.ts';

/** One word of a POSIX shell. */
const quote = (word: string): string =>
  /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

interface WrittenSpec {
  readonly projectRef: { readonly name: string };
  readonly requestId?: string;
  readonly edit?: unknown;
  readonly filter?: { readonly search?: string; readonly from: string; readonly to: string };
  readonly target: { readonly kind: string; readonly url?: string };
  readonly ratePerSecond?: number;
  readonly order?: string;
}

/** How the same is done without the dashboard. */
export interface ReplayCommands {
  readonly yaml: string;
  /** `kubectl create -f -`: an act happens anew each time, so it has a generated name. */
  readonly kubectl: string;
  /** `undefined`: what was edited is too much for a command line. */
  readonly standin: string | undefined;
}

const DELIMITER = 'STANDIN_REPLAY';

const kubectlCommand = (yaml: string): string => {
  const lines = new Set(yaml.split('\n'));
  let delimiter = DELIMITER;
  while (lines.has(delimiter)) delimiter += '_';
  return `kubectl create -f - <<'${delimiter}'\n${yaml}${delimiter}\n`;
};

const standinCommand = (namespace: string, spec: WrittenSpec): string | undefined => {
  const { requestId, edit, filter, target, ratePerSecond, order } = spec;
  if (edit !== undefined) return undefined;
  const to = target.kind === 'URL' ? (target.url ?? '') : target.kind.toLowerCase();
  const words = ['standin', 'replay'];
  if (requestId !== undefined) words.push(requestId);
  words.push('--namespace', namespace, '--project', spec.projectRef.name);
  if (filter !== undefined) {
    if (filter.search !== undefined) words.push('--filter', filter.search);
    words.push('--from', filter.from, '--to', filter.to);
  }
  words.push(filter === undefined ? '--to' : '--target', to);
  if (filter !== undefined && ratePerSecond !== undefined) words.push('--rate', String(ratePerSecond));
  if (order === 'Original') words.push('--ordered');
  return words.map(quote).join(' ');
};

export const replayCommands = (object: DesiredObject): ReplayCommands => {
  const { metadata } = object;
  const written = object.spec as WrittenSpec;
  // What is wanted of it now is not part of what it does.
  const spec = Object.fromEntries(Object.entries(written).filter(([field]) => field !== 'state'));
  const named = { ...object, metadata: { name: metadata.name, namespace: metadata.namespace }, spec };
  const yaml = manifestYaml(named).replace(/^ {2}name: .*$/m, '  generateName: replay-');
  return { yaml, kubectl: kubectlCommand(yaml), standin: standinCommand(metadata.namespace, written) };
};
