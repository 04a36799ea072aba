import { useCallback, useState } from 'react';
import { paths } from '../paths.ts';

/** The projects and endpoints that the command palette and the project switcher list. `routes/navigation.ts` returns them. */
export interface NavigationTargets {
  readonly projects: readonly { readonly namespace: string; readonly project: string; readonly title: string }[];
  readonly endpoints: readonly { readonly endpoint: string; readonly title: string; readonly route: string }[];
}

const NOTHING: NavigationTargets = { projects: [], endpoints: [] };

/** Returns the targets, and a function that loads them. The targets are empty before the first load and after a failed one. */
export const useNavigationTargets = (current: { namespace: string; project: string } | undefined) => {
  const [targets, setTargets] = useState(NOTHING);
  const { namespace, project } = current ?? {};
  const load = useCallback((): void => {
    fetch(paths.navigation(namespace === undefined || project === undefined ? undefined : { namespace, project }))
      .then(async (response) => setTargets(response.ok ? ((await response.json()) as NavigationTargets) : NOTHING))
      .catch(() => setTargets(NOTHING));
  }, [namespace, project]);
  return { targets, load };
};
