import { SECRET_LABELS, type LabelledSecret, type ResourceObject, type SecretUse } from '@standin/contract';
import { parseObject, type EndpointSpec } from '@standin/crds';
import { readValues } from '../secrets/secret-values.ts';
import { forwardConfig, type TranslateSettings, type World } from '../translate/index.ts';

/**
 * Returns the states of the Secrets that Endpoints refer to. A Secret that is not in the files is assumed to exist, with the labels, the
 * annotation and the data keys.
 *
 * @param secrets the Secrets in the files, by `NAMESPACE/NAME`
 */
export const secretStates = (
  objects: readonly ResourceObject[],
  secrets: ReadonlyMap<string, LabelledSecret>,
  settings: Pick<TranslateSettings, 'clusterDomain'>,
): NonNullable<World['secrets']> => {
  const needs = new Map<string, Need>();
  for (const object of objects) {
    const parsed = parseObject(object);
    if (!parsed.ok || parsed.value.kind !== 'Endpoint') continue;
    const { namespace } = object.metadata;
    for (const { name, key, origin } of secretRefs(parsed.value.spec, { ...settings, namespace })) {
      const id = `${namespace}/${name}`;
      const need = needs.get(id) ?? { keys: new Set(), origins: new Set() };
      need.keys.add(key);
      if (origin !== undefined) need.origins.add(origin);
      needs.set(id, need);
    }
  }
  return [...needs].map(([id, need]) => {
    const [namespace = '', name = ''] = id.split('/');
    return { namespace, name, state: readValues(namespace, name, secrets.get(id) ?? assumed(need)).state };
  });
};

/** What Endpoints need of a Secret. */
interface Need {
  readonly keys: Set<string>;
  readonly origins: Set<string>;
}

interface SecretRef {
  readonly name: string;
  readonly key: string;
  /** The origin that gets the value. Undefined for a signing secret. */
  readonly origin?: string | undefined;
}

const secretRefs = (
  { credential, forward }: EndpointSpec,
  place: { readonly namespace: string; readonly clusterDomain: string },
): readonly SecretRef[] => {
  const signing = credential?.signature?.secretRefs ?? [];
  if (forward === undefined) return signing;
  const origin = URL.parse(forwardConfig(forward, { ...place, isTrusted: true }).url)?.origin;
  const headers = (forward.requestHeaders?.set ?? []).flatMap(({ valueFrom }) => valueFrom?.secretRef ?? []);
  return [...signing, ...headers.map((ref) => ({ ...ref, origin }))];
};

/** A value that all uses accept. */
const ASSUMED = Buffer.from('YXNzdW1lZA==');

const assumed = ({ keys, origins }: Need): LabelledSecret => ({
  uses: Object.keys(SECRET_LABELS) as SecretUse[],
  upstreamOrigins: [...origins].join(' '),
  version: '',
  data: new Map([...keys].map((key) => [key, ASSUMED])),
});
