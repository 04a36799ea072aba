import {
  isRecord,
  LIMITS,
  type DesiredObject,
  type HeaderPair,
  type LogRow,
  type ResourceObject,
} from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { toLogEntry, type LogEntry } from '@standin/exchange';
import { diffLines } from '@standin/exchange/diff';
import { defaultRedaction, redact } from '@standin/exchange/redact';
import type { DiffLine } from '@standin/exchange/response-diff';
import { hasParameters } from '@standin/responses';
import type { DashboardMode } from '../backend.ts';
import { versionText } from '../expected-version.ts';
import { toDesired, manifestYaml } from '../resources/manifest-yaml.ts';
import { toObjectName } from '../resources/object-name.ts';
import { endpointSpec } from '../resources/specs.ts';
import { mockOfResponse, type MockPlace, type MockSpec } from './mock-of-response.ts';
import { requestConditions, type RequestCondition } from './request-conditions.ts';

/** How the user wants to save a captured response. Undefined fields have a default that depends on the request. */
export interface MockChoice {
  readonly place: MockPlace | undefined;
  /** The name of the new response. */
  readonly name: string | undefined;
  /** The indexes of the chosen conditions in `MockOptions.conditions`. */
  readonly conditions: readonly number[] | undefined;
  /** The index of the new response in `spec.responses`. */
  readonly position: number;
}

/** The choice with its defaults, and what there is to choose from. */
export interface MockOptions {
  readonly place: MockPlace;
  readonly name: string;
  readonly conditions: readonly (RequestCondition & { readonly isChosen: boolean })[];
  readonly position: number;
  /** The names of the endpoint's responses. */
  readonly responses: readonly string[];
}

/** A change that makes an endpoint return a captured response. */
export interface MockChange {
  readonly object: DesiredObject;
  /** The version of the endpoint, as `versionText` returns it. */
  readonly version: string;
  /** Differences between the manifest before and after the change. */
  readonly lines: readonly DiffLine[];
  /** Number of added and removed lines, including those that are not in `lines`. */
  readonly changedLines: number;
  readonly yaml: string;
  readonly dropped: readonly string[];
  readonly decoded: readonly string[];
  readonly addedType: string | undefined;
  /** The names of headers and fields that typically contain credentials, such as `set-cookie` and `$.token`. */
  readonly credentials: readonly string[];
}

/** `reason` explains why the response cannot be saved as chosen. */
export type Draft = { readonly options: MockOptions } & (MockChange | { readonly reason: string });

export interface DraftInput {
  readonly row: LogRow;
  readonly endpoint: ResourceObject;
  readonly mode: DashboardMode;
  readonly choice: MockChoice;
}

export const toMockDraft = ({ row, endpoint, mode, choice }: DraftInput): Draft => {
  const entry = toLogEntry(row);
  const spec = endpointSpec(endpoint);
  const options = mockOptions(entry, spec, choice);
  const made = mockOfResponse(entry, options.place);
  if (!made.ok) return { options, reason: made.reason };
  const { mock, dropped, decoded, addedType } = made;
  const change = options.place === 'json' ? { action: 'JSON', json: mock } : withResponse(spec, mock, options);
  if ('reason' in change) return { options, reason: change.reason };
  const old = toDesired(endpoint);
  const object = { ...old, spec: { ...(old.spec as object), ...change } };
  const yaml = manifestYaml(object, mode);
  const { lines, total: changedLines } = diffLines(manifestYaml(old, mode), yaml);
  if (changedLines === 0) return { options, reason: 'The endpoint already returns this response.' };
  const credentials = credentialsIn(entry, mock);
  const version = versionText(endpoint);
  return { options, object, version, lines, changedLines, yaml, dropped, decoded, addedType, credentials };
};

/** Returns what a Share of only this response would hide. Searches the beginning of a long body. */
const credentialsIn = (entry: LogEntry, { headers = [], body = '' }: MockSpec): readonly string[] => {
  const nothing = { headers: [], trailers: [], body: '', bodyEncoding: 'utf8' } as const;
  const response = { ...nothing, headers: headers.map(({ name, value }): HeaderPair => [name, value]), body };
  const alone: LogEntry = {
    ...entry,
    path: '/',
    query: '',
    upstreamUrl: '',
    upstreamError: '',
    templateError: '',
    deliveryId: '',
    request: { ...entry.request, ...nothing, target: '/' },
    response: { ...entry.response, ...response },
  };
  return [...new Set(redact(alone, defaultRedaction(alone)).hidden.map(({ name }) => name))];
};

const mockOptions = (entry: LogEntry, spec: Partial<EndpointSpec>, choice: MockChoice): MockOptions => {
  const slug = typeof spec.slug === 'string' ? spec.slug : '';
  const responses = savedResponses(spec);
  const conditions = requestConditions(entry, slug);
  const isChosen = ({ list }: RequestCondition, index: number): boolean =>
    choice.conditions?.includes(index) ?? list === 'pathParams';
  const names = responses.map(({ name }) => name);
  return {
    place: choice.place ?? (responses.length > 0 || hasParameters(slug) ? 'response' : 'json'),
    name: choice.name ?? suggestedName(entry, conditions, names),
    conditions: conditions.map((condition, index) => ({ ...condition, isChosen: isChosen(condition, index) })),
    position: Math.min(choice.position, names.length),
    responses: names,
  };
};

/** Longer names would be hard to read in a list. */
const SUGGESTED_LENGTH_MAX = 40;

/** Returns a name such as `id-1001`, or `status-404` if there are no path parameters. */
const suggestedName = (
  { status }: LogEntry,
  conditions: readonly RequestCondition[],
  taken: readonly string[],
): string => {
  const [parameter] = conditions.filter(({ list }) => list === 'pathParams');
  const base = toObjectName(
    parameter === undefined
      ? `status ${status}`
      : `${parameter.name} ${parameter.value ?? ''}`.slice(0, SUGGESTED_LENGTH_MAX),
  );
  const names = Array.from({ length: taken.length + 1 }, (_, index) => (index === 0 ? base : `${base}-${index + 1}`));
  return names.find((name) => !taken.includes(name)) ?? base;
};

/** Returns `spec.responses` with the new response. */
const withResponse = (spec: Partial<EndpointSpec>, mock: MockSpec, options: MockOptions) => {
  const responses = savedResponses(spec);
  const when = toWhen(options.conditions.filter(({ isChosen }) => isChosen));
  if (when === undefined)
    return {
      reason:
        'Select at least one condition. Without one, every request would get this response: to do that, replace the mock.',
    };
  const same = responses.find((response) => JSON.stringify(response.when) === JSON.stringify(when));
  const added = { name: options.name, when, ...mock };
  if (same !== undefined && JSON.stringify({ ...same, name: '' }) === JSON.stringify({ ...added, name: '' }))
    return { reason: `The response ${same.name} already has these conditions and this content.` };
  const contents: readonly Content[] = [...responses, spec.json ?? {}, added];
  const bytes = contents.reduce((sum, content) => sum + contentBytes(content), 0);
  if (bytes > LIMITS.responseBodiesBytesMax)
    return {
      reason: `The bodies of an endpoint's responses must not exceed ${LIMITS.responseBodiesBytesMax.toLocaleString('en')} bytes in total, but they would have ${bytes.toLocaleString('en')}. Remove a response first.`,
    };
  return { responses: [...responses.slice(0, options.position), added, ...responses.slice(options.position)] };
};

type ResponseSpec = NonNullable<EndpointSpec['responses']>[number];

/** The spec of an endpoint that was not accepted may have any content. */
const savedResponses = ({ responses }: Partial<EndpointSpec>): readonly ResponseSpec[] =>
  Array.isArray(responses) ? responses.filter(isRecord) : [];

interface Content {
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
}

const contentBytes = ({ body = '', bodyBase64 = '' }: Content): number =>
  Buffer.byteLength(body) + Buffer.byteLength(bodyBase64, 'base64');

type When = NonNullable<ResponseSpec['when']>;

/** Returns undefined without conditions. */
const toWhen = (conditions: readonly RequestCondition[]): When | undefined => {
  const of = (list: RequestCondition['list']) =>
    conditions
      .filter((condition) => condition.list === list)
      .map(({ name, value }) => (value === undefined ? { name, type: 'Present' as const } : { name, value }));
  const [headers, queryParams] = [of('headers'), of('queryParams')];
  const pathParams = conditions.flatMap(({ list, name, value = '' }) =>
    list === 'pathParams' ? [{ name, value }] : [],
  );
  if (conditions.length === 0) return undefined;
  return {
    ...(pathParams.length > 0 && { pathParams }),
    ...(headers.length > 0 && { headers }),
    ...(queryParams.length > 0 && { queryParams }),
  };
};
