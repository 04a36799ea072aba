/** Why signing in with the provider failed, for the login page; the log has the rest. */
type SignInFailure = 'provider' | 'refused' | 'stale' | 'large' | 'cluster';

/** `cookies`: Set-Cookie values of the answer. */
export type SignInResult =
  | { readonly ok: true; readonly user: string; readonly cookies: readonly string[] }
  | { readonly ok: false; readonly failure: SignInFailure; readonly message: string };

/** Ways to sign in, and out. Local mode has none. */
export interface SignIn {
  /** A Kubernetes bearer token that somebody pasted. `before`: the request's cookies. */
  withToken(token: string, before: string | undefined): Promise<SignInResult>;
  /** The OpenID Connect provider, where one is configured. */
  readonly provider: ProviderSignIn | undefined;
  /** Set-Cookie values. */
  signOut(before: string | undefined): readonly string[];
}

export interface ProviderSignIn {
  /** On the button. */
  readonly name: string;
  /** Rejects when the provider does not answer. `to`: where to go afterwards. */
  begin(to: string): Promise<{ readonly location: string; readonly cookies: readonly string[] }>;
  /** `callback`: path and query with which the provider sent the browser back. */
  finish(callback: string, before: string | undefined): Promise<{ readonly to: string; readonly result: SignInResult }>;
}
