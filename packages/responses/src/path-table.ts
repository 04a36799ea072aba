import type { Method } from '@standin/contract';
import type { PathPattern } from './path-pattern.ts';
import { PatternTable } from './pattern-table.ts';

/** The paths and the method that an endpoint responds to. */
export interface Place {
  readonly slug: string;
  readonly method: Method;
  /** Undefined if the slug has no parameters. */
  readonly pattern: PathPattern | undefined;
}

/** Returns the method of the endpoints that respond to a method. */
export const servedMethod = (method: string): string => (method === 'HEAD' ? 'GET' : method);

/** Returns the path without the differences that users overlook: case and trailing slashes. */
const looseForm = (path: string): string => {
  let end = path.length;
  // This loop is not a regular expression, because a regular expression would take quadratic time on a long run of slashes inside
  // the path.
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end).toLowerCase();
};

/** The endpoints of a project, by path and method. The cost of all methods does not depend on the number of endpoints. */
export class PathTable<T> {
  readonly #literals = new Map<string, Map<string, T>>();
  readonly #patterns = new PatternTable<Map<string, T>>();
  /** The literal slugs that differ from their loose form, by that form. Most slugs do not differ. */
  readonly #similar = new Map<string, Set<string>>();

  get isEmpty(): boolean {
    return this.#literals.size === 0 && this.#patterns.isEmpty;
  }

  get({ slug, method, pattern }: Place): T | undefined {
    return this.#valuesByMethod(slug, pattern)?.get(method);
  }

  put({ slug, method, pattern }: Place, value: T): void {
    const methods = this.#valuesByMethod(slug, pattern) ?? new Map<string, T>();
    methods.set(method, value);
    if (pattern !== undefined) this.#patterns.set(pattern, methods);
    else {
      this.#literals.set(slug, methods);
      this.#addSimilar(slug);
    }
  }

  delete({ slug, method, pattern }: Place): void {
    const methods = this.#valuesByMethod(slug, pattern);
    if (methods?.delete(method) !== true || methods.size > 0) return;
    if (pattern !== undefined) this.#patterns.delete(pattern);
    else {
      this.#literals.delete(slug);
      this.#deleteSimilar(slug);
    }
  }

  /**
   * Returns the endpoint that responds to a request, or undefined if there is none. If the most specific slug that matches the path
   * does not have the method, the next one is tried. Those for GET respond to HEAD.
   *
   * @param path latin1, as received
   */
  find(method: string, path: string): T | undefined {
    const served = servedMethod(method);
    return this.#literals.get(path)?.get(served) ?? this.#patterns.find(path, (methods) => methods.get(served));
  }

  /** Returns the endpoints whose slug matches the path, by method, in order of precedence. */
  matches(path: string): readonly ReadonlyMap<string, T>[] {
    const literal = this.#literals.get(path);
    const others = this.#patterns.matches(path);
    return literal === undefined ? others : [literal, ...others];
  }

  /** Returns a slug that differs from the path only in case or trailing slashes, or undefined if there is none. */
  similarPath(path: string): string | undefined {
    const form = looseForm(path);
    if (this.#literals.has(form)) return form;
    return this.#similar.get(form)?.values().next().value;
  }

  #addSimilar(slug: string): void {
    const form = looseForm(slug);
    if (form === slug) return;
    const slugs = this.#similar.get(form) ?? new Set();
    this.#similar.set(form, slugs.add(slug));
  }

  #deleteSimilar(slug: string): void {
    const form = looseForm(slug);
    const slugs = this.#similar.get(form);
    slugs?.delete(slug);
    if (slugs?.size === 0) this.#similar.delete(form);
  }

  #valuesByMethod(slug: string, pattern: PathPattern | undefined): Map<string, T> | undefined {
    return pattern === undefined ? this.#literals.get(slug) : this.#patterns.get(pattern);
  }
}
