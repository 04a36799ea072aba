import { GROUP_VERSION, METHODS, type DesiredObject } from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { objectNameOf } from '../../src/resources/object-name.ts';
import { numberOrText } from '../projects/project-values.ts';
import { lineFeeds } from '../ui/text-lines.ts';

export interface HeaderValues {
  readonly name: string;
  readonly value: string;
}

/**
 * The values of an endpoint form. All except `headers` and `upstream` are named after their paths in the object, so that the path
 * in a validation error identifies the field.
 */
export interface EndpointValues {
  readonly 'metadata.name': string;
  readonly 'spec.displayName': string;
  readonly 'spec.slug': string;
  readonly 'spec.method': string;
  readonly 'spec.action': string;
  readonly 'spec.json.status': string;
  readonly 'spec.json.body': string;
  readonly headers: readonly HeaderValues[];
  /** The field that specifies the upstream: `url` or `serviceRef`. */
  readonly upstream: string;
  readonly 'spec.forward.url': string;
  readonly 'spec.forward.serviceRef.name': string;
  readonly 'spec.forward.serviceRef.port': string;
  readonly 'spec.forward.serviceRef.path': string;
  readonly 'spec.forward.serviceRef.scheme': string;
  readonly 'spec.forward.timeout': string;
}

export const HEADER_ROWS_MAX = 64;
const headerField = (index: number, part: keyof HeaderValues): string => `spec.json.headers[${index}].${part}`;

export const EMPTY_ENDPOINT: EndpointValues = {
  'metadata.name': '',
  'spec.displayName': '',
  'spec.slug': '/',
  'spec.method': METHODS[0],
  'spec.action': 'JSON',
  'spec.json.status': '',
  'spec.json.body': '{\n  "message": "Hello from Standin"\n}\n',
  headers: [],
  upstream: 'url',
  'spec.forward.url': '',
  'spec.forward.serviceRef.name': '',
  'spec.forward.serviceRef.port': '',
  'spec.forward.serviceRef.path': '',
  'spec.forward.serviceRef.scheme': '',
  'spec.forward.timeout': '',
};

/** Returns the paths that errors can be assigned to: those of the fields, and those of the groups that contain them. */
export const endpointFields = ({ headers }: EndpointValues): string[] => [
  ...Object.keys(EMPTY_ENDPOINT).filter((name) => name !== 'headers' && name !== 'upstream'),
  'spec.json.headers',
  'spec.json',
  'spec.forward',
  ...headers.flatMap((_, index) => [headerField(index, 'name'), headerField(index, 'value')]),
];

export const readEndpointValues = (form: FormData): EndpointValues => {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value : '';
  };
  const read = Object.fromEntries(
    Object.keys(EMPTY_ENDPOINT)
      .filter((name) => name !== 'headers')
      .map((name) => [name, text(name).trim()]),
  ) as unknown as EndpointValues;
  const count = Math.min(
    HEADER_ROWS_MAX + 1,
    [...form.keys()].filter((name) => /^spec\.json\.headers\[\d+\]\.name$/.test(name)).length,
  );
  const headers = Array.from({ length: count }, (_, index) => ({
    name: text(headerField(index, 'name')),
    value: text(headerField(index, 'value')),
  }));
  return {
    ...read,
    // The body is not trimmed, because the response is sent byte for byte.
    'spec.json.body': lineFeeds(text('spec.json.body')),
    // Empty rows are not headers.
    headers: headers.filter(({ name, value }) => name !== '' || value !== ''),
  };
};

const optional = <T>(name: string, value: T | ''): Record<string, T> => (value === '' ? {} : { [name]: value });

/**
 * Returns the `json` field of the spec, which describes the mock. If the action is not `JSON`, returns the field only if it is not
 * empty, so that users can switch back to the mock by changing `action`.
 */
const mockOf = (values: EndpointValues): Record<string, unknown> | undefined => {
  const { 'spec.json.status': status, 'spec.json.body': body, headers } = values;
  const isEmpty = status === '' && body === '' && headers.length === 0;
  if (isEmpty && values['spec.action'] !== 'JSON') return undefined;
  return {
    ...optional('status', numberOrText(status)),
    ...(headers.length > 0 && { headers: headers.map(({ name, value }) => ({ name, value })) }),
    ...optional('body', body),
  };
};

const upstreamOf = (values: EndpointValues): Record<string, unknown> | undefined => {
  const timeout = optional('timeout', values['spec.forward.timeout']);
  if (values.upstream === 'serviceRef') {
    return {
      serviceRef: {
        name: values['spec.forward.serviceRef.name'],
        ...optional('port', numberOrText(values['spec.forward.serviceRef.port'])),
        ...optional('path', values['spec.forward.serviceRef.path']),
        ...optional('scheme', values['spec.forward.serviceRef.scheme']),
      },
      ...timeout,
    };
  }
  const url = values['spec.forward.url'];
  if (url === '' && values['spec.action'] !== 'Forward') return undefined;
  return { url, ...timeout };
};

/** The data that `toEndpoint` needs in addition to the form. */
export interface EndpointIdentity {
  readonly namespace: string;
  readonly project: string;
  /** The metadata of an existing endpoint, whose name and namespace do not change. Undefined for a new endpoint. */
  readonly metadata?: DesiredObject['metadata'];
  /** The saved body. A text area normalizes line breaks, so the saved bytes are kept if only line breaks differ. */
  readonly body?: string | undefined;
  /** The saved responses with conditions. The form does not edit them. */
  readonly responses?: EndpointSpec['responses'];
}

export const toEndpoint = (values: EndpointValues, identity: EndpointIdentity): DesiredObject => {
  const { namespace, project, metadata, body, responses } = identity;
  const { 'spec.displayName': displayName, 'metadata.name': typed } = values;
  const name = typed === '' ? objectNameOf(displayName) : typed;
  const isSameBody = body !== undefined && lineFeeds(body) === values['spec.json.body'];
  const json = mockOf(isSameBody ? { ...values, 'spec.json.body': body } : values);
  const forward = upstreamOf(values);
  return {
    apiVersion: GROUP_VERSION,
    kind: 'Endpoint',
    metadata: metadata ?? { name, namespace },
    spec: {
      projectRef: { name: project },
      displayName,
      slug: values['spec.slug'],
      method: values['spec.method'],
      action: values['spec.action'],
      ...(responses !== undefined && { responses }),
      ...(json !== undefined && { json }),
      ...(forward !== undefined && { forward }),
    },
  };
};

/** Converts a spec to form values. `raw` is the spec as written, without default values. */
export const valuesOf = (name: string, raw: unknown): EndpointValues => {
  const spec = (raw ?? {}) as Partial<EndpointSpec>;
  const { json, forward } = spec;
  const text = (value: string | number | undefined): string => (value === undefined ? '' : String(value));
  return {
    'metadata.name': name,
    'spec.displayName': text(spec.displayName),
    'spec.slug': text(spec.slug),
    'spec.method': text(spec.method),
    'spec.action': text(spec.action),
    'spec.json.status': text(json?.status),
    'spec.json.body': lineFeeds(text(json?.body)),
    headers: (json?.headers ?? []).map(({ name: header, value }) => ({ name: header, value })),
    upstream: forward?.serviceRef === undefined ? 'url' : 'serviceRef',
    'spec.forward.url': text(forward?.url),
    'spec.forward.serviceRef.name': text(forward?.serviceRef?.name),
    'spec.forward.serviceRef.port': text(forward?.serviceRef?.port),
    'spec.forward.serviceRef.path': text(forward?.serviceRef?.path),
    'spec.forward.serviceRef.scheme': text(forward?.serviceRef?.scheme),
    'spec.forward.timeout': text(forward?.timeout),
  };
};
