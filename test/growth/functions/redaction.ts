import { LIMITS } from '@standin/contract';
import { redactShapes } from '../../../packages/exchange/src/redact/credential-shapes.ts';
import { defaultRedaction } from '../../../packages/exchange/src/redact/default-redaction.ts';
import { HiddenValues } from '../../../packages/exchange/src/redact/hidden-values.ts';
import { parseJsonTree } from '../../../packages/exchange/src/redact/json-tree.ts';
import { redact, REDACTED_BODY_CHARS_MAX } from '../../../packages/exchange/src/redact/redact.ts';
import { testEntry, type TestEntryParts } from '@standin/exchange/entry-testing';
import { redactText } from '../../../packages/exchange/src/redact/redact-text.ts';
import {
  formatJsonName,
  formatJsonPath,
  globMatches,
  parseJsonPath,
} from '../../../packages/exchange/src/redact/redaction-rules.ts';
import { decodeForm } from '../../../packages/exchange/src/redact/redactor.ts';
import { isSensitiveName } from '../../../packages/exchange/src/redact/sensitive-names.ts';
import type { GrowthEntry } from '../entry.ts';
import { distinct, framed, nested, repeated, type Generators } from '../generators.ts';
import { MULTIPART } from './log-store.ts';

const BODY = REDACTED_BODY_CHARS_MAX;
/**
 * The limit for all parts of an exchange. It covers the default rules and the search for the secrets that they found. Standin
 * redacts in a worker, so this time does not block the event loop.
 */
const EXCHANGE_MS = 4_000;

/** Near misses of each pattern in `credential-shapes.ts`. */
const SHAPES: Generators = {
  'unterminated private keys': repeated('-----BEGIN PRIVATE KEY-----'),
  'beginnings of private keys': repeated('-----BEGIN RSA '),
  'JWTs without a dot': repeated('-eyJaaaaaaaa'),
  'beginnings of JWTs': repeated('-eyJ'),
  'words with dots': repeated('aaaaaaaa.'),
  'a JWT of many parts': framed('eyJaaaaaaaa', repeated('.a')),
  'bearer without a token': repeated('bearer '),
  'spaces after bearer': framed('bearer', repeated(' '), '!'),
  'escaped spaces after bearer': framed('bearer', repeated('%20'), '!'),
  'pluses after basic': framed('basic', repeated('+'), '!'),
  'schemes without an at sign': repeated('a://b'),
  'schemes of dots': repeated('a.-+'),
  'a long authority': framed('a://', repeated('b'), '/'),
  'beginnings of API keys': repeated('sk-aaaa-'),
  'an API key without its second part': framed('SG.', repeated('a')),
  'digits in groups': repeated('4111 '),
  'card numbers with a wrong check digit': repeated('4111111111111112 '),
  'curl without credentials': repeated('curl -u '),
  'unclosed quotes in curl commands': repeated('curl -u "a'),
  'continued lines': framed('curl ', repeated('\\\n')),
};

const TEXT: Generators = {
  'words and separators': repeated('a:='),
  'separators with quotes': repeated("a='"),
  'spaces after a name': framed('token', repeated(' '), 'x'),
  secrets: distinct((index) => `token${index}=abcdefgh${index}\n`),
  'secrets in unclosed quotes': repeated('token="a\\'),
  'backslashes after a name': framed('token', repeated('\\'), '"'),
  'YAML blocks': repeated('token: |\n  a\n'),
  'an endless YAML block': framed('token: |\n', repeated('   \n')),
  'void elements': repeated('<input name=token>'),
  'void elements of many namespaces': distinct((index) => `<a${index}:input name=token>`),
  'unclosed elements': repeated('<token>'),
  'an unclosed tag': framed('<token', repeated(' a=')),
  'closing tags': repeated('</token'),
  'parameters within a parameter value': repeated('?a='),
  'fragments within a fragment': repeated('#a='),
};

const JSON_BODIES: Generators = {
  'many secrets': framed(
    '{',
    distinct((index) => `"token${index}":"secret-value-${index}",`),
    '"a":1}',
  ),
  'secrets below a long key': (length) =>
    `{"${'k'.repeat(length / 2)}":{${distinct((index) => `"token${index}":1,`)(length / 2)}"a":1}}`,
  'arrays of pairs': framed('[', repeated('["token","abcdefgh"],'), '1]'),
  'deeply nested secrets': (length) => `${'{"a":'.repeat(190)}[${repeated('{"token":1},')(length)}1]${'}'.repeat(190)}`,
  'JSON in JSON in JSON': (length) => {
    let text = repeated('{"token":"abcdefgh"}\n')(length / 8);
    for (let depth = 0; depth < 3; depth += 1) text = JSON.stringify(text);
    return text.slice(0, length);
  },
  'JSON lines': repeated('{"token":"a"}\n'),
  'truncated objects': repeated('{"token":'),
  'card numbers': framed('[', repeated('4242424242424242,'), '1]'),
};

const FORMS: Generators = {
  'names that end in brackets': framed('a', repeated('['), ']=x'),
  'unclosed brackets before a value': framed('', repeated('a['), '=x'),
  'empty pairs': repeated('&'),
  'pairs without a value': repeated('token&'),
  'form secrets': distinct((index) => `token${index}=abcdefgh${index}&`),
  'secrets in escapes': distinct((index) => `a=%22%5c%26token${index}&token=%25%32${index}abcdefgh&`),
  'queries within queries': framed('a=', repeated('%253Ftoken%253Da')),
  'nested escapes': framed('a=%', repeated('25'), '3D'),
  'base64 of JSON': (length) =>
    `a=${Buffer.from(`{${distinct((index) => `"token${index}":"x",`)((length * 3) / 4)}"a":1}`).toString('base64')}`,
  'base64 with an invalid last character': framed('a=', repeated('QUJD'), '!'),
};

/** Generates nested multipart bodies. */
const NESTED_MULTIPART = (length: number): string => {
  const head = (depth: number): string =>
    `--b${depth}\r\nContent-Type: multipart/mixed; boundary=b${depth + 1}\r\n\r\n`;
  return distinct((depth) => (depth === 0 ? '--b\r\nContent-Type: multipart/mixed; boundary=b1\r\n\r\n' : head(depth)))(
    length,
  );
};

/** Bodies whose text resembles their first secret, which makes the automaton that searches for secrets fall back often. */
const ECHOES: Generators = {
  'near misses of the secret': (length) => `{"token":"${'a'.repeat(length / 2)}b","x":"${'a'.repeat(length / 2)}"}`,
  'the repeated secret': framed('{"token":"abcdefgh","x":"', repeated('abcdefgh'), '"}'),
  'overlapping secrets': (length) =>
    JSON.stringify(Array.from({ length: 60 }, (_, index) => ({ token: 'ab'.repeat((length / 7_500) * (index + 1)) }))),
};

const exchange = (of: (text: string) => TestEntryParts) => (text: string) => {
  const entry = testEntry(of(text));
  return redact(entry, defaultRedaction(entry));
};
/** Rules such as those of a Share, with several patterns that match the same name. */
const RULES = { headers: ['x-*-token'], query: ['*token*', '*a*b*c'], jsonPaths: ['$..token*', '$..a..b', '$..*.c'] };
const withType = (type: string) => (body: string) =>
  redact(testEntry({ headers: [['content-type', type]], body }), RULES);
const REDACT = 'packages/exchange/src/redact/redact.ts#redact';

const HIDE = { hides: (name: string) => isSensitiveName(name), hide: () => '[redacted]' };

export const REDACTION: readonly GrowthEntry[] = [
  { of: REDACT, limit: BODY, run: withType('text/plain'), near: { ...SHAPES, ...TEXT }, cpuMsMax: EXCHANGE_MS },
  {
    of: REDACT,
    limit: BODY,
    run: withType('application/json'),
    nearOnly: true,
    near: { ...JSON_BODIES, ...ECHOES },
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: REDACT,
    limit: BODY,
    run: withType('application/x-www-form-urlencoded'),
    nearOnly: true,
    near: FORMS,
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: REDACT,
    limit: BODY,
    run: withType('multipart/mixed; boundary=b'),
    nearOnly: true,
    near: { ...MULTIPART, 'multipart within multipart': NESTED_MULTIPART },
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: REDACT,
    limit: LIMITS.requestHeadBytesMax,
    run: exchange((text) => ({
      query: text.slice(0, LIMITS.requestTargetBytesMax),
      path: `/${text.slice(0, LIMITS.requestTargetBytesMax)}`,
      headers: [['x-a', text]],
      responseHeaders: text.split('\n').map((line) => ['x-token', line] as const),
    })),
    nearOnly: true,
    near: {
      ...FORMS,
      'path segments': repeated('token/a1b2c3d4e5f6a7b8/'),
      'path parameters': repeated(';token='),
    },
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: 'packages/exchange/src/redact/redact.ts#redactFields',
    limit: BODY,
    run: (body) => defaultRedaction(testEntry({ body })),
    near: TEXT,
    nearOnly: true,
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: 'packages/exchange/src/redact/credential-shapes.ts#redactShapes',
    limit: BODY,
    run: (text) => redactShapes(text, () => undefined),
    near: SHAPES,
  },
  {
    of: 'packages/exchange/src/redact/redact-text.ts#redactText',
    limit: BODY,
    run: (text) => redactText(text, HIDE),
    near: TEXT,
  },
  {
    of: 'packages/exchange/src/redact/json-tree.ts#parseJsonTree',
    limit: BODY,
    run: (text) => parseJsonTree(text, true),
    near: JSON_BODIES,
  },
  {
    of: 'packages/exchange/src/redact/redactor.ts#decodeForm',
    limit: BODY,
    run: decodeForm,
    near: { 'broken escapes': repeated('%ff%') },
  },
  {
    of: 'packages/exchange/src/redact/hidden-values.ts#HiddenValues',
    limit: BODY,
    run: (text) => {
      const values = new HiddenValues();
      for (const value of text.split(/[\s,&]/)) values.add(value, 'utf8');
      return values.sweep(text, 'utf8', true);
    },
    nearOnly: true,
    near: {
      'escapes of each kind': repeated('%25\\n&amp;'),
      'one long value': repeated('é€'),
      'overlapping values': distinct((index) => `${'a'.repeat(index)} `),
      'many values': distinct((index) => `value-${index},`),
    },
    cpuMsMax: EXCHANGE_MS,
  },
  {
    of: 'packages/exchange/src/redact/redaction-rules.ts#parseJsonPath',
    limit: LIMITS.redactedNameLengthMax,
    run: parseJsonPath,
    near: { steps: framed('$', repeated('..a[*]')) },
  },
  {
    of: 'packages/exchange/src/redact/redaction-rules.ts#globMatches',
    limit: BODY,
    run: (name) => globMatches(`*${'a'.repeat(200)}b*${'a*'.repeat(20)}c`, name),
    near: { 'a near miss of the glob': framed('', repeated('a'), 'b') },
  },
  { of: 'packages/exchange/src/redact/redaction-rules.ts#formatJsonName', limit: BODY, run: formatJsonName },
  {
    of: 'packages/exchange/src/redact/redaction-rules.ts#formatJsonPath',
    limit: BODY,
    run: (key) => Array.from({ length: 1_000 }, () => formatJsonPath([key, 0, key])),
  },
  {
    of: 'packages/exchange/src/redact/sensitive-names.ts#isSensitiveName',
    limit: BODY,
    run: isSensitiveName,
    near: { 'words in camel case': repeated('aB'), 'nested names': nested('a[', ']') },
  },
];
