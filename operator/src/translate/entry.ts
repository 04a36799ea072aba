import type { ObjectRef, ResourceObject } from '@standin/contract';
import { parseObject, type ParsedObject, type Problem } from '@standin/crds';
import type { Claimant } from './claims.ts';
import { endpointProblems } from './endpoint.ts';
import { projectUri } from './project.ts';
import type { Evaluation, KeyState, TranslateSettings } from './types.ts';

/** An object as the translator keeps it. */
export interface Entry extends Claimant {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly generation: number;
  readonly createdAtMs: number;
  /** Undefined if the spec cannot be read. */
  readonly parsed: ParsedObject | undefined;
  /** What is wrong with the object itself, whatever else exists. */
  readonly problems: readonly Problem[];
  /** What it claims; only a valid object claims anything. */
  claim: string | undefined;
  /** Of the last flush. */
  evaluation: Evaluation | undefined;
}

/** Reads an object; never throws. */
export const readEntry = (object: ResourceObject, settings: TranslateSettings): Entry => {
  const { kind, metadata } = object;
  const { namespace, name, uid, generation } = metadata;
  const { creationTimestamp } = metadata;
  const createdAtMs = Date.parse(creationTimestamp);
  return {
    ref: { kind, namespace, name },
    uid,
    generation,
    createdAtMs: Number.isNaN(createdAtMs) ? 0 : createdAtMs,
    ...readSpec(object, settings),
    claim: undefined,
    evaluation: undefined,
  };
};

const readSpec = (object: ResourceObject, settings: TranslateSettings): Pick<Entry, 'parsed' | 'problems'> => {
  try {
    const result = parseObject(object);
    return result.ok
      ? { parsed: result.value, problems: semanticProblems(result.value, settings) }
      : { parsed: undefined, problems: result.problems };
  } catch (error) {
    const message = `the operator cannot read it (${String(error)}); that is a defect of Standin, please report it`;
    return { parsed: undefined, problems: [{ path: 'spec', message }] };
  }
};

const semanticProblems = (parsed: ParsedObject, settings: TranslateSettings): readonly Problem[] =>
  parsed.kind === 'Endpoint' ? endpointProblems(parsed.spec, settings) : [];

/** Of what there can be one only: an API key, a project URI, a method on a path of a project. */
export const claimOf = ({ ref, uid, parsed, problems }: Entry, key: KeyState): string | undefined => {
  if (parsed === undefined || problems.length > 0) return undefined;
  switch (parsed.kind) {
    case 'Account':
      return key.kind === 'key' ? `key ${key.sha256}` : undefined;
    case 'Project':
      return `uri ${projectUri(uid, parsed.spec)}`;
    case 'Endpoint': {
      const { projectRef, method, slug } = parsed.spec;
      return `route ${ref.namespace}/${projectRef.name} ${method} ${slug}`;
    }
  }
};

/** The object that this one refers to. */
export const parentOf = ({ ref: { namespace }, parsed }: Entry): ObjectRef | undefined => {
  switch (parsed?.kind) {
    case 'Project':
      return { kind: 'Account', namespace, name: parsed.spec.accountRef.name };
    case 'Endpoint':
      return { kind: 'Project', namespace, name: parsed.spec.projectRef.name };
    default:
      return undefined;
  }
};
