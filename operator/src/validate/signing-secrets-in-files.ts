import type { ResourceObject, SigningSecret } from '@standin/contract';
import { parseObject } from '@standin/crds';
import { readValues } from '../secrets/signing-values.ts';
import type { World } from '../translate/index.ts';

/**
 * Returns the states of the Secrets in Endpoints' credentials. A Secret that is not in the files is assumed to exist, with the label
 * and the data keys.
 *
 * @param secrets the Secrets in the files, by `NAMESPACE/NAME`
 */
export const secretStates = (
  objects: readonly ResourceObject[],
  secrets: ReadonlyMap<string, SigningSecret>,
): NonNullable<World['secrets']> => {
  const keysBySecret = new Map<string, Set<string>>();
  for (const object of objects) {
    const parsed = parseObject(object);
    if (!parsed.ok || parsed.value.kind !== 'Endpoint') continue;
    for (const { name, key } of parsed.value.spec.credential?.signature?.secretRefs ?? []) {
      const id = `${object.metadata.namespace}/${name}`;
      keysBySecret.set(id, (keysBySecret.get(id) ?? new Set()).add(key));
    }
  }
  return [...keysBySecret].map(([id, keys]) => {
    const [namespace = '', name = ''] = id.split('/');
    return { namespace, name, state: readValues(namespace, name, secrets.get(id) ?? assumed(keys)).state };
  });
};

/** A value that all schemes can use. */
const ASSUMED = Buffer.from('YXNzdW1lZA==');

const assumed = (keys: ReadonlySet<string>): SigningSecret => ({
  isLabelled: true,
  version: '',
  data: new Map([...keys].map((key) => [key, ASSUMED])),
});
