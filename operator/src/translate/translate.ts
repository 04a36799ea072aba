import type { ConfigMapObject, ConfigObject, ResourceObject, ServiceObject } from '@standin/contract';
import type { Holders } from './claims.ts';
import { Translator } from './translator.ts';
import type { KeyState, SecretState, TranslateSettings, Verdict } from './types.ts';

/** All inputs of a translation. */
export interface World {
  readonly objects: Iterable<ResourceObject>;
  /** The keys by the Account's uid. If an Account has no entry, its key has not been read yet. */
  readonly keys: ReadonlyMap<string, KeyState>;
  /** All Services. Undefined if they are not watched. */
  readonly services?: Iterable<ServiceObject>;
  /** The ConfigMaps with certificates. */
  readonly configMaps?: readonly ConfigMapObject[];
  /** For which objects claims are recorded. Undefined if the oldest object has each claim. */
  readonly holders?: Holders;
  /** The Secrets of credentials. A Secret that is missing here has not been read yet. */
  readonly secrets?: readonly { readonly namespace: string; readonly name: string; readonly state: SecretState }[];
}

export interface Translation {
  readonly objects: readonly ConfigObject[];
  readonly verdicts: readonly Verdict[];
}

/** Translates all objects at once. `Translator` produces the same result incrementally. */
export const translate = (
  { objects, keys, services, configMaps = [], holders, secrets = [] }: World,
  settings: TranslateSettings,
): Translation => {
  const translator = new Translator(settings);
  if (holders !== undefined) translator.setHolders(holders);
  for (const object of objects) translator.put(object);
  for (const [uid, state] of keys) translator.setKey(uid, state);
  if (services !== undefined) translator.servicesIn(undefined, undefined);
  for (const service of services ?? []) translator.putService(service);
  for (const configMap of configMaps) translator.configMaps.put(configMap);
  for (const { namespace, name, state } of secrets) translator.setSecret(namespace, name, state);
  const { put, verdicts } = translator.flush();
  return { objects: put, verdicts };
};
