/**
 * The rows of the table that `npm run prove` prints, by the name of the proof that measures them. docs/proof.md has the same rows
 * (`test/proof-doc.test.ts`).
 */
export const GUARANTEES = {
  log: [
    'Every request that got a response is in the log, although the gateway is killed and ClickHouse is down',
    'No request is in the log twice',
  ],
  bytes: [
    'The log has the bytes that were sent and received, for every byte value and every method of an Endpoint',
    'Beyond the limits: a larger request is rejected, and of a larger response the beginning is stored',
  ],
  quota: ['A monthly quota is exact over three gateways, one of which is killed'],
  keys: ['When a key regeneration is complete, no gateway accepts the old key'],
  peers: [
    'Standin compared with bare Node `http`, which stores nothing',
    'Standin compared with Mockoon, which keeps the last 100 requests',
    'Standin compared with WireMock, which keeps requests in memory',
    'Under that load, every response has its row',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ProofName = keyof typeof GUARANTEES;

/** What a proof found for one of its rows. */
export interface Finding {
  /** The measured values, as the table shows them. */
  readonly output: string;
  readonly holds: boolean;
}

/** Returns the command that runs one proof. */
export const proofCommand = (name: ProofName): string => `npm run prove -- ${name}`;

/** Returns a row of the table, in Markdown. */
export const tableRow = (name: ProofName, guarantee: string, { output, holds }: Finding): string =>
  `| ${guarantee} | \`${proofCommand(name)}\` | ${holds ? '' : '**does not hold**: '}${output.replaceAll('|', '/')} |`;

/** Formats a count as the documentation does: `12,000`. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');
