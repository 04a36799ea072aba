import {
  claimedIdentitySchema,
  FairMap,
  isIdentified,
  LIMITS,
  SourceError,
  type ClaimedIdentity,
  type ResourceObject,
} from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { LogOwner } from '@standin/logstore';
import type { OperatorClient } from './operator-client.ts';

/** Maximum number of confirmed identities to remember. One that was forgotten is asked for again. */
const CONFIRMED_MAX = 20_000;

interface Question {
  readonly claimed: ClaimedIdentity;
  readonly answered: PromiseWithResolvers<boolean>;
}

/**
 * The identities of Accounts and Projects (ADR 024). An object has its own uid as its identity, unless its status names another one:
 * that of an object that was restored or created again. Users may be able to edit a status, so the operator must confirm such an
 * identity. A confirmed identity stays confirmed for this object's uid, so that logs can be read while no operator runs.
 */
export class Identities {
  readonly #operator: Pick<OperatorClient, 'holdIdentities'>;
  /** The confirmed identities, by the uids of the objects. The holders are the objects' namespaces. */
  readonly #confirmed: FairMap<string>;
  #asking: Question[] = [];

  constructor(operator: Pick<OperatorClient, 'holdIdentities'>, confirmedMax = CONFIRMED_MAX) {
    this.#operator = operator;
    this.#confirmed = new FairMap(confirmedMax);
  }

  /**
   * Resolves with the identity of an object that was read from the API server. Rejects with `SourceError` (`Unavailable`) if the
   * status names an identity that the operator does not confirm.
   */
  async of({ kind, metadata, status }: ResourceObject): Promise<LogOwner> {
    const { namespace, name, uid: own } = metadata;
    if (!isIdentified(kind)) return { namespace, name, uid: own };
    const { id: uid = own } = readStatus(kind, status);
    const isConfirmed = uid === own || this.#confirmed.get(own) === uid;
    // An identity that the operator would refuse to read would spoil the questions beside it.
    const claimed = claimedIdentitySchema.safeParse({ kind, namespace, name, uid }).data;
    if (!isConfirmed && (claimed === undefined || !(await this.#ask(claimed)))) {
      const message = `the operator does not confirm the identity in the status of ${kind} ${namespace}/${name}: try again in a few seconds`;
      throw new SourceError('Unavailable', message);
    }
    if (!isConfirmed) this.#confirmed.set(own, uid, namespace);
    return { namespace, name, uid };
  }

  /** Asks for all identities of one turn of the event loop together, because a page may show hundreds of projects. */
  #ask(claimed: ClaimedIdentity): Promise<boolean> {
    const question = { claimed, answered: Promise.withResolvers<boolean>() };
    if (this.#asking.push(question) === 1) setImmediate(() => void this.#send());
    return question.answered.promise;
  }

  async #send(): Promise<void> {
    const asked = this.#asking.splice(0, LIMITS.identitiesAskedMax);
    if (this.#asking.length > 0) setImmediate(() => void this.#send());
    try {
      const held = await this.#operator.holdIdentities(asked.map(({ claimed }) => claimed));
      asked.forEach(({ answered }, index) => answered.resolve(held[index] === true));
    } catch (error) {
      for (const { answered } of asked) answered.reject(error);
    }
  }
}
