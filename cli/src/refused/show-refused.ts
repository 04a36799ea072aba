import { refusedListSchema, type ApiRefusedList } from '@standin/dashboard/api-schemas';
import type { ApiClient } from '../server/api-client.ts';
import {
  chooseProject,
  listProjects,
  projectPath,
  withProjectNames,
  type ProjectChoice,
  type ProjectName,
} from '../server/projects.ts';
import { stdout } from '../terminal.ts';

const number = new Intl.NumberFormat('en');

const HEADINGS = ['LAST', 'COUNT', 'CODE', 'REQUEST'] as const;

/** Returns the request of a caller with a valid credential, or what is known about the sender otherwise. */
const requestText = ({ method, path, sender, slug }: ApiRefusedList['items'][number]): string => {
  if (method !== undefined) return `${method} ${path ?? ''}`;
  if (sender === undefined) return 'various';
  const from = sender === 'other' ? 'unknown sender' : `sender ${sender}`;
  return slug === undefined ? from : `${from}, endpoint ${slug}`;
};

export const formatRefused = ({
  items,
  omitted,
  unknownProject,
  missingGateways,
}: ApiRefusedList): readonly string[] => {
  const notes = [
    ...(omitted > 0 ? [`${number.format(omitted)} more are not listed.`] : []),
    ...(unknownProject !== undefined && unknownProject > 0
      ? [
          `${number.format(unknownProject)} request${unknownProject === 1 ? '' : 's'} across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.`,
        ]
      : []),
    ...(missingGateways.length > 0
      ? [`Counts are missing from ${missingGateways.join(', ')}, which did not respond.`]
      : []),
  ];
  if (items.length === 0) return ['No requests were refused within the last hour.', ...notes];
  const rows = [
    HEADINGS,
    ...items.map((item) => [`${item.lastAt.slice(11, 19)}Z`, number.format(item.count), item.code, requestText(item)]),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const reasons = new Set(items.map(({ code, title, detail }) => `${code}: ${title}. ${detail}`));
  return [...table, '', ...reasons, ...(notes.length > 0 ? ['', ...notes] : [])];
};

/** Formats the lists of several projects. Omits projects without refused requests, and shows what all gateways counted only once. */
export const formatRefusedProjects = (
  projects: readonly (ProjectName & { readonly refused: ApiRefusedList })[],
): readonly string[] => {
  const shown = projects.filter(({ refused: { items } }) => items.length > 0);
  if (shown.length === 0) return projects.slice(0, 1).flatMap(({ refused }) => formatRefused(refused));
  return shown.flatMap(({ namespace, name, refused }, index) => {
    const isLast = index === shown.length - 1;
    const lines = formatRefused(isLast ? refused : { ...refused, unknownProject: undefined, missingGateways: [] });
    return [`Project ${namespace}/${name}`, ...lines, ...(isLast ? [] : [''])];
  });
};

/**
 * Prints the requests that were refused within the last hour, and why. Without a choice, the text covers all projects of a
 * `standin dev`.
 */
export const showRefused = async (api: ApiClient, choice: ProjectChoice, output: 'text' | 'json'): Promise<void> => {
  const isOpen = output === 'text' && api.local !== undefined && choice.project === undefined;
  const projects = isOpen ? await listProjects(api, choice.namespace) : [];
  const read = (path: string): Promise<ApiRefusedList> => api.ask({ path: `${path}/refusals` }, refusedListSchema);
  if (projects.length > 1) {
    const lists = await Promise.all(
      projects.map(async ({ namespace, name }) => ({
        namespace,
        name,
        refused: await read(projectPath(namespace, name)),
      })),
    );
    for (const line of formatRefusedProjects(lists)) stdout.line(line);
    return;
  }
  const refused = await withProjectNames(api, choice, read(await chooseProject(api, choice)));
  if (output === 'json') stdout.json(refused);
  else for (const line of formatRefused(refused)) stdout.line(line);
};
