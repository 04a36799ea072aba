import { GROUP_VERSION, LIMITS, METHODS, type DesiredObject } from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { without } from '../../src/api/without.ts';
import { toObjectName } from '../../src/resources/object-name.ts';
import { numberOrText } from '../projects/project-values.ts';
import { lineFeeds, savedLine } from '../ui/text-lines.ts';
import {
  credentialFields,
  toCredentialValues,
  NO_CREDENTIAL,
  readCredential,
  toCredential,
  type CredentialValues,
  withScheme,
} from './credential-values.ts';
import { delayFields, toDelayValues, NO_DELAY, readDelay, toDelay, type DelayValues } from './delay-values.ts';
import { formReader, readRows, savedPart, type RowValues, type Saved } from './form-reader.ts';
import {
  EMPTY_HEADER,
  toHeaderRows,
  readResponses,
  responseFields,
  toResponseValues,
  toBody,
  toHeaders,
  toResponses,
  type ResponseValues,
} from './response-values.ts';

/**
 * The values of an endpoint form. All except `credential`, `headers`, `delay`, `responses` and `upstream` are named after their
 * paths in the object, so that the path in a validation error identifies the field.
 */
export interface EndpointValues {
  readonly 'metadata.name': string;
  readonly 'spec.displayName': string;
  readonly 'spec.slug': string;
  readonly 'spec.method': string;
  readonly credential: CredentialValues;
  readonly 'spec.action': string;
  readonly 'spec.json.status': string;
  readonly 'spec.json.body': string;
  /** `CEL` if expressions in the body and in headers are evaluated. Otherwise empty. */
  readonly 'spec.json.template': string;
  readonly headers: readonly RowValues[];
  /** The delay of the mock. */
  readonly delay: DelayValues;
  readonly responses: readonly ResponseValues[];
  /** The field that specifies the upstream: `url` or `serviceRef`. */
  readonly upstream: string;
  readonly 'spec.forward.url': string;
  readonly 'spec.forward.serviceRef.name': string;
  readonly 'spec.forward.serviceRef.port': string;
  readonly 'spec.forward.serviceRef.path': string;
  readonly 'spec.forward.serviceRef.scheme': string;
  readonly 'spec.forward.timeout': string;
}

const MOCK_HEADERS = 'spec.json.headers';
const MOCK_DELAY = 'spec.json.delay';
/** The values that have several fields. */
const GROUPS: readonly string[] = ['credential', 'headers', 'delay', 'responses'] satisfies (keyof EndpointValues)[];

export const EMPTY_ENDPOINT: EndpointValues = {
  'metadata.name': '',
  'spec.displayName': '',
  'spec.slug': '/',
  'spec.method': METHODS[0],
  credential: NO_CREDENTIAL,
  'spec.action': 'JSON',
  'spec.json.status': '',
  'spec.json.body': '{\n  "message": "Hello from Standin"\n}\n',
  'spec.json.template': '',
  headers: [],
  delay: NO_DELAY,
  responses: [],
  upstream: 'url',
  'spec.forward.url': '',
  'spec.forward.serviceRef.name': '',
  'spec.forward.serviceRef.port': '',
  'spec.forward.serviceRef.path': '',
  'spec.forward.serviceRef.scheme': '',
  'spec.forward.timeout': '',
};

/** Returns the paths that errors can be assigned to: those of the fields, and those of the groups that contain them. */
export const endpointFields = ({ headers, responses }: EndpointValues): string[] => [
  ...Object.keys(EMPTY_ENDPOINT).filter((name) => !GROUPS.includes(name) && name !== 'upstream'),
  MOCK_HEADERS,
  'spec.json',
  'spec.forward',
  ...headers.flatMap((_, index) => [`${MOCK_HEADERS}[${index}].name`, `${MOCK_HEADERS}[${index}].value`]),
  ...delayFields(MOCK_DELAY),
  ...credentialFields(),
  ...responseFields(responses),
];

export const readEndpointValues = (form: FormData): EndpointValues => {
  const reader = formReader(form);
  const read = Object.fromEntries(
    Object.keys(EMPTY_ENDPOINT)
      .filter((name) => !GROUPS.includes(name))
      .map((name) => [name, reader.text(name).trim()]),
  ) as unknown as EndpointValues;
  return {
    ...read,
    // The body is not trimmed, because the response is sent byte for byte.
    'spec.json.body': lineFeeds(reader.text('spec.json.body')),
    credential: readCredential(reader),
    headers: readRows(reader, MOCK_HEADERS, EMPTY_HEADER, LIMITS.mockHeadersMax),
    delay: readDelay(reader, MOCK_DELAY),
    responses: readResponses(reader),
  };
};

const optional = <T>(name: string, value: T | ''): Record<string, T> => (value === '' ? {} : { [name]: value });

/**
 * Returns the `json` field of the spec, which describes the mock. If the action is not `JSON`, returns the field only if it is not
 * empty, so that users can switch back to the mock by changing `action`.
 */
const toMock = (values: EndpointValues, saved: Saved): Record<string, unknown> | undefined => {
  const { 'spec.json.status': status, 'spec.json.body': body, headers } = values;
  const others = without(saved, 'status', 'headers', 'body', 'template', 'delay');
  const isEmpty = status === '' && body === '' && headers.length === 0 && values.delay.type === '';
  if (isEmpty && Object.keys(others).length === 0 && values['spec.action'] !== 'JSON') return undefined;
  return {
    ...optional('status', numberOrText(status)),
    ...(headers.length > 0 && { headers: toHeaders(headers, saved['headers']) }),
    ...toBody(body, saved),
    ...optional('template', values['spec.json.template']),
    ...toDelay(values.delay, saved['delay']),
    ...others,
  };
};

/** Returns the field that names the upstream, or nothing if it is empty. */
const toUpstream = (values: EndpointValues, saved: Saved): Record<string, unknown> => {
  if (values.upstream !== 'serviceRef') return optional('url', values['spec.forward.url']);
  const name = values['spec.forward.serviceRef.name'];
  if (name === '' && values['spec.action'] !== 'Forward') return {};
  return {
    serviceRef: {
      name,
      ...optional('port', numberOrText(values['spec.forward.serviceRef.port'])),
      ...optional('path', values['spec.forward.serviceRef.path']),
      ...optional('scheme', values['spec.forward.serviceRef.scheme']),
      ...without(savedPart(saved['serviceRef']), 'name', 'port', 'path', 'scheme'),
    },
  };
};

/**
 * Returns the `forward` field of the spec. If the action is not `Forward`, the form does not show its fields, so an empty upstream is
 * not an error. A later version may name the upstream by a field that the form does not know.
 */
const toForward = (values: EndpointValues, saved: Saved): Record<string, unknown> | undefined => {
  const upstream = toUpstream(values, saved);
  const others = without(saved, 'url', 'serviceRef', 'timeout');
  const isEmpty = Object.keys({ ...upstream, ...others }).length === 0;
  if (isEmpty && values['spec.action'] !== 'Forward') return undefined;
  return {
    ...(isEmpty ? { url: '' } : upstream),
    ...optional('timeout', values['spec.forward.timeout']),
    ...others,
  };
};

/** The data that `toEndpoint` needs in addition to the form. */
export interface EndpointIdentity {
  readonly namespace: string;
  readonly project: string;
  /** The metadata of an existing endpoint, whose name and namespace do not change. Undefined for a new endpoint. */
  readonly metadata?: DesiredObject['metadata'];
  /** The saved spec as written. Fields that the form does not edit are kept. */
  readonly spec?: unknown;
}

const EDITED = [
  'projectRef',
  'displayName',
  'slug',
  'method',
  'credential',
  'action',
  'responses',
  'json',
  'forward',
] as const;

export const toEndpoint = (values: EndpointValues, identity: EndpointIdentity): DesiredObject => {
  const { namespace, project, metadata } = identity;
  const spec = savedPart(identity.spec);
  const { 'spec.displayName': displayName, 'metadata.name': typed } = values;
  const name = typed === '' ? toObjectName(displayName) : typed;
  const json = toMock(values, savedPart(spec['json']));
  const forward = toForward(values, savedPart(spec['forward']));
  return {
    apiVersion: GROUP_VERSION,
    kind: 'Endpoint',
    metadata: metadata ?? { name, namespace },
    spec: {
      projectRef: { name: project, ...without(savedPart(spec['projectRef']), 'name') },
      displayName: savedLine(displayName, spec['displayName']),
      slug: values['spec.slug'],
      method: values['spec.method'],
      ...toCredential(values.credential, spec['credential']),
      action: values['spec.action'],
      ...(values.responses.length > 0 && { responses: toResponses(values.responses, spec['responses']) }),
      ...(json !== undefined && { json }),
      ...(forward !== undefined && { forward }),
      ...without(spec, ...EDITED),
    },
  };
};

/** Converts a spec to form values. `raw` is the spec as written, without default values. */
export const toEndpointValues = (name: string, raw: unknown): EndpointValues => {
  const spec = (raw ?? {}) as Partial<EndpointSpec>;
  const { json, forward } = spec;
  const text = (value: string | number | undefined): string => (value === undefined ? '' : String(value));
  return {
    'metadata.name': name,
    'spec.displayName': text(spec.displayName),
    'spec.slug': text(spec.slug),
    'spec.method': text(spec.method),
    credential: toCredentialValues(spec.credential),
    'spec.action': text(spec.action),
    'spec.json.status': text(json?.status),
    'spec.json.body': lineFeeds(text(json?.body)),
    'spec.json.template': text(json?.template),
    headers: toHeaderRows(json?.headers),
    delay: toDelayValues(json?.delay),
    responses: toResponseValues(spec.responses),
    upstream: forward?.serviceRef === undefined ? 'url' : 'serviceRef',
    'spec.forward.url': text(forward?.url),
    'spec.forward.serviceRef.name': text(forward?.serviceRef?.name),
    'spec.forward.serviceRef.port': text(forward?.serviceRef?.port),
    'spec.forward.serviceRef.path': text(forward?.serviceRef?.path),
    'spec.forward.serviceRef.scheme': text(forward?.serviceRef?.scheme),
    'spec.forward.timeout': text(forward?.timeout),
  };
};

/** Returns the values with the credential that the URL of a form requests (`scheme`), or the same values. */
export const withPreset = (values: EndpointValues, { searchParams }: URL): EndpointValues => {
  const credential = withScheme(values.credential, searchParams.get('scheme'));
  return credential === values.credential ? values : { ...values, credential };
};
