import { Reflector, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { logRefusals } from '../log-refusals.ts';
import { CLAIM_UID_LABEL, drainedClaimUid, toDrainJob } from './drain-job.ts';
import type { DrainJob, Use } from './judge-volume-claim.ts';
import {
  mountedClaims,
  usedClaims,
  hasReplica,
  claimOrdinal,
  trimClaim,
  trimJob,
  trimPod,
  trimStatefulSet,
  type Claim,
  type Job,
  type Pod,
  type StatefulSet,
} from './kube-objects.ts';

/** The location of the gateways' volumes. */
export interface VolumePlace {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the gateways' StatefulSet. */
  readonly statefulSet: string;
  /** Label selector of the gateways' claims. */
  readonly claims: string;
}

export interface VolumeWatchOptions extends VolumePlace {
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
  /** Called when the state of `claims` may have changed. */
  readonly onChange: (claims: readonly string[]) => void;
  /** Called when the API server reports a pod that uses `claim` or waits for it. Not called for pods of drain Jobs. */
  readonly onUsed: (claim: string) => void;
}

interface Watched<T> {
  readonly group?: 'apps' | 'batch';
  readonly query?: Readonly<Record<string, string>>;
  readonly transform: (object: T) => T;
  readonly put: (object: T) => void;
  readonly remove: (object: T) => void;
}

const NO_STATEFUL_SET: Use = 'none';

/**
 * The gateways' claims, the pods that use them, the StatefulSet and the drain Jobs, as last reported by the API server. Calls
 * `onChange` only after all of them are known.
 */
export class VolumeWatch {
  readonly #options: VolumeWatchOptions;
  readonly #claims: Reflector;
  readonly #pods: Reflector<Pod>;
  readonly #statefulSets: Reflector<StatefulSet>;
  readonly #jobs: Reflector<Job>;
  #isSynced = false;

  constructor(options: VolumeWatchOptions) {
    this.#options = options;
    const every = () => this.#changed(this.#names());
    this.#claims = this.#reflector('persistentvolumeclaims', {
      query: { labelSelector: options.claims },
      transform: trimClaim,
      put: ({ metadata }) => this.#changed([metadata.name]),
      remove: ({ metadata }) => this.#changed([metadata.name]),
    });
    this.#pods = this.#reflector<Pod>('pods', {
      transform: trimPod,
      put: (pod) => this.#podSeen(pod),
      remove: (pod) => this.#changed(mountedClaims(pod)),
    });
    this.#statefulSets = this.#reflector<StatefulSet>('statefulsets', {
      group: 'apps',
      query: { fieldSelector: `metadata.name=${options.statefulSet}` },
      transform: trimStatefulSet,
      put: every,
      remove: every,
    });
    // A Job that ends makes room for another claim's Job.
    this.#jobs = this.#reflector<Job>('jobs', {
      group: 'batch',
      query: { labelSelector: CLAIM_UID_LABEL },
      transform: trimJob,
      put: every,
      remove: every,
    });
  }

  /** Watches until `signal` aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const reflectors = [this.#claims, this.#pods, this.#statefulSets, this.#jobs];
    Promise.all(reflectors.map(({ synced }) => synced)).then(
      () => {
        this.#isSynced = true;
        this.#changed(this.#names());
      },
      // The watch was stopped before it had synced.
      () => undefined,
    );
    await Promise.all(reflectors.map((reflector) => reflector.run(signal)));
  }

  claim(name: string): Claim | undefined {
    return this.#claims.get(`${this.#options.namespace}/${name}`);
  }

  /** The gateways' claims with the gateways' names. Undefined until the API server has reported all objects. */
  get gateways(): readonly { readonly claim: string; readonly gateway: string }[] | undefined {
    if (!this.#isSynced) return undefined;
    const names = this.#names().filter((name) => this.#ordinal(name) !== undefined);
    return names.map((claim) => ({ claim, gateway: `${this.#options.statefulSet}-${this.#ordinal(claim)}` }));
  }

  /** Returns whether a pod uses the claim or waits for it. Ignores pods of drain Jobs. */
  isUsed(claim: string): boolean {
    return [...this.#pods.list()].some((pod) => !isDrainPod(pod) && usedClaims(pod).includes(claim));
  }

  /** Returns whether the StatefulSet has a pod for the claim, or is about to create one. */
  isWanted(claim: string): boolean {
    const set = this.#statefulSet();
    const ordinal = this.#ordinal(claim);
    return set !== undefined && ordinal !== undefined && hasReplica(set, ordinal);
  }

  /**
   * The uid and the generation of the StatefulSet, or `none` if it does not exist. Every change to the replica count changes the
   * generation.
   */
  get use(): Use {
    const { uid = '', generation = 0 } = this.#statefulSet()?.metadata ?? {};
    return uid === '' ? NO_STATEFUL_SET : `${uid}/${generation}`;
  }

  drainJobs({ metadata: { uid } }: Claim): readonly DrainJob[] {
    return [...this.#jobs.list()].filter((job) => drainedClaimUid(job) === uid).map(toDrainJob);
  }

  /** The number of running Jobs, for all claims. */
  get runningJobs(): number {
    return [...this.#jobs.list()].filter((job) => toDrainJob(job).state === 'running').length;
  }

  #reflector<T extends KubeObject>(plural: string, { group, put, remove, ...rest }: Watched<T>): Reflector<T> {
    const { client, namespace, registry, logger } = this.#options;
    return new Reflector<T>({
      ...rest,
      client,
      namespace,
      registry,
      resource: plural,
      path: resourcePath({ group: group ?? '', version: 'v1', plural, namespace }),
      handler: { put, remove },
      onRefused: logRefusals(logger, group === undefined ? plural : `${plural}.${group}`, namespace),
      logger,
    });
  }

  #names(): string[] {
    return [...this.#claims.list()].map(({ metadata }) => metadata.name);
  }

  #statefulSet(): StatefulSet | undefined {
    return this.#statefulSets.get(`${this.#options.namespace}/${this.#options.statefulSet}`);
  }

  #ordinal(claim: string): number | undefined {
    return claimOrdinal(claim, this.#options.statefulSet);
  }

  #changed(claims: readonly string[]): void {
    if (this.#isSynced) this.#options.onChange(claims.filter((name) => this.#ordinal(name) !== undefined));
  }

  #podSeen(pod: Pod): void {
    // `onUsed` is called immediately, because the pod may be deleted before the claim is reconciled.
    if (!isDrainPod(pod)) for (const claim of usedClaims(pod)) this.#options.onUsed(claim);
    this.#changed(mountedClaims(pod));
  }
}

const isDrainPod = ({ metadata }: Pod): boolean => metadata.labels?.[CLAIM_UID_LABEL] !== undefined;
