import { API_GROUP } from '@standin/contract';
import { asSourceError, resourcePath } from '@standin/kube';
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
const ANSWER_MS_MAX = 15_000;
const ANSWERS_MAX = 20_000;

const PATH = resourcePath({ group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews' });

interface Answer {
  readonly allowed: Promise<boolean>;
  readonly at: number;
}

/** Asks the API server what users may do, by creating SelfSubjectAccessReviews with their tokens. Caches results for 15 seconds. */
export class AccessReviews {
  readonly #answers = new Map<string, Answer>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Resolves with the API server's decision. Rejects with `SourceError`. */
  may(user: ClusterUser, question: AccessQuestion): Promise<boolean> {
    const { verb, resource, namespace = '', name = '' } = question;
    const key = [user.id, verb, resource, namespace, name].join(' ');
    const known = this.#answers.get(key);
    if (known !== undefined && this.#now() - known.at < ANSWER_MS_MAX) return known.allowed;
    const allowed = review(user, question);
    const answer = { allowed, at: this.#now() };
    // Inserts the answer last, because `#forgetOldest` removes the first one.
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    this.#forgetOldest();
    allowed.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return allowed;
  }

  #forgetOldest(): void {
    if (this.#answers.size <= ANSWERS_MAX) return;
    const oldest = this.#answers.keys().next();
    if (oldest.done !== true) this.#answers.delete(oldest.value);
  }
}

const review = async ({ client }: ClusterUser, question: AccessQuestion): Promise<boolean> => {
  const { verb, namespace, name } = question;
  const [resource, subresource] = question.resource.split('/');
  const resourceAttributes = { group: API_GROUP, verb, resource, subresource, namespace, name };
  const answer = await asSourceError(
    client.create<{ status?: { allowed?: boolean } }>(PATH, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    }),
  );
  return answer.status?.allowed === true;
};
