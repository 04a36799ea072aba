import { describe, expect, it } from 'vitest';
import { recordedStages } from './timing.ts';

const spans = (entry: Parameters<typeof recordedStages>[0]) =>
  recordedStages(entry).map(({ name, fromMs, toMs }) => [name, fromMs, toMs]);
const forwarded = {
  outcome: 'forwarded',
  status: 200,
  durationMs: 10,
  requestMs: 1,
  upstreamFirstByteMs: 6,
  delayMs: 0,
} as const;

describe('the stages of an exchange', () => {
  it('cover the time from the head to the last byte without gaps', () => {
    expect(spans(forwarded)).toEqual([
      ['Request received', 0, 1],
      ['Waiting for upstream', 1, 7],
      ['Response forwarded', 7, 10],
    ]);
    const mocked = { ...forwarded, outcome: 'mocked', upstreamFirstByteMs: 0 } as const;
    expect(spans(mocked)).toEqual([
      ['Request received', 0, 1],
      ['Mock sent', 1, 10],
    ]);
    expect(spans({ ...mocked, delayMs: 7 })).toEqual([
      ['Request received', 0, 1],
      ['Delay', 1, 8],
      ['Mock sent', 8, 10],
    ]);
    expect(spans({ ...mocked, outcome: 'template_failed', status: 500 })).toEqual([
      ['Request received', 0, 1],
      ['Error sent', 1, 10],
    ]);
    expect(spans({ ...mocked, outcome: 'exchange_timeout', status: 504, delayMs: 8 })).toEqual([
      ['Request received', 0, 1],
      ['Delay', 1, 9],
      ['Error sent', 9, 10],
    ]);
    expect(spans({ ...forwarded, outcome: 'exchange_timeout' })).toEqual(spans(forwarded));
    expect(spans({ ...forwarded, outcome: 'fallback' })).toEqual([
      ['Request received', 0, 1],
      ['Fallback sent', 1, 10],
    ]);
    expect(spans({ ...forwarded, outcome: 'fallback', delayMs: 7 })).toEqual([
      ['Request received', 0, 1],
      ['Upstream failed', 1, 3],
      ['Delay', 3, 10],
    ]);
    expect(spans({ ...forwarded, status: 502, upstreamFirstByteMs: 0 })).toEqual([
      ['Request received', 0, 1],
      ['No upstream response', 1, 10],
    ]);
  });

  it('never end before they begin, even if clocks differ', () => {
    expect(spans({ ...forwarded, durationMs: 3 })).toEqual([
      ['Request received', 0, 1],
      ['Waiting for upstream', 1, 3],
      ['Response forwarded', 3, 3],
    ]);
  });

  it('end with the request if no response was recorded', () => {
    expect(spans({ ...forwarded, outcome: 'response_unknown', status: 0 })).toEqual([['Request received', 0, 1]]);
  });

  it('contain the wait for an upstream, or the delay, whose caller disconnected', () => {
    const gone = { ...forwarded, outcome: 'caller_gone', durationMs: 30_001 } as const;
    expect(spans({ ...gone, status: 0, upstreamFirstByteMs: 0 })).toEqual([
      ['Request received', 0, 1],
      ['Waiting for upstream', 1, 30_001],
    ]);
    expect(spans({ ...gone, status: 0, upstreamFirstByteMs: 0, delayMs: 300_000 })).toEqual([
      ['Request received', 0, 1],
      ['Delay', 1, 30_001],
    ]);
    expect(spans(gone)).toEqual([
      ['Request received', 0, 1],
      ['Waiting for upstream', 1, 7],
      ['Response forwarded', 7, 30_001],
    ]);
  });
});
