import { styleText } from 'node:util';
import type { Writable } from 'node:stream';
import type { SourceProblem } from '@standin/contract';
import type { LogSummary } from '@standin/logstore';
import { formatSummaryLine } from '../logs/format-entry.ts';

export interface Ready {
  /** Base URL of the gateway. */
  readonly gateway: string;
  readonly accounts: readonly { readonly namespace: string; readonly name: string; readonly apiKey: string }[];
  readonly projects: readonly { readonly namespace: string; readonly name: string; readonly url: string }[];
  /** An endpoint to try first; undefined when none is ready. */
  readonly example: { readonly method: string; readonly url: string; readonly apiKey: string } | undefined;
  readonly endpoints: number;
  /** The directory or kubeconfig that they come from. */
  readonly origin: string;
  readonly privateUpstreams: boolean;
}

/** An object that somebody has to look at, or that is well again. */
export interface ObjectNotice {
  /** `Endpoint default/create-order` */
  readonly object: string;
  readonly ready: boolean;
  readonly message: string;
}

/** What `standin dev` tells: to a person, or as events to a program. */
export interface DevOutput {
  starting(): void;
  ready(ready: Ready): void;
  notice(notice: ObjectNotice): void;
  problems(problems: readonly SourceProblem[]): void;
  request(entry: LogSummary): void;
  stopping(): void;
}

/** NDJSON; the first event is `ready`. */
export const jsonOutput = (out: Writable): DevOutput => {
  const write = (event: object): void => void out.write(`${JSON.stringify(event)}\n`);
  // What comes before `ready` waits, so that `ready` is the first line.
  let waiting: object[] | undefined = [];
  const event = (value: object): void => {
    if (waiting === undefined) write(value);
    else waiting.push(value);
  };
  return {
    starting: () => undefined,
    ready: ({ gateway, accounts, projects }) => {
      write({ event: 'ready', gateway, accounts, projects });
      for (const value of waiting ?? []) write(value);
      waiting = undefined;
    },
    notice: (notice) => event({ event: 'object', ...notice }),
    problems: (problems) => {
      for (const problem of problems) event({ event: 'problem', ...problem });
    },
    request: ({ id, method, path, status, durationMs, namespace, project, endpoint }) =>
      event({ event: 'request', id, method, path, status, durationMs, namespace, project, endpoint }),
    stopping: () => undefined,
  };
};

export const textOutput = (out: Writable, colour: boolean): DevOutput => {
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(format, text, { validateStream: false }) : text;
  const line = (text = ''): void => void out.write(`${text}\n`);
  const warn = (where: string, message: string): void => line(`${style('yellow', '!')} ${where}: ${message}`);
  return {
    starting: () => line('Starting ClickHouse, operator and gateway …'),
    ready: (ready) => {
      line();
      line(`${style('green', 'Ready.')} ${ready.endpoints} endpoints of ${ready.origin}, at ${ready.gateway}`);
      for (const { namespace, name, url } of ready.projects) line(`  Project ${namespace}/${name}  ${url}`);
      for (const { namespace, name, apiKey } of ready.accounts)
        line(`  Account ${namespace}/${name}  x-api-key: ${apiKey}`);
      if (ready.example !== undefined) {
        const { method, url, apiKey } = ready.example;
        const body = method === 'GET' || method === 'DELETE' ? '' : ` -d '{"try": true}'`;
        line();
        line('Try it:');
        line(style('cyan', `  curl -i -X ${method} -H 'x-api-key: ${apiKey}'${body} '${url}'`));
      }
      line();
      line(
        ready.privateUpstreams
          ? 'Forward may reach localhost and private addresses here; --deny-private-upstreams refuses them, as a cluster does.'
          : 'Forward is refused to localhost and private addresses, as in a cluster.',
      );
      line('Change a manifest and it is live. Requests appear below; npx standin logs lists them. Ctrl-C stops.');
      line();
    },
    notice: ({ object, ready, message }) => {
      if (ready) line(`${style('green', '✓')} ${object} is live`);
      else warn(object, message);
    },
    problems: (problems) => {
      for (const { where, message } of problems) warn(where, message);
    },
    request: (entry) => line(formatSummaryLine(entry, { colour })),
    stopping: () => line('Stopping …'),
  };
};
