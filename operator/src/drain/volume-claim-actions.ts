import { readFile } from 'node:fs/promises';
import { API_GROUP } from '@standin/contract';
import { isConflict, isNotFound, objectVersion, resourcePath, type KubeClient } from '@standin/kube';
import type { Logger } from 'pino';
import { KubernetesEvents } from '../sources/kubernetes-events.ts';
import { drainJob, parseJobTemplate } from './drain-job.ts';
import type { DrainJob, Use } from './judge-volume-claim.ts';
import type { Claim, Job } from './kube-objects.ts';

/** Annotations on a claim. They record when the claim was drained, and the state of the StatefulSet at that time. */
const DRAINED_ANNOTATION = `${API_GROUP}/drained`;
const DRAINED_FOR_ANNOTATION = `${API_GROUP}/drained-for`;

export interface ClaimActionsOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly statefulSet: string;
  /** The file with the Job template. The file is read for each Job because it may change. */
  readonly jobTemplate: string;
  readonly logger: Logger;
}

/** Returns the state that the StatefulSet had when the claim was drained, according to the claim's annotation. */
export const drainedFor = ({ metadata }: Claim): Use | undefined => metadata.annotations?.[DRAINED_FOR_ANNOTATION];

/** Creates and deletes Jobs, and writes annotations and Events for a claim. Every action may be repeated. */
export class ClaimActions {
  readonly #options: ClaimActionsOptions;
  readonly #events: KubernetesEvents;

  constructor(options: ClaimActionsOptions) {
    this.#options = options;
    this.#events = new KubernetesEvents(options.client, options.logger);
  }

  /**
   * Creates a Job that drains the claim. Resolves with the Job's uid, or with undefined if a Job already exists and the watch is
   * about to report it.
   */
  async start(claim: Claim, use: Use): Promise<string | undefined> {
    const { client, namespace, statefulSet, jobTemplate, logger } = this.#options;
    const template = parseJobTemplate(await readFile(jobTemplate, 'utf8'));
    const made = await client
      .create<Job>(jobPath(namespace), drainJob(template, claim, { namespace, statefulSet, use }))
      .catch((error: unknown) => {
        if (!isConflict(error)) throw error;
        return undefined;
      });
    if (made === undefined) return undefined;
    const { name: job, uid } = made.metadata;
    logger.info({ claim: claim.metadata.name, job }, 'draining an orphaned volume');
    await this.#recordEvent(claim, 'Normal', 'Draining', `Job "${job}" is delivering the rows on this volume.`);
    return uid;
  }

  async stop(claim: Claim, { name: job, uid }: DrainJob): Promise<void> {
    const { client, namespace, logger } = this.#options;
    const options = { preconditions: { uid }, propagationPolicy: 'Background' } as const;
    await client.remove(jobPath(namespace, job), options).catch((error: unknown) => {
      // Conflict means that a new Job has this name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
    logger.info({ claim: claim.metadata.name, job }, 'drain Job deleted because the gateway uses its volume again');
  }

  async finish(claim: Claim, job: DrainJob, use: Use): Promise<void> {
    const { namespace, logger } = this.#options;
    const { name } = claim.metadata;
    await this.#annotate(claim, job.completedAt ?? new Date().toISOString(), use);
    logger.info({ claim: name, job: job.name }, 'orphaned volume drained');
    const message = `All rows on this volume are in ClickHouse. To delete the volume, run "kubectl delete pvc ${name} -n ${namespace}".`;
    await this.#recordEvent(claim, 'Normal', 'Drained', message);
  }

  /** Removes the annotations when a gateway uses the volume again. */
  async forget(claim: Claim): Promise<void> {
    await this.#annotate(claim, null, null);
  }

  async reportFailure(claim: Claim, { name: job }: DrainJob): Promise<void> {
    const { namespace, logger } = this.#options;
    logger.error({ claim: claim.metadata.name, job }, 'cannot drain orphaned volume, see the Job log');
    const why = `See "kubectl logs job/${job} -n ${namespace}"`;
    const retry = `To retry now, run "kubectl delete job ${job} -n ${namespace}". Otherwise, the Job is retried after a day`;
    const message = `Job "${job}" could not deliver all rows on this volume. ${why}. ${retry}.`;
    await this.#recordEvent(claim, 'Warning', 'DrainFailed', message);
  }

  /** Rejects with `Conflict` if the claim has changed, for example because a new claim with the same name is not drained. */
  async #annotate(claim: Claim, at: string | null, use: Use | null): Promise<void> {
    const { client, namespace } = this.#options;
    const { name } = claim.metadata;
    const path = resourcePath({ group: '', version: 'v1', plural: 'persistentvolumeclaims', namespace, name });
    const annotations = { [DRAINED_ANNOTATION]: at, [DRAINED_FOR_ANNOTATION]: use };
    await client.mergePatch(path, { metadata: { ...objectVersion(claim), annotations } });
  }

  #recordEvent({ metadata }: Claim, type: 'Normal' | 'Warning', reason: string, message: string): Promise<void> {
    const { name, uid = '', resourceVersion } = metadata;
    const place = { namespace: this.#options.namespace, name, uid, resourceVersion };
    const subject = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: place };
    return this.#events.record(subject, { type, reason, message });
  }
}

const jobPath = (namespace: string, name?: string): string => {
  const jobs = { group: 'batch', version: 'v1', plural: 'jobs', namespace };
  return resourcePath(name === undefined ? jobs : { ...jobs, name });
};
