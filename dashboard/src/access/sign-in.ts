/** Why sign-in with the provider failed, for the login page. The log has the details. */
type SignInFailure = 'provider' | 'refused' | 'stale' | 'large' | 'cluster';

/** `cookies`: Set-Cookie values of the response. */
export type SignInResult =
  | { readonly ok: true; readonly user: string; readonly cookies: readonly string[] }
  | { readonly ok: false; readonly failure: SignInFailure; readonly message: string };

/** Sign-in and sign-out. Local mode has neither. */
export interface SignIn {
  /** A Kubernetes bearer token that the user pasted. `before`: the request's cookies. */
  withToken(token: string, before: string | undefined): Promise<SignInResult>;
  /** The OpenID Connect provider, if one is configured. */
  readonly provider: ProviderSignIn | undefined;
  /** Set-Cookie values. */
  signOut(before: string | undefined): readonly string[];
}

export interface ProviderSignIn {
  /** Shown on the button. */
  readonly name: string;
  /** Rejects if the provider does not respond. `to`: the path to open after sign-in. */
  begin(to: string): Promise<{ readonly location: string; readonly cookies: readonly string[] }>;
  /** `callback`: the path and query with which the provider sent the browser back. */
  finish(callback: string, before: string | undefined): Promise<{ readonly to: string; readonly result: SignInResult }>;
}
