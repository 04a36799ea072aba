import { GROUP_VERSION, LIMITS, SourceError, type ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject, regenerationWindow } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { orFail, refusalOf } from '../lib/failures.server.ts';
import type { KeyRegenerationView } from './regenerate-key.tsx';

/** Finished regenerations are shown for this long. */
const SHOWN_MS = 10 * 60_000;

const ofAccount = (account: ResourceObject, object: ResourceObject): boolean => {
  const parsed = parseObject(object);
  return (
    parsed.ok && parsed.value.kind === 'KeyRegeneration' && parsed.value.spec.accountRef.name === account.metadata.name
  );
};

const unlessForbidden = (error: unknown): undefined => {
  if (!(error instanceof SourceError && error.kind === 'Forbidden')) throw error;
};

/**
 * The key regenerations of an account. A user who may create one is not necessarily allowed to list them. In that case the Account provides what it
 * can.
 */
export const readRegenerations = async (
  { resources }: Backend,
  account: ResourceObject,
): Promise<KeyRegenerationView> => {
  const now = Date.now();
  const { left, resetsAt, current } = regenerationWindow(account, now);
  const listing = resources.list('KeyRegeneration', account.metadata.namespace);
  const all = await orFail(listing.catch(unlessForbidden));
  if (all === undefined) {
    const message = 'It takes the right to list mockkeyregenerations to see how far that is.';
    const newest = current && { name: current.name, phase: 'Running' as const, acknowledged: undefined, message };
    return { left, max: LIMITS.keyRegenerationsMax, resetsAt, newest };
  }
  const newest = all
    .filter((object) => ofAccount(account, object))
    .toSorted((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1))
    .find(({ metadata }) => now - Date.parse(metadata.creationTimestamp) < SHOWN_MS);
  const status = DEFINITIONS.KeyRegeneration.status.safeParse(newest?.status).data;
  return {
    left,
    max: LIMITS.keyRegenerationsMax,
    resetsAt,
    newest:
      newest === undefined
        ? undefined
        : {
            name: newest.metadata.name,
            phase: status?.phase ?? 'Pending',
            acknowledged: status?.acknowledged,
            message: status?.conditions?.find(({ type }) => type === 'Complete')?.message ?? 'Waiting for the operator',
          },
  };
};

/** Requests a new key, with the user's own rights. Returns the reason if that is refused. */
export const regenerateKey = async (
  { resources }: Backend,
  { metadata: { namespace, name } }: ResourceObject,
): Promise<string | undefined> => {
  const object = {
    apiVersion: GROUP_VERSION,
    kind: 'KeyRegeneration' as const,
    metadata: { namespace, name: `${name.slice(0, 200)}-${Date.now().toString(36)}` },
    spec: { accountRef: { name } },
  };
  try {
    const result = await resources.apply(object, 'absent');
    return result.ok ? undefined : result.problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  } catch (error) {
    return refusalOf(error);
  }
};
