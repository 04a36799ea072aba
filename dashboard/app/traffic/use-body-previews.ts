import { useEffect, useRef, useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import type { RowCursor } from '../requests/traffic-row.ts';

/** The interval between two loads, in which rows that only scroll past are not loaded. */
const PAUSE_MS = 150;
/** The maximum number of rows in one load, which is more than one screen. */
const ROWS_MAX = 60;
/** The maximum number of previews that are kept. Beyond it, only those of the last load are kept. */
const KEPT_MAX = 5_000;

interface Loaded {
  readonly bodies: ReadonlyMap<string, string>;
  /** The number of loads. Each load can start the next one. */
  readonly loads: number;
}

/**
 * Returns the beginnings of the request bodies, by id. Loads the previews of `rows`, which are the visible rows. The list itself does not
 * contain them, because it can have thousands of rows.
 */
export const useBodyPreviews = (params: ProjectName, rows: readonly RowCursor[]): ReadonlyMap<string, string> => {
  const { namespace, project } = params;
  const [{ bodies, loads }, setLoaded] = useState<Loaded>({ bodies: new Map(), loads: 0 });
  const missing = rows.filter(({ id }) => !bodies.has(id)).slice(0, ROWS_MAX);
  const keys = missing.map(({ receivedAt, id }) => `${receivedAt}~${id}`).join(' ');
  const wanted = useRef(keys);
  const isBusy = useRef(false);
  useEffect(() => {
    wanted.current = keys;
    if (keys === '' || isBusy.current) return;
    isBusy.current = true;
    const load = async (): Promise<Readonly<Record<string, string>>> => {
      const response = await fetch(paths.trafficBodies({ namespace, project }, { keys: wanted.current }));
      if (!response.ok) throw new Error(`cannot load the bodies: ${response.status}`);
      return ((await response.json()) as { readonly bodies: Readonly<Record<string, string>> }).bodies;
    };
    const add = (found: Readonly<Record<string, string>>): void => {
      isBusy.current = false;
      setLoaded((before) => ({
        bodies: new Map([...(before.bodies.size < KEPT_MAX ? before.bodies : []), ...Object.entries(found)]),
        loads: before.loads + 1,
      }));
    };
    setTimeout(() => {
      // Without previews, the rest of the list stays usable. The next rows that become visible start another attempt.
      load().then(add, () => {
        isBusy.current = false;
      });
    }, PAUSE_MS);
  }, [namespace, project, keys, loads]);
  return bodies;
};
