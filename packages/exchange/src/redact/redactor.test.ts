import { describe, expect, it } from 'vitest';
import { testEntry } from '../log-entry.testing.ts';
import { redact } from './redact.ts';

const NONE = { headers: [], query: [], jsonPaths: [] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a name that is always hidden, or that a rule for headers hides,', () => {
  const multipart = 'multipart/form-data; boundary=B';
  const places: readonly [string, (name: string) => string, string?][] = [
    ...['name', 'key', 'Header', 'field', 'id'].map((key): [string, (name: string) => string] => [
      `as the ${key} of a value in JSON`,
      (name) => `[{"${key}":"${name}","value":"plain-1"}]`,
    ]),
    ...['value', 'values', 'Content', 'val'].map((key): [string, (name: string) => string] => [
      `of the ${key} in JSON`,
      (name) => `{"all":[{"${key}":["plain-1"],"name":"${name}"}]}`,
    ]),
    ['of a pair in JSON', (name) => `{"headers":[["${name}","plain-1"]]}`],
    ['of a pair in base64', (name) => `{"data":"${base64(`[["${name}","plain-1"]]`)}"}`],
    ['in a line of text', (name) => `> ${name}: plain-1`],
    ['in JSON that is not complete', (name) => `"${name}": "plain-1", {`],
    ['of an element', (name) => `<a><b name="${name}">plain-1</b></a>`],
    ['in a form', (name) => `a=1&${name}=plain-1`],
    ['in brackets in a form', (name) => `a=1&headers%5B${name}%5D=plain-1`],
    ['of a part', (name) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nplain-1\r\n--B--`, multipart],
  ];
  const names = ['Authorization', 'Proxy-Authorization', 'Cookie', 'set-cookie', 'X-API-Key', 'X-Tenant'];
  const shownWith = (body: string, type?: string): string =>
    redact(testEntry({ body, ...(type !== undefined && { headers: [['content-type', type]] }) }), {
      ...NONE,
      headers: ['x-tenant'],
    }).entry.request.body;

  it.each(places)('is hidden in a body with rules of the user: %s', (_, bodyWith, type) => {
    for (const name of names) {
      const shown = shownWith(bodyWith(name), type);
      expect(`${shown}\n${Buffer.from(shown.slice(9), 'base64').toString()}`).not.toContain('plain-1');
      expect(shownWith(bodyWith('X-Other'), type)).toBe(bodyWith('X-Other'));
    }
  });

  it.each(['Authorization', 'Proxy-Authorization', 'Cookie', 'set-cookie', 'X-API-Key'])(
    'is hidden as a key of JSON, at any depth: %s',
    (name) => {
      expect(shownWith(`{"a":[{"headers":{"${name}":["plain-1"],"Host":"x"}}]}`)).toBe(
        `{"a":[{"headers":{"${name}":"[redacted]","Host":"x"}}]}`,
      );
      expect(shownWith(`{"${name}":"plain-1"}`)).toBe(`{"${name}":"[redacted]"}`);
    },
  );
});

it.each([
  ['query', 'a pair in JSON', '[{"name":"Tenant","value":"plain-1"}]', '[{"name":"Tenant","value":"[redacted]"}]'],
  ['query', 'a pair in an array', '["tenant","plain-1"]', '["tenant","[redacted]"]'],
  ['query', 'a form', 'user%5Btenant%5D=plain-1&n=1', 'user%5Btenant%5D=[redacted]&n=1'],
  ['query', 'text', 'a\ntenant: plain-1', 'a\ntenant: [redacted]'],
  ['jsonPaths', 'a pair in JSON', '[{"name":"Tenant","value":"plain-1"}]', '[{"name":"Tenant","value":"[redacted]"}]'],
  ['jsonPaths', 'a pair in an array', '["tenant","plain-1"]', '["tenant","[redacted]"]'],
  ['jsonPaths', 'not a form', 'tenant=plain-1&n=1', 'tenant=plain-1&n=1'],
] as const)('rules for %s apply to %s', (list, _, body, shown) => {
  const rules = { ...NONE, [list]: list === 'query' ? ['TENANT'] : ['$..tenant'] };
  expect(redact(testEntry({ body }), rules).entry.request.body).toBe(shown);
});
