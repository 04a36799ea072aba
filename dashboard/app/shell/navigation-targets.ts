import { useCallback, useRef, useState } from 'react';
import { paths } from '../paths.ts';

/** The projects and endpoints that the command palette and the project switcher list. `routes/navigation.ts` returns them. */
export interface NavigationTargets {
  readonly projects: readonly { readonly namespace: string; readonly project: string; readonly title: string }[];
  readonly endpoints: readonly { readonly endpoint: string; readonly title: string; readonly route: string }[];
}

const NOTHING: NavigationTargets = { projects: [], endpoints: [] };

/**
 * Returns the targets, and a function that loads them. The targets are empty before the first load of this project, and after a
 * failed one.
 */
export const useNavigationTargets = (current: { namespace: string; project: string } | undefined) => {
  const [loaded, setLoaded] = useState({ from: '', targets: NOTHING });
  const loading = useRef<AbortController>(undefined);
  const { namespace, project } = current ?? {};
  const from = paths.navigation(namespace === undefined || project === undefined ? undefined : { namespace, project });
  const load = useCallback((): void => {
    // A late response must not replace the targets of the project that was opened since.
    loading.current?.abort();
    const abort = new AbortController();
    loading.current = abort;
    const show = (targets: NavigationTargets): void => {
      if (!abort.signal.aborted) setLoaded({ from, targets });
    };
    fetch(from, { signal: abort.signal })
      .then(async (response) => show(response.ok ? ((await response.json()) as NavigationTargets) : NOTHING))
      .catch(() => show(NOTHING));
  }, [from]);
  return { targets: loaded.from === from ? loaded.targets : NOTHING, load };
};
