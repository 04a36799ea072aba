import { z } from 'zod';
import { enabled, group } from './value-types.ts';

/** Which component issues the certificates of the config stream between operator and gateways. */
export const tls = group({
  certManager: group({
    enabled: enabled(
      false,
      'Have cert-manager make the certificates between operator and gateways, in place of the operator; its CRDs have to be installed.',
    ),
    issuerRef: group({
      name: z
        .string()
        .default('')
        .describe(
          'Issuer of both certificates. It has to be a CA’s (not ACME), best one that signs nothing else. Empty: the chart makes such a one.',
        ),
      kind: z.string().min(1).default('Issuer').describe('Its kind: Issuer, ClusterIssuer, or one of your own.'),
      group: z.string().min(1).default('cert-manager.io').describe('API group of that kind.'),
    }),
  }),
});
