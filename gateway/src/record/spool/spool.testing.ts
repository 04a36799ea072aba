import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogRow } from '@standin/contract';
import { decodeRow, RowBinaryReader } from '@standin/logstore';
import { rowId } from '../row-id.ts';
import { decodeHeader, readParts, type RecordType } from './segment-format.ts';
import { nodeDisk, type AppendFile, type SpoolDisk } from './spool-disk.ts';
import { isSegmentName } from './spool-folder.ts';

/** Returns an ordinary row that is received now, with the changes in `more`. */
export const testRow = (more: Partial<LogRow> = {}): LogRow => ({
  id: rowId(Date.now()),
  version: 2,
  receivedAtUs: Date.now() * 1_000,
  expiresAtS: Math.floor(Date.now() / 1_000) + 86_400,
  namespace: 'team-a',
  account: 'own',
  accountUid: 'account-own',
  project: 'shop',
  projectUid: 'project-shop',
  endpoint: 'orders',
  endpointUid: 'endpoint-orders',
  endpointGeneration: 1,
  gateway: 'gateway-0',
  action: 'JSON',
  outcome: 'mocked',
  clientAddress: '127.0.0.1',
  keyFingerprint: '01234567',
  method: 'POST',
  target: '/uri/v1/orders',
  path: '/v1/orders',
  query: '',
  httpVersion: '1.1',
  requestHeaders: [['Host', 'a']],
  requestTrailers: [],
  requestBody: Buffer.from('{}'),
  status: 200,
  responseHeaders: [],
  responseTrailers: [],
  responseBody: Buffer.from('{"id": 1}'),
  responseBodyBytes: 9,
  responseTruncated: false,
  upstreamUrl: '',
  upstreamError: '',
  durationUs: 100,
  requestUs: 10,
  upstreamFirstByteUs: 0,
  quotaPeriod: '',
  quotaBlock: '',
  quotaPermit: 0,
  response: '',
  delayUs: 0,
  templateError: '',
  credential: 'key',
  deliveryId: '',
  ...more,
});

/** A write fault: the write fails after `bytesWritten` bytes. */
export interface WriteFault {
  readonly error: NodeJS.ErrnoException;
  readonly bytesWritten: number;
}

export const diskError = (code: 'ENOSPC' | 'EIO'): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

/** The real file system, with faults that the test sets. */
export class FaultyDisk implements SpoolDisk {
  /** Called before each write of records. Returns the fault with which the write fails, if any. */
  onAppend: (bytes: Uint8Array) => WriteFault | undefined | Promise<WriteFault | undefined> = () => undefined;
  isTruncateBroken = false;
  /** The number of subsequent file creations that fail. */
  failingCreates = 0;
  isFull = false;
  free = Number.MAX_SAFE_INTEGER;
  appends = 0;

  createFolder(folder: string): Promise<void> {
    return nodeDisk.createFolder(folder);
  }

  async create(file: string): Promise<AppendFile> {
    if (this.isFull) throw diskError('ENOSPC');
    if (this.failingCreates > 0) {
      this.failingCreates--;
      throw diskError('EIO');
    }
    // Durable files are slower and not needed, because these tests do not cut the power.
    const real = await nodeDisk.create(file, { isDurable: false });
    let isHeader = true;
    return {
      append: async (bytes) => {
        if (isHeader) {
          isHeader = false;
          return real.append(bytes);
        }
        this.appends++;
        const full = { error: diskError('ENOSPC'), bytesWritten: bytes.length >> 1 };
        const fault = this.isFull ? full : await this.onAppend(bytes);
        if (fault === undefined) return real.append(bytes);
        await real.append(bytes.subarray(0, fault.bytesWritten));
        throw fault.error;
      },
      truncate: (bytes) => (this.isTruncateBroken ? Promise.reject(diskError('EIO')) : real.truncate(bytes)),
      close: () => real.close(),
    };
  }

  remove(file: string): Promise<void> {
    return nodeDisk.remove(file);
  }

  freeBytes(): Promise<number> {
    return Promise.resolve(this.free);
  }
}

export interface FoundRecord {
  readonly segment: string;
  readonly type: RecordType;
  readonly row: LogRow;
}

/** Returns all records in a folder's segments, in the order in which they were written. */
export const recordsIn = async (folder: string): Promise<FoundRecord[]> => {
  const records: FoundRecord[] = [];
  for (const segment of (await readdir(folder)).filter(isSegmentName).sort()) {
    const bytes = await readFile(path.join(folder, segment));
    const header = decodeHeader(bytes);
    if (header === undefined) continue;
    for (const part of readParts(bytes, header)) {
      if (part.kind !== 'record') continue;
      const row = decodeRow(new RowBinaryReader(bytes.subarray(part.start, part.end)));
      records.push({ segment, type: part.type, row });
    }
  }
  return records;
};
