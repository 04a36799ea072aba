import { explanationSchema } from '@standin/dashboard/api-schemas';
import type { LogEntry } from '@standin/exchange';
import { formatSummaryLine } from '../logs/format-entry.ts';
import { PlainError } from '../plain-error.ts';
import { apiPath } from '../server/api-client.ts';
import { openApi, type ApiOptions } from '../server/connect.ts';
import { findRequest, projectPath, type ProjectChoice } from '../server/projects.ts';
import { styled, type Line } from '../terminal.ts';
import { formatExplanation, type ShownExplanation } from './format-explanation.ts';

/** Explains the response to a captured request with the current endpoints. Rejects with a `PlainError` if there is none. */
export const explainCaptured = async (id: string, options: ApiOptions & ProjectChoice) => {
  const api = await openApi(options);
  const entry = await findRequest(api, id, options);
  if (entry === undefined)
    throw new PlainError(`there is no request ${id} in the log: list the ids with standin logs -o json`);
  const path = `${projectPath(entry.namespace, entry.project)}${apiPath('requests', id, 'explanation')}`;
  const explanation = await api.ask({ path }, explanationSchema);
  const lines = [formatSummaryLine(entry), ...failureNotice(entry), ...changeNotice(entry, explanation)];
  return { json: explanation, lines: [...lines, ...formatExplanation(explanation)] };
};

const failureNotice = ({ outcome, upstreamError }: LogEntry): Line[] =>
  upstreamError === ''
    ? []
    : [
        [
          styled('yellow', 'failed    '),
          outcome === 'fallback' ? `${upstreamError} The fallback responded: the mock in spec.json.` : upstreamError,
        ],
      ];

interface Captured extends ShownExplanation {
  readonly isChanged: boolean;
}

const changeNotice = (
  { endpoint: name, endpointGeneration, responseName }: LogEntry,
  { isChanged, endpoint }: Captured,
): Line[] => {
  if (!isChanged) return [];
  const now =
    endpoint?.name === name && endpoint.generation !== endpointGeneration
      ? `which is now at generation ${endpoint.generation ?? 'unknown'}`
      : 'which does not respond to it now, or was replaced';
  const was = responseName === '' ? 'its action' : `its response ${responseName}`;
  return [
    [
      styled('yellow', 'changed   '),
      `endpoint ${name} responded at generation ${endpointGeneration} with ${was}, ${now}. The following explains the current rules.`,
    ],
  ];
};
