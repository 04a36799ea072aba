/** A target in absolute form, as clients send it that are configured to use a proxy (RFC 9112 section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/is;

export interface RequestTarget {
  /** The host and port of a target in absolute form, which take precedence over the `Host` header. Undefined for other forms. */
  readonly authority: string | undefined;
  /** The target in origin form: the path, and the query after a `?`. A target in another form stays as it is. */
  readonly originForm: string;
}

export const readTarget = (target: string): RequestTarget => {
  const [, authority, rest] = target.startsWith('/') ? [] : (ABSOLUTE_FORM.exec(target) ?? []);
  if (authority === undefined || rest === undefined) return { authority: undefined, originForm: target };
  return { authority, originForm: rest.startsWith('/') ? rest : `/${rest}` };
};
