import type { HeaderPair } from '@standin/contract';

/** The fields of a request that the user describes, because the endpoint has no captured requests. */
export interface ExampleFields {
  readonly method: string;
  /** The path and the query. Empty for the slug with example values. */
  readonly target: string;
  /** One header on each line. */
  readonly headers: string;
  readonly body: string;
}

export interface ExampleRequest {
  readonly method: string;
  /** All text is latin1, as on the wire. */
  readonly path: string;
  readonly query: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

/** Returns a path that the slug matches. All parameters have the value 1. */
export const examplePath = (slug: string): string => slug.replaceAll(/\{[^{}/]*\}/g, '1');

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/;

/** Returns the request that the fields describe, or what to change. */
export const exampleRequest = (
  slug: string,
  fields: ExampleFields,
): ExampleRequest | { readonly unavailable: string } => {
  const { method, body } = fields;
  const target = fields.target.trim() === '' ? examplePath(slug) : fields.target.trim();
  if (!/^\/[^\s#]*$/.test(target))
    return { unavailable: 'The path of the request must begin with a slash, and must not contain spaces or #.' };
  const [path = '', ...query] = onWire(target).split('?');
  const headers: HeaderPair[] = [];
  for (const [index, line] of fields.headers.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, name, value = ''] = HEADER.exec(line.trim()) ?? [];
    if (name === undefined)
      return { unavailable: `Line ${index + 1} of the headers must be a header, such as x-plan: gold.` };
    headers.push([name, onWire(value)]);
  }
  return { method, path, query: query.join('?'), headers, body: Buffer.from(body) };
};

/** Returns text as HTTP clients send it: one latin1 character for each byte of its UTF-8 form. */
const onWire = (text: string): string => Buffer.from(text).toString('latin1');
