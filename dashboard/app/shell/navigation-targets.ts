import { useCallback, useRef, useState } from 'react';
import { paths } from '../paths.ts';

/** The projects and endpoints that the command palette and the project switcher list. `routes/navigation.ts` returns them. */
export interface NavigationTargets {
  readonly projects: readonly { readonly namespace: string; readonly project: string; readonly title: string }[];
  readonly endpoints: readonly { readonly endpoint: string; readonly title: string; readonly route: string }[];
}

const NOTHING: NavigationTargets = { projects: [], endpoints: [] };

/**
 * Returns the targets, and a function that loads them. The targets are empty before the first load of this project. After a failed
 * load, they are those of the previous load.
 */
export const useNavigationTargets = (current: { namespace: string; project: string } | undefined) => {
  const [last, setLast] = useState({ from: '', targets: NOTHING, hasFailed: false });
  const loading = useRef<AbortController>(undefined);
  const { namespace, project } = current ?? {};
  const from = paths.navigation(namespace === undefined || project === undefined ? undefined : { namespace, project });
  const load = useCallback((): void => {
    // A late response must not replace the targets of the project that was opened since.
    loading.current?.abort();
    const abort = new AbortController();
    loading.current = abort;
    const read = async (): Promise<NavigationTargets> => {
      const response = await fetch(from, { signal: abort.signal });
      if (!response.ok) throw new Error(`cannot load the targets: ${response.status}`);
      return (await response.json()) as NavigationTargets;
    };
    read().then(
      (targets) => {
        if (!abort.signal.aborted) setLast({ from, targets, hasFailed: false });
      },
      () => {
        if (abort.signal.aborted) return;
        setLast((before) => ({ from, targets: before.from === from ? before.targets : NOTHING, hasFailed: true }));
      },
    );
  }, [from]);
  const isOfThis = last.from === from;
  return {
    targets: isOfThis ? last.targets : NOTHING,
    isLoading: !isOfThis,
    hasFailed: isOfThis && last.hasFailed,
    load,
  };
};
