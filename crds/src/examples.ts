import { fileURLToPath } from 'node:url';

/** The folder with the manifests of the quickstart: an account, a project and three endpoints. */
export const QUICKSTART = fileURLToPath(new URL('../examples/quickstart', import.meta.url));
