/** The reason why a sign-in failed. The login page has a notice for each reason. */
type SignInFailure = 'provider' | 'refused' | 'stale' | 'large' | 'cluster';

/** `cookies` are Set-Cookie values for the response. */
export type SignInResult =
  | { readonly ok: true; readonly user: string; readonly cookies: readonly string[] }
  | { readonly ok: false; readonly failure: SignInFailure; readonly message: string };

/** Sign-in and sign-out. Not available in local mode. */
export interface SignIn {
  /** Signs in with a Kubernetes bearer token that the user pasted. */
  withToken(token: string): Promise<SignInResult>;
  /** The OpenID Connect provider, if one is configured. */
  readonly provider: ProviderSignIn | undefined;
  /** Returns Set-Cookie values. */
  signOut(): readonly string[];
}

export interface ProviderSignIn {
  /** Shown on the sign-in button. */
  readonly name: string;
  /** Starts a sign-in. `to` is the path to open afterwards. Rejects if the provider is not responding. */
  begin(to: string): Promise<{ readonly location: string; readonly cookies: readonly string[] }>;
  /**
   * Finishes a sign-in. `callback` is the path and query to which the provider redirected the browser. `cookies` is the request's
   * Cookie header.
   */
  finish(
    callback: string,
    cookies: string | undefined,
  ): Promise<{ readonly to: string; readonly result: SignInResult }>;
}
