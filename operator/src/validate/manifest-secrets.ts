import { API_KEY_DATA_KEY } from '@standin/contract';
import { z } from 'zod';
import { apiKeyProblem, apiKeySha256 } from '../keys/api-key.ts';
import { readValues } from '../secrets/signing-values.ts';
import { signingSecret } from '../sources/signing-secret.ts';
import type { KeyState, SecretState } from '../translate/index.ts';

/** A Secret in a file. */
export interface SecretManifest {
  readonly namespace: string;
  readonly name: string;
  readonly manifest: unknown;
}

/** The files contain one version of each Secret. */
const VERSION = '1';

const texts = z.record(z.string(), z.string()).catch({});
const secret = z.looseObject({
  metadata: z.looseObject({ labels: texts }).catch({ labels: {} }),
  data: z.record(z.string(), z.base64()).catch({}),
  stringData: texts,
});

const dataOf = ({ data, stringData }: z.infer<typeof secret>): ReadonlyMap<string, Buffer> =>
  new Map([
    ...Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
    ...Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value)] as const),
  ]);

/** Returns the API key in a Secret. */
export const keyIn = ({ name: secretName, manifest }: SecretManifest): KeyState => {
  const key = dataOf(secret.parse(manifest)).get(API_KEY_DATA_KEY)?.toString('utf8');
  if (key === undefined) return { kind: 'missing', secretName };
  const message = apiKeyProblem(key);
  return message === undefined ? { kind: 'key', sha256: apiKeySha256(key) } : { kind: 'invalid', secretName, message };
};

/** Returns which values of a Secret can be signing secrets. */
export const signingSecretIn = ({
  namespace,
  name,
  manifest,
}: SecretManifest): { readonly namespace: string; readonly name: string; readonly state: SecretState } => {
  const read = secret.parse(manifest);
  const signing = signingSecret({ labels: read.metadata.labels, data: dataOf(read) }, VERSION);
  return { namespace, name, state: readValues(namespace, name, signing).state };
};
