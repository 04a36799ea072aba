import { refusedListSchema, type ApiRefusedList } from '@standin/dashboard/api-schemas';
import type { ApiClient } from '../server/api-client.ts';
import { chooseProject, withProjectNames, type ProjectChoice } from '../server/projects.ts';
import { stdout } from '../terminal.ts';

const number = new Intl.NumberFormat('en');

const HEADINGS = ['LAST', 'COUNT', 'CODE', 'REQUEST'] as const;

/** Returns the request of a caller with a valid credential, or what is known about the sender otherwise. */
const requestOf = ({ method, path, sender, slug }: ApiRefusedList['items'][number]): string => {
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
      ? [`${number.format(unknownProject)} requests across all gateways did not contain a known project URI.`]
      : []),
    ...(missingGateways.length > 0
      ? [`Counts are missing from ${missingGateways.join(', ')}, which did not respond.`]
      : []),
  ];
  if (items.length === 0) return ['No requests were refused within the last hour.', ...notes];
  const rows = [
    HEADINGS,
    ...items.map((item) => [`${item.lastAt.slice(11, 19)}Z`, number.format(item.count), item.code, requestOf(item)]),
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

/** Prints the requests to a project that were refused within the last hour. */
export const showRefused = async (api: ApiClient, choice: ProjectChoice, output: 'text' | 'json'): Promise<void> => {
  const path = `${await chooseProject(api, choice)}/refusals`;
  const refused = await withProjectNames(api, choice, api.ask({ path }, refusedListSchema));
  if (output === 'json') stdout.json(refused);
  else for (const line of formatRefused(refused)) stdout.line(line);
};
