import { useCallback, useRef, useState } from 'react';
import { paths } from '../paths.ts';

/** The projects and endpoints that the command palette and the project switcher list. `routes/navigation.ts` returns them. */
export interface NavigationTargets {
  readonly projects: readonly ProjectTarget[];
  readonly endpoints: readonly EndpointTarget[];
  /** True if there are too many for one list. The list then contains the first ones that a search finds. */
  readonly isPartial: boolean;
}

interface ProjectTarget {
  readonly namespace: string;
  readonly project: string;
  readonly title: string;
}

interface EndpointTarget {
  readonly endpoint: string;
  readonly title: string;
  readonly route: string;
}

/** Returns the text in which the palette searches. It differs for each project and endpoint. */
export const projectText = ({ namespace, project, title }: ProjectTarget): string =>
  `project ${namespace}/${project} ${title}`;
export const endpointText = ({ endpoint, title, route }: EndpointTarget): string =>
  `endpoint ${endpoint} ${title} ${route}`;

const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s-]/g, ' ');

/**
 * Returns how well a text matches the search of the palette, or 0 if it does not contain the characters of the search in this order.
 * The time is linear in the length of the text. That of cmdk's own function is not, and other users choose the names.
 */
export const matchScore = (text: string, search: string): number => {
  const [searched, wanted] = [plain(text), plain(search.trim())];
  const whole = searched.indexOf(wanted);
  if (whole !== -1) return /[\p{L}\p{N}]/u.test(searched.charAt(whole - 1)) ? 0.8 : 1;
  let [start, end] = [-1, 0];
  for (const character of wanted) {
    const at = searched.indexOf(character, end);
    if (at === -1) return 0;
    if (start === -1) start = at;
    end = at + character.length;
  }
  return (0.5 * wanted.length) / (end - start);
};

const NOTHING: NavigationTargets = { projects: [], endpoints: [], isPartial: false };

/**
 * Returns the targets, and a function that loads them. If there are too many, it loads those that contain the characters of `q` in
 * this order. The targets are empty before the first load of this project. After a failed load, they are those of the previous load.
 */
export const useNavigationTargets = (current: { namespace: string; project: string } | undefined) => {
  const [last, setLast] = useState({ from: '', q: '', targets: NOTHING, hasFailed: false });
  const loading = useRef<AbortController>(undefined);
  const { namespace, project } = current ?? {};
  const from = paths.navigation({ namespace, project });
  const load = useCallback(
    (q = ''): void => {
      // A late response must not replace the targets of the project that was opened, or of the text that was typed, since.
      loading.current?.abort();
      const abort = new AbortController();
      loading.current = abort;
      const read = async (): Promise<NavigationTargets> => {
        const response = await fetch(paths.navigation({ namespace, project, q }), { signal: abort.signal });
        if (!response.ok) throw new Error(`cannot load the targets: ${response.status}`);
        return (await response.json()) as NavigationTargets;
      };
      read().then(
        (targets) => {
          if (!abort.signal.aborted) setLast({ from, q, targets, hasFailed: false });
        },
        () => {
          if (abort.signal.aborted) return;
          setLast((before) => ({
            from,
            q,
            targets: before.from === from ? before.targets : NOTHING,
            hasFailed: true,
          }));
        },
      );
    },
    [namespace, project, from],
  );
  const isOfThis = last.from === from;
  return {
    targets: isOfThis ? last.targets : NOTHING,
    /** The search of the last load of this project. Undefined before the first one. */
    q: isOfThis ? last.q : undefined,
    hasFailed: isOfThis && last.hasFailed,
    load,
  };
};
