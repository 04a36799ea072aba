import {
  isRecord,
  parseInstant,
  readTarget,
  type CorsConfig,
  type HeaderPair,
  type ProjectConfig,
} from '@standin/contract';
import { parseManifest } from '@standin/crds';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { CandidateTable, DEFAULT_CONTENT_TYPE, withCors, type PlannedResponse } from '@standin/responses';
import type { ManifestFile } from '@standin/operator';
import { loadManifests, toCandidates } from '../explain/explain-manifests.ts';

/** What the manifests respond to a captured request. */
export type ManifestResponse =
  | {
      readonly kind: 'Mock';
      readonly status: number;
      /** In latin1, without those that frame the response. */
      readonly headers: readonly HeaderPair[];
      readonly body: Buffer;
    }
  | { readonly kind: 'Forward' }
  | { readonly kind: 'NoProject' }
  | { readonly kind: 'TemplateFailed'; readonly reason: string }
  /** `reason` is a sentence. */
  | { readonly kind: 'Rejected'; readonly reason: string };

interface Project {
  readonly config: ProjectConfig;
  readonly table: CandidateTable;
}

const REJECTIONS = {
  endpoint_not_found: 'No endpoint matches the path (404).',
  method_not_allowed: 'No endpoint has the method (405).',
  endpoint_not_accepted: 'The endpoint has a mistake (503): see standin validate.',
} as const;

/** The mocks of manifests, which respond to captured requests as gateways do, without a server. */
export class ManifestMocks {
  readonly warnings: readonly string[];
  readonly #projects = new Map<string, Project>();
  /** The only project with this name. Undefined if there are several. */
  readonly #byName = new Map<string, Project | undefined>();

  private constructor({ configs, warnings }: Awaited<ReturnType<typeof loadManifests>>) {
    this.warnings = warnings;
    const endpoints = Map.groupBy(
      configs.filter((config) => config.kind === 'Endpoint'),
      ({ projectUid }) => projectUid,
    );
    for (const config of configs) {
      if (config.kind !== 'Project') continue;
      const table = new CandidateTable((endpoints.get(config.uid) ?? []).flatMap(toCandidates));
      const project = { config, table };
      this.#projects.set(`${config.namespace}/${config.name}`, project);
      this.#byName.set(config.name, this.#byName.has(config.name) ? undefined : project);
    }
  }

  /**
   * Rejects with a `PlainError` if there are no manifests, or if they cannot be read.
   *
   * @param useMocks whether the mock of an endpoint responds instead of its upstream
   */
  static async load(names: readonly string[], { useMocks = false } = {}): Promise<ManifestMocks> {
    return new ManifestMocks(await loadManifests(names, useMocks ? withoutUpstreams : undefined));
  }

  /**
   * Returns the response to a captured request. Manifests often contain no namespace, so the only project with the name is used if
   * none has the namespace.
   */
  respond(entry: LogEntry): ManifestResponse {
    const project = this.#projects.get(`${entry.namespace}/${entry.project}`) ?? this.#byName.get(entry.project);
    if (project === undefined) return { kind: 'NoProject' };
    const { config, table } = project;
    const { method, path, query, request } = entry;
    const { rejection, content } = table.explain({
      id: entry.id,
      receivedAtUs: parseInstant(entry.receivedAt) ?? 0,
      project: entry.project,
      projectUrl: capturedUrl(entry) ?? config.url,
      method,
      path,
      query,
      headers: request.headers,
      body: bodyAsBuffer(request),
    });
    if (rejection !== undefined) return { kind: 'Rejected', reason: REJECTIONS[rejection] };
    return content === undefined ? { kind: 'Forward' } : toResponse(content, entry, config.cors);
  }
}

/** Returns the manifests with the action `JSON` in each Endpoint. */
const withoutUpstreams = (files: readonly ManifestFile[]): readonly ManifestFile[] =>
  files.map((file) => {
    const { documents } = parseManifest(file.text);
    const text = documents.map(({ value }) => JSON.stringify(withoutUpstream(value))).join('\n---\n');
    return { ...file, text };
  });

const withoutUpstream = (document: unknown): unknown =>
  isRecord(document) && document['kind'] === 'Endpoint' && isRecord(document['spec'])
    ? { ...document, spec: { ...document['spec'], action: 'JSON' } }
    : document;

const toResponse = (
  content: PlannedResponse,
  { method, request }: LogEntry,
  cors: CorsConfig | undefined,
): ManifestResponse => {
  if (content.kind !== 'Mock') return { kind: 'TemplateFailed', reason: content.reason };
  const { status, headers, body, bodyEncoding } = content;
  const hasType = body === '' || headers.some(([name]) => name.toLowerCase() === 'content-type');
  const typed = hasType ? headers : [...headers, DEFAULT_CONTENT_TYPE];
  return {
    kind: 'Mock',
    status,
    headers: cors === undefined ? typed : withCors(typed, cors, request.headers.flat()),
    body: Buffer.from(method === 'HEAD' ? '' : body, bodyEncoding),
  };
};

/**
 * Returns the public URL of the project when the request was captured, as the captured response contains it. The manifests do not
 * contain it. Undefined if the response does not contain it.
 */
const capturedUrl = ({ request, response }: LogEntry): string | undefined => {
  const [, uri = ''] = readTarget(request.target).originForm.split(/[/?]/, 2);
  if (uri === '') return undefined;
  for (const text of [...response.headers.map(([, value]) => value), response.body]) {
    const end = text.indexOf(`/${uri}`);
    if (end === -1) continue;
    const [url] = /https?:\/\/[^\s"'<>\\]*$/.exec(text.slice(Math.max(0, end - URL_CHARS_MAX), end)) ?? [];
    if (url !== undefined) return `${url}/${uri}`;
  }
  return undefined;
};

const URL_CHARS_MAX = 300;
