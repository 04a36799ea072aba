import { useState } from 'react';

interface Version {
  readonly generation: number;
}

/** What saving answered when it was refused. */
interface RefusedSave extends Version {
  /** Somebody else changed the object since this generation. */
  readonly isConflict: boolean;
}

export interface Opened<Fields extends Version, Refused extends RefusedSave> {
  /** What is being edited. */
  readonly opened: Fields;
  /** What was refused of it. */
  readonly refused: Refused | undefined;
  /** Somebody else has saved another version. */
  readonly isOutdated: boolean;
  /** The refusal, where `isOutdated` says it already. */
  readonly conflict: Refused | undefined;
  readonly takeTheirs: () => void;
}

/**
 * The version of an object that a form edits: it stays as it is, whatever comes in. Saving an older generation is refused.
 *
 * @param loaded the version that is saved now
 * @param sent the last refusal, with what was typed
 */
export const useOpened = <Fields extends Version, Refused extends RefusedSave & Fields>(
  loaded: Fields,
  sent: Refused | undefined,
): Opened<Fields, Refused> => {
  // Without scripts, the page begins with the refusal.
  const [opened, setOpened] = useState<Fields>(sent ?? loaded);
  // What was refused of a version that is no longer edited is of no interest.
  const refused = sent?.generation === opened.generation ? sent : undefined;
  const isOutdated = loaded.generation !== opened.generation;
  const conflict = isOutdated && refused?.isConflict === true ? refused : undefined;
  return { opened, refused, isOutdated, conflict, takeTheirs: () => setOpened(loaded) };
};
