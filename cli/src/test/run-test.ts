import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { isRecord, LIMITS, LineSplitter } from '@standin/contract';
import { requestSchema } from '@standin/dashboard/api-schemas';
import type { LogEntry } from '@standin/exchange';
import { visitLog, type LogSource } from '../logs/read-log.ts';
import { fileErrorText, PlainError } from '../plain-error.ts';
import { formatLine, stderr, stdout } from '../terminal.ts';
import { compareResponse, isFromUpstream, skipped, type SkipReason } from './compare-response.ts';
import { ContractComparison } from './compare-contract.ts';
import { ShapeComparison } from './compare-shapes.ts';
import { reportAsJson, reportAsJunit, reportAsMarkdown, reportAsText, type ReportOutput } from './format-report.ts';
import type { Ignored } from './ignored.ts';
import { ManifestMocks, type ManifestResponse } from './manifest-mocks.ts';
import { ReportBuilder, reportedRequest, type Report } from './report.ts';
import { VolatileFields } from './volatile-fields.ts';

export interface TestOptions extends LogSource {
  /** The file with the requests. Undefined for the log. */
  readonly entries?: string | undefined;
  readonly ignored: Ignored;
  /** Whether only the types of values are compared. */
  readonly shape: boolean;
  /** With `forwarded`, the mocks of endpoints are compared with the responses of their upstreams. */
  readonly against: 'captured' | 'forwarded';
  /** The contract to check the requests and responses with, instead of the manifests. */
  readonly openapi?: string | undefined;
  readonly output: readonly ReportOutput[];
  readonly colour: boolean;
}

/** Compares the captured requests with the manifests or with a contract, and writes the reports. Rejects with a `PlainError`. */
export const runTest = async (files: readonly string[], options: TestOptions): Promise<Report> => {
  const builder = new ReportBuilder();
  const test =
    options.openapi === undefined ? await manifestTest(files, options) : contractTest(options.openapi, options);
  const visit = (entry: LogEntry): void => test.add(entry, builder);
  if (options.entries !== undefined) await visitFile(options.entries, visit);
  else if (!(await visitLog(options, visit))) throw new PlainError('stopped before all requests were compared');
  for (const warning of test.finish(builder)) stderr.line(warning);
  const report = builder.report();
  for (const output of options.output) await write(report, output, options.colour);
  return report;
};

interface RunningTest {
  add(entry: LogEntry, builder: ReportBuilder): void;
  /** Adds what needs all requests. Returns warnings. */
  finish(builder: ReportBuilder): readonly string[];
}

const contractTest = (name: string, { ignored }: TestOptions): RunningTest => {
  const comparison = new ContractComparison(name, ignored);
  return {
    add: (entry, builder) => comparison.add(entry, builder),
    finish: (builder) => comparison.finish(builder),
  };
};

const manifestTest = async (
  files: readonly string[],
  { ignored, shape, against }: TestOptions,
): Promise<RunningTest> => {
  const mocks = await ManifestMocks.load(files, { useMocks: against === 'forwarded' });
  for (const warning of mocks.warnings) stderr.line(warning);
  const volatile = new VolatileFields();
  const shapes = shape ? new ShapeComparison(ignored) : undefined;
  return {
    add: (entry, builder) => {
      const compare = (now: ManifestResponse) => compareResponse(entry, now, ignored);
      const now = mocks.respond(entry, (one) => shape || compare(one).kind !== 'different');
      const result = against === 'forwarded' ? whyNoDrift(entry, now) : undefined;
      if (result !== undefined) builder.add(entry, skipped(result));
      else if (shapes !== undefined) shapes.add(entry, now, builder);
      else if (isFromUpstream(entry)) volatile.add(reportedRequest(entry), compare(now), builder);
      else builder.add(entry, compare(now));
    },
    finish: (builder) => {
      shapes?.finish(builder);
      volatile.finish(builder);
      return [];
    },
  };
};

/** Returns why the mock cannot be compared with the response of the upstream. Undefined if it can be. */
const whyNoDrift = ({ outcome }: LogEntry, now: ManifestResponse): SkipReason | undefined => {
  if (outcome !== 'forwarded') return 'mocked';
  return now.kind === 'Rejected' ? 'noMock' : undefined;
};

const write = async (report: Report, { format, file }: ReportOutput, colour: boolean): Promise<void> => {
  const lines = format === 'text' ? reportAsText(report) : undefined;
  if (file === undefined && lines !== undefined) {
    for (const line of lines) stdout.line(line, colour);
    return;
  }
  const text =
    lines?.map((line) => `${formatLine(line)}\n`).join('') ?? FORMATS[format as keyof typeof FORMATS](report);
  if (file === undefined) stdout.lines(text);
  else
    await writeFile(file, text).catch((error: unknown) => {
      throw new PlainError(`${file} ${fileErrorText(error)}`, { cause: error });
    });
};

const FORMATS = { json: reportAsJson, junit: reportAsJunit, markdown: reportAsMarkdown };

/** The size of an entry whose bodies have the maximum size, and in which each byte is escaped. */
const ENTRY_BYTES_MAX = 6 * (LIMITS.requestBodyBytesMax + LIMITS.upstreamHeadBytesMax);

/** Calls `visit` for each entry in a file, in their order. */
const visitFile = async (name: string, visit: (entry: LogEntry) => void): Promise<void> => {
  const shown = name === '-' ? 'standard input' : name;
  const splitter = new LineSplitter(ENTRY_BYTES_MAX);
  let number = 0;
  const visitLine = (line: string): void => {
    number += 1;
    if (line.trim() !== '') visit(parseEntry(line, `${shown}:${number}`));
  };
  try {
    for await (const chunk of name === '-' ? process.stdin : createReadStream(name))
      for (const line of splitter.push(chunk as Buffer)) visitLine(line);
    visitLine(splitter.rest());
  } catch (error) {
    if (error instanceof PlainError) throw error;
    if (error instanceof RangeError) throw new PlainError(`${shown}:${number + 1} is too long for a captured request`);
    throw new PlainError(`${shown} ${fileErrorText(error)}`, { cause: error });
  }
};

const parseEntry = (line: string, where: string): LogEntry => {
  let value: unknown;
  try {
    value = JSON.parse(line);
    requestSchema.parse(value);
    return value as LogEntry;
  } catch (error) {
    const isHar = isRecord(value) && isRecord(value['log']) && Array.isArray(value['log']['entries']);
    const what = isHar
      ? 'is a HAR file: use the output of standin logs -o json instead'
      : 'is not a captured request, as standin logs -o json prints it: one in each line';
    throw new PlainError(`${where} ${what}`, { cause: error });
  }
};
