import type { ReactNode } from 'react';
import { EditedForm } from './edited-form.tsx';
import { MergePanel } from './merge-panel.tsx';
import { LostNotice } from './error-summary.tsx';
import { Notice } from './notice.tsx';
import { OutdatedNotice, type OutdatedNoticeProps } from './outdated-notice.tsx';
import type { Opened } from './use-opened.ts';

export interface OpenedFormProps extends Pick<OutdatedNoticeProps, 'what' | 'generation'> {
  readonly state: Opened<unknown, object>;
  /** The reason why the page's data cannot be loaded. */
  readonly lost: string | undefined;
  /** Returns the path of a field in the manifest. By default, fields are named after their paths. */
  readonly pathLabel?: (path: string) => string;
  readonly children: ReactNode;
}

/** A form for an object that others may change or delete in the meantime. Reports this above the form. */
export const OpenedForm = ({ what, generation, state, lost, pathLabel = String, children }: OpenedFormProps) => {
  const { isOutdated, conflict, merge, taken, applyMerge, takeTheirs } = state;
  if (merge !== undefined) {
    return (
      <>
        <EditedForm isEdited />
        <MergePanel {...merge} pathLabel={pathLabel} onMerge={applyMerge} onTakeTheirs={takeTheirs} />
      </>
    );
  }
  return (
    <>
      <LostNotice lost={lost} what={what} />
      {isOutdated && (
        <OutdatedNotice what={what} generation={generation} refusal={conflict} onTakeTheirs={takeTheirs} />
      )}
      {taken !== undefined && !isOutdated && (
        <div className="mb-4">
          <Notice look="info" alert>
            Not saved yet. Someone else saved this {what} while you were editing. Check the form and save it again.
            {taken.length > 0 && ` It now also contains the other changes: ${taken.map(pathLabel).join(', ')}.`}
          </Notice>
        </div>
      )}
      {children}
    </>
  );
};
