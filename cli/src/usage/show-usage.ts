import { usageSchema, type ApiUsage } from '@standin/dashboard/api-schemas';
import type { ApiClient } from '../server/api-client.ts';
import { accountPath, chooseAccount, type AccountChoice, type AccountRef } from '../server/choose-account.ts';
import { stdout } from '../terminal.ts';

const number = new Intl.NumberFormat('en');

export const formatUsage = ({ namespace, name }: AccountRef, usage: ApiUsage): readonly string[] => {
  const { month, used, quota, resetsOn, usedUpOn, endpoints, otherRequests, storedBytes, logFailure } = usage;
  const share = quota === undefined || quota === 0 ? '' : ` (${((used / quota) * 100).toFixed(1)} %)`;
  const of = quota === undefined ? 'requests, no quota' : `of ${number.format(quota)} requests${share}`;
  const lines = [
    `${namespace}/${name}, ${month}: ${number.format(used)} ${of}`,
    ...(quota === undefined ? [] : [`resets on ${resetsOn}; requests over the quota are rejected with 429`]),
    ...(usedUpOn === undefined ? [] : [`at this month’s rate, the quota will be used up on ${usedUpOn}`]),
    ...(storedBytes === undefined ? [] : [`stored bodies: ${number.format(storedBytes)} bytes before compression`]),
    ...(logFailure === undefined ? [] : [`usage by endpoint is unavailable: ${logFailure}`]),
  ];
  const counts = [
    ...endpoints.map((one) => [`${one.namespace}/${one.project}`, one.endpoint, number.format(one.requests)] as const),
    ...(otherRequests === 0 ? [] : [['other endpoints', '', number.format(otherRequests)] as const]),
  ];
  if (counts.length === 0) return lines;
  const table = [['PROJECT', 'ENDPOINT', 'REQUESTS'] as const, ...counts];
  const [projectWidth, endpointWidth, countWidth] = [0, 1, 2].map((column) =>
    Math.max(...table.map((row) => (row[column] ?? '').length)),
  );
  const rows = table.map(
    ([project, endpoint, count]) =>
      `${project.padEnd(projectWidth ?? 0)}  ${endpoint.padEnd(endpointWidth ?? 0)}  ${count.padStart(countWidth ?? 0)}`,
  );
  return [...lines, '', ...rows];
};

/** Prints how much of its quota an account has used this month. */
export const showUsage = async (api: ApiClient, choice: AccountChoice, output: 'text' | 'json'): Promise<void> => {
  const account = await chooseAccount(api, choice);
  const usage = await api.ask({ path: `${accountPath(account)}/usage` }, usageSchema);
  if (output === 'json') stdout.json(usage);
  else for (const line of formatUsage(account, usage)) stdout.line(line);
};
