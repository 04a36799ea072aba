import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { serverEvents, type ServerEvent } from './server-events.ts';

it('reads events, positions without data, and nothing that is not whole', async () => {
  const lines = [
    'retry: 1000',
    'id: 1',
    '',
    ':',
    '',
    'event: request',
    'data: {"a":',
    'data: 1}',
    '',
    'data:x',
    '',
    'event: half',
    'data: 1',
  ];
  const events: ServerEvent[] = [];
  for await (const event of serverEvents(Readable.from(lines))) events.push(event);
  expect(events).toEqual([
    { type: '', data: '', id: '1' },
    { type: 'request', data: '{"a":\n1}', id: undefined },
    { type: '', data: 'x', id: undefined },
  ]);
});
