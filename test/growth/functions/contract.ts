import { LIMITS } from '@standin/contract';
import { isInFormat } from '../../../cli/src/openapi/formats.ts';
import { decodeText, formPairs } from '../../../cli/src/openapi/parameter-text.ts';
import { matchTemplate, normalPath, parsePathTemplate } from '../../../cli/src/openapi/path-template.ts';
import type { GrowthEntry } from '../entry.ts';
import { framed, repeated } from '../generators.ts';

const TARGET = LIMITS.requestTargetBytesMax;
const BODY = 2 * 1024 * 1024;
const FORMATS = ['date', 'date-time', 'uuid', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'byte'];
const MIXED = parsePathTemplate('/{a}-{b}-{c}{d}.json');

/** Functions of `standin test --openapi`. `SchemaCheck` has a budget, which its own tests check. */
export const CONTRACT: readonly GrowthEntry[] = [
  {
    of: 'cli/src/openapi/formats.ts#isInFormat',
    limit: BODY,
    run: (text) => FORMATS.map((format) => isInFormat(text, format)),
    near: {
      'at signs': repeated('a@'),
      labels: repeated('a.'),
      hyphens: framed('a', repeated('-'), '.'),
      digits: framed('2026-11-28T10:00:00.', repeated('0'), 'x'),
      base64: framed('', repeated('AAAA'), '=A'),
    },
  },
  {
    of: 'cli/src/openapi/parameter-text.ts#formPairs',
    limit: BODY,
    run: formPairs,
    near: { pairs: repeated('a=%41&') },
    cpuMsMax: 3_000,
  },
  {
    of: 'cli/src/openapi/parameter-text.ts#decodeText',
    limit: BODY,
    run: (text) => decodeText(text, true),
    near: { bytes: repeated('\xc3\xa9') },
    cpuMsMax: 3_000,
  },
  {
    of: 'cli/src/openapi/path-template.ts#parsePathTemplate',
    limit: TARGET,
    run: parsePathTemplate,
    near: { braces: repeated('{'), parameters: repeated('{a}'), segments: repeated('/{a}') },
  },
  {
    of: 'cli/src/openapi/path-template.ts#matchTemplate',
    limit: TARGET,
    run: (text) => matchTemplate(MIXED, [text]),
    near: { hyphens: repeated('a-'), ends: repeated('.json') },
  },
  {
    of: 'cli/src/openapi/path-template.ts#normalPath',
    limit: TARGET,
    run: normalPath,
    near: { escapes: repeated('%41'), percents: repeated('%'), bytes: repeated('\xc3') },
  },
];
