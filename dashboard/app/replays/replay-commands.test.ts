import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { replayCommands } from './replay-commands.server.ts';
import { toBulkReplay, toReplay, toReplayValues, type BulkValues, type CapturedView } from './replay-values.ts';

const captured: CapturedView = {
  id: 'the-id',
  method: 'POST',
  target: '/uri/a?b=1',
  headers: [['A', '1']],
  bodyBytes: 2,
  body: '{}',
  bodyEncoding: 'utf8',
};
const VALUES = toReplayValues(captured);
const IDENTITY = { namespace: 'team-a', project: 'shop', name: 'replay-1' };
const BULK: BulkValues = {
  q: "path:/it's/*",
  from: '2026-11-21T09:00:00Z',
  to: '2026-11-21T10:00:00Z',
  target: 'URL',
  url: 'https://a.example/?x=1&y=2',
  rate: '5',
  order: 'Original',
};

/** Splits a command into words, as a shell does. */
const words = (command: string): string[] => {
  const { stdout } = spawnSync('sh', ['-c', command.replace(/^standin/, "printf '%s\\0'")], { encoding: 'utf8' });
  return stdout.split('\0').slice(0, -1);
};

describe('a replay command', () => {
  it('contains the project, search, time, rate and order of a bulk replay', () => {
    const { standin = '' } = replayCommands(toBulkReplay(BULK, IDENTITY));
    expect(words(standin)).toEqual([
      ...['replay', '--namespace', 'team-a', '--project', 'shop', '--filter', "path:/it's/*"],
      ...['--since', BULK.from, '--until', BULK.to, '--rate', '5', '--ordered', '--to', BULK.url],
    ]);
  });

  it('contains the limit of a bulk replay', () => {
    const object = toBulkReplay(BULK, IDENTITY);
    const spec = object.spec as { readonly filter: object };
    const { standin = '' } = replayCommands({ ...object, spec: { ...spec, filter: { ...spec.filter, limit: 3 } } });
    expect(words(standin).join(' ')).toContain(`--until ${BULK.to} --limit 3 --rate`);
  });

  it('omits the default namespace for a single request', () => {
    const { standin } = replayCommands(toReplay(VALUES, captured, { ...IDENTITY, namespace: 'default' }));
    expect(standin).toBe('standin replay the-id --to endpoint');
  });

  it('quotes every edit as one shell word', () => {
    const visible = fc.stringMatching(/^[!-~]([ -~]*[!-~])?$/);
    const body = fc.string({ unit: 'grapheme' }).filter((text) => !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}@]/u.test(text));
    fc.assert(
      fc.property(visible, body, (value, text) => {
        const edited = { ...VALUES, 'spec.edit.headers': `X: ${value}`, 'spec.edit.body': `edited ${text}` };
        const { standin = '' } = replayCommands(toReplay(edited, captured, IDENTITY));
        expect(words(standin).slice(-4)).toEqual(['--header', `X: ${value}`, '--body', `edited ${text}`]);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['begins with @ like a file name', { 'spec.edit.body': '@/etc/passwd' }],
    ['is binary', { 'spec.edit.body': 'AAEC', 'spec.edit.bodyEncoding': 'base64' }],
    ['ends the line in a terminal', { 'spec.edit.body': 'x\u0003\ntouch pwned\n' }],
    ['erases the preceding character', { 'spec.edit.body': 'x\u007f' }],
    ['displays a different command from the one that runs', { 'spec.edit.body': 'x\u202ey' }],
    ['is too long', { 'spec.edit.body': 'x'.repeat(10_000) }],
  ])('is omitted for a body that %s', (_, edit) => {
    expect(replayCommands(toReplay({ ...VALUES, ...edit }, captured, IDENTITY)).standin).toBeUndefined();
  });
});

describe('a replay manifest', () => {
  it('has a generated name and no requested state', () => {
    const object = toBulkReplay(BULK, IDENTITY);
    const suspended = { ...object, spec: { ...(object.spec as object), state: 'Suspended' } };
    const { yaml, kubectl } = replayCommands(suspended);
    expect(parse(yaml)).toEqual({
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Replay',
      metadata: { generateName: 'replay-', namespace: 'team-a' },
      spec: object.spec,
    });
    expect(kubectl).toBe(`kubectl create -f - <<'STANDIN_REPLAY'\n${yaml}STANDIN_REPLAY\n`);
  });
});
