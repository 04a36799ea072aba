import { useMemo, useState } from 'react';
import { isSame, mergeValues, type Merge, type Side } from './merge-values.ts';

interface Version {
  /** Changes with each saved version of the object. */
  readonly version: string;
  readonly values: unknown;
}

/** The response to a rejected save. */
interface RefusedSave extends Version {
  /** True if the object has changed since this version. */
  readonly isConflict: boolean;
}

/** Merges the opened version, the submitted values, and the currently saved version. `prefer` decides collisions. */
export type MergeVersions<Values> = (
  base: Values,
  mine: Values,
  theirs: Values,
  prefer?: (path: string) => Side,
) => Merge<Values>;

export interface Opened<Fields, Refused> {
  /** The version that is being edited. */
  readonly opened: Fields;
  /** True if `opened` contains changes that are not saved. */
  readonly isChanged: boolean;
  /** The last rejected save of `opened`, if any. */
  readonly refused: Refused | undefined;
  /** True if a newer version has been saved since the form was opened. */
  readonly isOutdated: boolean;
  /** The rejection, if the newer version is its reason. */
  readonly conflict: Refused | undefined;
  /** The merge of a rejected save with the newer version, if the user must decide. */
  readonly merge: Merge<unknown> | undefined;
  /** The fields that the last merge has taken from the newer version. Undefined if nothing was merged. */
  readonly taken: readonly string[] | undefined;
  /** Changes if the form must show other values. */
  readonly key: number;
  /** Continues with the merge. `prefer` decides its collisions. */
  readonly applyMerge: (prefer: (path: string) => Side) => void;
  readonly takeTheirs: () => void;
}

interface State<Fields> {
  readonly version: Fields;
  /** False if only the submitted values of a rejected save are known, because its response is a new page. */
  readonly isBase: boolean;
  readonly isChanged: boolean;
  readonly taken: readonly string[] | undefined;
  readonly key: number;
}

/**
 * Tracks the version of an object that a form edits. The tracked version does not change when a newer version arrives. Saving an
 * older version is rejected, and the submitted values are then merged with the newer version.
 *
 * @param loaded the currently saved version
 * @param sent the last rejection, with the submitted values
 */
export const useOpened = <Fields extends Version, Refused extends RefusedSave & Fields>(
  loaded: Fields,
  sent: Refused | undefined,
  mergeVersions: MergeVersions<Fields['values']> = mergeValues,
): Opened<Fields, Refused> => {
  // Without JavaScript, the response to a rejected save is a new page, which shows the submitted values.
  const [state, setState] = useState<State<Fields>>({
    version: sent ?? loaded,
    isBase: sent === undefined,
    isChanged: sent !== undefined,
    taken: undefined,
    key: 0,
  });
  const { version, isBase, isChanged, taken, key } = state;
  // Ignore an error about a version that is no longer edited.
  const refused = sent?.version === version.version ? sent : undefined;
  const isOutdated = loaded.version !== version.version;
  const conflict = isOutdated && refused?.isConflict === true ? refused : undefined;
  // Such an object was deleted and created again, or others have changed only what the form does not contain.
  const isOnlyNewer = isOutdated && isBase && refused?.isConflict !== true && isSame(version.values, loaded.values);
  if (isOnlyNewer) setState({ ...state, version: { ...loaded, values: version.values } });
  const mine = isBase ? conflict?.values : undefined;
  const merge = useMemo(
    () => (mine === undefined ? undefined : mergeVersions(version.values, mine, loaded.values)),
    [mine, version, loaded.values, mergeVersions],
  );
  const applyMerge = (prefer: (path: string) => Side): void => {
    if (mine === undefined) return;
    const { merged, taken: theirs } = mergeVersions(version.values, mine, loaded.values, prefer);
    setState({ version: { ...loaded, values: merged }, isBase: true, isChanged: true, taken: theirs, key: key + 1 });
  };
  if (merge?.collisions.length === 0) applyMerge(() => 'mine');
  return {
    opened: version,
    isChanged,
    refused,
    isOutdated,
    conflict,
    merge,
    taken,
    key,
    applyMerge,
    takeTheirs: () => setState({ version: loaded, isBase: true, isChanged: false, taken: undefined, key: key + 1 }),
  };
};
