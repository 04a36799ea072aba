import { describe, expect, it } from 'vitest';
import { stagesOf } from './timing.ts';

const spans = (entry: Parameters<typeof stagesOf>[0]) =>
  stagesOf(entry).map(({ name, fromMs, toMs }) => [name, fromMs, toMs]);
const forwarded = { action: 'Forward', status: 200, durationMs: 10, requestMs: 1, upstreamFirstByteMs: 6 } as const;

describe('the stages of an exchange', () => {
  it('follow each other without gaps, from the head to the last byte', () => {
    expect(spans(forwarded)).toEqual([
      ['Request received', 0, 1],
      ['Upstream waited for', 1, 7],
      ['Answer passed on', 7, 10],
    ]);
    expect(spans({ ...forwarded, action: 'JSON', upstreamFirstByteMs: 0 })).toEqual([
      ['Request received', 0, 1],
      ['Mock answered', 1, 10],
    ]);
    expect(spans({ ...forwarded, status: 502, upstreamFirstByteMs: 0 })).toEqual([
      ['Request received', 0, 1],
      ['Upstream tried', 1, 10],
    ]);
  });

  it('never end before they begin, whatever the clocks said', () => {
    expect(spans({ ...forwarded, durationMs: 3 })).toEqual([
      ['Request received', 0, 1],
      ['Upstream waited for', 1, 3],
      ['Answer passed on', 3, 3],
    ]);
  });

  it('are only what is known where no answer was recorded', () => {
    expect(spans({ ...forwarded, status: 0 })).toEqual([['Request received', 0, 1]]);
  });
});
