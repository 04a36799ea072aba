import { gzipSync } from 'node:zlib';
import { LIMITS, type HeaderPair } from '@standin/contract';
import { Budget } from '../../../packages/responses/src/budget.ts';
import { mockTemplateMistakes, parseMockTemplate } from '../../../packages/responses/src/mock-template.ts';
import { parsePathPattern } from '../../../packages/responses/src/path-pattern.ts';
import { parseRegularExpression } from '../../../packages/responses/src/regular-expression.ts';
import { readJson } from '../../../packages/responses/src/cel/read-json.ts';
import { parseTimeLayout } from '../../../packages/responses/src/cel/time-layout.ts';
import { parseExpression } from '../../../packages/responses/src/request-expressions.ts';
import { expressionsFor } from '../../../packages/responses/src/request-expressions.testing.ts';
import { parseTemplateText } from '../../../packages/responses/src/template-text.ts';
import { parseUrlTemplate } from '../../../packages/responses/src/url-template.ts';
import type { GrowthEntry } from '../entry.ts';
import { distinct, framed, nested, repeated } from '../generators.ts';
import { MULTIPART } from './log-store.ts';

const bodyValue = (source: string, body: Uint8Array, headers: HeaderPair[]): unknown => {
  const parsed = parseExpression(source, []);
  return parsed.ok && expressionsFor({ body, headers }).evaluate(parsed.expression);
};

/** Functions that read the expressions, patterns and templates of manifests, and the JSON of captured requests. */
export const RESPONSES: readonly GrowthEntry[] = [
  {
    of: 'packages/responses/src/path-pattern.ts#parsePathPattern',
    limit: LIMITS.slugLengthMax,
    run: parsePathPattern,
    near: { parameters: distinct((index) => `/{p${index}}`), 'an unclosed parameter': framed('/{', repeated('a')) },
  },
  {
    of: 'packages/responses/src/request-expressions.ts#parseExpression',
    limit: LIMITS.expressionLengthMax,
    run: (text) => parseExpression(text, ['id']),
    near: {
      brackets: nested('(', ')', 'path.id'),
      'unclosed maps': repeated('{1:'),
      conditions: framed('', repeated('now==now?1:'), '1'),
      comparisons: framed('', repeated('1<'), '1'),
      fields: framed('request.json', repeated('.a'), ''),
      'regular expressions': framed('', repeated("path.id.matches('[a-z]{9}')||"), 'true'),
    },
  },
  {
    of: 'packages/responses/src/cel/read-json.ts#readJson',
    limit: LIMITS.expressionTextLengthMax,
    run: (text) => readJson(text, new Budget()),
    near: {
      brackets: nested('[', ']', '1'),
      numbers: framed('[', repeated('1,'), '1]'),
      digits: repeated('1'),
      'an escaped string': framed('"', repeated('\\"'), '"'),
      'unclosed strings': repeated('"\\'),
      spaces: repeated(' '),
      'long members': framed(
        '{',
        distinct((index) => `"${'\\u0041'.repeat(30)}${index}":1,`),
        '"a":1}',
      ),
    },
  },
  {
    // Not named like a parser, but reads the bodies of requests. Compressed input is larger after it is decoded.
    of: 'packages/responses/src/request-body.ts#RequestBody',
    limit: LIMITS.requestBodyBytesMax,
    nearOnly: true,
    run: (text) => {
      const body = Buffer.from(text, 'latin1');
      return [
        bodyValue('request.body', gzipSync(body), [['content-encoding', 'gzip']]),
        bodyValue('request.body', gzipSync(gzipSync(body)), [['content-encoding', 'gzip, gzip']]),
        bodyValue('request.form', body, [['content-type', 'application/x-www-form-urlencoded']]),
        bodyValue('request.formAll', body, [['content-type', 'multipart/form-data; boundary=b']]),
      ];
    },
    near: {
      ...MULTIPART,
      zeros: repeated('\0'),
      parts: repeated('--b\r\ncontent-disposition: form-data; name=a\r\n\r\nz\r\n'),
      'escapes in a form': repeated('%41&+'),
    },
  },
  {
    of: 'packages/responses/src/cel/time-layout.ts#parseTimeLayout',
    limit: LIMITS.expressionTextLengthMax,
    run: (text) => {
      try {
        return parseTimeLayout(text);
      } catch (error) {
        return error;
      }
    },
    near: {
      letters: repeated('yyyy'),
      'quoted quotes': framed("'", repeated("''")),
      'unclosed quotes': repeated("'a''"),
    },
  },
  {
    of: 'packages/responses/src/cel/format.ts#format',
    limit: LIMITS.expressionTextLengthMax,
    run: (text) => {
      const parsed = parseExpression("request.body.format(['a'])", []);
      return parsed.ok && expressionsFor({ body: Buffer.from(text) }).evaluate(parsed.expression);
    },
    near: {
      'percent signs': repeated('%%'),
      'a clause with many decimals': framed('%.', repeated('9'), 'f'),
      'clauses without a letter': repeated('%.'),
      'text between percent signs': repeated('%%aaaaaaaaaaaaaaaaaaaaaaaa'),
    },
  },
  {
    of: 'packages/responses/src/regular-expression.ts#parseRegularExpression',
    limit: LIMITS.conditionValueLengthMax,
    run: parseRegularExpression,
    near: {
      groups: nested('(', ')', 'a'),
      'nested counts': nested('(', '{9})', 'a'),
      alternatives: repeated('a|'),
      'a large class': framed('(?i)[', repeated('\\x01-\\xff'), ']'),
      'unclosed classes': repeated('[a-z'),
      'unclosed quotes': repeated('\\Q'),
      'a text that an unclosed group follows': framed('', repeated('a'), '('),
    },
  },
  {
    of: 'packages/responses/src/url-template.ts#parseUrlTemplate',
    limit: LIMITS.forwardUrlLengthMax,
    run: (text) => parseUrlTemplate(`http://a/${text}`, [{ kind: 'parameter', name: 'x' }]),
    near: {
      expressions: repeated('${path.x}'),
      'unclosed expressions': repeated('${'),
      'spaces in an expression': framed('${', repeated(' '), 'x}'),
      'escaped expressions': repeated('$${'),
    },
  },
  {
    of: 'packages/responses/src/template-text.ts#parseTemplateText',
    limit: LIMITS.responseBodiesBytesMax,
    run: parseTemplateText,
    near: {
      expressions: repeated('${a}'),
      'unclosed expressions': repeated('${'),
      'escaped expressions': repeated('$${'),
      'unclosed long strings': framed('${', repeated('"""a\\')),
      'expressions in long strings': repeated('${"""}'),
    },
  },
  {
    of: 'packages/responses/src/mock-template.ts#parseMockTemplate',
    limit: LIMITS.expressionsLengthMax,
    run: (body) => {
      const parsed = parseMockTemplate({ headers: [], body });
      return parsed.ok ? mockTemplateMistakes(parsed.template, ['x']) : parsed;
    },
    near: {
      expressions: repeated('${path.x == "a" ? request.json : [1]}'),
      'long lists': repeated(`\${[${'1,'.repeat(500)}1]}`),
      'nested brackets': framed('${', nested('[', ']'), '}'),
    },
  },
];
