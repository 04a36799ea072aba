import { expect, test } from 'vitest';
import { configObjectSchema, withhold, WITHHELD_CREDENTIAL, type EndpointConfig } from './config-objects.ts';

const endpoint: EndpointConfig = {
  kind: 'Endpoint',
  uid: 'u',
  namespace: 'n',
  name: 'e',
  projectUid: 'p',
  generation: 1,
  slug: '/',
  method: 'GET',
  action: { kind: 'JSON', status: 200, headers: [], body: '{}' },
};
const credential = { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds: [] } as const;

const WITHHELD = { kind: 'Withheld' };

test('a withheld endpoint without a credential does not get one', () => {
  expect(withhold(endpoint)).toEqual({ ...endpoint, action: WITHHELD });
});

test.each([credential, { kind: 'Later' }])('a withheld endpoint keeps no secret of the credential %j', (own) => {
  const withheld = withhold({ ...endpoint, credential: own });
  expect(withheld).toEqual({ ...endpoint, action: WITHHELD, credential: WITHHELD_CREDENTIAL });
  expect(configObjectSchema.parse(withheld)).toEqual(withheld);
});
