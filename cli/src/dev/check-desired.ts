import { createHash } from 'node:crypto';
import type { DesiredObject, ResourceObject } from '@standin/contract';
import { checkUpdate, parseObject, type Problem } from '@standin/crds';
import { translate, type KeyState, type TranslateSettings } from '@standin/operator';

export interface CheckDesiredOptions {
  /** All current objects. */
  readonly objects: Iterable<ResourceObject>;
  readonly settings: TranslateSettings;
  /** The current object with the same kind, namespace and name, if one exists. */
  readonly before: ResourceObject | undefined;
}

/**
 * Returns the problems that an API server would report for an object in a dry run, and the problems that the operator would report,
 * with the same messages. A directory does not have an API server in front of it.
 */
export const checkDesired = (desired: DesiredObject, options: CheckDesiredOptions): readonly Problem[] => {
  const { before } = options;
  const parsed = parseObject(desired);
  if (!parsed.ok) return parsed.problems;
  const old = before && parseObject(before);
  if (old?.ok === true && old.value.kind === parsed.value.kind) {
    const problems = checkUpdate(parsed.value.kind, old.value.spec, parsed.value.spec);
    if (problems.length > 0) return problems;
  }
  return translationProblems(desired, options);
};

const DRY_RUN_UID = 'dry-run';

const translationProblems = (
  desired: DesiredObject,
  { objects, settings, before }: CheckDesiredOptions,
): readonly Problem[] => {
  const uid = before?.metadata.uid ?? DRY_RUN_UID;
  const candidate: ResourceObject = {
    ...desired,
    metadata: {
      ...desired.metadata,
      uid,
      generation: (before?.metadata.generation ?? 0) + 1,
      resourceVersion: '',
      creationTimestamp: before?.metadata.creationTimestamp ?? new Date().toISOString(),
    },
  };
  const others = [...objects].filter((object) => object.metadata.uid !== uid && concerns(object, desired));
  const keys = new Map<string, KeyState>(
    others
      .filter(({ kind }) => kind === 'Account')
      .map(({ metadata }) => [
        metadata.uid,
        { kind: 'key', sha256: createHash('sha256').update(metadata.uid).digest('hex') },
      ]),
  );
  const { verdicts } = translate({ objects: [...others, candidate], keys }, settings);
  const accepted = verdicts.find((verdict) => verdict.uid === uid)?.accepted;
  if (accepted === undefined || accepted.ok) return [];
  const { path = '', message } = accepted;
  // A message about one problem begins with the path. Here, the path is a separate field.
  return [
    { path, message: message.startsWith(`${path}: `) ? message.slice(path.length + 2).replace(/\.$/, '') : message },
  ];
};

/**
 * Returns whether the check needs the object. It needs other Endpoints only to check an Endpoint, and then only those in the same
 * project, because there may be thousands of others.
 */
const concerns = ({ kind, metadata, spec }: ResourceObject, desired: DesiredObject): boolean => {
  if (kind !== 'Endpoint') return true;
  return (
    desired.kind === 'Endpoint' &&
    metadata.namespace === desired.metadata.namespace &&
    specProjectName(spec) === specProjectName(desired.spec)
  );
};

const specProjectName = (spec: unknown): unknown =>
  (spec as { projectRef?: { name?: unknown } } | undefined)?.projectRef?.name;
