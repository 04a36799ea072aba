import type { Explanation, OtherEndpoint } from '@standin/responses';
import { countText } from '../count-text.ts';
import { formatDuration } from '../logs/format-entry.ts';
import { styled, type Line } from '../terminal.ts';

const ACTIONS = { JSON: 'the mock in spec.json', Forward: 'the upstream in spec.forward' } as const;
const REFUSALS = {
  endpoint_not_found: '404 endpoint_not_found: no slug in the project matches the path',
  method_not_allowed: '405 method_not_allowed: the path matches, but no endpoint has this method',
  endpoint_not_accepted:
    '503 endpoint_not_accepted: the endpoint has a mistake (see standin validate, or its conditions)',
} as const;
const REASONS: Readonly<Record<OtherEndpoint['reason'], string>> = {
  Method: 'matches the path, but has a different method',
  Precedence: 'matches the path, but is less specific',
  Path: 'has a similar path',
};

/** An explanation, as far as it is shown. Later versions of a server may know other conditions. */
export interface ShownExplanation extends Omit<Explanation, 'unmatched' | 'mock'> {
  readonly unmatched: readonly { readonly name: string; readonly unmet: readonly { readonly message: string }[] }[];
  readonly mock?:
    | {
        readonly isTemplate: boolean;
        readonly delay?: { readonly type: string; readonly ms: number } | undefined;
        readonly templateError?: string | undefined;
      }
    | undefined;
}

/** Describes what a request gets, and why it does not get something else. */
export const formatExplanation = (explanation: ShownExplanation): readonly Line[] => {
  const { endpoint, rejection, unmatched, otherEndpoints } = explanation;
  return [
    ...(rejection === undefined ? [] : [field('rejected', REFUSALS[rejection])]),
    ...(endpoint === undefined
      ? []
      : [
          field('endpoint', `${endpoint.namespace}/${endpoint.name} (${endpoint.method} ${endpoint.slug})`),
          ...(rejection === undefined ? [field('response', responseText(explanation))] : []),
        ]),
    ...contentLines(explanation),
    ...unmatched.flatMap(({ name, unmet }) => [
      field('not', [styled('bold', name), ': ', countText(unmet.length, 'unmet condition')]),
      ...unmet.map(({ message }) => field('', message)),
    ]),
    ...otherEndpoints.map(({ namespace, name, method, slug, reason }) =>
      field('other', `${namespace}/${name} (${method} ${slug}) ${REASONS[reason]}`),
    ),
  ];
};

const contentLines = ({ mock }: ShownExplanation): readonly Line[] => {
  if (mock === undefined) return [];
  const { isTemplate, templateError, delay } = mock;
  const state =
    templateError === undefined
      ? 'CEL: all expressions have values for this request'
      : `fails for this request, so the response is a 500: ${templateError}`;
  const note = delay?.type === 'Fixed' ? '' : ` (${delay?.type}: each request has its own)`;
  return [
    ...(isTemplate ? [field('template', state)] : []),
    ...(delay === undefined ? [] : [field('delay', `${formatDuration(delay.ms)}${note}`)]),
  ];
};

const field = (label: string, text: string | Exclude<Line, string>): Line => [
  styled('dim', label.padEnd(10)),
  ...(typeof text === 'string' ? [text] : text),
];

const responseText = ({ endpoint, response, unmatched }: ShownExplanation): string => {
  if (response !== undefined) return response;
  const action = ACTIONS[endpoint?.action ?? 'JSON'];
  return unmatched.length === 0 ? `${action}; the endpoint has no responses` : `${action}, because no response matches`;
};
