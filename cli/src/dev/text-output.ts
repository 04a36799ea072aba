import { objectKey, type Kind, type ObjectRef } from '@standin/contract';
import { exampleUrl, shellQuote } from '@standin/exchange/formats';
import { countText } from '../count-text.ts';
import { formatRefusedLine, formatSummaryLine } from '../logs/format-entry.ts';
import { styled, type Line, type Output } from '../terminal.ts';
import { onlyChanges, type DevOutput, type Ready, type ServedEndpoint } from './dev-output.ts';

export interface TextOutputOptions {
  readonly colour: boolean;
  /** The data folder, as the user typed it. */
  readonly data: string;
}

const LISTED_MAX = 12;
const SLUG_WIDTH_MAX = 40;
const DATA_DEFAULT = '.standin';

/** Creates the output for users: the first request to send, then one line for each request and each problem. */
export const textOutput = (out: Output, { colour, data }: TextOutputOptions): DevOutput => {
  const line = (text: Line): void => out.line(text, colour);
  const well = (what: string): void => line([styled('green', '✓'), ` ${what}`]);
  const warn = (...parts: string[]): void =>
    line([styled('yellow', '!'), ` ${parts.filter((part) => part !== '').join(': ')}`]);
  /** Whether the command that explains refused requests was shown. */
  let isExplained = false;
  return {
    created: (dir) => line(`Created the directory ${dir} with example manifests. Edit them, or add your own.`),
    starting: () => line('Starting ClickHouse, operator and gateway…'),
    building: (what) => line(`Building ${what} (once, about 10 seconds)…`),
    ready: (ready) => {
      for (const text of readyLines(ready, data)) line(text);
    },
    notice: ({ object, where, state, url, message }) => {
      if (state === 'not ready') warn(where, object, message);
      else well(`${object} is ${state}${url === undefined ? '' : ` at ${url}`}`);
    },
    problems: onlyChanges((added, solved) => {
      for (const { where, message } of added) warn(where, message);
      for (const file of solved) well(`${file}: problems resolved`);
    }),
    request: (entry) => line(formatSummaryLine(entry)),
    refused: (refused) => {
      line(formatRefusedLine({ ...refused, receivedAt: new Date().toISOString() }));
      if (!isExplained) line([styled('dim', `${commandFor('refused', data)} explains why, and what to do.`)]);
      isExplained = true;
    },
    moreRefused: (count) => line([styled('dim', `… and ${count} more rejected`)]),
    warning: warn,
    stopping: () => line('Stopping…'),
  };
};

const readyLines = (ready: Ready, data: string): Line[] => {
  const { gateway, dashboard, dashboardToken, endpoints, example, origin, privateUpstreams } = ready;
  const count = countText(endpoints.length, 'endpoint');
  const logs = commandFor('logs', data);
  return [
    '',
    [styled('green', 'Ready.'), ` ${count} from ${origin} at ${gateway}`],
    ...(dashboard === undefined ? [] : [['Dashboard: ', styled('cyan', dashboardUrl(dashboard, dashboardToken))]]),
    ...contentLines(ready),
    '',
    ...(example === undefined
      ? [
          `No endpoint is ready yet. To add one, ${dashboard === undefined ? '' : 'open the dashboard, or '}create an Account, a Project and an Endpoint, as standin dev without a directory does. Any problems are listed below.`,
        ]
      : ['Try it:', [styled('cyan', `  ${exampleCurl(example)}`)]]),
    '',
    privateUpstreams
      ? 'Endpoints can forward to localhost and private addresses here; --deny-private-upstreams blocks them, as in a cluster.'
      : 'As in a cluster, endpoints cannot forward to localhost or private addresses.',
    `Changes to resources apply immediately. Requests appear below; ${logs} lists them. Press Ctrl-C to stop.`,
    '',
  ];
};

/** A command that reads the data folder. */
const commandFor = (name: string, data: string): string =>
  data === DATA_DEFAULT ? `npx standin ${name}` : `npx standin ${name} --data ${data}`;

/** The dashboard stores the token in a cookie. */
const dashboardUrl = (dashboard: string, token: string | undefined): string =>
  token === undefined ? dashboard : `${dashboard}/?token=${token}`;

/** Returns the accounts with their keys, the projects with their URLs, and the served endpoints below them. */
const contentLines = ({ accounts, projects, endpoints }: Ready): string[] => {
  const heading = (kind: Kind, { namespace, name }: Pick<ObjectRef, 'namespace' | 'name'>): string =>
    `  ${objectKey({ kind, namespace, name })}`;
  const headings = [
    ...accounts.map((account) => heading('Account', account)),
    ...projects.map((project) => heading('Project', project)),
  ];
  const width = Math.max(0, ...headings.map(({ length }) => length));
  const slugWidth = Math.min(SLUG_WIDTH_MAX, Math.max(0, ...endpoints.map(({ slug }) => slug.length)));
  const projectLines = projects.map((project) => [
    `${heading('Project', project).padEnd(width)}  ${project.url}`,
    ...endpoints
      .filter(({ projectUrl }) => projectUrl === project.url)
      .map((endpoint) => endpointLine(endpoint, slugWidth)),
  ]);
  return [
    ...atMost(accounts.map((account) => `${heading('Account', account).padEnd(width)}  x-api-key: ${account.apiKey}`)),
    ...atMost(projectLines.flat()),
  ];
};

const endpointLine = ({ method, slug, name, action }: ServedEndpoint, slugWidth: number): string =>
  `    ${method.padEnd('DELETE'.length)}  ${slug.padEnd(slugWidth)}  ${name}${action === 'Forward' ? ' (Forward)' : ''}`;

const atMost = (lines: readonly string[]): string[] =>
  lines.length <= LISTED_MAX
    ? [...lines]
    : [...lines.slice(0, LISTED_MAX), `    … and ${lines.length - LISTED_MAX} more`];

const exampleCurl = ({ method, url, apiKey }: NonNullable<Ready['example']>): string => {
  const body = method === 'GET' || method === 'DELETE' ? '' : ` -d '{"try": true}'`;
  // Keys and slugs are untrusted, and both may contain quotes.
  return `curl -i -X ${method} -H ${shellQuote(`x-api-key: ${apiKey}`)}${body} ${shellQuote(exampleUrl(url))}`;
};
