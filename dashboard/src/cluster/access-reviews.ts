import { API_GROUP, FairMap } from '@standin/contract';
import { asSourceError, ResponseTooLargeError, toSourceError } from '@standin/kube';
import { authorizationApi } from '@standin/kube/review-api';
import type { ClusterUser } from './cluster-user.ts';

/** An action on custom resources. */
export interface AccessQuestion {
  readonly verb: 'get' | 'list' | 'watch';
  /** `mockprojects`, or with a subresource: `mockprojects/logs`. */
  readonly resource: string;
  /** If absent, the question covers all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string;
}

/** A granted or revoked permission takes effect within this time. */
const DECISION_MS_MAX = 15_000;
/** Maximum number of decisions to remember. The holders are those of users, who can have any number of tokens. */
const DECISIONS_MAX = 20_000;

/** An answer that one request has asked the API server for, and that others wait for, too. */
export interface Asked<Answer> {
  readonly answer: Promise<Answer>;
  /** Of the user who asked. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the answer that `ask` is waiting for or has begun to wait for. Asks again if the request that asked has ended, and
 * the one with this signal has not. `ask` must not return an answer again that has rejected.
 */
export const shareAnswer = async <Answer>(signal: AbortSignal, ask: () => Asked<Answer>): Promise<Answer> => {
  const asked = ask();
  try {
    return await asked.answer;
  } catch (error) {
    if (asked.signal.aborted && !signal.aborted) return shareAnswer(signal, ask);
    throw error;
  }
};

interface Decision extends Asked<boolean> {
  readonly at: number;
}

/** Asks the API server what users may do, by creating SelfSubjectAccessReviews with their tokens. Caches results for 15 seconds. */
export class AccessReviews {
  readonly #decisions = new FairMap<Decision>(DECISIONS_MAX);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Resolves with the API server's decision. Rejects with `SourceError`. */
  async may(user: ClusterUser, question: AccessQuestion): Promise<boolean> {
    const holder = await user.findHolder();
    return shareAnswer(user.signal, () => this.#decide(user, question, holder));
  }

  #decide(user: ClusterUser, question: AccessQuestion, holder: string): Decision {
    const { verb, resource, namespace = '', name = '' } = question;
    const key = [user.id, verb, resource, namespace, name].join(' ');
    const known = this.#decisions.get(key);
    if (known !== undefined && this.#now() - known.at < DECISION_MS_MAX) return known;
    const answer = review(user, question);
    const decision = { answer, signal: user.signal, at: this.#now() };
    this.#decisions.set(key, decision, holder);
    answer.catch(() => {
      if (this.#decisions.get(key) === decision) this.#decisions.delete(key);
    });
    return decision;
  }
}

const review = async ({ client, signal }: ClusterUser, question: AccessQuestion): Promise<boolean> => {
  const { verb, namespace = '', name = '' } = question;
  const [resource = '', subresource = ''] = question.resource.split('/');
  const resourceAttributes = { group: API_GROUP, verb, resource, subresource, namespace, name };
  const { status } = await asSourceError(
    authorizationApi(client, { signal }).createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } }),
  );
  return status?.allowed === true;
};

/** A `ResourceRule` of Kubernetes. `*` stands for everything. */
interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** If empty, the rule applies to all objects. */
  readonly resourceNames?: readonly string[];
}

/** What a user may do in a namespace. */
export interface UserRules {
  readonly rules: readonly ResourceRule[];
  /**
   * Whether the user may do more, because an authorizer of the cluster, such as a webhook, does not report rules, or because the rules are
   * too large.
   */
  readonly isIncomplete: boolean;
}

/** Anyone who may create roles in a namespace can give users any number of rules. */
const RULES_BYTES_MAX = 1024 * 1024;

/** Returns a user's rules in a namespace, by creating a SelfSubjectRulesReview with the user's token. Rejects with `SourceError`. */
export const reviewRules = async ({ client, signal }: ClusterUser, namespace: string): Promise<UserRules> => {
  const api = authorizationApi(client, { signal, bytesMax: RULES_BYTES_MAX });
  try {
    const { status } = await api.createSelfSubjectRulesReview({ body: { spec: { namespace } } });
    return { rules: status?.resourceRules ?? [], isIncomplete: status?.incomplete === true };
  } catch (error) {
    if (error instanceof ResponseTooLargeError) return { rules: [], isIncomplete: true };
    throw toSourceError(error);
  }
};

const covers = (values: readonly string[] | undefined, value: string): boolean =>
  values?.some((one) => one === '*' || one === value) === true;

/** Returns the names of the custom resources that rules allow an action on, or `all`. */
export const allowedNames = (
  { rules }: UserRules,
  { verb, resource }: Pick<AccessQuestion, 'verb' | 'resource'>,
): 'all' | readonly string[] => {
  const matching = rules.filter(
    ({ verbs, apiGroups, resources }) =>
      covers(verbs, verb) && covers(apiGroups, API_GROUP) && covers(resources, resource),
  );
  const isUnnamed = ({ resourceNames = [] }: ResourceRule): boolean => resourceNames.length === 0;
  return matching.some(isUnnamed) ? 'all' : matching.flatMap(({ resourceNames = [] }) => resourceNames);
};
