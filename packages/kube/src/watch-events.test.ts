import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedWatchError, watchEvents } from './watch-events.ts';

async function* asyncChunks(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    await Promise.resolve();
    yield chunk;
  }
}

const collect = async (chunks: readonly Buffer[]): Promise<unknown[]> => {
  const events: unknown[] = [];
  for await (const event of watchEvents(asyncChunks(chunks), () => undefined)) events.push(event);
  return events;
};

const event = (name: string) => ({ type: 'ADDED', object: { metadata: { name, resourceVersion: '1' } } });

describe('watchEvents', () => {
  it('returns the same events, regardless of how the bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
        fc.array(fc.nat(200), { maxLength: 10 }),
        async (names, cuts) => {
          const events = names.map(event);
          const bytes = Buffer.from(events.map((item) => `${JSON.stringify(item)}\n`).join(''));
          const positions = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          const chunks = positions.slice(1).map((end, index) => bytes.subarray(positions[index], end));
          expect(await collect(chunks)).toEqual(events);
        },
      ),
    );
  });

  it.for(['{"type":"ADDED","obj\n', 'null\n', '{"type":"ADDED","object":{}}\n', '{"type":"NEW","object":{}}\n'])(
    'rejects the line %s',
    async (line) => {
      await expect(collect([Buffer.from(line)])).rejects.toBeInstanceOf(MalformedWatchError);
    },
  );

  it('rejects a line that does not end', async () => {
    const chunk = Buffer.alloc(4 * 1024 * 1024, 'a');
    await expect(collect([chunk, chunk, chunk, chunk, chunk])).rejects.toThrow('longer than');
  });
});
