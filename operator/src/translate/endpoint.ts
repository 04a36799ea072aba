import {
  authorityUid,
  configKey,
  LIMITS,
  objectKey,
  type EndpointConfig,
  type ForwardActionConfig,
  type HeaderChanges,
} from '@standin/contract';
import { durationMs, jsonMockConfig, responseConfigs, type EndpointSpec, type Problem } from '@standin/crds';
import {
  hasParameters,
  parameterNames,
  parsePathPattern,
  parseUrlTemplate,
  type PathPattern,
} from '@standin/responses';
import { evaluateCredential, permissionFault, signingSecretNames } from './credential.ts';
import { ACCEPTED, fails, firstFault, holds, NOT_CHECKED, withSentence } from './findings.ts';
import { responseProblems } from './responses.ts';
import type { SecretStates } from './secrets.ts';
import { absentHeader, mockProblems, expressionSizeProblems, verbatimExpression } from './templates.ts';
import type { Entry, Evaluation, Finding, TranslateSettings } from './types.ts';
import { evaluateUpstreamSecrets, upstreamSecretNames } from './upstream-secrets.ts';

type ActionConfig = EndpointConfig['action'];
type ForwardSpec = NonNullable<EndpointSpec['forward']>;
type UpstreamTlsSpec = NonNullable<ForwardSpec['tls']>;
type HeaderChangesSpec = NonNullable<ForwardSpec['requestHeaders'] | ForwardSpec['responseHeaders']>;

const hasActiveMock = ({ action, forward }: Partial<EndpointSpec>): boolean =>
  action === 'JSON' || forward?.fallback !== undefined;

/** Returns the problem with the parameters of a slug. */
export const slugProblem = (slug: string): Problem | undefined => {
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === false ? { path: 'spec.slug', message: parsed.message } : undefined;
};

/**
 * Checks the rules that a schema cannot express. Checks only the blocks that are active, because the other one may be a draft.
 *
 * @param spec a spec, or the parts of it that do not violate the schema
 * @param slugText the slug as it is written, or undefined if it is not text
 */
export const endpointProblems = (
  spec: Partial<EndpointSpec>,
  settings: TranslateSettings,
  slugText = spec.slug,
): readonly Problem[] => {
  const { slug = '', ...withoutSlug } = spec;
  const inSlug = slugProblem(slug);
  const pattern = inSlug === undefined ? parsedPattern(slug) : undefined;
  const parameters = pattern === undefined ? probableNames(slugText, spec) : parameterNames(pattern);
  const isJsonActive = hasActiveMock(spec);
  const tooMany = expressionSizeProblems(spec.responses, isJsonActive ? spec.json : undefined);
  return [
    ...(inSlug === undefined ? [] : [inSlug]),
    ...tooMany,
    // What is too large together is not compiled, because that could take seconds.
    ...(tooMany.length > 0 ? [] : responseProblems(inSlug === undefined ? spec : withoutSlug, parameters)),
    ...(isJsonActive && tooMany.length === 0 ? mockProblems('spec.json', spec.json ?? {}, parameters) : []),
    ...(spec.action === 'Forward' ? upstreamProblems(spec, pattern, settings) : []),
  ];
};

/** Returns the names of the Secrets that an Endpoint refers to. */
export const secretNames = (spec: EndpointSpec): readonly string[] => [
  ...new Set([...signingSecretNames(spec), ...upstreamSecretNames(spec)]),
];

const parsedPattern = (slug: string): PathPattern | undefined => {
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === true ? parsed.pattern : undefined;
};

/**
 * Returns the names that a slug is probably meant to have, so that no mistake is reported as another one, too. Without a slug, these
 * are all that the spec uses.
 */
const probableNames = (
  slug: string | undefined,
  { responses = [], json }: Partial<EndpointSpec>,
): readonly string[] => {
  const matches =
    slug === undefined
      ? JSON.stringify([responses, json]).matchAll(/path\.([A-Za-z_][A-Za-z0-9_]*)/g)
      : slug.matchAll(/\{([A-Za-z_][A-Za-z0-9_]*)/g);
  const conditions = slug === undefined ? responses.flatMap(({ when }) => when?.pathParams ?? []) : [];
  return [...new Set([...[...matches].map(([, name = '']) => name), ...conditions.map(({ name }) => name)])];
};

const upstreamProblems = (
  { forward }: Partial<EndpointSpec>,
  pattern: PathPattern | undefined,
  settings: TranslateSettings,
): readonly Problem[] => {
  if (forward?.url === undefined) return [];
  const path = 'spec.forward.url';
  const template = pattern && parseUrlTemplate(forward.url, pattern);
  if (template?.ok === false) return [{ path, message: template.message }];
  if (!URL.canParse(forward.url)) return [{ path, message: 'is not a URL: check the host and the port' }];
  const refusal = settings.checkUpstream(new URL(forward.url));
  return refusal === undefined ? [] : [{ path, message: refusal }];
};

interface EndpointWorld {
  readonly project: Entry | undefined;
  /** Suggests a Project of the namespace, if there is none with this name. Empty if there is none to suggest. */
  readonly suggestion: string;
  /** Whether the arrangement of parameters in the Endpoint's slug is one that gateways match. See `Arrangements`. */
  readonly isArrangementAllowed: boolean;
  /** The Endpoint that has the place of this Project, method and shape of the path (see `entryClaim`). */
  readonly holder: Entry | undefined;
  /** The problem with the Service that the Endpoint forwards to. */
  readonly serviceFault: Finding | undefined;
  /** The problem with the certificates that the Endpoint refers to. */
  readonly caFault: Finding | undefined;
  readonly secrets: SecretStates;
}

export const evaluateEndpoint = (
  entry: Entry,
  { project, suggestion, holder, isArrangementAllowed, serviceFault, caFault, secrets }: EndpointWorld,
  settings: TranslateSettings,
): Evaluation => {
  const { ref, uid, generation, parsed, fault } = entry;
  const spec = parsed?.kind === 'Endpoint' ? parsed.spec : undefined;
  const hasPlace = holder === entry && isArrangementAllowed;
  const accepted =
    fault ??
    (spec && permissionFault(spec, project)) ??
    (hasPlace
      ? ((spec && acceptedWith(spec)) ?? ACCEPTED)
      : holder === entry
        ? TOO_MANY_ARRANGEMENTS
        : routeConflict(spec, holder));
  const place = {
    namespace: ref.namespace,
    clusterDomain: settings.clusterDomain,
    isTrusted: serviceFault === undefined,
  };
  const acceptedSpec = accepted.ok ? spec : undefined;
  const credential = acceptedSpec && evaluateCredential(ref, acceptedSpec, secrets);
  const forwarded =
    acceptedSpec?.action === 'Forward'
      ? evaluateUpstreamSecrets(ref, acceptedSpec, {
          upstream: forwardConfig(acceptedSpec.forward, place),
          states: secrets,
        })
      : undefined;
  const config: EndpointConfig | undefined =
    spec !== undefined && hasPlace && project?.evaluation?.config !== undefined
      ? {
          kind: 'Endpoint',
          uid,
          namespace: ref.namespace,
          name: ref.name,
          projectUid: project.uid,
          generation,
          slug: spec.slug,
          method: spec.method,
          ...(accepted.ok && spec.responses !== undefined && { responses: responseConfigs(spec, ref.name) }),
          action: accepted.ok ? actionConfig(spec, forwarded?.upstream) : { kind: 'NotAccepted' },
          ...(credential !== undefined && { credential: credential.config }),
        }
      : undefined;
  const projectUrl = project?.evaluation?.verdict.status['url'];
  const names = acceptedSpec === undefined ? [] : secretNames(acceptedSpec);
  const verdict = {
    ref,
    uid,
    generation,
    accepted: config === undefined || accepted.ok ? accepted : withSentence(accepted, REFUSED),
    resolvedRefs:
      spec === undefined
        ? NOT_CHECKED
        : refsFinding(
            spec.projectRef.name,
            { project, suggestion },
            serviceFault ?? caFault ?? credential?.fault ?? forwarded?.fault,
          ),
    configKey: config && accepted.ok ? configKey(config) : undefined,
    status: {
      url: spec !== undefined && typeof projectUrl === 'string' ? projectUrl + spec.slug : undefined,
      signingSecrets: config === undefined ? undefined : credential?.signingSecrets,
      upstreamSecrets: config === undefined ? undefined : forwarded?.shown,
    },
    ...(names.length > 0 && { secretNames: names }),
  };
  return { verdict, config };
};

const REFUSED = 'Until the Endpoint is corrected, requests with the API key get 503, and others get 401.';

/** What is probably a mistake, but has a meaning, is no reason to refuse the Endpoint. */
const acceptedWith = (spec: EndpointSpec): Finding => {
  const mocks = [
    ...(spec.responses ?? []).map((response, index) => [`spec.responses[${index}]`, response] as const),
    ...(hasActiveMock(spec) ? [['spec.json', spec.json ?? {}] as const] : []),
  ];
  const [note] = mocks.flatMap(([path, mock]) => verbatimExpression(path, mock) ?? absentHeader(path, mock) ?? []);
  if (note === undefined) return ACCEPTED;
  return { ...holds('Accepted', `${ACCEPTED.message} ${note.path} ${note.message}.`), note };
};

const TOO_MANY_ARRANGEMENTS = fails(
  'LimitReached',
  `The older Endpoints in this Project already use ${LIMITS.arrangementsMax} different positions for the parameters of a path ` +
    'with this number of segments: put the parameters of spec.slug at the same positions as in another Endpoint, or use another Project.',
  'spec.slug',
);

const routeConflict = (spec: EndpointSpec | undefined, holder: Entry | undefined): Finding => {
  const route = `${spec?.method ?? ''} ${spec?.slug ?? ''}`;
  const other = holder === undefined ? 'another Endpoint' : objectKey(holder.ref);
  return fails(
    'Conflicted',
    `${other} is older and already answers ${route} in this Project${sameShape(spec, holder)}: change spec.slug or spec.method, or delete one of the two Endpoints.`,
    'spec.slug',
  );
};

/** Explains a conflict between slugs that are not identical. */
const sameShape = (spec: EndpointSpec | undefined, holder: Entry | undefined): string => {
  const other = holder?.parsed?.kind === 'Endpoint' ? holder.parsed.spec.slug : undefined;
  return other === undefined || other === spec?.slug
    ? ''
    : ` with the slug ${other}, which differs only in the names of parameters`;
};

type FoundProject = Pick<EndpointWorld, 'project' | 'suggestion'>;

const refsFinding = (projectName: string, found: FoundProject, otherFault: Finding | undefined): Finding => {
  const finding = projectFinding(projectName, found);
  return finding.ok ? (otherFault ?? finding) : finding;
};

const projectFinding = (name: string, { project, suggestion }: FoundProject): Finding => {
  const path = 'spec.projectRef.name';
  if (project?.evaluation === undefined) {
    return fails('ProjectNotFound', `There is no Project ${name} in this namespace: ${suggestion}create it.`, path);
  }
  const fault = firstFault(project.evaluation);
  return fault === undefined
    ? holds('ResolvedRefs', 'The Project exists and its Account has an API key.')
    : fails('ProjectNotReady', `Project ${name} is not ready (${fault.reason}): ${fault.message}`, path);
};

/** @param upstream undefined if the action is not `Forward` */
const actionConfig = (spec: EndpointSpec, upstream: ForwardActionConfig | undefined): ActionConfig => {
  if (upstream === undefined) return { kind: 'JSON', ...jsonMockConfig(spec) };
  const fallback = spec.forward?.fallback;
  return fallback === undefined ? upstream : { ...upstream, fallback: { on: fallback.on, mock: jsonMockConfig(spec) } };
};

export interface ServicePlace {
  readonly namespace: string;
  readonly clusterDomain: string;
  /** True if the Service has no problem, so that its private addresses are allowed. */
  readonly isTrusted: boolean;
}

/** Returns the upstream in a Forward block, whether or not the block is active, without the headers from Secrets. */
export const forwardConfig = (forward: EndpointSpec['forward'], place: ServicePlace): ForwardActionConfig => {
  const timeoutMs = durationMs(forward?.timeout ?? '');
  const { url = '', serviceRef, tls, host, requestHeaders, responseHeaders, rewrite } = forward ?? {};
  const common = {
    kind: 'Forward',
    timeoutMs,
    ...(tls !== undefined && { tls: tlsConfig(place.namespace, tls) }),
    ...(host === 'Preserve' && { host }),
    ...(requestHeaders !== undefined && { requestHeaders: headerChanges(requestHeaders) }),
    ...(responseHeaders !== undefined && { responseHeaders: headerChanges(responseHeaders) }),
    ...(rewrite !== undefined && { rewrite }),
  } as const;
  if (serviceRef === undefined) return { ...common, url, viaService: false };
  const { scheme, name, port, path } = serviceRef;
  const serviceUrl = `${scheme}://${name}.${place.namespace}.svc.${place.clusterDomain}:${port}${path}`;
  return { ...common, url: serviceUrl, viaService: place.isTrusted };
};

const tlsConfig = (namespace: string, { caRef, serverName }: UpstreamTlsSpec): ForwardActionConfig['tls'] => ({
  ...(caRef !== undefined && { authorityUid: authorityUid(namespace, caRef) }),
  ...(serverName !== undefined && { serverName }),
});

const headerChanges = ({ set = [], remove = [] }: HeaderChangesSpec): HeaderChanges => ({
  set: set.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
  remove: remove.map((name) => name.toLowerCase()),
});
