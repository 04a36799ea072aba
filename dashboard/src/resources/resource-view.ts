import { isRecord, type ResourceObject } from '@standin/contract';

/** The fields of a Kubernetes condition that pages show. */
export interface ShownCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number | undefined;
  readonly lastTransitionTime: string;
}

/** The state of an object, as its conditions describe it. */
export interface Readiness {
  readonly state: 'ready' | 'waiting' | 'broken';
  /** `Ready`, or the reason why the object is not ready, such as `Conflicted`. */
  readonly reason: string;
  readonly message: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const toCondition = (value: unknown): ShownCondition[] => {
  if (!isRecord(value)) return [];
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = value;
  return [
    {
      type: text(type),
      status: status === 'True' || status === 'False' ? status : 'Unknown',
      reason: text(reason),
      message: text(message),
      observedGeneration: typeof observedGeneration === 'number' ? observedGeneration : undefined,
      lastTransitionTime: text(lastTransitionTime),
    },
  ];
};

/**
 * Returns the conditions in a status. Omits what is not an object and replaces invalid fields, because the status comes from
 * outside this process.
 */
export const shownConditions = ({ status }: Pick<ResourceObject, 'status'>): readonly ShownCondition[] => {
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.flatMap(toCondition) : [];
};

/** Reasons that resolve without any action. */
const PASSING: ReadonlySet<string> = new Set(['Pending', 'NotProgrammed', 'PartiallyProgrammed', 'NoGateway']);

export const readiness = (object: ResourceObject): Readiness => {
  const ready = shownConditions(object).find(({ type }) => type === 'Ready');
  const { generation } = object.metadata;
  if (ready === undefined || (ready.observedGeneration !== undefined && ready.observedGeneration < generation)) {
    return { state: 'waiting', reason: 'Pending', message: 'Waiting for the operator.' };
  }
  const { status, reason, message } = ready;
  if (status === 'True') return { state: 'ready', reason, message };
  return { state: status === 'Unknown' || PASSING.has(reason) ? 'waiting' : 'broken', reason, message };
};
