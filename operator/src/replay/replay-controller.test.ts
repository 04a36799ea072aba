import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { UNAVAILABLE } from './memory-log.testing.ts';
import type { ReplayController } from './replay-controller.ts';
import { ALL, COUNT, FAST, FILTER, RETENTION_DAYS_MAX, reselect, setUp } from './replay-term.testing.ts';

test('all requests that match the filter are sent once, and the responses are counted', async () => {
  const { lead, replay, ended, status, sent, target, source } = setUp();
  target.answer = (body) => (body.endsWith('7') ? 503 : body === '9' ? 0 : 200);
  replay(FAST);
  await lead();
  await ended();
  expect(sent.toSorted((a, b) => Number(a) - Number(b))).toEqual(ALL);
  expect(status()).toMatchObject({
    phase: 'Failed',
    planned: COUNT,
    sent: COUNT,
    answered: COUNT - 1,
    failed: 1,
    byStatus: [
      { status: 0, count: 1 },
      { status: 200, count: COUNT - 4 },
      { status: 503, count: 3 },
    ],
  });
  expect(status().conditions?.find(({ type }) => type === 'Failed')?.message).toBe(
    `Sent ${COUNT} of ${COUNT}: ${COUNT - 4} returned 200, 3 returned 503, 1 without a response. First error: No response from the target.`,
  );
  await expect.poll(() => source.recorded).toMatchObject([{ type: 'Warning', reason: 'Failed' }]);
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

test.each([
  ['many requests', { ...FAST, order: 'Original' }, ['0', '1', '2', '3', '4', '5']],
  ['one request', {}, ['5']],
])(
  'an operator that was frozen until after its term stores no response to %s, and sends no more',
  async (_what, spec, all) => {
    const { lead, replay, sent, log, target, term, entries } = setUp();
    target.answer = (body) => {
      if (body === '5') term.remainingMs = 0;
      return 200;
    };
    replay('filter' in spec ? spec : { requestId: entries[5]?.id });
    const controller = await lead();
    await expect.poll(() => sent).toEqual(all);
    await controller.stop();
    expect(sent).toEqual(all);
    expect(log.results.map(({ requestId }) => requestId)).not.toContain(entries[5]?.id);
  },
);

test('a run continues if the term was extended after it had run out', async () => {
  const { lead, replay, sent, target, term, ended, status } = setUp();
  target.answer = (body) => {
    if (body === '3') term.remainingMs = 0;
    return 200;
  };
  replay({ ...FAST, order: 'Original' });
  await lead();
  await expect.poll(() => sent).toContain('3');
  target.answer = () => 200;
  let asked = 0;
  const isOver = () => {
    asked += 1;
    return 0;
  };
  Object.defineProperty(term, 'remainingMs', { get: isOver, configurable: true });
  await delay(300);
  // It does not restart repeatedly in the meantime.
  expect(asked).toBeLessThan(20);
  Object.defineProperty(term, 'remainingMs', { value: Infinity });
  await ended();
  expect(status()).toMatchObject({ phase: 'Succeeded' });
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

test('requests that were received after the Replay was created are not sent, because it may have caused them', async () => {
  const { lead, replay, ended, sent, status, entries } = setUp();
  const { metadata } = replay({ ...FAST, order: 'Original' });
  const [first] = entries;
  if (first === undefined) throw new Error('there are no entries');
  entries.push({ ...first, id: 'caused', receivedAt: metadata.creationTimestamp.replace('Z', '001Z') });
  await lead();
  await ended();
  expect(sent).toEqual(ALL);
  expect(status()).toMatchObject({ planned: COUNT, sent: COUNT });
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

describe('a Replay may store the response to a request that it has read', () => {
  const PROJECT = { namespace: 'default', name: 'shop' };

  /** Sets up a Replay whose target responds when the test calls `respond`. */
  const setUpHeld = () => {
    const stand = setUp();
    const answered = Promise.withResolvers<number>();
    stand.target.answer = () => answered.promise;
    stand.replay(FAST);
    let controller: ReplayController | undefined;
    const lead = async (): Promise<ReplayController> => (controller = await stand.lead());
    const storing = () => controller?.storing(PROJECT, stand.clock.now() + 3_600_000);
    return { ...stand, lead, storing, respond: () => answered.resolve(200) };
  };

  test('from the beginning of its turn, even if its status does not show it yet', async () => {
    const { lead, storing, status, sent, respond, ended, clock } = setUpHeld();
    const controller = await lead();
    await vi.waitUntil(() => sent.length > 0, { interval: 1 });
    expect([status().phase, storing()]).toEqual([undefined, ['again']]);
    expect(controller.storing({ ...PROJECT, name: 'other' }, clock.now())).toEqual([]);
    expect(controller.storing(PROJECT, clock.now() - 3_600_000)).toEqual([]);
    respond();
    await ended();
    expect(storing()).toEqual([]);
  });

  test('while it is paused and a request is in flight, and not later', async () => {
    const { replay, storing, status, sent, respond, log, target, lead } = setUpHeld();
    const { answer } = target;
    target.answer = (body) => {
      if (sent.length === 0) replay({ ...FAST, state: 'Suspended' });
      return answer(body);
    };
    await lead();
    await expect.poll(() => status().phase).toBe('Suspended');
    expect([sent, storing()]).toEqual([['0'], ['again']]);
    respond();
    await expect.poll(storing).toEqual([]);
    expect([log.results.length, status().phase]).toEqual([1, 'Suspended']);
  });

  test('after it is cancelled while the log cannot be read', async () => {
    const { lead, replay, storing, status, sent, respond, ended, log } = setUpHeld();
    await lead();
    let isCancelled = false;
    const failed = Promise.withResolvers<undefined>();
    log.disturb = (call) => {
      if (call !== 'summaries' || sent.length === 0) return;
      if (isCancelled) failed.resolve(undefined);
      throw UNAVAILABLE;
    };
    await vi.waitUntil(() => sent.length === COUNT);
    replay({ ...FAST, state: 'Cancelled' });
    isCancelled = true;
    await failed.promise;
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect([storing(), status().completedAt]).toEqual([['again'], undefined]);
    respond();
    await ended();
    expect([storing(), status().phase]).toEqual([[], 'Cancelled']);
    expect(log.results).toHaveLength(COUNT);
  });

  test('after it is deleted, until its run has ended', async () => {
    const { source, lead, storing, target } = setUpHeld();
    const held = Promise.withResolvers<undefined>();
    target.holds = () => {
      held.resolve(undefined);
      return true;
    };
    const controller = await lead();
    await held.promise;
    source.remove('Replay', 'again');
    expect(storing()).toEqual(['again']);
    await controller.stop();
    expect(storing()).toEqual([]);
  });
});
