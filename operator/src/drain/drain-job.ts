import { createHash } from 'node:crypto';
import { API_GROUP } from '@standin/contract';
import { parse } from 'yaml';
import { z } from 'zod';
import type { DrainJob, JobState, Use } from './judge-volume-claim.ts';
import type { Claim, Job } from './kube-objects.ts';

/** Label on the Job and its pod. Contains the uid of the claim that the Job drains. */
export const CLAIM_UID_LABEL = `${API_GROUP}/claim-uid`;
/** Annotations on the Job. They contain the claim's name and the state of the StatefulSet (see `Use`). */
const CLAIM_ANNOTATION = `${API_GROUP}/claim`;
const USE_ANNOTATION = `${API_GROUP}/drained-for`;

/** Placeholder for the claim's name in the template. */
const CLAIM_PLACEHOLDER = 'CLAIM';

const metadataSchema = z.looseObject({
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const volumeSchema = z.looseObject({
  persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
});
const templateSchema = z.looseObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: metadataSchema.prefault({}),
  spec: z.looseObject({
    template: z.looseObject({
      metadata: metadataSchema.prefault({}),
      spec: z.looseObject({ volumes: z.array(volumeSchema) }),
    }),
  }),
});
export type JobTemplate = z.infer<typeof templateSchema>;

/** Parses a Job in YAML that has `CLAIM` in place of the claim's name. Throws an error that describes the problem. */
export const parseJobTemplate = (text: string): JobTemplate => {
  const { success, data, error } = templateSchema.safeParse(parse(text));
  if (!success) throw new Error(`the drain Job template is invalid: ${z.prettifyError(error)}`);
  const { volumes } = data.spec.template.spec;
  if (!volumes.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === CLAIM_PLACEHOLDER)) {
    throw new Error(`the drain Job template has no volume with persistentVolumeClaim.claimName: ${CLAIM_PLACEHOLDER}`);
  }
  return data;
};

/**
 * Maximum length of the part of the StatefulSet's name that begins a Job's name. The Job controller copies the Job's name to a pod
 * label, so the whole name is limited to 63 characters.
 */
const NAME_PREFIX_LENGTH_MAX = 40;

/**
 * Returns the Job's name. It is the same for the same claim and use, so a second attempt to create the Job fails with
 * AlreadyExists.
 */
const drainJobName = (statefulSet: string, claim: Claim, use: Use): string => {
  const digest = createHash('sha256')
    .update(JSON.stringify([claim.metadata.uid, use]))
    .digest('hex');
  return `${statefulSet.slice(0, NAME_PREFIX_LENGTH_MAX)}-drain-${digest.slice(0, 12)}`;
};

export interface DrainJobOptions {
  readonly namespace: string;
  /** The gateways' StatefulSet. */
  readonly statefulSet: string;
  readonly use: Use;
}

/** Returns the Job that drains a claim. Kubernetes deletes the Job with the claim. */
export const drainJob = (template: JobTemplate, claim: Claim, options: DrainJobOptions): object => {
  const { namespace, statefulSet, use } = options;
  const { name, uid = '' } = claim.metadata;
  const label = { [CLAIM_UID_LABEL]: uid };
  const pod = template.spec.template;
  const { metadata } = template;
  return {
    ...template,
    metadata: {
      ...metadata,
      name: drainJobName(statefulSet, claim, use),
      namespace,
      labels: { ...metadata.labels, ...label },
      annotations: { ...metadata.annotations, [CLAIM_ANNOTATION]: name, [USE_ANNOTATION]: use },
      ownerReferences: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, uid }],
    },
    spec: {
      ...template.spec,
      template: {
        ...pod,
        metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...label } },
        spec: {
          ...pod.spec,
          volumes: pod.spec.volumes.map((volume) =>
            volume.persistentVolumeClaim?.claimName === CLAIM_PLACEHOLDER
              ? { ...volume, persistentVolumeClaim: { ...volume.persistentVolumeClaim, claimName: name } }
              : volume,
          ),
        },
      },
    },
  };
};

const hasCondition = ({ status }: Job, wanted: string): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === wanted && value === 'True');

const jobState = (job: Job): JobState =>
  hasCondition(job, 'Complete') ? 'succeeded' : hasCondition(job, 'Failed') ? 'failed' : 'running';

export const drainedClaimUid = ({ metadata }: Job): string | undefined => metadata.labels?.[CLAIM_UID_LABEL];

export const toDrainJob = (job: Job): DrainJob => ({
  name: job.metadata.name,
  uid: job.metadata.uid ?? '',
  use: job.metadata.annotations?.[USE_ANNOTATION] ?? '',
  state: jobState(job),
  completedAt: job.status?.completionTime,
});
