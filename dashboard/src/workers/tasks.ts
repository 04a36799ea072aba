/**
 * The functions that workers run on captured bytes and on texts of users, by name. They are pure functions with plain data as input. Rows are passed as
 * the log stores them, so that bodies are decoded in the worker.
 */
import type { LogRow } from '@standin/contract';
import type { Problem } from '@standin/crds';
import { toLogEntry } from '@standin/exchange';
import type { ReplayedExchange } from '@standin/logstore';
import {
  latin1Text,
  multipartBoundary,
  parseMultipart,
  type Snippet,
  type SnippetOptions,
} from '@standin/exchange/formats';
import { defaultRedaction, type RedactionRules } from '@standin/exchange/redact';
import { isWorkerThread, move } from 'piscina';
import { requestSnippet, type SnippetFormat } from '../captured/exchange-formats.ts';
import type { Draft, DraftInput } from '../captured/draft-of-row.ts';
import type { EditedManifest, EditedManifestInput, LineProblem } from '../resources/edited-manifest.ts';
import type { ExplainInput } from '../captured/explain-endpoint.ts';
import type { ResponsePreview, PreviewInput } from '../captured/preview-response.ts';
import { resultView, type ResultView } from '../captured/result-view.ts';
import { sharedExchange, type SharedExchange } from '../captured/shared-exchange.ts';

/** Marks the bytes of a result for transfer. Otherwise, the worker would copy them. */
const moved = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  isWorkerThread ? (move(bytes) as Uint8Array<ArrayBuffer>) : bytes;

export interface RedactedShare {
  /** The given rules, or the default rules for this exchange. */
  readonly rules: RedactionRules;
  readonly exchange: SharedExchange;
}

/** Returns what a Share shows of an exchange. */
export const redactShare = ({
  row,
  rules,
}: {
  readonly row: LogRow;
  readonly rules: RedactionRules | undefined;
}): RedactedShare => {
  const entry = toLogEntry(row);
  const used = rules ?? defaultRedaction(entry);
  return { rules: used, exchange: sharedExchange(entry, used) };
};

/** Compares a replay's response with the captured one. */
export const compareResponses = ({
  row,
  answer,
}: {
  readonly row: LogRow | undefined;
  readonly answer: ReplayedExchange;
}): ResultView => resultView(row, answer);

/** Converts a captured response to its endpoint's mock, or to one of its responses. */
export const draftMock = async (input: DraftInput): Promise<Draft> => {
  // Imported on demand, because its schemas and upstream client take 7 MB in each worker.
  const { toMockDraft } = await import('../captured/draft-of-row.ts');
  return toMockDraft(input);
};

/** Renders what an endpoint in the form would respond with to a request. */
export const previewResponse = async (
  input: PreviewInput,
): Promise<ResponsePreview | { readonly unavailable: string }> => {
  // Imported on demand, because the evaluator of expressions takes memory in each worker.
  const { previewResponse: preview } = await import('../captured/preview-response.ts');
  return preview(input);
};

/** Explains the response of an endpoint to a request. */
export const explainEndpoint = async (input: ExplainInput) => {
  const { explainEndpoint: explain } = await import('../captured/explain-endpoint.ts');
  return explain(input);
};

/** Reads an object that a user has edited as YAML. */
export const readManifest = async (input: EditedManifestInput): Promise<EditedManifest> => {
  // Imported on demand, because its schemas take 7 MB in each worker.
  const { readEditedManifest } = await import('../resources/edited-manifest.ts');
  return readEditedManifest(input);
};

/** Finds the lines of problems with such an object. */
export const locateProblems = async ({
  text,
  problems,
}: {
  readonly text: string;
  readonly problems: readonly Problem[];
}): Promise<readonly LineProblem[]> => {
  const { problemLines } = await import('../resources/edited-manifest.ts');
  return problemLines(text, problems);
};

/** Formats a request as a shell command or a function call. */
export const writeSnippet = ({
  row,
  format,
  options,
}: {
  readonly row: LogRow;
  readonly format: SnippetFormat;
  readonly options: SnippetOptions;
}): Snippet => requestSnippet(toLogEntry(row), format, options);

/** Returns one part of a multipart body. `index` starts at 0. Returns undefined if the body has no such part. */
export const multipartItem = ({
  body,
  contentType,
  index,
}: {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly index: number;
}): Uint8Array<ArrayBuffer> | undefined => {
  const boundary = multipartBoundary(contentType);
  const item = boundary === undefined ? undefined : parseMultipart(latin1Text(body), boundary)[index];
  return item && moved(new Uint8Array(body.subarray(item.start, item.end)));
};
