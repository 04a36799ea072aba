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
   *
   * @param isSame whether this is the captured response, to find the public URL that the project had then
   */
  respond(entry: LogEntry, isSame: (response: ManifestResponse) => boolean): ManifestResponse {
    const project = this.#projects.get(`${entry.namespace}/${entry.project}`) ?? this.#byName.get(entry.project);
    if (project === undefined) return { kind: 'NoProject' };
    const [likeliest = project.config.url, ...others] = publicUrls(entry);
    const first = this.#respond(entry, project, likeliest);
    if (isSame(first)) return first;
    for (const url of others) {
      const response = this.#respond(entry, project, url);
      if (isSame(response)) return response;
    }
    return first;
  }

  #respond(entry: LogEntry, { config, table }: Project, projectUrl: string): ManifestResponse {
    const { method, path, query, request } = entry;
    const { rejection, content } = table.explain({
      id: entry.id,
      receivedAtUs: parseInstant(entry.receivedAt) ?? 0,
      project: entry.project,
      projectUrl,
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
 * Returns the public URLs that the project may have had when the request was captured, because the manifests do not contain it: those
 * in the captured response, in which the caller may have put others, and those with the host of the request.
 */
const publicUrls = ({ request, response }: LogEntry): readonly string[] => {
  const [, uri = ''] = readTarget(request.target).originForm.split(/[/?]/, 2);
  if (uri === '') return [];
  const [, host = ''] = request.headers.find(([name]) => name.toLowerCase() === 'host') ?? [];
  const ofHost = host === '' ? [] : ['http', 'https'].map((scheme) => `${scheme}://${host}/${uri}`);
  const texts = [...response.headers.map(([, value]) => value), response.body];
  const found = new Set(texts.flatMap((text) => urlsIn(text, `/${uri}`)));
  return [...new Set([...ofHost.filter((url) => found.has(url)), ...[...found].slice(0, URLS_MAX), ...ofHost])];
};

const URLS_MAX = 3;
const URL_CHARS_MAX = 300;

/** Returns the first URLs in a text that end with this text. */
const urlsIn = (text: string, end: string): readonly string[] => {
  const urls = new Set<string>();
  for (let at = text.indexOf(end); at !== -1 && urls.size < URLS_MAX; at = text.indexOf(end, at + 1)) {
    const [url] = /https?:\/\/[^\s"'<>\\]*$/.exec(text.slice(Math.max(0, at - URL_CHARS_MAX), at)) ?? [];
    if (url !== undefined) urls.add(url + end);
  }
  return [...urls];
};
