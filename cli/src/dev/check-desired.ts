import { createHash } from 'node:crypto';
import type { DesiredObject, ResourceObject } from '@standin/contract';
import { checkUpdate, parseObject, type Problem } from '@standin/crds';
import { translate, type KeyState, type TranslateSettings } from '@standin/operator';

export interface CheckDesiredOptions {
  /** Everything that there is. */
  readonly objects: Iterable<ResourceObject>;
  readonly settings: TranslateSettings;
  /** The object as it is, if there is one of that name. */
  readonly before: ResourceObject | undefined;
}

/**
 * What a dry run of the API server, and then the operator, would say of an object: a directory has neither in front of it. In their
 * words; empty if they have nothing to say.
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
  return verdictOf(desired, options);
};

const DRY_RUN_UID = 'dry-run';

const verdictOf = (desired: DesiredObject, { objects, settings, before }: CheckDesiredOptions): readonly Problem[] => {
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
  // A finding of one problem begins with its path, which stands in a field of its own here.
  return [
    { path, message: message.startsWith(`${path}: `) ? message.slice(path.length + 2).replace(/\.$/, '') : message },
  ];
};

/** Endpoints are checked against those of their project only: there may be very many others. */
const concerns = ({ kind, metadata, spec }: ResourceObject, desired: DesiredObject): boolean => {
  if (kind !== 'Endpoint') return true;
  return (
    desired.kind === 'Endpoint' &&
    metadata.namespace === desired.metadata.namespace &&
    projectOf(spec) === projectOf(desired.spec)
  );
};

const projectOf = (spec: unknown): unknown =>
  (spec as { projectRef?: { name?: unknown } } | undefined)?.projectRef?.name;
