import { parseArgs } from 'node:util';

/**
 * The options of the benchmarks. Values below the defaults are only for trying out a benchmark and do not give meaningful results.
 */
export interface BenchOptions {
  /** For `gateway`, the length of a measured round in seconds. */
  readonly seconds: number;
  /** For `gateway`, whether to compare with Mockoon and WireMock. */
  readonly rivals: boolean;
  /** For `ingest`, the number of rows of mixed traffic. */
  readonly rows: number;
  /** For `memory`, the duration of the load in minutes. */
  readonly minutes: number;
  /** For `drain`, the MiB in the backlog before ClickHouse responds again. */
  readonly backlogMib: number;
  /** For `drain`, the requests/s while the backlog grows and while it shrinks. */
  readonly rate: number;
  /** For `dev`, the number of requests between the two measurements of memory and idle CPU. */
  readonly requests: number;
}

export const USAGE = `npm run bench [-- NAME… [OPTION…]]
  --seconds N      gateway: length of a measured round (6)
  --no-rivals      gateway: without Mockoon and WireMock
  --rows N         ingest: rows of mixed traffic (1000000)
  --minutes N      memory: duration of the load (10)
  --backlog-mib N  drain: backlog at which ClickHouse resumes (1024)
  --rate N         drain: requests/s while the backlog grows (2000)
  --requests N     dev: requests before the idle measurement (50000)`;

/** Parses the value of an option as a number above 0. Throws an Error with a message for users. */
const positive = (option: string, text: string): number => {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${option} must be a number above 0, not ${JSON.stringify(text)}`);
};

/**
 * Parses the arguments. Returns the names of benchmarks and the options. Does not check the names. Throws an Error with a message
 * for users.
 */
export const parseBenchArgs = (args: readonly string[]): { names: string[]; options: BenchOptions } => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      seconds: { type: 'string', default: '6' },
      rivals: { type: 'boolean', default: true },
      rows: { type: 'string', default: '1000000' },
      minutes: { type: 'string', default: '10' },
      'backlog-mib': { type: 'string', default: '1024' },
      rate: { type: 'string', default: '2000' },
      requests: { type: 'string', default: '50000' },
    },
  });
  return {
    names: positionals,
    options: {
      seconds: positive('seconds', values.seconds),
      rivals: values.rivals,
      rows: Math.round(positive('rows', values.rows)),
      minutes: positive('minutes', values.minutes),
      backlogMib: positive('backlog-mib', values['backlog-mib']),
      rate: positive('rate', values.rate),
      requests: Math.round(positive('requests', values.requests)),
    },
  };
};
