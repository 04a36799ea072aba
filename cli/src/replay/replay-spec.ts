import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { GROUP_VERSION, LIMITS, type RequestMethod } from '@standin/contract';
import { parseObject, type ReplaySpec } from '@standin/crds';
import { InvalidArgumentError } from 'commander';
import { fileErrorText, PlainError } from '../plain-error.ts';

export type Header = { readonly name: string; readonly value: string };

/** Parses `endpoint`, `upstream`, or a URL. */
export const parseTarget = (text: string): ReplaySpec['target'] => {
  if (/^endpoint$/i.test(text)) return { kind: 'Endpoint' };
  if (/^upstream$/i.test(text)) return { kind: 'Upstream' };
  if (/^https?:\/\//i.test(text)) return { kind: 'URL', url: text };
  throw new InvalidArgumentError('must be endpoint, upstream, or a URL that begins with http:// or https://.');
};

/** Parses `name: value` and adds it to the headers from earlier options. */
export const addHeader = (text: string, before: readonly Header[] = []): readonly Header[] => {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError("must be a header such as 'content-type: application/json'.");
  return [...before, { name: text.slice(0, colon).trim(), value: text.slice(colon + 1).trim() }];
};

export interface EditOptions {
  readonly method?: RequestMethod | undefined;
  readonly path?: string | undefined;
  readonly header?: readonly Header[] | undefined;
  /** Text, or `@FILE`. */
  readonly body?: string | undefined;
}

/**
 * Resolves with the edit, or with undefined if nothing is changed. Rejects with a `PlainError` if the body file cannot be read.
 */
export const readEdit = async ({ method, path, header, body }: EditOptions): Promise<ReplaySpec['edit']> => {
  if ([method, path, header, body].every((option) => option === undefined)) return undefined;
  return {
    ...(method !== undefined && { method }),
    ...(path !== undefined && { target: path }),
    ...(header !== undefined && { headers: [...header] }),
    ...(await readBodyOption(body)),
  };
};

/** Reads an option's body, which is text or `@FILE`. Rejects with a `PlainError` if the file cannot be read. */
export const readBodyOption = async (
  body: string | undefined,
): Promise<Pick<NonNullable<ReplaySpec['edit']>, 'body' | 'bodyEncoding'>> => {
  if (body?.startsWith('@') !== true) return { ...(body !== undefined && { body }), bodyEncoding: 'utf8' };
  const file = body.slice(1);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new PlainError(`${file} ${fileErrorText(error)}`, { cause: error });
  });
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes)
    ? { body: text, bodyEncoding: 'utf8' }
    : { body: bytes.toString('base64'), bodyEncoding: 'base64' };
};

export const newReplayName = (): string => `replay-${randomBytes(4).toString('hex')}`;

/** Checks the spec as the API server would. Throws a `PlainError` for an invalid spec. */
export const checkSpec = (spec: ReplaySpec): ReplaySpec => {
  const result = parseObject({ apiVersion: GROUP_VERSION, kind: 'Replay', metadata: { name: 'replay' }, spec });
  if (result.ok) return spec;
  const [problem] = result.problems;
  throw new PlainError(`${problem?.path ?? ''}: ${problem?.message ?? 'is not valid'}`);
};

export const RATE_MAX = LIMITS.replayRatePerSecondMax;
