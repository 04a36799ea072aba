import type { ConfigObject, CredentialConfig } from '@standin/contract';
import {
  compileConditions,
  hasParameters,
  parameterNames,
  parsePathPattern,
  parseUrlTemplate,
  type PathPattern,
  type UrlTemplate,
} from '@standin/responses';
import { secretHeaders } from '@standin/signatures';
import type { TableEntry } from '../match/routing-table.ts';
import type { ConditionalMock, Endpoint, MockSource, SignatureCredential } from '../request/route.ts';
import { Preparation } from '../request/preparation.ts';
import { MockAnswer } from '../respond/mock-answer.ts';
import { MockRenderer } from '../respond/mock-renderer.ts';

type EndpointConfig = Extract<ConfigObject, { kind: 'Endpoint' }>;

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
    case 'Endpoint':
      return { kind: 'Endpoint', config: object, endpoint: compileEndpoint(object) };
  }
};

const compileEndpoint = (config: EndpointConfig): Endpoint => {
  const { action, slug } = config;
  const credential = config.credential && credentialOf(config.credential);
  switch (action.kind) {
    case 'Withheld':
      return { kind: 'Withheld', config, credential, pattern: anyPatternOf(slug), responses: [], preparation: NOTHING };
    case 'JSON': {
      const pattern = patternOf(slug);
      const [responses, mock] = [responsesOf(config), mockSource(action)];
      const preparation = preparationOf(responses, mock, pattern);
      return { kind: 'JSON', config, credential, pattern, responses, mock, preparation };
    }
    case 'Forward': {
      const url = URL.parse(action.url);
      if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        throw new Error('the upstream is not an http or https URL');
      }
      const pattern = patternOf(slug);
      const urlTemplate = pattern === undefined || action.viaService ? undefined : urlTemplateOf(action.url, pattern);
      const fallback = action.fallback && { on: action.fallback.on, mock: mockSource(action.fallback.mock) };
      const responses = responsesOf(config);
      return {
        kind: 'Forward',
        config,
        credential,
        pattern,
        responses,
        preparation: preparationOf(responses, fallback?.mock, pattern),
        forward: action,
        urlTemplate,
        fallback,
      };
    }
  }
};

const credentialOf = ({ signature, secretIds }: CredentialConfig): SignatureCredential => ({
  ...{ signature, secretIds },
  secretHeaders: secretHeaders(signature),
});

const responsesOf = ({ responses = [] }: EndpointConfig): readonly ConditionalMock[] =>
  responses.map(({ name, mock, ...conditions }) => ({
    kind: 'JSON',
    name,
    conditions: compileConditions(conditions),
    mock: mockSource(mock),
  }));

const mockSource = (mock: ConstructorParameters<typeof MockAnswer>[0]): MockSource =>
  mock.template === undefined ? new MockAnswer(mock) : new MockRenderer(mock);

/** For the many endpoints without expressions. */
const NOTHING = new Preparation([], []);

const preparationOf = (
  responses: readonly ConditionalMock[],
  action: MockSource | undefined,
  pattern: PathPattern | undefined,
): Preparation => {
  const expressions = [
    ...responses.flatMap(({ conditions }) => conditions.filter((condition) => condition.on === 'cel')),
    ...[...responses.map(({ mock }) => mock), ...(action === undefined ? [] : [action])].flatMap(
      (mock) => mock.expressions,
    ),
  ];
  if (expressions.length === 0) return NOTHING;
  return new Preparation(expressions, pattern === undefined ? [] : parameterNames(pattern));
};

/**
 * Returns the pattern of a slug that only a newer version may be able to parse, so that no less specific endpoint responds: every
 * segment with braces is a parameter.
 */
const anyPatternOf = (slug: string): PathPattern | undefined => {
  if (!hasParameters(slug)) return undefined;
  const texts = slug.slice(1).split('/');
  return texts.map((text, index) => {
    if (!hasParameters(text)) return { kind: 'literal', text };
    const isRest = index === texts.length - 1 && text.includes('...');
    return { kind: isRest ? 'rest' : 'parameter', name: `p${index}` };
  });
};

const patternOf = (slug: string): PathPattern | undefined => {
  if (!hasParameters(slug)) return undefined;
  const parsed = parsePathPattern(slug);
  if (!parsed.ok) throw new Error(`the slug ${parsed.message}`);
  return parsed.pattern;
};

const urlTemplateOf = (url: string, pattern: PathPattern): UrlTemplate => {
  const parsed = parseUrlTemplate(url, pattern);
  if (!parsed.ok) throw new Error(`the upstream's URL ${parsed.message}`);
  return parsed.template;
};
