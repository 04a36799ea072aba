import { isRecord } from '@standin/contract';
import { endpointRoute, parseObject, projectUri, validEndpointParts, type Problem } from '@standin/crds';
import {
  hasParameters,
  parsePathPattern,
  patternArrangement,
  patternShape,
  type PathPattern,
} from '@standin/responses';
import type { CaRef } from './authorities.ts';
import { endpointProblems, secretNames, slugProblem } from './endpoint.ts';
import { fails, invalid } from './findings.ts';
import { uriClaim } from './reservations.ts';
import type { ServiceRef } from './services.ts';
import type { ConfigRef, ConfigResource, Entry, KeyState, ParsedConfig, TranslateSettings } from './types.ts';

/** Parses an object. Never throws. */
export const readEntry = (object: ConfigResource, settings: TranslateSettings): Entry => {
  const { kind, metadata, identityFault } = object;
  const { parsed, fault: specFault, keepsPlace } = readSpec(object, settings);
  const { namespace, name, uid, generation } = metadata;
  const { creationTimestamp } = metadata;
  const ref: ConfigRef = { kind, namespace, name };
  const createdAtMs = Date.parse(creationTimestamp);
  return {
    ref,
    uid,
    generation,
    createdAtMs: Number.isNaN(createdAtMs) ? 0 : createdAtMs,
    parsed,
    fault: identityFault === undefined ? specFault : fails(identityFault.reason, identityFault.message),
    isBeyondLimit: object.isBeyondLimit === true,
    claim: undefined,
    isTaken: false,
    keepsPlace,
    yields: keepsPlace,
    arrangement:
      (specFault === undefined || keepsPlace) && parsed !== undefined ? arrangementIn(ref, parsed) : undefined,
    evaluation: undefined,
  };
};

/** Returns the pattern of a slug, or undefined if the slug is invalid or has no parameters. */
const slugPattern = (slug: string): PathPattern | undefined => {
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === true ? parsed.pattern : undefined;
};

/**
 * Returns the arrangement of an Endpoint's slug. A gateway compares a path with the group for the path's number of segments, and
 * with the group `rest`.
 */
const arrangementIn = ({ namespace }: ConfigRef, parsed: ParsedConfig): Entry['arrangement'] => {
  const pattern = parsed.kind === 'Endpoint' ? slugPattern(parsed.spec.slug) : undefined;
  if (parsed.kind !== 'Endpoint' || pattern === undefined) return undefined;
  const letters = patternArrangement(pattern);
  const size = letters.endsWith('R') ? 'rest' : String(letters.length);
  return { group: `${namespace}/${parsed.spec.projectRef.name} ${size}`, letters };
};

type ReadSpec = Pick<Entry, 'parsed' | 'fault' | 'keepsPlace'>;

const BEYOND_LIMIT = fails(
  'LimitReached',
  'The older objects in this namespace already have the maximum size: delete objects, make them smaller, or use another namespace. ' +
    'An administrator can raise namespaceBytesMax in the settings of the operator.',
);

const readSpec = (object: ConfigResource, settings: TranslateSettings): ReadSpec => {
  if (object.isBeyondLimit === true) return { parsed: undefined, fault: BEYOND_LIMIT, keepsPlace: false };
  try {
    const result = parseObject(object);
    const parsed = result.ok ? (result.value as ParsedConfig) : parseRoute(object);
    const problems = result.ok
      ? semanticProblems(result.value as ParsedConfig, settings)
      : [...result.problems, ...furtherProblems(object, result.problems, settings)];
    if (problems.length === 0) return { parsed, fault: undefined, keepsPlace: false };
    const keepsPlace = parsed?.kind === 'Endpoint' && slugProblem(parsed.spec.slug) === undefined;
    return {
      parsed,
      fault: invalid(problems, keepsPlace && !result.ok && result.isMaybeLater ? LATER : ''),
      keepsPlace,
    };
  } catch (error) {
    const message = `the operator cannot parse it (${String(error)}): this is a bug in Standin, please report it`;
    return { parsed: undefined, fault: invalid([{ path: 'spec', message }]), keepsPlace: false };
  }
};

const LATER = ' If it is written for a newer version of Standin, upgrade the operator.';

/** Without its path, a less specific Endpoint would respond to requests that belong to this one. */
const parseRoute = ({ kind, spec }: ConfigResource): ParsedConfig | undefined => {
  const route = kind === 'Endpoint' ? endpointRoute(spec) : undefined;
  return route && { kind: 'Endpoint', spec: route };
};

const semanticProblems = (parsed: ParsedConfig, settings: TranslateSettings): readonly Problem[] =>
  parsed.kind === 'Endpoint' ? endpointProblems(parsed.spec, settings) : [];

/** Finds mistakes in the parts of an object that do not violate the schema, so that all of them can be corrected together. */
const furtherProblems = (
  { kind, spec }: ConfigResource,
  known: readonly Problem[],
  settings: TranslateSettings,
): readonly Problem[] => {
  if (kind !== 'Endpoint' || !isRecord(spec)) return [];
  const { slug } = spec;
  const paths = new Set(known.map(({ path }) => path));
  const found = endpointProblems(validEndpointParts(spec), settings, typeof slug === 'string' ? slug : undefined);
  return found.filter(({ path }) => !paths.has(path));
};

/** Returns the claim to something unique: an API key, a project URI, or a method and path in a project. */
export const entryClaim = ({ ref, uid, parsed, fault, keepsPlace }: Entry, key: KeyState): string | undefined => {
  if (parsed === undefined || (fault !== undefined && !keepsPlace)) return undefined;
  switch (parsed.kind) {
    case 'Account':
      return key.kind === 'key' ? `key ${key.sha256}` : undefined;
    case 'Project':
      return uriClaim(projectUri(uid, parsed.spec));
    case 'Endpoint': {
      const { projectRef, method, slug } = parsed.spec;
      const pattern = slugPattern(slug);
      return `route ${ref.namespace}/${projectRef.name} ${method} ${pattern === undefined ? slug : patternShape(pattern)}`;
    }
  }
};

/** Returns the parent to which the entry's object refers. */
export const parentRef = ({ ref: { namespace }, parsed }: Entry): ConfigRef | undefined => {
  switch (parsed?.kind) {
    case 'Project':
      return { kind: 'Account', namespace, name: parsed.spec.accountRef.name };
    case 'Endpoint':
      return { kind: 'Project', namespace, name: parsed.spec.projectRef.name };
    default:
      return undefined;
  }
};

/** Returns the Service that an Endpoint forwards to, in its own namespace. Ignores a draft next to the active action. */
export const entryServiceRef = ({ parsed }: Entry): ServiceRef | undefined =>
  parsed?.kind === 'Endpoint' && parsed.spec.action === 'Forward' ? parsed.spec.forward?.serviceRef : undefined;

/** Returns the certificates of authorities that an Endpoint refers to. Ignores a draft next to the active action. */
export const entryCaRef = ({ parsed }: Entry): CaRef | undefined =>
  parsed?.kind === 'Endpoint' && parsed.spec.action === 'Forward' ? parsed.spec.forward?.tls?.caRef : undefined;

/** Returns the names of the Secrets that an Endpoint refers to. Ignores a draft next to the active action. */
export const entrySecretNames = ({ parsed }: Entry): readonly string[] =>
  parsed?.kind === 'Endpoint' ? secretNames(parsed.spec) : [];
