import { parseObject } from '@standin/crds';
import { describe, expect, it } from 'vitest';
import {
  toEdit,
  parseHeaderText,
  readBulkValues,
  readReplayValues,
  toReplayValues,
  toBulkReplay,
  toReplay,
  type CapturedView,
  type ReplayValues,
} from './replay-values.ts';

const captured: CapturedView = {
  id: '01890000-0000-7000-8000-000000000000',
  method: 'POST',
  target: '/uri/a?b=1',
  headers: [
    ['Content-Type', 'text/plain'],
    ['X-Empty', ''],
    ['x-a', 'b: c'],
  ],
  bodyBytes: 4,
  body: 'a\r\nb',
  bodyEncoding: 'utf8',
};
const VALUES = toReplayValues(captured);
const IDENTITY = { namespace: 'team-a', project: 'shop', name: 'replay-1' };

/** Returns the values as a browser sends them, with CRLF line breaks. */
const sent = (values: ReplayValues): ReplayValues => {
  const form = new FormData();
  for (const [name, value] of Object.entries(values) as [string, string][])
    form.set(name, value.replaceAll('\n', '\r\n'));
  return readReplayValues(form);
};
const editWith = (changes: Partial<ReplayValues>) => toEdit(sent({ ...VALUES, ...changes }), captured);

describe('a form filled from a captured request', () => {
  it('has no edits until the user makes one, even though browsers rewrite line breaks', () => {
    expect(toEdit(sent(VALUES), captured)).toBeUndefined();
  });

  it.each<[string, Partial<ReplayValues>, unknown]>([
    ['the method', { 'spec.edit.method': 'PUT' }, { method: 'PUT' }],
    ['the target', { 'spec.edit.target': '/uri/c' }, { target: '/uri/c' }],
    ['the body', { 'spec.edit.body': ' a\nb ' }, { body: ' a\r\nb ' }],
    ['no body', { 'spec.edit.body': '' }, { body: '' }],
    [
      'bytes',
      { 'spec.edit.body': 'AAEC\nAwQ=', 'spec.edit.bodyEncoding': 'base64' },
      { body: 'AAECAwQ=', bodyEncoding: 'base64' },
    ],
    [
      'the headers',
      { 'spec.edit.headers': 'a:b\n\n c: d ' },
      {
        headers: [
          { name: 'a', value: 'b' },
          { name: 'c', value: 'd' },
        ],
      },
    ],
  ])('contains only the edited part: %s', (_, changes, edit) => {
    expect(editWith(changes)).toEqual(edit);
  });

  it('changes only the edited bytes of a multipart body', () => {
    const part = (name: string, text: string): string =>
      `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
    const body = `${part('total', '10')}${part('file', 'one\ntwo\rthree\n\n')}${part('note', '1')}--x--\r\n`;
    const multipart = { ...captured, body };
    const values = toReplayValues(multipart);
    const edited = values['spec.edit.body'].replace('10', '11').replace(/^1$/m, '2').replace('two\n', 'two\nmore\n');
    expect(toEdit(sent({ ...values, 'spec.edit.body': edited }), multipart)).toEqual({
      body: body.replace('10', '11').replace('\r\n1\r\n', '\r\n2\r\n').replace('two\r', 'two\rmore\r'),
    });
  });

  it('changes only the edited bytes of the headers', () => {
    const bytes = (text: string): string => Buffer.from(text).toString('latin1');
    const other = {
      ...captured,
      headers: [
        ['x-word', bytes('voilà')],
        ['x-space', '\u00a0a\u00a0'],
        ['x-a', '1'],
      ] as const,
    };
    const values = toReplayValues(other);
    const edit = toEdit(sent({ ...values, 'spec.edit.headers': `${values['spec.edit.headers']}2` }), other);
    expect(edit).toEqual({
      headers: [
        { name: 'x-word', value: bytes('voilà') },
        { name: 'x-space', value: '\u00a0a\u00a0' },
        { name: 'x-a', value: '12' },
      ],
    });
  });

  it('keeps the white space of a target that is not ASCII', () => {
    const other = { ...captured, target: '/uri/\u00c3\u00a0' };
    expect(toEdit(sent(toReplayValues(other)), other)).toBeUndefined();
  });

  it('sends the edits of an earlier replay again, with their line breaks', () => {
    const shown = 'a\r\nB\rC\n';
    expect(toEdit(sent({ ...VALUES, 'spec.edit.body': 'a\nB\nC\n' }), captured, shown)).toEqual({ body: shown });
  });

  it('keeps a body that it does not show', () => {
    const large = { ...captured, body: undefined };
    expect(toEdit(sent({ ...toReplayValues(large), 'spec.edit.method': 'PUT' }), large)).toEqual({ method: 'PUT' });
  });

  it('creates a Replay that the schema accepts', () => {
    const object = toReplay(
      sent({
        ...VALUES,
        'spec.edit.method': 'PUT',
        'spec.target.kind': 'URL',
        'spec.target.url': 'https://a.example/',
      }),
      captured,
      IDENTITY,
    );
    expect(parseObject(object)).toMatchObject({ ok: true });
    expect(object.spec).toEqual({
      projectRef: { name: 'shop' },
      requestId: captured.id,
      edit: { method: 'PUT' },
      target: { kind: 'URL', url: 'https://a.example/' },
    });
  });
});

it('a header line without a colon has an empty name, which the schema rejects', () => {
  expect(parseHeaderText('a: b\nno colon')).toEqual([
    ['a', 'b'],
    ['', 'no colon'],
  ]);
});

describe('a bulk replay', () => {
  it('reads its values from the URL, with defaults for missing ones', () => {
    const values = readBulkValues(
      new URLSearchParams('q= status:5xx &from=2026-11-21T09:00:00Z&to=2026-11-21T10:00:00Z'),
    );
    const object = toBulkReplay(values, IDENTITY);
    expect(object.spec).toEqual({
      projectRef: { name: 'shop' },
      filter: { search: 'status:5xx', from: '2026-11-21T09:00:00Z', to: '2026-11-21T10:00:00Z' },
      target: { kind: 'Endpoint' },
      ratePerSecond: 10,
    });
    expect(parseObject(object)).toMatchObject({ ok: true });
  });

  it('leaves invalid numbers for the schema to reject', () => {
    const values = readBulkValues(new URLSearchParams('from=a&to=b&rate=fast&order=Any'));
    const parsed = parseObject(toBulkReplay(values, IDENTITY));
    expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['spec.filter.from', 'spec.filter.to', 'spec.ratePerSecond']),
    );
  });
});
