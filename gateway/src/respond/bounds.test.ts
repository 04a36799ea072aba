import { cpuMs } from '@standin/contract/testing';
import { expect, test } from 'vitest';
import { compile } from '../config/compile.ts';
import { project } from '../gateway.testing.ts';
import type { Asked } from '../request/expressions.ts';
import { HOSTILE_MOCKS } from './hostile-mocks.testing.ts';
import { chooseResponder } from './respond.ts';

/** No request may block the gateway for longer. CPU time, because other processes can slow down the test. */
const CPU_MS_MAX = 50;

const HEADERS = [['a', ''], ...Array.from({ length: 1_000 }, () => ['b', 'b'])];

test.each(HOSTILE_MOCKS)('a response takes a bounded time: $name', async ({ config, query, body, contentType }) => {
  const entry = compile(config);
  if (entry.kind !== 'Endpoint' || entry.endpoint.kind !== 'JSON') throw new Error('this is not a mock');
  await entry.endpoint.preparation.finish();
  const asked = {
    id: '0190a9b2-1111-7222-8333-123456789abc',
    exchange: { receivedAtUs: 0 },
    body: Buffer.from(body, 'latin1'),
    head: { method: 'POST', path: '/orders/1', query, headers: [['content-type', contentType], ...HEADERS] },
    route: { project: project('shop', 'shop'), endpoint: entry.endpoint, parameters: new Map([['id', ['1']]]) },
  } as unknown as Asked;
  const respond = (): void => {
    const responder = chooseResponder(asked);
    expect(responder.kind === 'JSON' && responder.mock.bytes.length).toBeGreaterThan(0);
  };
  expect(cpuMs(respond, CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
});
