import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loader } from './events.ts';

it.each([
  ['that the dashboard cannot continue', false],
  ['of a page that is closed while its permissions are reviewed', true],
])('a watch %s is logged: %s', async (_, isClosed) => {
  const lines: string[] = [];
  const watching = Promise.withResolvers<never>();
  const context = {
    backend: { resources: { watch: () => watching.promise } },
    logger: pino({}, { write: (line) => void lines.push(line) }),
    stopping: new AbortController().signal,
    openStream: () => Promise.resolve({ release: () => undefined }),
  };
  const response = await loader({ request: new Request('http://x/events'), context } as never);
  if (isClosed) await response.body?.cancel();
  watching.reject(new Error('refused'));
  if (!isClosed) await response.text();
  await new Promise(setImmediate);
  expect(lines).toHaveLength(isClosed ? 0 : 1);
});
