import type { EndpointConfig, ProjectConfig } from '@standin/contract';
import { operatorSettings, translateManifests, translateSettings, type ManifestFile } from '@standin/operator';
import {
  compileRules,
  explain,
  type Candidate,
  type CandidateRules,
  type ExplainedRequest,
  type Explanation,
} from '@standin/responses';
import { countText } from '../count-text.ts';
import { PlainError } from '../plain-error.ts';
import { missingProject, type ProjectChoice } from '../server/projects.ts';
import { readManifests } from '../validate/read-manifests.ts';
import { readDescribedRequest, type DescribedRequest, type UnsentRequest } from './described-request.ts';
import { formatExplanation } from './format-explanation.ts';

/** The form of a URI that the operator derives from a Project's uid, which the manifests do not contain. */
const DERIVED_URI = /^[0-9a-hjkmnp-tv-z]{20}$/;

/**
 * Explains the response to a described request, with the manifests as the only objects. Rejects with a `PlainError` if the
 * manifests or the body cannot be read, or if the project is missing or ambiguous.
 */
export const explainManifests = async (names: readonly string[], options: DescribedRequest & ProjectChoice) => {
  const { configs, warnings } = await loadManifests(names);
  const request = await readDescribedRequest(options);
  const projects = configs.filter((config) => config.kind === 'Project');
  const project = addressedProject(projects, request, options);
  const candidates = configs
    .filter((config) => config.kind === 'Endpoint')
    .filter(({ projectUid }) => projectUid === project.uid)
    .flatMap(toCandidates);
  const explanation = explainBelowUri(candidates, { ...request, ...unsent(project) }, project);
  const described = { project: { namespace: project.namespace, name: project.name }, ...explanation };
  return { json: described, lines: formatExplanation(explanation), warnings };
};

/**
 * Returns the configuration that gateways would get from the manifests, and a warning if they have errors. Rejects with a `PlainError`
 * if they cannot be read.
 *
 * @param change returns the files of the configuration, in place of those that were read
 */
export const loadManifests = async (
  names: readonly string[],
  change?: (files: readonly ManifestFile[]) => readonly ManifestFile[],
) => {
  const files = await readManifests(names);
  // As in standin dev, the upstreams may be on this machine.
  const settings = translateSettings(operatorSettings.parse({ egress: { allowPrivate: true } }));
  const { findings, configs } = translateManifests(files, settings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings =
    errors === 0
      ? []
      : [
          `standin: ${names.join(' ')} has ${countText(errors, 'error')}, and objects with errors do not respond: see standin validate`,
        ];
  return { configs: change === undefined ? configs : translateManifests(change(files), settings).configs, warnings };
};

/** Returns the endpoint with its rules, which are compiled when they are first needed. */
export const toCandidates = (config: EndpointConfig): Candidate[] => {
  const { namespace, name, method, slug, action, responses = [] } = config;
  const endpoint = { namespace, name, method, slug };
  switch (action.kind) {
    case 'JSON':
    case 'Forward': {
      let compiled: CandidateRules | undefined;
      const rules = () => (compiled ??= compileRules(responses, action.kind === 'JSON' ? action : undefined));
      return [{ endpoint: { ...endpoint, action: action.kind }, rules }];
    }
    case 'NotAccepted':
      return [{ endpoint, rules: undefined }];
    case 'Withheld':
      // Only a stream of the configuration has such an endpoint.
      return [];
  }
};

const addressedProject = (
  all: readonly ProjectConfig[],
  { path }: UnsentRequest,
  { project, namespace }: ProjectChoice,
): ProjectConfig => {
  const fitting = all.filter(
    (one) => (project ?? one.name) === one.name && (namespace ?? one.namespace) === one.namespace,
  );
  const addressed = fitting.find(({ uri }) => uri === firstSegment(path));
  const [only] = fitting;
  if (addressed !== undefined) return addressed;
  if (only !== undefined && fitting.length === 1) return only;
  if (only === undefined) {
    if (project !== undefined) throw missingProject(all, { project, namespace }) ?? noProject();
    throw noProject(namespace);
  }
  const names = fitting.map((one) => `-n ${one.namespace} -p ${one.name}`).toSorted();
  throw new PlainError(`specify a project: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`);
};

const noProject = (namespace?: string): PlainError =>
  new PlainError(
    `the manifests contain no valid Project${namespace === undefined ? '' : ` in namespace ${namespace}`}, with its Account: see standin validate`,
  );

/** Returns what expressions see of a request that was not sent. */
const unsent = ({ name, url }: ProjectConfig): Omit<ExplainedRequest, keyof UnsentRequest> => ({
  id: '00000000-0000-0000-0000-000000000000',
  receivedAtUs: Date.now() * 1_000,
  project: name,
  projectUrl: url,
});

/** Explains the request without the project URI, if its path begins with one. */
const explainBelowUri = (
  candidates: readonly Candidate[],
  request: ExplainedRequest,
  { uri }: ProjectConfig,
): Explanation => {
  const first = firstSegment(request.path);
  const inner = { ...request, path: request.path.slice(first.length + 1) };
  if (first === uri) return explain(candidates, inner);
  const explanation = explain(candidates, request);
  return explanation.rejection === 'endpoint_not_found' && DERIVED_URI.test(first)
    ? explain(candidates, inner)
    : explanation;
};

const firstSegment = (path: string): string => path.split('/', 2)[1] ?? '';
