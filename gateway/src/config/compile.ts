import { endpointConfigSchema, type ConfigObject, type CredentialConfig, type EndpointConfig } from '@standin/contract';
import { Authority } from '@standin/egress';
import {
  compileConditions,
  expressionsInConditions,
  hasParameters,
  parameterNames,
  parsePathPattern,
  parseUrlTemplate,
  type PathPattern,
  type UrlTemplate,
} from '@standin/responses';
import { secretHeaders } from '@standin/signatures';
import { pathMapping } from '../forward/upstream-paths.ts';
import type { TableEntry } from '../match/routing-table.ts';
import type { ConditionalMock, Endpoint, MockSource, SignatureCredential } from '../request/route.ts';
import { Preparation, type Prepared } from '../request/preparation.ts';
import { MockResponse } from '../respond/mock-response.ts';
import { MockRenderer } from '../respond/mock-renderer.ts';

/**
 * Prepares an object for the routing table. Throws an error with a readable message if this gateway cannot serve it.
 */
export const compile = (object: ConfigObject): TableEntry => {
  switch (object.kind) {
    case 'Account':
      return { kind: 'Account', config: object };
    case 'Project':
      if (!/^[A-Za-z0-9._~-]+$/.test(object.uri)) throw new Error('the project URI is not a single path segment');
      return { kind: 'Project', config: object };
    case 'Authority':
      return { kind: 'Authority', config: object, authority: new Authority(object.certificates) };
    case 'Endpoint': {
      // `Buffer.from` would keep other buffers in memory, with which it shares a pool.
      const json = new TextEncoder().encode(JSON.stringify(object));
      return { kind: 'Endpoint', endpoint: compileEndpoint(object, json), json };
    }
  }
};

/** @param json the configuration in JSON, from which the responses are compiled again */
const compileEndpoint = (object: EndpointConfig, json: Uint8Array): Endpoint => {
  const { uid, namespace, name, projectUid, generation, slug, method, action } = object;
  const config = { uid, namespace, name, projectUid, generation, slug, method };
  const credential = object.credential && toSignatureCredential(object.credential);
  if (action.kind === 'NotAccepted' || action.kind === 'Withheld')
    return {
      kind: action.kind,
      config,
      credential,
      pattern: action.kind === 'Withheld' ? permissivePattern(slug) : slugPattern(slug),
      responseNames: [],
      preparation: NOTHING,
    };
  const pattern = slugPattern(slug);
  // Rejects the object if a response is not valid.
  const responseNames = compileResponses(object).map((response) => response.name);
  const common = { config, credential, pattern, responseNames };
  switch (action.kind) {
    case 'JSON': {
      const mock = mockSource(action);
      return { kind: 'JSON', ...common, mock, preparation: makePreparation(common, mock, json) };
    }
    case 'Forward': {
      const url = URL.parse(action.url);
      if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        throw new Error('the upstream is not an http or https URL');
      }
      const urlTemplate =
        pattern === undefined || action.viaService ? undefined : upstreamTemplate(action.url, pattern);
      const fallback = action.fallback && { on: action.fallback.on, mock: mockSource(action.fallback.mock) };
      const preparation = makePreparation(common, fallback?.mock, json);
      const paths = pathMapping(slug, action.url);
      return { kind: 'Forward', ...common, preparation, forward: action, urlTemplate, paths, fallback };
    }
  }
};

const toSignatureCredential = ({ signature, secretIds }: CredentialConfig): SignatureCredential => ({
  signature,
  secretIds,
  secretHeaders: secretHeaders(signature),
});

const compileResponses = ({ responses = [] }: EndpointConfig): readonly ConditionalMock[] =>
  responses.map(({ name, mock, ...conditions }) => ({
    kind: 'JSON',
    name,
    conditions: compileConditions(conditions),
    mock: mockSource(mock),
  }));

const mockSource = (mock: ConstructorParameters<typeof MockResponse>[0]): MockSource =>
  mock.template === undefined ? new MockResponse(mock) : new MockRenderer(mock);

/** For the many endpoints without responses and expressions. */
const NOTHING = new Preparation<ConditionalMock>(undefined, []);
/** The memory that each byte of a configuration takes when its responses are compiled, as measured. */
const BYTES_PER_JSON_BYTE = 5;

const makePreparation = (
  { config, pattern, responseNames }: Pick<Endpoint, 'config' | 'pattern' | 'responseNames'>,
  action: MockSource | undefined,
  json: Uint8Array,
): Preparation<ConditionalMock> => {
  const ofAction = action?.expressions ?? [];
  if (responseNames.length === 0 && ofAction.length === 0) return NOTHING;
  const prepare = (): Prepared<ConditionalMock> => {
    if (responseNames.length === 0) return { responses: [], expressions: ofAction, responseBytes: 0 };
    const responses = compileResponses(endpointConfigSchema.parse(JSON.parse(new TextDecoder().decode(json))));
    const expressions = responses.flatMap(({ conditions, mock }) => [
      ...expressionsInConditions(conditions),
      ...mock.expressions,
    ]);
    return { responses, expressions: [...expressions, ...ofAction], responseBytes: BYTES_PER_JSON_BYTE * json.length };
  };
  return new Preparation(prepare, pattern === undefined ? [] : parameterNames(pattern), config.namespace);
};

/**
 * Returns the pattern of a slug that only a newer version may be able to parse, so that no less specific endpoint responds: every
 * segment with braces is a parameter.
 */
const permissivePattern = (slug: string): PathPattern | undefined => {
  if (!hasParameters(slug)) return undefined;
  const parsed = parsePathPattern(slug);
  if (parsed.ok) return parsed.pattern;
  const texts = slug.slice(1).split('/');
  return texts.map((text, index) => {
    if (!hasParameters(text)) return { kind: 'literal', text };
    const isRest = index === texts.length - 1 && text.includes('...');
    return { kind: isRest ? 'rest' : 'parameter', name: `p${index}` };
  });
};

const slugPattern = (slug: string): PathPattern | undefined => {
  if (!hasParameters(slug)) return undefined;
  const parsed = parsePathPattern(slug);
  if (!parsed.ok) throw new Error(`the slug ${parsed.message}`);
  return parsed.pattern;
};

const upstreamTemplate = (url: string, pattern: PathPattern): UrlTemplate => {
  const parsed = parseUrlTemplate(url, pattern);
  if (!parsed.ok) throw new Error(`the upstream's URL ${parsed.message}`);
  return parsed.template;
};
