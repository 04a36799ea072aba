import { LIMITS } from '@standin/contract';
import { expect, it } from 'vitest';
import { FORM_LIMITS, formBytesMax } from './form-body.ts';

const { smallBytesMax, bytesMax, objectBytesMax } = FORM_LIMITS;

it.each([
  ['/login', smallBytesMax],
  ['/login.data', smallBytesMax],
  ['/LOGIN/', smallBytesMax],
  ['/preferences', smallBytesMax],
  ['/logout', smallBytesMax],
  ['/login/oidc', bytesMax],
  ['/projects/new', bytesMax],
  ['/no/such/page', bytesMax],
  ['/p/default/shop/replays/new', bytesMax],
  ['/p/default/shop/preview', objectBytesMax],
  ['/p/default/shop/endpoints/new', objectBytesMax],
  ['/p/default/shop/endpoints/new.data', objectBytesMax],
  ['/p/default/shop/endpoints/orders/edit', objectBytesMax],
  ['/p/default/shop/traffic/01931f3e-0000-7000-8000-000000000001/replay.data', objectBytesMax],
])('a form for %s may have %d bytes with a session, and 32 KiB without one', (path, expected) => {
  expect(formBytesMax(path, true)).toBe(expected);
  expect(formBytesMax(path, false)).toBe(smallBytesMax);
});

/**
 * Returns the size of the form as browsers send it, with CRLF line breaks, and `%XX` for every byte except letters, digits and a
 * few others.
 */
const encodedBytes = (fields: Readonly<Record<string, string>>): number =>
  Object.entries(fields)
    .map(([name, value]) => new URLSearchParams([[name, value.replaceAll('\n', '\r\n')]]).toString().length + 1)
    .reduce((sum, bytes) => sum + bytes, 0);

const headers = (count: number, valueLength: number): [string, string][] =>
  Array.from({ length: count }, () => ['"'.repeat(LIMITS.headerNameLengthMax), '"'.repeat(valueLength)]);

it('a form can hold the largest valid endpoint', () => {
  for (const body of ['\n'.repeat(LIMITS.mockBodyBytesMax), '€'.repeat(LIMITS.mockBodyBytesMax / 3)]) {
    const rows = headers(LIMITS.mockHeadersMax, LIMITS.headerValueLengthMax).flatMap(([name, value], index) => [
      [`spec.json.headers[${index}].name`, name],
      [`spec.json.headers[${index}].value`, value],
    ]);
    const rest = { 'spec.slug': '"'.repeat(LIMITS.slugLengthMax), url: '"'.repeat(LIMITS.forwardUrlLengthMax) };
    const form = { 'spec.json.body': body, ...rest, ...(Object.fromEntries(rows) as Record<string, string>) };
    expect(encodedBytes(form)).toBeLessThan(objectBytesMax);
    expect(Object.keys(form).length + 20).toBeLessThan(FORM_LIMITS.fieldsMax);
  }
});

it('a form can hold the largest valid edit of a replay', () => {
  const lines = headers(LIMITS.replayEditHeadersMax, LIMITS.replayHeaderValueLengthMax).map((pair) => pair.join(': '));
  const form = { 'spec.edit.headers': lines.join('\n'), 'spec.edit.body': '\n'.repeat(LIMITS.replayEditBytesMax) };
  expect(encodedBytes(form)).toBeLessThan(objectBytesMax);
});
