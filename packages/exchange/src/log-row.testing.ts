import { randomUUID } from 'node:crypto';
import { LOG_TABLE, type Column, type ColumnFormat, type LogRow } from '@standin/contract';
import fc from 'fast-check';

/** Generates any string of bytes, as Node returns headers and targets. Long enough to also test how the log writes long strings. */
const latin1 = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
/** Generates any Unicode text without lone surrogates, which have no UTF-8 encoding. */
const text = fc.string({ unit: 'binary', maxLength: 60 });
const pairs = fc.array(fc.tuple(latin1, latin1), { maxLength: 8 });
const body = fc.uint8Array({ maxLength: 1_000 }).map((bytes) => Buffer.from(bytes));
const count = fc.maxSafeNat();

const VALUES: Readonly<Record<ColumnFormat, fc.Arbitrary<unknown>>> = {
  uuid: fc.uuid(),
  bool: fc.boolean(),
  uint8: fc.nat({ max: 0xff }),
  uint16: fc.nat({ max: 0xffff }),
  uint64: count,
  microseconds: count,
  seconds: fc.nat({ max: 0xffff_ffff }),
  name: text,
  text,
  latin1,
  headers: pairs,
  body,
};

/** Generates any row that a gateway could record, and many that no gateway would. */
export const anyLogRow = fc.record(
  Object.fromEntries(
    Object.entries(LOG_TABLE).map(([property, { format, values }]: [string, Column]) => [
      property,
      values === undefined ? VALUES[format] : fc.constantFrom(...values),
    ]),
  ),
) as fc.Arbitrary<LogRow>;

const newId = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

/** Returns an ordinary row that is received now, with these changes. */
export const newLogRow = (changes: Partial<LogRow> = {}): LogRow => {
  const receivedAtUs = changes.receivedAtUs ?? Date.now() * 1000;
  return {
    id: newId(Math.floor(receivedAtUs / 1000)),
    version: 2,
    receivedAtUs,
    expiresAtS: Math.floor(Date.now() / 1000) + 86_400,
    namespace: 'default',
    account: 'default',
    accountUid: 'a0c1b2d3-0000-4000-8000-000000000001',
    project: 'shop',
    projectUid: 'a0c1b2d3-0000-4000-8000-000000000002',
    endpoint: 'create-order',
    endpointUid: 'a0c1b2d3-0000-4000-8000-000000000003',
    endpointGeneration: 1,
    gateway: 'gateway-0',
    action: 'JSON',
    outcome: 'mocked',
    clientAddress: '127.0.0.1',
    keyFingerprint: '0123abcd',
    method: 'POST',
    target: '/k3v9k3v9k3v9k3v9/v1/orders?a=1',
    path: '/v1/orders',
    query: 'a=1',
    httpVersion: '1.1',
    requestHeaders: [
      ['host', 'localhost'],
      ['content-type', 'application/json'],
    ],
    requestTrailers: [],
    requestBody: Buffer.from('{"a":1}'),
    status: 200,
    responseHeaders: [['content-type', 'application/json']],
    responseTrailers: [],
    responseBody: Buffer.from('{"id":1}'),
    responseBodyBytes: 8,
    responseTruncated: false,
    upstreamUrl: '',
    upstreamError: '',
    durationUs: 812,
    requestUs: 300,
    upstreamFirstByteUs: 0,
    quotaPeriod: '',
    quotaBlock: '',
    quotaPermit: 0,
    response: '',
    delayUs: 0,
    templateError: '',
    credential: 'key',
    deliveryId: '',
    ...changes,
  };
};
