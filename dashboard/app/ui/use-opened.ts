import { useState } from 'react';

interface Version {
  readonly generation: number;
}

/** The response to a rejected save. */
interface RefusedSave extends Version {
  /** True if the object has changed since this generation. */
  readonly isConflict: boolean;
}

export interface Opened<Fields extends Version, Refused extends RefusedSave> {
  /** The version that is being edited. */
  readonly opened: Fields;
  /** The last rejected save of `opened`, if any. */
  readonly refused: Refused | undefined;
  /** True if a newer version has been saved since the form was opened. */
  readonly isOutdated: boolean;
  /** The rejection, if the notice about the newer version already explains it. */
  readonly conflict: Refused | undefined;
  readonly takeTheirs: () => void;
}

/**
 * Tracks the version of an object that a form edits. The tracked version does not change when a newer version arrives. Saving an
 * older generation is rejected.
 *
 * @param loaded the currently saved version
 * @param sent the last rejection, with the submitted values
 */
export const useOpened = <Fields extends Version, Refused extends RefusedSave & Fields>(
  loaded: Fields,
  sent: Refused | undefined,
): Opened<Fields, Refused> => {
  // Without scripts, the response to a rejected save is a new page, which shows the submitted values.
  const [opened, setOpened] = useState<Fields>(sent ?? loaded);
  // Ignore an error about a version that is no longer edited.
  const refused = sent?.generation === opened.generation ? sent : undefined;
  const isOutdated = loaded.generation !== opened.generation;
  const conflict = isOutdated && refused?.isConflict === true ? refused : undefined;
  return { opened, refused, isOutdated, conflict, takeTheirs: () => setOpened(loaded) };
};
