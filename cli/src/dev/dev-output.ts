import type { SourceProblem } from '@standin/contract';
import type { RejectedRequest } from '@standin/gateway';
import type { LogSummary } from '@standin/logstore';
import type { LineEntry } from '../logs/format-entry.ts';
import { stderr, type Output } from '../terminal.ts';

export interface Ready {
  /** Base URL of the gateway. */
  readonly gateway: string;
  /** URL of the dashboard, if there is one. */
  readonly dashboard?: string | undefined;
  /** What it asks for, if it does. */
  readonly dashboardToken?: string | undefined;
  readonly accounts: readonly { readonly namespace: string; readonly name: string; readonly apiKey: string }[];
  readonly projects: readonly { readonly namespace: string; readonly name: string; readonly url: string }[];
  /** Those that are served. */
  readonly endpoints: readonly ServedEndpoint[];
  /** An endpoint to try first; undefined when none is ready. */
  readonly example: { readonly method: string; readonly url: string; readonly apiKey: string } | undefined;
  /** The directory or kubeconfig that they come from. */
  readonly origin: string;
  readonly privateUpstreams: boolean;
}

export interface ServedEndpoint {
  readonly name: string;
  readonly method: string;
  readonly slug: string;
  readonly action: string;
  /** URL of its project. */
  readonly projectUrl: string;
}

/** An object that somebody has to look at, or that is well again. */
export interface ObjectNotice {
  /** `Endpoint default/create-order` */
  readonly object: string;
  /** `crds/examples/quickstart/create-order.yaml:10`; empty for objects of a cluster. */
  readonly where: string;
  readonly state: 'live' | 'not ready' | 'gone';
  readonly message: string;
}

/** A captured request that is in the log. */
export type RequestEvent = LineEntry & Pick<LogSummary, 'id' | 'project'>;

/** What `standin dev` tells: to a person, or as events to a program. */
export interface DevOutput {
  starting(): void;
  /** Something is made that the next start finds made. */
  building(what: string): void;
  ready(ready: Ready): void;
  notice(notice: ObjectNotice): void;
  /** All problems of the manifests as a whole, each time they change. */
  problems(problems: readonly SourceProblem[]): void;
  request(request: RequestEvent): void;
  /** A request that the gateway did not accept: it is not in the log. */
  rejected(rejected: RejectedRequest): void;
  /** So many were rejected besides those that were told. */
  moreRejected(count: number): void;
  /** Something went wrong inside. */
  warning(message: string): void;
  stopping(): void;
}

/** Requests that are captured while the dashboard is built are shown after `ready`; of more than this the oldest are not. */
const HELD_REQUESTS_MAX = 10_000;

/**
 * `ready` comes first. What is wrong with the manifests by then follows, and which requests were captured; what is well is part of it.
 * That a request was rejected by then is no news.
 */
export const holdUntilReady = (output: DevOutput): DevOutput => {
  let isReady = false;
  let problems: readonly SourceProblem[] = [];
  const notices = new Map<string, ObjectNotice>();
  let requests: RequestEvent[] = [];
  return {
    ...output,
    ready: (ready) => {
      isReady = true;
      output.ready(ready);
      if (problems.length > 0) output.problems(problems);
      for (const notice of notices.values()) output.notice(notice);
      for (const request of requests) output.request(request);
      requests = [];
    },
    notice: (notice) => {
      if (isReady) output.notice(notice);
      else if (notice.state === 'not ready') notices.set(notice.object, notice);
      else notices.delete(notice.object);
    },
    problems: (all) => {
      if (isReady) output.problems(all);
      else problems = all;
    },
    request: (request) => {
      if (isReady) output.request(request);
      else if (requests.push(request) > HELD_REQUESTS_MAX) requests.shift();
    },
    rejected: (rejected) => {
      if (isReady) output.rejected(rejected);
    },
  };
};

/** Calls `tell` with what is new among all problems, and the files that have none any more. */
export const onlyChanges = (
  tell: (added: readonly SourceProblem[], solved: readonly string[]) => void,
): ((problems: readonly SourceProblem[]) => void) => {
  let before: readonly SourceProblem[] = [];
  return (problems) => {
    const known = new Set(before.map(({ where, message }) => `${where} ${message}`));
    const files = new Set(problems.map(fileOf));
    tell(
      problems.filter(({ where, message }) => !known.has(`${where} ${message}`)),
      [...new Set(before.map(fileOf))].filter((file) => !files.has(file)),
    );
    before = problems;
  };
};

const fileOf = ({ where }: SourceProblem): string => where.replace(/:\d+$/, '');

/** NDJSON; the first event is `ready`. */
export const jsonOutput = (out: Output): DevOutput => {
  const write = (event: object): void => out.json(event);
  return {
    starting: () => undefined,
    building: () => undefined,
    ready: ({ gateway, dashboard, dashboardToken, accounts, projects }) =>
      write({ event: 'ready', gateway, dashboard, dashboardToken, accounts, projects }),
    notice: (notice) => write({ event: 'object', ...notice }),
    problems: onlyChanges((added, solved) => {
      for (const problem of added) write({ event: 'problem', ...problem });
      for (const where of solved) write({ event: 'solved', where });
    }),
    request: ({ id, method, path, status, durationMs, namespace, project, endpoint }) =>
      write({ event: 'request', id, method, path, status, durationMs, namespace, project, endpoint }),
    rejected: ({ method, path, status, code }) => write({ event: 'rejected', method, path, status, code }),
    moreRejected: (count) => write({ event: 'more-rejected', count }),
    // Before `ready`, too: then it is no event, and goes where errors go.
    warning: (message) => stderr.line(`standin: ${message}`),
    stopping: () => undefined,
  };
};
