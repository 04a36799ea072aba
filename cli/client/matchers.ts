import { StandinAssertionError } from './api.ts';
import type { AssertOptions, Project } from './project.ts';

export interface ReceivedOptions extends Omit<AssertOptions, 'inOrder' | 'nothingElse'> {
  /** Exactly this number. Default: at least one, and with `not`, none. */
  readonly times?: number;
}

/** The matchers, for the types of your test runner (docs/guides/tests.md). */
export interface StandinMatchers<R = unknown> {
  /** The project received requests that match a search. */
  toHaveReceived(q: string, options?: ReceivedOptions): Promise<R>;
  /** The project received requests that match these searches one after the other, possibly with others in between. */
  toHaveReceivedInOrder(searches: readonly string[], options?: AssertOptions): Promise<R>;
  /** The project received at least one request that matches each search, and no others. */
  toHaveReceivedOnly(searches: readonly string[], options?: AssertOptions): Promise<R>;
}

interface Verdict {
  readonly pass: boolean;
  readonly message: () => string;
}

/** What a test runner tells a matcher. */
interface Matching {
  readonly isNot?: boolean;
}

const inverted = (verdict: Verdict): Verdict => ({ ...verdict, pass: !verdict.pass });

/** Returns whether an assertion holds. The message is for the case in which it does not, or must not. */
const decide = async (assertion: Promise<unknown>, otherwise: string): Promise<Verdict> => {
  try {
    await assertion;
    return { pass: true, message: () => otherwise };
  } catch (error) {
    if (!(error instanceof StandinAssertionError)) throw error;
    return { pass: false, message: () => error.message };
  }
};

/** For `expect.extend` of vitest and jest. */
export const matchers = {
  async toHaveReceived(
    this: Matching,
    project: Project,
    q: string,
    { times, ...options }: ReceivedOptions = {},
  ): Promise<Verdict> {
    if (times !== undefined) {
      const count = { min: times, max: times };
      return decide(project.assert([{ q, count }], options), `${q}: expected any number but ${times}`);
    }
    const isNever = this.isNot === true;
    const expectation = isNever ? { q, count: { max: 0 } } : q;
    const verdict = await decide(project.assert([expectation], options), '');
    return isNever ? inverted(verdict) : verdict;
  },

  toHaveReceivedInOrder(project: Project, searches: readonly string[], options: AssertOptions = {}): Promise<Verdict> {
    const otherwise = `expected another order than ${searches.join(', ')}`;
    return decide(project.assert(searches, { ...options, inOrder: true }), otherwise);
  },

  toHaveReceivedOnly(project: Project, searches: readonly string[], options: AssertOptions = {}): Promise<Verdict> {
    const otherwise = `expected other requests than ${searches.join(', ')}`;
    return decide(project.assert(searches, { ...options, nothingElse: true }), otherwise);
  },
};
