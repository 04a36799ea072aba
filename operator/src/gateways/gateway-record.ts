import type { ConfigKey, RejectedObject, Revision, Undelivered } from '@standin/contract';

/** The facts about a gateway that the next leader must know. */
export interface KnownGateway {
  readonly name: string;
  /**
   * The gateway stops answering this long after its last contact with an operator. With 0, it keeps answering with its
   * current configuration.
   */
  readonly maxStalenessMs: number;
}

/** The state of one object at the gateways. */
export type ProgrammedState =
  | { readonly kind: 'programmed' }
  | { readonly kind: 'no-gateway' }
  | {
      readonly kind: 'waiting';
      readonly gateways: readonly string[];
      readonly known: number;
      /**
       * Whether none of `gateways` has acknowledged anything in this term. In that case, they may already have the object from an
       * earlier term.
       */
      readonly unheard: boolean;
    }
  | { readonly kind: 'rejected'; readonly gateway: string; readonly message: string };

/** A function that ends a stream. `GatewayStates` never calls such a function, but returns it to the caller. */
export type Cut = () => void;

/** The work that an event requires of the caller. */
export interface Effects {
  /** The streams of silent gateways, which must be ended. */
  readonly cut: readonly Cut[];
  /** Gateways that are now lost or expired. `gone` must be called when one of them is known to have stopped and left no data. */
  readonly lost: readonly string[];
  /** Whether `members` has changed and must be stored for the next leader. */
  readonly isChanged: boolean;
  /**
   * Set if the state of objects may have changed. Contains the objects that gateways newly reject, no longer reject or reject for
   * another reason, and the objects whose revocation is complete.
   */
  readonly progress: readonly ConfigKey[] | undefined;
}

/** The requests of a gateway that are in the log. */
interface Delivered {
  /**
   * The log has every request that the gateway received before this time, except those in quarantine, if it is for a project that
   * `projects` does not name.
   */
  readonly upTo: number;
  /** The earlier times of the projects with a request that takes longer, by their uid. */
  readonly projects: ReadonlyMap<string, number>;
  /** The earlier times of the namespaces that had too many such projects to name. They apply to all projects of the namespace. */
  readonly namespaces: ReadonlyMap<string, number>;
  /** The projects that may have files in quarantine. `all` if every project may have one. */
  readonly quarantined: ReadonlySet<string> | 'all';
  /** The namespaces of which every project may have one. */
  readonly quarantinedNamespaces: ReadonlySet<string>;
}

const NOTHING_DELIVERED: Delivered = {
  upTo: -Infinity,
  projects: new Map(),
  namespaces: new Map(),
  quarantined: new Set(),
  quarantinedNamespaces: new Set(),
};

/** The project whose requests must be delivered. */
export interface WantedProject {
  readonly projectUid: string;
  readonly namespace: string;
}

/** One process of a gateway, or only the name of a gateway that the previous leader knew. */
export interface Process {
  readonly name: string;
  /**
   * Undefined while only the gateway's name is known from the previous leader. A process of that name that acknowledges a revision
   * replaces this record.
   */
  readonly instance: string | undefined;
  readonly maxStalenessMs: number;
  /** Undefined if the gateway has not acknowledged anything in this term, or since `expiresAt`. See `mayAnswer`. */
  acked: Revision | undefined;
  rejected: ReadonlyMap<ConfigKey, RejectedObject>;
  /** The open streams. There is briefly more than one stream when the gateway reconnects before the old stream has ended. */
  readonly streams: Set<Cut>;
  /**
   * The time when a gateway with an open stream counts as silent, or a gateway without an open stream counts as lost. Infinity for
   * a gateway without an open stream that has a `maxStalenessMs`, because `expiresAt` applies instead.
   */
  dueAt: number;
  /**
   * The time when `maxStalenessMs`, plus a margin, has passed since the last contact. After this time, the gateway does not answer,
   * and neither `Programmed` nor a revocation waits for it until it acknowledges again. Infinity without a `maxStalenessMs`.
   */
  expiresAt: number;
  delivered: Delivered;
}

export const newProcess = (name: string, instance: string | undefined, maxStalenessMs: number): Process => {
  const state = { acked: undefined, rejected: new Map<ConfigKey, RejectedObject>(), streams: new Set<Cut>() };
  const times = { dueAt: Infinity, expiresAt: Infinity };
  return { name, instance, maxStalenessMs, ...state, ...times, delivered: NOTHING_DELIVERED };
};

export const processKey = (name: string, instance: string | undefined): string => `${name} ${instance ?? ''}`;

/** Returns whether `Programmed` waits for the process. */
export const isKnown = ({ acked, instance }: Process): boolean => acked !== undefined || instance === undefined;

/**
 * Returns whether the process may answer callers. With a `maxStalenessMs`, a gateway does not answer before it gets the response
 * to its first acknowledgement, even if it has a copy on its disk.
 */
export const mayAnswer = (process: Process): boolean => isKnown(process) || process.maxStalenessMs === 0;

/** Returns the number of the revision that the process last acknowledged, or 0 if it has not acknowledged any in this term. */
export const ackedNumber = ({ acked }: Process): number => acked?.number ?? 0;

export const rejectedBy = ({ rejected }: Process): ConfigKey[] => [...rejected.keys()];

/** Returns the state, at these processes, of an object that was put in revision `since`. */
export const programmedState = (processes: readonly Process[], key: ConfigKey, since: number): ProgrammedState => {
  if (processes.length === 0) return { kind: 'no-gateway' };
  for (const { name, rejected } of processes) {
    const object = rejected.get(key);
    if (object !== undefined) return { kind: 'rejected', gateway: name, message: object.message };
  }
  const waiting = processes.filter((process) => ackedNumber(process) < since);
  if (waiting.length === 0) return { kind: 'programmed' };
  return {
    kind: 'waiting',
    gateways: [...new Set(waiting.map(({ name }) => name))].sort(),
    known: processes.length,
    unheard: waiting.every(({ acked }) => acked === undefined),
  };
};

/** The log has every request of the project that the gateway received before this time, except those in quarantine. */
export const deliveredUpTo = (
  { delivered: { upTo, projects, namespaces } }: Pick<Process, 'delivered'>,
  { projectUid, namespace }: WantedProject,
): number => Math.min(projects.get(projectUid) ?? upTo, namespaces.get(namespace) ?? Infinity);

/**
 * Records what a gateway reports. An earlier report stays true, and a later one may be older, because it took longer to arrive. So
 * each project's time never decreases, unless its namespace has too many projects to name.
 *
 * @param reportedAt a time before the report was made
 */
export const recordDelivered = (process: Process, undelivered: Undelivered | undefined, reportedAt: number): void => {
  const { projects: before, upTo: beforeAll } = process.delivered;
  if (undelivered === undefined) return;
  const { ageMs, hasQuarantine, projects: reported, namespaces: crowded = [] } = undelivered;
  const now = new Map(reported.map(({ uid, ageMs: ms }) => [uid, reportedAt - ms]));
  const upTo = Math.max(beforeAll, reportedAt - ageMs);
  const projects = new Map<string, number>();
  for (const uid of new Set([...before.keys(), ...now.keys()])) {
    const own = Math.max(before.get(uid) ?? beforeAll, now.get(uid) ?? reportedAt - ageMs);
    if (own < upTo) projects.set(uid, own);
  }
  const inQuarantine = reported.filter((project) => project.hasQuarantine).map(({ uid }) => uid);
  const namespaces = new Map<string, number>();
  for (const [namespace, upToBefore] of process.delivered.namespaces) {
    const own = Math.max(upToBefore, reportedAt - ageMs);
    if (own < upTo) namespaces.set(namespace, own);
  }
  // Not the later of both times, because the report before may have named projects that this one does not name.
  for (const { namespace, ageMs: ms } of crowded) namespaces.set(namespace, reportedAt - ms);
  process.delivered = {
    upTo,
    projects,
    namespaces,
    quarantined: hasQuarantine ? 'all' : new Set(inQuarantine),
    quarantinedNamespaces: new Set(crowded.filter((others) => others.hasQuarantine).map(({ namespace }) => namespace)),
  };
};

/**
 * Returns descriptions of the gateways that may have requests of this project which were received before this time and are not in
 * the log. Includes gateways that do not answer.
 */
export const undeliveredBy = (
  processes: Iterable<Process>,
  lost: Iterable<string>,
  { before, ...wanted }: WantedProject & { readonly before: number },
): readonly string[] => {
  const waiting = [...lost].map((name) => `gateway ${name}, which is unreachable`);
  for (const process of processes) {
    const { name, streams, delivered } = process;
    const { quarantined, quarantinedNamespaces } = delivered;
    const isQuarantined =
      quarantined === 'all' || quarantined.has(wanted.projectUid) || quarantinedNamespaces.has(wanted.namespace);
    if (streams.size === 0) waiting.push(`gateway ${name}, which is not connected`);
    else if (deliveredUpTo(process, wanted) < before) waiting.push(`gateway ${name}`);
    else if (isQuarantined) waiting.push(`gateway ${name}, which has files in quarantine`);
  }
  return [...new Set(waiting)].sort();
};

/**
 * Records that the process now holds this revision. Returns the objects that it newly rejects, rejects for another reason, or no
 * longer rejects.
 */
export const accept = (process: Process, revision: Revision, rejected: readonly RejectedObject[]): ConfigKey[] => {
  const before = process.rejected;
  const after = new Map(rejected.map((object) => [object.key, object]));
  process.acked = revision;
  process.rejected = after;
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => before.get(key)?.message !== after.get(key)?.message,
  );
};

/** An expired gateway is stored with this `maxStalenessMs`, so that it soon expires in the next term, too. */
const EXPIRED_MS = 1;

/** Returns the facts that the next leader must know about these processes, lost and expired gateways, sorted by name. */
export const currentMembers = (
  processes: Iterable<Process>,
  lost: Iterable<string>,
  expired: Iterable<string>,
): readonly KnownGateway[] => {
  const members = new Map<string, number>();
  for (const name of lost) members.set(name, 0);
  for (const name of expired) members.set(name, EXPIRED_MS);
  for (const { name, maxStalenessMs } of processes) {
    // If two processes have the same name, the process that answers longer counts.
    members.set(name, longer(members.get(name) ?? maxStalenessMs, maxStalenessMs));
  }
  return [...members]
    .map(([name, maxStalenessMs]) => ({ name, maxStalenessMs }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Returns the longer of two values of `maxStalenessMs`, of which 0 means forever. */
const longer = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.max(a, b));
