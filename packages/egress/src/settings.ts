import process from 'node:process';
import { booleanSetting, listSetting } from '@standin/contract';
import { z } from 'zod';
import { isCidr } from './address-policy.ts';
import { findCertificates } from './certificates.ts';
import { isTarget } from './refused-targets.ts';

/** The number of threads for the files and name lookups of this process. libuv reads this variable too, and has the same default. */
export const POOL_THREADS = Number(process.env['UV_THREADPOOL_SIZE']) || 4;

/** The settings of each process that connects to upstreams. */
export const egressSettings = z
  .object({
    allowPrivate: booleanSetting
      .default(false)
      .describe(
        'Allow upstreams with loopback and private addresses. Use this only on a developer’s machine. Must be the same for the operator and the gateways.',
      ),
    allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
      .default([])
      .describe(
        'Comma-separated private networks, in CIDR notation, that upstreams may use. Must be the same for the operator and the gateways.',
      ),
    refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
      .default([])
      .describe(
        'Comma-separated HOST:PORT pairs that are never upstreams, in addition to those of Standin’s own components. Must be the same for the operator and the gateways.',
      ),
    ca: z
      .string()
      .refine(
        (text) => findCertificates(text) !== undefined,
        'must be one or more PEM certificates, which begin with -----BEGIN CERTIFICATE-----',
      )
      .optional()
      .describe('PEM certificates of CAs to trust for upstreams and replay targets, in addition to the system’s CAs.'),
  })
  .prefault({});
