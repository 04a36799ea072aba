import { PlainError } from '../plain-error.ts';

/** The token of the current kubeconfig's user, also where a credential plugin makes it. */
export const findToken = async (): Promise<string> => {
  const { readKubeToken } = await import('@standin/kube');
  const token = await readKubeToken().catch((error: unknown) => {
    throw new PlainError(`no token for the server: ${(error as Error).message}`, { cause: error });
  });
  if (token !== undefined) return token;
  throw new PlainError(
    'no token for the server: there is no kubeconfig, or its current user signs in without one. Give one with --token or STANDIN_TOKEN, as from kubectl create token',
  );
};
