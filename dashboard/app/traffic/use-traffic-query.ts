import { useCallback, useMemo } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { useNavigate, useSearchParams } from '../remix.ts';
import { readTrafficQuery, trafficParams, type TrafficQuery } from './traffic-query.ts';

export interface TrafficNavigation {
  readonly query: TrafficQuery;
  /** Changes the URL. `replace` adds no entry to the browser history. */
  readonly change: (changes: Partial<TrafficQuery>, options?: { readonly replace?: boolean }) => void;
}

/** Reads and changes the state of the screen, which is only stored in the URL. */
export const useTrafficQuery = (params: ProjectName): TrafficNavigation => {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const text = search.toString();
  const query = useMemo(() => readTrafficQuery(new URLSearchParams(text)), [text]);
  const { namespace, project } = params;
  const change = useCallback<TrafficNavigation['change']>(
    (changes, { replace = false } = {}) => {
      const url = paths.traffic({ namespace, project }, trafficParams({ ...query, ...changes }));
      navigate(url, { replace, preventScrollReset: true });
    },
    [namespace, project, query, navigate],
  );
  return { query, change };
};
