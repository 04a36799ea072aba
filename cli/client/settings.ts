import process from 'node:process';

/** The address and the token of a dashboard, if the environment has them. */
export const environment = (): { readonly url: string | undefined; readonly token: string | undefined } => {
  const { STANDIN_URL: url, STANDIN_TOKEN: token } = process.env;
  return { url: url === '' ? undefined : url, token: token === '' ? undefined : token };
};
