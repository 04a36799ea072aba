import { validateHeaderName, validateHeaderValue } from 'node:http';
import { hasControls, type HeaderPair, type RequestMethod } from '@standin/contract';
import type { ExplainedRequest } from '@standin/responses';
import { InvalidArgumentError } from 'commander';
import { readBodyOption } from '../replay/replay-spec.ts';

/** A request that is described by options. */
export interface DescribedRequest {
  readonly method?: RequestMethod | undefined;
  /** The path and the query, which begin with a slash. */
  readonly path: string;
  readonly header?: readonly HeaderPair[] | undefined;
  /** Text, or `@FILE`. */
  readonly body?: string | undefined;
}

/** What an explanation needs of a request that was not sent. */
export type UnsentRequest = Omit<ExplainedRequest, 'id' | 'receivedAtUs' | 'project' | 'projectUrl'>;

/** Parses `name: value` and adds it to the headers from earlier options. */
export const addHeaderLine = (text: string, before: readonly HeaderPair[] = []): readonly HeaderPair[] => {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  const pair = [name, onWire(value.replace(/^[ \t]+|[ \t]+$/g, ''))] as const;
  try {
    validateHeaderName(name);
    validateHeaderValue(...pair);
  } catch {
    throw new InvalidArgumentError("must be a header on one line, such as 'x-plan: gold'.");
  }
  return [...before, pair];
};

/** Parses a path with an optional query. */
export const parsePath = (text: string): string => {
  if (/^\/[^\s#]*$/.test(text) && !hasControls(text)) return onWire(text);
  throw new InvalidArgumentError(
    'must be a path such as /v1/orders/7?expand=items, with spaces and # percent-encoded (%20, %23).',
  );
};

/** Rejects with a `PlainError` if the body file cannot be read. */
export const readDescribedRequest = async ({
  method,
  path: target,
  header = [],
  body,
}: DescribedRequest): Promise<UnsentRequest> => {
  const [path = '', ...query] = target.split('?');
  const { body: text = '', bodyEncoding } = await readBodyOption(body);
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    path,
    query: query.join('?'),
    headers: header,
    body: Buffer.from(text, bodyEncoding),
  };
};

/** Returns text as HTTP clients send it: one latin1 character for each byte of its UTF-8 form. */
const onWire = (text: string): string => Buffer.from(text).toString('latin1');
