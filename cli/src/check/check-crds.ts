import { KINDS } from '@standin/contract';
import { isNotFound, type KubeClient } from '@standin/kube';
import { missingFields } from '@standin/operator/check-crds';
import { failed, passed, type Finding } from './finding.ts';

const CHECK = 'CustomResourceDefinitions';
const FIELDS_MAX = 3;
const REMEDY = 'Run helm upgrade with the chart of this version, or kubectl apply --server-side -f crds/manifests.';

/** Checks that all CRDs are served, with all fields that this version of Standin knows. */
export const checkCrds = async (client: KubeClient): Promise<readonly Finding[]> => {
  const missing = await missingFields(client).catch((error: unknown) => {
    // The API server serves none of the group's kinds.
    if (isNotFound(error)) return new Map(KINDS.map((kind) => [kind, ['all']] as const));
    throw error;
  });
  const findings = [...missing].map(([kind, fields]) => {
    if (fields[0] === 'all') return failed(CHECK, `The CRD of ${kind} is missing.`, REMEDY);
    const some = fields.slice(0, FIELDS_MAX).join(', ');
    const more = fields.length > FIELDS_MAX ? ` and ${fields.length - FIELDS_MAX} more` : '';
    return failed(CHECK, `The CRD of ${kind} is of an earlier version. It lacks ${some}${more}.`, REMEDY);
  });
  return findings.length > 0 ? findings : [passed(CHECK, `All ${KINDS.length} CRDs have the fields of this version.`)];
};
