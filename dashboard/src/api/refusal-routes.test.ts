import { REJECTIONS, SourceError } from '@standin/contract';
import { expect, test } from 'vitest';
import type { Backend } from '../backend.ts';
import { backendWith, REFUSALS, startApiServer } from './api-server.testing.ts';

const read = async (refusals: Backend['logs']['refusals'], project = 'shop'): Promise<[number, unknown]> => {
  const backend = backendWith({});
  await using server = await startApiServer(() => Promise.resolve({ ...backend, logs: { ...backend.logs, refusals } }));
  const response = await fetch(`${server.shop.replace(/shop$/, project)}/refusals`);
  return [response.status, await response.json()];
};

test('refused requests have the words of the problem document', async () => {
  const { title, detail } = REJECTIONS.endpoint_not_found;
  expect(await read(() => Promise.resolve({ ...REFUSALS, unknownProject: 3 }))).toEqual([
    200,
    {
      items: [
        {
          code: 'endpoint_not_found',
          status: 404,
          title,
          detail,
          method: 'POST',
          path: '/v1/order',
          count: 2,
          lastAt: '2026-11-23T00:00:00.000Z',
        },
        {
          code: 'of_a_newer_gateway',
          title: 'of_a_newer_gateway',
          sender: 'GitHub',
          count: 1,
          detail: 'Update the dashboard to a newer version to see the details.',
          lastAt: '1970-01-01T00:00:00.000Z',
        },
      ],
      omitted: 1,
      unknownProject: 3,
      missingGateways: ['gateway-1'],
    },
  ]);
});

test('the count of unknown projects is absent for users who are not administrators', async () => {
  const [, body] = await read(() => Promise.resolve(REFUSALS));
  expect(body).not.toHaveProperty('unknownProject');
});

test('refused requests need the right to read the log', async () => {
  const [status, body] = await read(() => Promise.reject(new SourceError('Forbidden', 'you may not')));
  expect([status, body]).toMatchObject([403, { code: 'forbidden' }]);
});

test('an operator that does not respond is reported', async () => {
  const [status, body] = await read(() => Promise.reject(new SourceError('Unavailable', 'the operator is starting')));
  expect([status, body]).toMatchObject([503, { code: 'resources_unavailable', detail: 'the operator is starting' }]);
});

test('a project that does not exist has no refused requests', async () => {
  const [status, body] = await read(() => Promise.resolve(REFUSALS), 'nope');
  expect([status, body]).toMatchObject([404, { code: 'project_not_found' }]);
});
