import { isDeepStrictEqual } from 'node:util';
import {
  configKey,
  CONFIG_KINDS,
  isConfigKind,
  LIMITS,
  nearestName,
  objectKey,
  objectRef,
  type ConfigKey,
  type ConfigKind,
  type ConfigMapListener,
  type ConfigMapObject,
  type ConfigObject,
  type ObjectRef,
  type ResourceObject,
  type ServiceListener,
  type ServiceObject,
} from '@standin/contract';
import { evaluateAccount } from './account.ts';
import { Arrangements } from './arrangements.ts';
import { Authorities, configMapKey } from './authorities.ts';
import { Claims, type Claim, type Holder, type Holders } from './claims.ts';
import { permissionFault } from './credential.ts';
import { evaluateEndpoint } from './endpoint.ts';
import { entryCaRef, entryClaim, parentRef, readEntry, entrySecretNames, entryServiceRef } from './entry.ts';
import { defective, firstFault } from './findings.ts';
import { Groups } from './groups.ts';
import { evaluateProject } from './project.ts';
import { isPrefixClaim, isUriClaim, prefixClaim, reservedPrefix, Reservations } from './reservations.ts';
import { serviceKey, Services, type ServiceRef } from './services.ts';
import type {
  Changes,
  ConfigResource,
  Entry,
  Evaluation,
  Finding,
  KeyState,
  SecretState,
  TranslateSettings,
  Verdict,
} from './types.ts';

const ROUTE = 'route ';
/** The objects of a kind in a namespace. */
const placeKey = ({ kind, namespace }: Pick<ObjectRef, 'kind' | 'namespace'>): string => `${kind} ${namespace}`;
const PENDING: KeyState = { kind: 'pending' };
const isConfig = (object: ResourceObject): object is ConfigResource => isConfigKind(object.kind);
/** Of the Projects that may not have a URI, a record of it changes only those of one namespace. */
const refusedKey = (claim: string, namespace: string): string => `${claim} ${namespace}`;
const secretKey = (namespace: string, name: string): string => `Secret ${namespace}/${name}`;

/** Returns the keys of the objects that an entry refers to. */
const referredKeys = (entry: Entry): string[] => {
  const parent = parentRef(entry);
  const service = entryServiceRef(entry);
  const ca = entryCaRef(entry);
  const { namespace } = entry.ref;
  return [
    ...(parent === undefined ? [] : [objectKey(parent)]),
    ...(service === undefined ? [] : [serviceKey({ namespace, name: service.name })]),
    ...(ca === undefined ? [] : [configMapKey({ namespace, name: ca.name })]),
    ...entrySecretNames(entry).map((name) => secretKey(namespace, name)),
  ];
};

/**
 * Turns desired state into configuration and verdicts, without I/O or a clock. A flush processes only the objects that changed
 * since the last flush, and those that depend on them.
 *
 * Accounts are evaluated before Projects, and Projects before Endpoints. Each evaluation uses the evaluation of the parent object.
 * Claims (claims.ts) decide between objects that claim the same key, URI or path. The result depends only on the current objects and
 * on the recorded claims, never on the order of the calls. translator.test.ts tests this property.
 */
export class Translator implements ServiceListener {
  readonly #settings: TranslateSettings;
  /** The entries by kind, namespace and name. */
  readonly #entries = new Map<string, Entry>();
  readonly #byUid = new Map<string, Entry>();
  /** The entries by the key of the object that they refer to. */
  readonly #children = new Groups<Entry>();
  /** The Accounts and Projects by `placeKey`, whose names are suggested. */
  readonly #parents = new Groups<Entry>();
  /** The entries that refer to an Account or a Project that does not exist, by the `placeKey` of those that do. */
  readonly #orphans = new Groups<Entry>();
  /** The suggestions for objects that do not exist, by `objectKey`, during a flush, in which no object is added. */
  readonly #suggestions = new Map<string, string>();
  readonly #services = new Services();
  readonly #authorities = new Authorities();
  /** Undefined if claims are not recorded, so that the oldest claimant has each claim. */
  #holders: Holders | undefined;
  readonly #claims = new Claims<Entry>((claim) => this.#recorded(claim));
  readonly #reservations = new Reservations((claim) => this.#recorded(claim));
  /** The Projects that may not have the URI that they claim, because it is reserved, by `refusedKey`. */
  readonly #refused = new Groups<Entry>();
  /** The claims to keys, URIs and prefixes that may have to be recorded. */
  readonly #unchecked = new Set<string>();
  /** The claims that another object may have since the last flush. */
  readonly #moved = new Set<string>();
  readonly #arrangements = new Arrangements();
  readonly #keys = new Map<string, KeyState>();
  /** The Secrets of credentials by `secretKey`. */
  readonly #secrets = new Map<string, SecretState>();
  readonly #dirty: Readonly<Record<ConfigKind, Set<Entry>>> = {
    Account: new Set(),
    Project: new Set(),
    Endpoint: new Set(),
  };
  /** See `takeDependents`. */
  readonly #dependents = new Map<string, number>();
  /** The gateways' configuration after the last flush. */
  readonly #published = new Map<ConfigKey, ConfigObject>();
  /** The changes in the next flush. The value is undefined if the object is removed. */
  readonly #next = new Map<ConfigKey, ConfigObject | undefined>();

  constructor(settings: TranslateSettings) {
    this.#settings = settings;
  }

  /**
   * Adds or replaces an object. Ignores generations that are known or outdated, and one-time operations, which do not produce
   * configuration.
   */
  put(object: ResourceObject): void {
    if (!isConfig(object)) return;
    const { metadata } = object;
    const ref = objectRef(object);
    const known = this.#entries.get(objectKey(ref));
    const isBeyondLimit = object.isBeyondLimit === true;
    if (known?.uid === metadata.uid && known.isBeyondLimit === isBeyondLimit && known.generation >= metadata.generation)
      return;
    const entry = readEntry(object, this.#settings);
    if (known?.uid === metadata.uid) {
      entry.evaluation = known.evaluation;
      entry.isTaken = known.isTaken;
      this.#detach(known);
    } else {
      if (known !== undefined) this.remove(ref, known.uid);
      this.#touchOrphans(ref);
    }
    this.#attach(entry);
  }

  /** Removes an object. Does nothing if the object with that name now has a different uid. */
  remove(ref: ObjectRef, uid: string): void {
    const entry = this.#entries.get(objectKey(ref));
    if (entry?.uid !== uid) return;
    this.#detach(entry);
    this.#keys.delete(uid);
    this.#touch(this.#children.get(objectKey(ref)));
    this.#touchOrphans(ref);
    if (entry.evaluation?.config !== undefined) this.#next.set(configKey(entry.evaluation.config), undefined);
  }

  /** Sets the state of an Account's key, which is `pending` before the first call. */
  setKey(accountUid: string, state: KeyState): void {
    const entry = this.#byUid.get(accountUid);
    if (entry?.ref.kind !== 'Account' || isDeepStrictEqual(this.#keys.get(accountUid), state)) return;
    this.#keys.set(accountUid, state);
    this.#dirty.Account.add(entry);
    this.#claim(entry);
  }

  /**
   * Sets for which objects claims are recorded, and evaluates all objects that claim something. From the first call, an object is
   * served only when its claims are recorded. When single results of the function change, `recorded` takes far less time.
   */
  setHolders(holders: Holders): void {
    this.#holders = holders;
    for (const entry of this.#entries.values()) {
      if (entry.ref.kind === 'Endpoint') continue;
      // A recorded prefix may have no Account, through which its URIs would be found.
      this.#claim(entry);
      const prefix = reservedPrefix(entry);
      if (prefix !== undefined) this.#reservations.recorded(prefixClaim(prefix));
      if (entry.claim !== undefined) {
        this.#unchecked.add(entry.claim);
        this.#moved.add(entry.claim);
      }
      this.#dirty[entry.ref.kind].add(entry);
    }
  }

  /** Called when it may have changed for which object a claim is recorded. */
  recorded(claim: string): void {
    this.#unchecked.add(claim);
    this.#moved.add(claim);
    if (isPrefixClaim(claim)) this.#reservations.recorded(claim);
    if (isUriClaim(claim)) this.#checkUri(claim);
  }

  /** Returns the claims that must be recorded, with the objects for which they must be recorded. */
  unrecorded(): readonly Claim[] {
    if (this.#holders === undefined) return [];
    this.#applyReservations();
    const claims: Claim[] = [];
    for (const claim of this.#unchecked) {
      const holder = this.#currentHolder(claim);
      const recorded = this.#recorded(claim);
      // An identity can be moved to another namespace.
      const isRecorded = recorded?.uid === holder?.uid && recorded?.namespace === holder?.ref.namespace;
      if (holder === undefined || isRecorded) this.#unchecked.delete(claim);
      else claims.push({ claim, uid: holder.uid, namespace: holder.ref.namespace });
    }
    return claims;
  }

  /** Returns the claims of an object to a key, a URI or a prefix, whether or not it has them. */
  claimedBy(uid: string): readonly string[] {
    const entry = this.#byUid.get(uid);
    if (entry === undefined || entry.ref.kind === 'Endpoint') return [];
    const prefix = reservedPrefix(entry);
    return [entry.claim, prefix && prefixClaim(prefix)].filter((claim) => claim !== undefined);
  }

  /** Yields all claims whose records decide about objects, some of them more than once. */
  *consulted(): Iterable<string> {
    for (const entry of this.#entries.values()) {
      if (entry.ref.kind === 'Endpoint') continue;
      if (entry.claim !== undefined) yield entry.claim;
      yield* this.#reservations.consulted(entry);
    }
  }

  /** Sets the state of a Secret that Endpoints refer to. Undefined if it has not been read yet, as before the first call. */
  setSecret(namespace: string, name: string, state: SecretState | undefined): void {
    const key = secretKey(namespace, name);
    if (isDeepStrictEqual(this.#secrets.get(key), state)) return;
    if (state === undefined) this.#secrets.delete(key);
    else this.#secrets.set(key, state);
    this.#touch(this.#children.get(key));
  }

  putService(service: ServiceObject): void {
    if (this.#services.put(service)) this.#touch(this.#children.get(serviceKey(service)));
  }

  removeService(service: ServiceObject): void {
    if (this.#services.remove(service)) this.#touch(this.#children.get(serviceKey(service)));
  }

  /** See `Services.trusts`. */
  trusts(service: Pick<ServiceObject, 'namespace' | 'name'>): boolean {
    return this.#services.trusts(service);
  }

  /**
   * Sets the reason why Services cannot be read, or undefined if they can. Without a call, all Services are assumed to be valid.
   */
  servicesIn(namespace: string | undefined, problem: string | undefined): void {
    if (!this.#services.setProblem(namespace, problem)) return;
    const isConcerned = (entry: Entry): boolean =>
      (namespace === undefined || entry.ref.namespace === namespace) && entryServiceRef(entry) !== undefined;
    this.#touch([...this.#entries.values()].filter(isConcerned));
  }

  /** Returns the problem with a Service that an Endpoint in that namespace refers to, or undefined if none is known. */
  serviceFault(namespace: string, service: Pick<ServiceRef, 'name' | 'port'>): Finding | undefined {
    return this.#services.fault(namespace, service);
  }

  /** The ConfigMaps with certificates. All their valid values are in the configuration, because the label is for nothing else. */
  readonly configMaps: ConfigMapListener = {
    put: (configMap) => this.#setConfigMap(configMap, configMap),
    remove: (configMap) => this.#setConfigMap(configMap, undefined),
    readable: (namespace, problem) => {
      if (!this.#authorities.setProblem(namespace, problem)) return;
      const isConcerned = (entry: Entry): boolean =>
        (namespace === undefined || entry.ref.namespace === namespace) && entryCaRef(entry) !== undefined;
      this.#touch([...this.#entries.values()].filter(isConcerned));
    },
  };

  /** Recomputes everything that the calls since the last flush affect. Returns the differences. */
  flush(): Changes {
    this.#applyReservations();
    this.#touchMoved();
    const verdicts: Verdict[] = [];
    for (const kind of CONFIG_KINDS) {
      if (kind === 'Endpoint') this.#checkPermissions();
      for (const entry of this.#dirty[kind]) {
        const verdict = this.#reevaluate(entry);
        if (verdict !== undefined) verdicts.push(verdict);
      }
      this.#dirty[kind].clear();
    }
    this.#suggestions.clear();
    return { ...this.#publish(), verdicts };
  }

  /**
   * Returns how many objects of each namespace were evaluated again since the last call because another object changed. Each of them
   * takes time at the operator and may take time at every gateway, however small the change is. Includes the work of finding which
   * objects the namespace's changes of prefixes affect.
   */
  takeDependents(): ReadonlyMap<string, number> {
    const dependents = new Map(this.#dependents);
    this.#dependents.clear();
    return dependents;
  }

  /** Returns an object's verdict from the last flush. */
  verdict(uid: string): Verdict | undefined {
    return this.#byUid.get(uid)?.evaluation?.verdict;
  }

  /** Yields the verdicts from the last flush. */
  *verdicts(): Iterable<Verdict> {
    for (const { evaluation } of this.#byUid.values()) if (evaluation !== undefined) yield evaluation.verdict;
  }

  /** Returns the gateways' configuration from the last flush. */
  objects(): Iterable<ConfigObject> {
    return this.#published.values();
  }

  /** Returns an object of the gateways' configuration from the last flush. */
  published(key: ConfigKey): ConfigObject | undefined {
    return this.#published.get(key);
  }

  /** Yields the uids of the projects that refer to this account, or of the endpoints that refer to this project, valid or not. */
  *childUids(uid: string): Iterable<string> {
    const parent = this.#byUid.get(uid);
    if (parent === undefined) return;
    for (const child of this.#children.get(objectKey(parent.ref))) yield child.uid;
  }

  /** Returns the uid of the account that a project refers to, or of the project that an endpoint refers to, if it exists. */
  parentUid(uid: string): string | undefined {
    const child = this.#byUid.get(uid);
    return child && this.#parent(child)?.uid;
  }

  #setConfigMap(named: Pick<ConfigMapObject, 'namespace' | 'name'>, configMap: ConfigMapObject | undefined): void {
    const { configs, changesFindings } = this.#authorities.set(named, configMap);
    for (const [uid, config] of configs) this.#next.set(configKey({ kind: 'Authority', uid }), config);
    if (changesFindings) this.#touch(this.#children.get(configMapKey(named)));
  }

  #attach(entry: Entry): void {
    this.#entries.set(objectKey(entry.ref), entry);
    this.#byUid.set(entry.uid, entry);
    if (entry.ref.kind !== 'Endpoint') this.#parents.add(placeKey(entry.ref), entry);
    for (const key of referredKeys(entry)) this.#children.add(key, entry);
    this.#dirty[entry.ref.kind].add(entry);
    this.#reservations.add(entry);
    const prefix = reservedPrefix(entry);
    if (prefix !== undefined) this.#unchecked.add(prefixClaim(prefix));
    this.#claim(entry);
    this.#touch(this.#arrangements.add(entry));
  }

  #detach(entry: Entry): void {
    this.#entries.delete(objectKey(entry.ref));
    this.#byUid.delete(entry.uid);
    this.#parents.delete(placeKey(entry.ref), entry);
    const parent = parentRef(entry);
    if (parent !== undefined) this.#orphans.delete(placeKey(parent), entry);
    for (const key of referredKeys(entry)) this.#children.delete(key, entry);
    this.#unclaim(entry);
    const claim = entry.ref.kind === 'Project' ? entryClaim(entry, PENDING) : undefined;
    if (claim !== undefined) this.#refused.delete(refusedKey(claim, entry.ref.namespace), entry);
    this.#reservations.remove(entry);
    this.#touch(this.#arrangements.remove(entry));
    this.#dirty[entry.ref.kind].delete(entry);
  }

  #touchMoved(): void {
    // The conditions of paths name the other Endpoint, so all claimants change, which are in one namespace.
    for (const claim of this.#moved)
      this.#touch(claim.startsWith(ROUTE) ? this.#claims.claimants(claim) : this.#claims.takeAffected(claim));
    this.#moved.clear();
  }

  /** Decides which Endpoints yield because their Account does not allow them, when the Accounts and Projects have been evaluated. */
  #checkPermissions(): void {
    for (const entry of this.#dirty.Endpoint) {
      const { parsed, keepsPlace } = entry;
      if (parsed?.kind !== 'Endpoint') continue;
      const yields = keepsPlace || permissionFault(parsed.spec, this.#parent(entry)) !== undefined;
      if (yields === entry.yields) continue;
      this.#unclaim(entry);
      this.#touch(this.#arrangements.remove(entry));
      entry.yields = yields;
      this.#claim(entry);
      this.#touch(this.#arrangements.add(entry));
    }
    this.#touchMoved();
  }

  /** Applies the changes of reserved prefixes to the objects that they affect. */
  #applyReservations(): void {
    const { entries, work } = this.#reservations.takeAffected();
    this.#checkReservations(entries);
    for (const [namespace, count] of work) this.#count(namespace, Math.floor(count));
  }

  /** Applies the record of a URI, which gives the Projects of its namespace the right to it, to these and to the one that has it. */
  #checkUri(claim: string): void {
    const namespace = this.#recorded(claim)?.namespace;
    if (namespace !== undefined) this.#checkReservations(this.#refused.get(refusedKey(claim, namespace)));
    // One that had this right may have lost it. Then another Project has the URI.
    for (let checked: Entry | undefined; this.#claims.holder(claim) !== checked;) {
      checked = this.#claims.holder(claim);
      if (checked !== undefined) this.#checkReservations([checked]);
    }
  }

  #checkReservations(entries: Iterable<Entry>): void {
    for (const entry of entries) {
      this.#claim(entry);
      const prefix = reservedPrefix(entry);
      if (prefix !== undefined) this.#unchecked.add(prefixClaim(prefix));
      if (this.#reservations.isTaken(entry) !== entry.isTaken) this.#touch([entry]);
    }
  }

  #claim(entry: Entry): void {
    // A Project that may not have its URI must not keep the owner of the prefix from it.
    const own = entryClaim(entry, this.#key(entry));
    const isRefused = entry.ref.kind === 'Project' && this.#reservations.isTaken(entry);
    const key = own && refusedKey(own, entry.ref.namespace);
    if (key !== undefined && isRefused) this.#refused.add(key, entry);
    else if (key !== undefined) this.#refused.delete(key, entry);
    const wanted = isRefused ? undefined : own;
    if (wanted === entry.claim) return;
    this.#unclaim(entry);
    entry.claim = wanted;
    if (wanted === undefined) return;
    if (this.#claims.add(wanted, entry)) this.#moved.add(wanted);
    if (entry.ref.kind !== 'Endpoint') this.#unchecked.add(wanted);
  }

  #unclaim(entry: Entry): void {
    if (entry.claim === undefined) return;
    if (this.#claims.remove(entry.claim, entry)) this.#moved.add(entry.claim);
    if (entry.ref.kind !== 'Endpoint') this.#unchecked.add(entry.claim);
    entry.claim = undefined;
  }

  #recorded(claim: string): Holder | undefined {
    // Paths are not recorded, because a path belongs to the namespace of its Project.
    return claim.startsWith(ROUTE) ? undefined : this.#holders?.(claim);
  }

  /** Returns the object that has a claim to a key, URI or prefix, or gets it when the claim is recorded. */
  #currentHolder(claim: string): Entry | undefined {
    return isPrefixClaim(claim) ? this.#reservations.holder(claim) : this.#claims.holder(claim);
  }

  /** Returns whether the object gets its key or URI when the claim is recorded. */
  #isUnrecorded(entry: Entry): boolean {
    const { claim, uid, ref } = entry;
    if (this.#holders === undefined || claim === undefined || ref.kind === 'Endpoint') return false;
    return this.#recorded(claim)?.uid !== uid && this.#claims.holder(claim) === entry;
  }

  #touch(entries: Iterable<Entry> = []): void {
    for (const entry of entries) {
      const { kind, namespace } = entry.ref;
      if (this.#dirty[kind].has(entry)) continue;
      this.#dirty[kind].add(entry);
      this.#count(namespace, 1);
    }
  }

  #count(namespace: string, dependents: number): void {
    if (dependents > 0) this.#dependents.set(namespace, (this.#dependents.get(namespace) ?? 0) + dependents);
  }

  /** Evaluates an entry again. Returns the verdict if it changed. */
  #reevaluate(entry: Entry): Verdict | undefined {
    const before = entry.evaluation;
    // Until the claim to a new key is recorded, callers keep the previous key.
    if (entry.ref.kind === 'Account' && before !== undefined && this.#isUnrecorded(entry)) return undefined;
    const after = this.#evaluate(entry);
    entry.evaluation = after;
    if (after.config !== undefined) this.#next.set(configKey(after.config), after.config);
    else if (before?.config !== undefined) this.#next.set(configKey(before.config), undefined);
    if (looksDifferentBelow(before, after)) this.#touch(this.#children.get(objectKey(entry.ref)));
    return isDeepStrictEqual(before?.verdict, after.verdict) ? undefined : after.verdict;
  }

  /**
   * Evaluates an object. A bug affects only this object, whose status reports the bug, and not the translation of other objects.
   */
  #evaluate(entry: Entry): Evaluation {
    try {
      return this.#evaluateByKind(entry);
    } catch (error) {
      return defective(entry, error);
    }
  }

  #evaluateByKind(entry: Entry): Evaluation {
    const holder = entry.claim === undefined ? undefined : this.#claims.holder(entry.claim);
    const isUnrecorded = this.#isUnrecorded(entry);
    const isOthers = entry.claim !== undefined && holder !== entry;
    entry.isTaken = this.#reservations.isTaken(entry);
    switch (entry.ref.kind) {
      case 'Account':
        return evaluateAccount(
          entry,
          {
            key: isUnrecorded ? PENDING : this.#key(entry),
            isKeyTaken: isOthers,
            isPrefixTaken: entry.isTaken,
          },
          this.#settings,
        );
      case 'Project':
        return evaluateProject(
          entry,
          {
            account: this.#parent(entry),
            suggestion: this.#suggestParent(entry),
            isUriTaken: isOthers,
            isUnrecorded,
            isReserved: entry.isTaken,
          },
          this.#settings,
        );
      case 'Endpoint':
        return evaluateEndpoint(
          entry,
          {
            project: this.#parent(entry),
            suggestion: this.#suggestParent(entry),
            holder,
            isArrangementAllowed: this.#arrangements.allows(entry),
            serviceFault: this.#entryServiceFault(entry),
            caFault: this.#entryCaFault(entry),
            secrets: (namespace, name) => this.#secrets.get(secretKey(namespace, name)),
          },
          this.#settings,
        );
    }
  }

  #publish(): { put: ConfigObject[]; remove: ConfigKey[] } {
    const put: ConfigObject[] = [];
    const remove: ConfigKey[] = [];
    for (const [key, object] of this.#next) {
      const published = this.#published.get(key);
      if (object === undefined) {
        if (this.#published.delete(key)) remove.push(key);
      } else if (!isDeepStrictEqual(published, object)) {
        this.#published.set(key, object);
        put.push(object);
      }
    }
    this.#next.clear();
    return { put, remove };
  }

  #parent(entry: Entry): Entry | undefined {
    const parent = parentRef(entry);
    return parent && this.#entries.get(objectKey(parent));
  }

  /** Suggests an object for one that the entry refers to and that does not exist. Only those of its own namespace are known to its users. */
  #suggestParent(entry: Entry): string {
    const parent = parentRef(entry);
    if (parent === undefined) return '';
    const key = placeKey(parent);
    const missing = objectKey(parent);
    if (this.#entries.has(missing)) {
      this.#orphans.delete(key, entry);
      return '';
    }
    this.#orphans.add(key, entry);
    let suggestion = this.#suggestions.get(missing);
    if (suggestion === undefined) {
      const candidates = this.#parents.get(key);
      const names = candidates.size > LIMITS.comparedNamesMax ? [] : [...candidates].map(({ ref }) => ref.name);
      const near = nearestName(parent.name, names);
      suggestion = near === undefined ? '' : `did you mean ${near}? If not, `;
      this.#suggestions.set(missing, suggestion);
    }
    return suggestion;
  }

  /** Evaluates the entries again for which another object is suggested with or without the object, while it does not exist. */
  #touchOrphans(ref: ObjectRef): void {
    const key = placeKey(ref);
    const others = this.#parents.get(key).size;
    if (others > LIMITS.comparedNamesMax) return;
    for (const entry of this.#orphans.get(key)) {
      const missing = parentRef(entry)?.name ?? '';
      if (others === LIMITS.comparedNamesMax || nearestName(missing, [ref.name]) !== undefined) this.#touch([entry]);
    }
  }

  #entryServiceFault(entry: Entry): Finding | undefined {
    const service = entryServiceRef(entry);
    return service && this.#services.fault(entry.ref.namespace, service);
  }

  #entryCaFault(entry: Entry): Finding | undefined {
    const ca = entryCaRef(entry);
    return ca && this.#authorities.fault(entry.ref.namespace, ca);
  }

  #key({ uid }: Entry): KeyState {
    return this.#keys.get(uid) ?? PENDING;
  }
}

/** Returns whether an object's children must be evaluated again. A rotated key, for example, does not affect them. */
const looksDifferentBelow = (before: Evaluation | undefined, after: Evaluation): boolean =>
  before === undefined ||
  before.verdict.uid !== after.verdict.uid ||
  before.verdict.configKey !== after.verdict.configKey ||
  before.verdict.status['url'] !== after.verdict.status['url'] ||
  before.verdict.plan !== after.verdict.plan ||
  before.verdict.allowsSignatures !== after.verdict.allowsSignatures ||
  firstFault(before)?.message !== firstFault(after)?.message ||
  firstFault(before)?.reason !== firstFault(after)?.reason;
