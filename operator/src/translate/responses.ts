import { isUtf8 } from 'node:buffer';
import { LIMITS } from '@standin/contract';
import type { EndpointSpec, Problem } from '@standin/crds';
import { contentCodings, decodeContent } from '@standin/exchange/decode';
import {
  describeMistake,
  isJsonContent,
  isParameterValue,
  parseExpression,
  parseRegularExpression,
} from '@standin/responses';
import { jsonProblems, mockProblems } from './templates.ts';

type ResponseSpec = NonNullable<EndpointSpec['responses']>[number];
type Headers = readonly { readonly name: string; readonly value: string }[];

/** Checks the rules that a schema cannot express. Without a slug, conditions for empty parameters are not checked. */
export const responseProblems = (
  { slug, responses = [], json }: Partial<Pick<EndpointSpec, 'slug' | 'responses' | 'json'>>,
  parameters: readonly string[],
): readonly Problem[] => {
  const bytes = responses.reduce(
    (sum, { body = '', bodyBase64 = '' }) => sum + Buffer.byteLength(body) + Buffer.byteLength(bodyBase64, 'base64'),
    Buffer.byteLength(json?.body ?? ''),
  );
  const max = LIMITS.responseBodiesBytesMax;
  const checks = { slug, parameters, decodedBytesLeft: max };
  return [
    ...responses.flatMap((response, index) => singleResponseProblems(response, `spec.responses[${index}]`, checks)),
    ...expressionProblems(responses),
    ...celProblems(responses, parameters),
    ...(responses.length > 0 && bytes > max
      ? [
          {
            path: 'spec.responses',
            message: `must have bodies of no more than ${max} bytes together with spec.json.body, not ${bytes}`,
          },
        ]
      : []),
  ];
};

interface Checks {
  readonly slug: string | undefined;
  readonly parameters: readonly string[];
  /** How much compressed content of all responses can still be checked. A few bytes can decode to 1 MiB that takes 100 ms to check. */
  decodedBytesLeft: number;
}

const singleResponseProblems = (response: ResponseSpec, path: string, checks: Checks): readonly Problem[] => [
  ...(response.when?.pathParams ?? []).flatMap(({ name, type, value }, index) => [
    ...(checks.parameters.includes(name)
      ? []
      : [
          {
            path: `${path}.when.pathParams[${index}].name`,
            message: `is ${name}, but the slug has no parameter {${name}}: add it to the slug, or remove the condition`,
          },
        ]),
    ...(type === 'RegularExpression' ||
    isParameterValue(value) ||
    (value === '' && (checks.slug === undefined || checks.slug.endsWith(`{${name}...}`)))
      ? []
      : [
          {
            path: `${path}.when.pathParams[${index}].value`,
            message: `is a value that {${name}} never matches (it is empty or has . or .. as a segment): remove the condition`,
          },
        ]),
  ]),
  ...(contentTypes(response.headers).length > 1
    ? [{ path: `${path}.headers`, message: 'must contain content-type at most once' }]
    : []),
  ...(response.bodyBase64 === undefined
    ? mockProblems(path, response, checks.parameters)
    : base64Problems(`${path}.bodyBase64`, response, checks)),
];

/** Finds errors in expressions. */
const celProblems = (responses: readonly ResponseSpec[], parameters: readonly string[]): readonly Problem[] =>
  responses.flatMap(({ when }, index) =>
    EXPRESSIONS.flatMap(({ field, source, noun, type }) => {
      const message = celFault(when && source(when), { parameters, noun, type });
      return message === undefined ? [] : [{ path: `spec.responses[${index}].when.${field}`, message }];
    }),
  );

type When = NonNullable<ResponseSpec['when']>;

/** The fields of a condition that contain an expression, and the type of its value. */
const EXPRESSIONS = [
  { field: 'draw.key', source: ({ draw }: When) => draw?.key, noun: 'a key', type: 'string' },
  { field: 'cel', source: ({ cel }: When) => cel, noun: 'a condition', type: 'bool' },
] as const;

interface ExpectedValue {
  readonly parameters: readonly string[];
  readonly noun: string;
  readonly type: string;
}

const celFault = (source: string | undefined, { parameters, noun, type }: ExpectedValue): string | undefined => {
  if (source === undefined) return undefined;
  const parsed = parseExpression(source, parameters);
  if (!parsed.ok) return describeMistake(source, parsed);
  const { name } = parsed.expression.type;
  if (name === type || name === 'dyn') return undefined;
  return describeMistake(source, {
    offset: 0,
    message: `the value has the type ${name}, but ${noun} must have the type ${type}`,
  });
};

/** Finds errors in regular expressions. Limits their total size, which limits the time that a request takes. */
const expressionProblems = (responses: readonly ResponseSpec[]): readonly Problem[] => {
  const max = LIMITS.regularExpressionsSizeMax;
  let size = 0;
  const problems = responses.flatMap(({ when = {} }, index) =>
    CONDITIONS.flatMap((kind) =>
      (when[kind] ?? []).flatMap(({ type, value = '' }, at) => {
        // What is too large together is not compiled, because that could take seconds.
        if (type !== 'RegularExpression' || size > max) return [];
        const parsed = parseRegularExpression(value);
        size += parsed.ok ? parsed.expression.size : value.length;
        return parsed.ok
          ? []
          : [{ path: `spec.responses[${index}].when.${kind}[${at}].value`, message: parsed.message }];
      }),
    ),
  );
  if (size <= max) return problems;
  const message = `must have regular expressions of no more than about ${max} instructions in total: use shorter ones, or fewer`;
  return [...problems, { path: 'spec.responses', message }];
};

const CONDITIONS = ['pathParams', 'headers', 'queryParams'] as const;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const base64Problems = (
  path: string,
  { bodyBase64 = '', headers = [] }: ResponseSpec,
  checks: Checks,
): readonly Problem[] => {
  if (!BASE64.test(bodyBase64)) return [{ path, message: 'must be base64 (RFC 4648, with padding, on one line)' }];
  const pairs = headers.map(({ name, value }) => [name, value] as const);
  if (!isJsonContent(pairs)) return [];
  const sent = Buffer.from(bodyBase64, 'base64');
  const codings = contentCodings(pairs);
  if (sent.length === 0 || (codings.length > 0 && checks.decodedBytesLeft === 0)) return [];
  const content = decodeContent(codings, sent, checks.decodedBytesLeft);
  if (content.kind === 'invalid')
    return [
      {
        path,
        message: `is not ${content.coding}, which content-encoding in headers names: compress it, or remove the header`,
      },
    ];
  // What is not known or too large to decode is sent without a check.
  if (content.kind !== 'decoded') return [];
  const bytes = Buffer.from(content.bytes);
  if (codings.length > 0) checks.decodedBytesLeft -= bytes.length;
  if (!isUtf8(bytes))
    return [{ path, message: 'is not UTF-8, which JSON must be: set another content-type in headers' }];
  return jsonProblems(path, bytes.toString());
};

const contentTypes = (headers: Headers = []): Headers =>
  headers.filter(({ name }) => name.toLowerCase() === 'content-type');
