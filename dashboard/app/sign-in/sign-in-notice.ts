/** Why the login page is shown. The texts are a fixed set: a link must not make the dashboard show text of its choice. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['expired', 'The Kubernetes API server no longer accepts your token. Sign in again to continue.'],
  ['signed-out', 'You are signed out.'],
  ['provider', 'The identity provider did not sign you in. Try again; the log of the dashboard has its words.'],
  ['refused', 'The identity provider signed you in, but the Kubernetes API server does not accept its token.'],
  ['stale', 'That sign-in took too long, or began in another browser. Begin again.'],
  ['large', 'The identity provider’s token is too large for a cookie. Ask for one with fewer groups in it.'],
  ['cluster', 'The Kubernetes API server does not answer. Try again in a moment.'],
]);

export const signInNotice = (reason: string | null): string | undefined => NOTICES.get(reason ?? '');
