import type { SourceProblem } from '@standin/contract';
import type { RejectedRequest } from '@standin/gateway';
import type { LogSummary } from '@standin/exchange';
import type { LineEntry } from '../logs/format-entry.ts';
import { stderr, type Output } from '../terminal.ts';

export interface Ready {
  /** Base URL of the gateway. */
  readonly gateway: string;
  /** URL of the dashboard, if it is running. */
  readonly dashboard?: string | undefined;
  /** The token that the dashboard requires, if any. */
  readonly dashboardToken?: string | undefined;
  readonly accounts: readonly { readonly namespace: string; readonly name: string; readonly apiKey: string }[];
  readonly projects: readonly { readonly namespace: string; readonly name: string; readonly url: string }[];
  /** The endpoints that the gateway serves. */
  readonly endpoints: readonly ServedEndpoint[];
  /** An endpoint to try first. Undefined if none is ready. */
  readonly example: { readonly method: string; readonly url: string; readonly apiKey: string } | undefined;
  /** The directory or kubeconfig that contains the resources. */
  readonly origin: string;
  readonly privateUpstreams: boolean;
}

export interface ServedEndpoint {
  readonly name: string;
  readonly method: string;
  readonly slug: string;
  readonly action: string;
  /** URL of the endpoint's project. */
  readonly projectUrl: string;
}

/** An object that has become live, cannot be used, or was removed. */
export interface ObjectNotice {
  /** For example, `Endpoint default/create-order`. */
  readonly object: string;
  /** For example, `crds/examples/quickstart/create-order.yaml:10`. Empty if the object is live, gone, or in a cluster. */
  readonly where: string;
  readonly state: 'live' | 'not ready' | 'gone';
  /** The URL of an endpoint that is live. */
  readonly url?: string | undefined;
  readonly message: string;
}

/** A captured request that the log contains. */
export type RequestEvent = LineEntry & Pick<LogSummary, 'id' | 'project'>;

/** The output of `standin dev`: text for users, or events for programs. */
export interface DevOutput {
  /** Called with a directory that `standin dev` has created with example manifests. */
  created(dir: string): void;
  starting(): void;
  /** Called when `standin dev` builds something that later starts reuse. */
  building(what: string): void;
  ready(ready: Ready): void;
  notice(notice: ObjectNotice): void;
  /** Called with all problems in the manifests, each time they change. */
  problems(problems: readonly SourceProblem[]): void;
  request(request: RequestEvent): void;
  /** Called with a request that the gateway refused. The log does not contain it. */
  refused(refused: RejectedRequest): void;
  /** Called with the number of refused requests that were not shown individually. */
  moreRefused(count: number): void;
  /** Called with an internal problem. */
  warning(message: string): void;
  stopping(): void;
}

/** Requests captured while the dashboard is being built are shown after `ready`. Beyond this number, the oldest are dropped. */
const HELD_REQUESTS_MAX = 10_000;

/**
 * Holds notices, problems and captured requests back until `ready`, which lists the ready objects. Earlier problems, notices about
 * objects that are not ready, and captured requests follow `ready`. Requests that were refused earlier are not shown.
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
    refused: (refused) => {
      if (isReady) output.refused(refused);
    },
  };
};

const SHOWN_PER_SECOND_MAX = 5;
const SECOND_MS = 1_000;

/**
 * Shows the first few refused requests in each second, and the number of further ones, so that a load test with a wrong key does
 * not flood the output.
 */
export const boundRefused = (output: DevOutput): DevOutput => {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (count > SHOWN_PER_SECOND_MAX) output.moreRefused(count - SHOWN_PER_SECOND_MAX);
    count = 0;
  };
  return {
    ...output,
    refused: (refused) => {
      timer ??= setTimeout(end, SECOND_MS).unref();
      count += 1;
      if (count <= SHOWN_PER_SECOND_MAX) output.refused(refused);
    },
    stopping: () => {
      end();
      output.stopping();
    },
  };
};

/**
 * Returns a function that takes all current problems, and calls `report` with the new ones and with the files that no longer have
 * any.
 */
export const onlyChanges = (
  report: (added: readonly SourceProblem[], solved: readonly string[]) => void,
): ((problems: readonly SourceProblem[]) => void) => {
  let before: readonly SourceProblem[] = [];
  return (problems) => {
    const known = new Set(before.map(({ where, message }) => `${where} ${message}`));
    const files = new Set(problems.map(problemFile));
    report(
      problems.filter(({ where, message }) => !known.has(`${where} ${message}`)),
      [...new Set(before.map(problemFile))].filter((file) => !files.has(file)),
    );
    before = problems;
  };
};

const problemFile = ({ where }: SourceProblem): string => where.replace(/:\d+$/, '');

/** Writes NDJSON. With `holdUntilReady`, the first event is `ready`. */
export const jsonOutput = (out: Output): DevOutput => {
  const write = (event: object): void => out.json(event);
  return {
    created: () => undefined,
    starting: () => undefined,
    building: () => undefined,
    ready: ({ gateway, dashboard, dashboardToken, accounts, projects }) =>
      write({ event: 'ready', gateway, dashboard, dashboardToken, accounts, projects }),
    notice: (notice) => write({ event: 'object', ...notice }),
    problems: onlyChanges((added, solved) => {
      for (const problem of added) write({ event: 'problem', ...problem });
      for (const where of solved) write({ event: 'solved', where });
    }),
    request: ({ id, method, path, status, outcome, durationMs, namespace, project, endpoint, responseName }) =>
      write({
        event: 'request',
        id,
        method,
        path,
        status,
        outcome,
        durationMs,
        namespace,
        project,
        endpoint,
        responseName,
      }),
    refused: ({ method, path, status, code }) => write({ event: 'rejected', method, path, status, code }),
    moreRefused: (count) => write({ event: 'more-rejected', count }),
    // A warning may occur before `ready`, when it cannot be an event, so it goes to standard error.
    warning: (message) => stderr.line(`standin: ${message}`),
    stopping: () => undefined,
  };
};
