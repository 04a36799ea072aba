import { describe, expect, test } from 'vitest';
import { UNAVAILABLE } from './memory-log.testing.ts';
import { ALL, COUNT, FAST, FILTER, RETENTION_DAYS_MAX, reselect, setUp } from './replay-term.testing.ts';

test('all requests that match the filter are sent once, and the responses are counted', async () => {
  const { lead, replay, ended, status, sent, target, source } = setUp();
  target.answer = (body) => (body.endsWith('7') ? 503 : body === '9' ? 0 : 200);
  replay(FAST);
  await lead();
  await ended();
  expect(sent.toSorted((a, b) => Number(a) - Number(b))).toEqual(ALL);
  expect(status()).toMatchObject({
    ...{ phase: 'Failed', planned: COUNT, sent: COUNT, answered: COUNT - 1, failed: 1 },
    byStatus: [
      { status: 0, count: 1 },
      { status: 200, count: COUNT - 4 },
      { status: 503, count: 3 },
    ],
  });
  expect(status().conditions?.find(({ type }) => type === 'Failed')?.message).toBe(
    `Sent ${COUNT} of ${COUNT}: ${COUNT - 4} returned 200, 3 returned 503, 1 without a response. First error: No response from the target.`,
  );
  await expect.poll(() => source.events).toMatchObject([{ type: 'Warning', reason: 'Failed' }]);
});

test('a Replay waits for an unavailable log store, and no result is lost or duplicated', async () => {
  const { lead, replay, ended, status, sent, log, clock } = setUp();
  let calls = 0;
  log.disturb = () => {
    calls += 1;
    if (calls % 3 !== 0) throw UNAVAILABLE;
  };
  replay({ ...FAST, order: 'Original' });
  await lead();
  await ended();
  expect(sent).toEqual(ALL);
  expect(new Set(log.results.map(({ requestId }) => requestId)).size).toBe(COUNT);
  const keptForS = log.results.map(({ sentAtUs, expiresAtS }) => expiresAtS - Math.floor(sentAtUs / 1e6));
  expect(new Set(keptForS)).toEqual(new Set([RETENTION_DAYS_MAX * 86_400]));
  expect(status()).toMatchObject({ phase: 'Succeeded', sent: COUNT });
  expect(clock.slept.some((ms) => ms >= 200)).toBe(true);
});

test('the next leader continues after the stored results, regardless of the status', async () => {
  const { lead, replay, ended, status, sent, log, source, target } = setUp();
  target.holds = (body) => body === '10';
  replay({ ...FAST, order: 'Original' });
  // Status writes fail, as if this operator were disconnected.
  source.disturb = (call) => {
    if (call === 'writeStatus') throw new Error('the API server is unavailable');
  };
  const first = await lead();
  await expect.poll(() => log.results.length).toBe(10);
  await first.stop();
  expect(status()).toEqual({});
  source.disturb = () => undefined;
  target.holds = () => false;
  await lead();
  await ended();
  expect(sent).toEqual(ALL);
  expect(status()).toMatchObject({ phase: 'Succeeded', sent: COUNT, answered: COUNT });
});

test('requests are not sent faster than the rate', async () => {
  const { lead, replay, ended, clock } = setUp();
  replay({ filter: { ...FILTER, limit: 5 }, ratePerSecond: 2, order: 'Original' });
  await lead();
  await ended();
  // Each of the four requests after the first waits for the rest of its half second.
  expect(clock.slept.filter((ms) => ms > 400)).toHaveLength(4);
});

test('a limited number of requests is sent, the oldest first', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, filter: { ...FILTER, limit: 3 }, order: 'Original' });
  await lead();
  await ended();
  expect(sent).toEqual(['0', '1', '2']);
  expect(status()).toMatchObject({ planned: 3, sent: 3 });
});

test('a Replay that is suspended from the start sends nothing until it is resumed', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, state: 'Suspended' });
  await lead();
  await expect.poll(() => status().phase).toBe('Suspended');
  expect(sent).toEqual([]);
  replay(FAST);
  await ended();
  expect(sent).toHaveLength(COUNT);
});

test('a Replay that is cancelled before its start sends nothing', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, state: 'Cancelled' });
  await lead();
  await ended();
  expect([sent.length, status().phase]).toEqual([0, 'Cancelled']);
});

test('without a log store, a Replay reports it and waits', async () => {
  const { lead, replay, status } = setUp({ withStore: false });
  replay(FAST);
  await lead();
  await expect.poll(() => status().conditions?.find(({ type }) => type === 'Accepted')?.reason).toBe('NoLogStore');
  expect(status().phase).toBe('Pending');
});

test('a Replay waits for a project that is created later', async () => {
  const { lead, replay, status, source, ended } = setUp();
  replay({ ...FAST, projectRef: { name: 'later' } });
  await lead();
  await expect.poll(() => status().conditions?.find(({ type }) => type === 'Accepted')?.reason).toBe('ProjectNotFound');
  source.put('Project', 'later', { accountRef: { name: 'team' } });
  await ended();
  expect(status().conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'True' });
});

test('a failed status write is retried', async () => {
  const { lead, replay, ended, source, status } = setUp();
  let refusals = 3;
  source.disturb = (call) => {
    if (call === 'writeStatus' && refusals-- > 0) throw new Error('the API server is unavailable');
  };
  replay(FAST);
  await lead();
  await ended();
  expect(status()).toMatchObject({ phase: 'Succeeded' });
});

describe('a Replay whose namespace loses and regains its label', () => {
  test('continues if a request is in flight', async () => {
    const { lead, replay, ended, sent, log, target, ...parts } = setUp();
    target.holds = (body) => body === '10';
    replay({ ...FAST, order: 'Original' });
    const controller = await lead();
    await expect.poll(() => log.results.length).toBe(10);
    reselect(parts, controller);
    target.holds = () => false;
    await ended();
    expect(sent).toEqual(ALL);
  });

  test('ends if its last status is being written', async () => {
    const { lead, replay, ended, sent, status, ...parts } = setUp();
    replay(FAST);
    const controller = await lead();
    parts.source.disturb = (call) => {
      if (call !== 'writeStatus' || sent.length < COUNT) return;
      parts.source.disturb = () => undefined;
      reselect(parts, controller);
      throw new Error('the API server is unavailable');
    };
    await ended();
    expect(status()).toMatchObject({ phase: 'Succeeded', sent: COUNT });
    expect(sent).toHaveLength(COUNT);
  });

  test('ends if it waits for its project', async () => {
    const { lead, replay, ended, status, ...parts } = setUp();
    replay({ ...FAST, projectRef: { name: 'later' } });
    const controller = await lead();
    await expect.poll(() => status().phase).toBe('Pending');
    reselect(parts, controller);
    parts.source.put('Project', 'later', { accountRef: { name: 'team' } });
    await ended();
  });
});
