import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '@standin/contract';
import {
  formatVersion,
  isConflict,
  isNotFound,
  listAll,
  objectVersion,
  parseVersion,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@standin/kube';
import { replaceFile } from '@standin/process/replace-file';
import type { Logger } from 'pino';
import { aboutObject } from '../about-object.ts';
import type { CachedObjects } from '../object-cache.ts';
import { ledgerSchema, type Ledger } from './ledger.ts';

export interface StoredLedger {
  readonly ledger: Ledger;
  /** Opaque identifier of the version that was read or written. */
  readonly version: string;
}

export type ListedLedger = readonly [accountUid: string, stored: StoredLedger];
export type OnUnreadable = (accountUid: string, error: unknown) => void;

/**
 * Returns a callback that logs an unreadable ledger. Until it is readable again, the account gets no permits, and permits held by
 * lost gateways count as used.
 */
export const logUnreadable =
  (logger: Logger, cache: Pick<CachedObjects, 'get'>): OnUnreadable =>
  (accountUid, error) =>
    logger.error({ ...aboutObject(cache, accountUid), accountUid, err: error }, 'quota ledger unreadable');

/**
 * Stores the ledgers, by their accounts' uids. Reads bypass all caches. An unreadable ledger is an error, not an empty ledger.
 */
export interface LedgerStore {
  /** Resolves with an account's ledger, or with undefined if the account has had no permits yet. */
  read(accountUid: string): Promise<StoredLedger | undefined>;
  /**
   * Resolves with the new version when the ledger is stored durably. Rejects if the stored version is not `version`, if a ledger
   * exists although `version` is undefined, or if the outcome is unknown.
   */
  write(accountUid: string, ledger: Ledger, version: string | undefined): Promise<string>;
  /**
   * Resolves with all ledgers and their accounts' uids. Passes unreadable ledgers to `onUnreadable` instead, so that they do not
   * affect the others.
   */
  list(onUnreadable: OnUnreadable): Promise<readonly ListedLedger[]>;
  /**
   * Removes this version of the ledger of a deleted account, unless the store keeps such ledgers. Does nothing if the ledger has
   * changed, because an account that was created again may be using it. Called only for ledgers of earlier months.
   */
  remove(accountUid: string, version: string): Promise<void>;
}

/** Returns a store that calls `onWrite` before each attempt to write. */
export const countedWrites = (store: LedgerStore, onWrite: () => void): LedgerStore => ({
  read: (accountUid) => store.read(accountUid),
  write: (accountUid, ledger, version) => {
    onWrite();
    return store.write(accountUid, ledger, version);
  },
  list: (onUnreadable) => store.list(onUnreadable),
  remove: (accountUid, version) => store.remove(accountUid, version),
});

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const DATA_KEY = 'ledger';
const NAME_PREFIX = 'standin-quota-';
const LABELS = { 'app.kubernetes.io/managed-by': 'standin-operator', 'app.kubernetes.io/component': 'quota' };
const LABEL_SELECTOR = Object.entries(LABELS)
  .map(([name, value]) => `${name}=${value}`)
  .join(',');
const URGENT = { lane: 'urgent' } as const;

/**
 * Stores the ledgers in one ConfigMap per account, in the operator's own namespace. Account owners cannot edit them there, and
 * writes do not trigger watches on accounts. Reads and writes of one ledger do not wait behind the operator's other calls.
 */
export const ledgerConfigMaps = (client: KubeClient, namespace: string): LedgerStore => {
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', namespace };
  const ledgerName = (accountUid: string): string => `${NAME_PREFIX}${accountUid}`;
  const ledgerPath = (accountUid: string): string => resourcePath({ ...configMaps, name: ledgerName(accountUid) });
  const orUndefined = (error: unknown): undefined => {
    if (!isNotFound(error)) throw error;
  };
  return {
    read: async (accountUid) => {
      const configMap = await client.get<ConfigMap>(ledgerPath(accountUid), URGENT).catch(orUndefined);
      return configMap && storedIn(configMap);
    },
    write: async (accountUid, ledger, version) => {
      const metadata = { namespace, name: ledgerName(accountUid), labels: LABELS };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [DATA_KEY]: JSON.stringify(ledger) } };
      const written = await (version === undefined
        ? client.create<ConfigMap>(resourcePath(configMaps), configMap, URGENT)
        : client.replace<ConfigMap>(ledgerPath(accountUid), configMap, parseVersion(version), URGENT));
      return formatVersion(objectVersion(written));
    },
    list: async (onUnreadable) => {
      const { items } = await listAll<ConfigMap>(client, resourcePath(configMaps), {
        query: { labelSelector: LABEL_SELECTOR },
      });
      const ledgers = items.filter(({ metadata: { name } }) => name.startsWith(NAME_PREFIX));
      return readable(
        ledgers.map(
          (configMap) => [configMap.metadata.name.slice(NAME_PREFIX.length), () => storedIn(configMap)] as const,
        ),
        onUnreadable,
      );
    },
    remove: async (accountUid, version) => {
      const removed = client.remove(ledgerPath(accountUid), { preconditions: parseVersion(version) });
      await removed.catch((error: unknown) => {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    },
  };
};

const storedIn = (configMap: ConfigMap): StoredLedger => ({
  ledger: parseLedger(configMap.data?.[DATA_KEY] ?? ''),
  version: formatVersion(objectVersion(configMap)),
});

/**
 * Stores the ledgers in one file per account, for an operator without a cluster. No other process uses the directory, so it is
 * sufficient that writes run one at a time, and that each checks the version first.
 */
export const ledgerFiles = (dir: string): LedgerStore => {
  const ledgerFile = (accountUid: string): string => path.join(dir, `${encodeURIComponent(accountUid)}${FILE_SUFFIX}`);
  const readText = async (accountUid: string): Promise<string | undefined> => {
    const [text] = await readFile(ledgerFile(accountUid), 'utf8').then((whole) => [whole], noneIfAbsent);
    return text;
  };
  const read = async (accountUid: string): Promise<StoredLedger | undefined> => {
    const text = await readText(accountUid);
    return text === undefined ? undefined : storedText(text);
  };
  /** The last write. Each write must end before the next one compares versions. */
  let writes: Promise<unknown> = Promise.resolve();
  const write = async (accountUid: string, ledger: Ledger, version: string | undefined): Promise<string> => {
    if ((await read(accountUid))?.version !== version) throw new Error('the ledger has changed since it was read');
    const text = `${JSON.stringify(ledger)}\n`;
    await replaceFile(ledgerFile(accountUid), text, { mode: 0o600 });
    return textVersion(text);
  };
  return {
    read,
    write: (...given) => {
      const written = writes.then(() => write(...given));
      writes = written.catch(() => undefined);
      return written;
    },
    list: async (onUnreadable) => {
      const uids = (await readdir(dir).catch(noneIfAbsent))
        .filter((name) => name.endsWith(FILE_SUFFIX))
        .map((name) => decodeURIComponent(name.slice(0, -FILE_SUFFIX.length)));
      const texts = await Promise.all(uids.map(async (uid) => [uid, await readText(uid)] as const));
      return readable(
        texts.flatMap(([uid, text]) => (text === undefined ? [] : [[uid, () => storedText(text)] as const])),
        onUnreadable,
      );
    },
    // A manifest that is removed and added again has the same uid, so its account keeps its usage.
    remove: () => Promise.resolve(),
  };
};

const FILE_SUFFIX = '.json';

const noneIfAbsent = (error: unknown): never[] => {
  if (isMissingFile(error)) return [];
  throw error;
};

const textVersion = (text: string): string => createHash('sha256').update(text).digest('hex');

const storedText = (text: string): StoredLedger => ({ ledger: parseLedger(text), version: textVersion(text) });

const readable = (
  ledgers: readonly (readonly [accountUid: string, parse: () => StoredLedger])[],
  onUnreadable: OnUnreadable,
): readonly ListedLedger[] =>
  ledgers.flatMap(([uid, parse]) => {
    try {
      return [[uid, parse()] as const];
    } catch (error) {
      onUnreadable(uid, error);
      return [];
    }
  });

const parseLedger = (text: string): Ledger => ledgerSchema.parse(JSON.parse(text));
